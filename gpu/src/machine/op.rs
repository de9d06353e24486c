//! Decoded instructions: operands are slots in the register banks, constants and special registers included; execution is left to `step`.

/// Slot of a 32-bit register (16-bit ones are kept zero-extended).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct R(pub(super) u16);
/// Slot of a 64-bit register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct D(pub(super) u16);
/// Slot of a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct P(pub(super) u16);

/// Any slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Slot {
    R(R),
    D(D),
    P(P),
}

/// 32 bits in, 32 bits out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Un32 {
    Mov,
    Not,
    Neg,
    Abs,
    NegF,
    AbsF,
    RcpF,
    SqrtF,
    RsqrtApprox,
    Ex2Approx,
    Lg2Approx,
    SinApprox,
    CosApprox,
    TanhApprox,
    Popc,
    Clz,
    Brev,
    /// Float to integer, the rounding applied first.
    F32ToS32(Rounding),
    F32ToU32(Rounding),
    F32ToF32(Rounding),
    S32ToF32,
    U32ToF32,
    F32ToBf16,
    Bf16ToF32,
    F32ToF16,
    F16ToF32,
    Low16,
    Low8,
    SignExtend16,
    SignExtend8,
}

/// Rounding to an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
}

/// Two operands of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bin32 {
    Add,
    Sub,
    MulLo,
    MulHiU,
    MulHiS,
    And,
    Or,
    Xor,
    Shl,
    ShrU,
    ShrS,
    MinU,
    MaxU,
    MinS,
    MaxS,
    DivU,
    DivS,
    RemU,
    RemS,
    AddF,
    SubF,
    MulF,
    DivF,
    MinF,
    MaxF,
}

/// Three operands of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tern32 {
    Fma,
    MadLo,
    BfeU,
    ShfL,
    ShfR,
    Prmt,
    /// `lop3` with its truth table.
    Lop3(u8),
}

/// One operand of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Un64 {
    Mov,
    Not,
    Neg,
    Abs,
    NegF,
    AbsF,
    SqrtF,
    RcpF,
}

/// Two operands of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bin64 {
    Add,
    Sub,
    MulLo,
    And,
    Or,
    Xor,
    MinU,
    MaxU,
    MinS,
    MaxS,
    DivU,
    DivS,
    RemU,
    RemS,
    AddF,
    SubF,
    MulF,
    DivF,
}

/// Three operands of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tern64 {
    MadLo,
    Fma,
}

/// A 64-bit value shifted by a 32-bit amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shift64 {
    Shl,
    ShrU,
    ShrS,
}

/// 32 bits to 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Widen {
    Zero,
    Sign,
    F32ToF64,
    S32ToF64,
    U32ToF64,
    F32ToS64(Rounding),
}

/// 64 bits to 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Narrow {
    Low,
    F64ToF32,
    S64ToF32,
    U64ToF32,
    F64ToS32(Rounding),
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Float comparisons that are true where an operand is NaN.
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    /// Neither is NaN.
    Num,
    /// One is NaN.
    Nan,
}

/// How the bits are read for a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Unsigned,
    Signed,
    Float,
}

/// Two predicates to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Logic {
    And,
    Or,
    Xor,
    /// The first alone.
    First,
    NotFirst,
}

/// Where memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Region {
    Global,
    Shared,
}

/// A register that a load fills or a store reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    R(R),
    D(D),
}

/// What an instruction does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Un32 { f: Un32, d: R, a: R },
    Bin32 { f: Bin32, d: R, a: R, b: R },
    Tern32 { f: Tern32, d: R, a: R, b: R, c: R },
    Un64 { f: Un64, d: D, a: D },
    Bin64 { f: Bin64, d: D, a: D, b: D },
    Tern64 { f: Tern64, d: D, a: D, b: D, c: D },
    Shift64 { f: Shift64, d: D, a: D, b: R },
    Widen { f: Widen, d: D, a: R },
    Narrow { f: Narrow, d: R, a: D },
    MulWide { signed: bool, d: D, a: R, b: R },
    MadWide { signed: bool, d: D, a: R, b: R, c: D },
    Set32 { compare: Compare, reading: Reading, d: P, a: R, b: R },
    Set64 { compare: Compare, reading: Reading, d: P, a: D, b: D },
    Logic { f: Logic, d: P, a: P, b: P },
    Select32 { d: R, a: R, b: R, p: P },
    Select64 { d: D, a: D, b: D, p: P },
    LoadParam { cells: Vec<Cell>, offset: usize, width: usize },
    Load { region: Region, cells: Vec<Cell>, address: D, offset: i64, width: usize, signed: bool },
    Store { region: Region, cells: Vec<Cell>, address: D, offset: i64, width: usize },
    Branch { target: usize, meet: usize },
    Exit,
    Barrier,
    Trap,
    Nothing,
}
