//! The decoded instruction set: what the inner loop switches on; making it from PTX is left to `decode`, doing it to `step`.

/// One decoded instruction: up to three sources and a destination, all of them rows of a register bank.
///
/// Constants, special registers and parameters are rows too, so no operand needs a case distinction at run time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub(crate) op: Op,
    pub(crate) guard: Guard,
    pub(crate) d: u16,
    pub(crate) a: u16,
    pub(crate) b: u16,
    pub(crate) c: u16,
}

/// Lanes run where `predicate ^ flip` is set; row 0 of the predicates is always true.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Guard {
    pub(crate) row: u16,
    pub(crate) flip: u32,
}

/// Which register bank a row belongs to: up to 32 bits, 64 bits, predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bank {
    Narrow,
    Wide,
    Predicate,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    // Straight line: neither trap nor branch.
    Move(Bank),
    Select(Bank),
    F32(FloatOp, FloatMode),
    F64(FloatOp),
    Rounded(RoundedOp, Rounding, FloatMode),
    Approximate(ApproximateOp, FloatMode),
    I16(IntegerOp),
    I32(IntegerOp),
    I64(IntegerOp),
    Widening(WideningOp),
    Bits(BitsOp),
    Compare(CompareType, Comparison, Combine),
    Logic(LogicOp),
    Convert(ConvertOp),
    Repack(u16),
    // Steps that need more than the registers.
    Memory(u32),
    Branch { target: u32, reconvergence: u32 },
    Exit,
    Trap,
    Barrier(u8),
    WarpBarrier,
    Collective(CollectiveOp),
    // Marks that stand for no PTX instruction.
    Reconverge,
    Check(Bank),
    Assign(Bank),
}

impl Op {
    /// Whether it stands for a PTX instruction and is counted.
    pub(crate) const fn counts(self) -> bool {
        !matches!(self, Self::Reconverge | Self::Check(_) | Self::Assign(_))
    }
}

/// `.ftz` and `.sat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FloatMode {
    pub(crate) flush: bool,
    pub(crate) saturate: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum FloatOp {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Rcp,
    Sqrt,
    Min,
    Max,
    MinNan,
    MaxNan,
    Abs,
    Neg,
    CopySign,
}

/// Operations of f32 with a rounding other than to nearest.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RoundedOp {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Rcp,
    Sqrt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ApproximateOp {
    Exp2,
    Log2,
    Rcp,
    Sqrt,
    Rsqrt,
    Sin,
    Cos,
    Tanh,
    Div,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum IntegerOp {
    Add,
    Sub,
    AddSaturating,
    SubSaturating,
    MulLow,
    MulHighSigned,
    MulHighUnsigned,
    MadLow,
    MadHighSigned,
    MadHighUnsigned,
    DivSigned,
    DivUnsigned,
    RemSigned,
    RemUnsigned,
    MinSigned,
    MinUnsigned,
    MaxSigned,
    MaxUnsigned,
    Abs,
    Neg,
    And,
    Or,
    Xor,
    Not,
    Cnot,
    ShiftLeft,
    ShiftRightSigned,
    ShiftRightUnsigned,
    Reverse,
    PopCount,
    LeadingZeros,
}

/// Products twice as wide as their factors.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WideningOp {
    MulSigned,
    MulUnsigned,
    MadSigned,
    MadUnsigned,
    MulSigned16,
    MulUnsigned16,
    MadSigned16,
    MadUnsigned16,
}

/// Operations on 32-bit patterns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BitsOp {
    Lop3(u8),
    Permute,
    FunnelLeft {
        wrap: bool,
    },
    FunnelRight {
        wrap: bool,
    },
    ExtractSigned,
    ExtractUnsigned,
    /// The length is in row `length`.
    Insert {
        length: u16,
    },
    SelectBySign,
    TestFloat(FloatClass),
}

/// `testp`: the result is a predicate.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FloatClass {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum CompareType {
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
    F32,
    F32Flushed,
    F64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    Nan,
}

impl Comparison {
    /// The comparison that holds exactly where this one does not.
    pub(crate) const fn inverse(self) -> Self {
        match self {
            Self::Eq => Self::Neu,
            Self::Ne => Self::Equ,
            Self::Lt => Self::Geu,
            Self::Le => Self::Gtu,
            Self::Gt => Self::Leu,
            Self::Ge => Self::Ltu,
            Self::Equ => Self::Ne,
            Self::Neu => Self::Eq,
            Self::Ltu => Self::Ge,
            Self::Leu => Self::Gt,
            Self::Gtu => Self::Le,
            Self::Geu => Self::Lt,
            Self::Num => Self::Nan,
            Self::Nan => Self::Num,
        }
    }
}

/// How a comparison joins the predicate in row `c`, inverted by `flip`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Combine {
    Alone,
    And { flip: u32 },
    Or { flip: u32 },
    Xor { flip: u32 },
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum LogicOp {
    And,
    Or,
    Xor,
    Not,
}

/// Conversions: the frequent ones by name, the rest through a table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ConvertOp {
    U64FromU32,
    S64FromS32,
    U32FromU64,
    S32FromF32TowardZero,
    F32FromS32,
    F32FromU32,
    F32FromBf16,
    Bf16FromF32,
    Table(u16),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum CollectiveOp {
    /// Result in narrow row `d`.
    ActiveMask,
    /// Predicate row `a` inverted by `flip`, lanes in narrow row `b`.
    Vote { vote: Vote, flip: u32 },
    /// Value `a`, lane or distance `b`, clamp `c`; `predicate` is a row or 0 for none.
    Shuffle { shuffle: Shuffle, predicate: u16, members: u16 },
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}
