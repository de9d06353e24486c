//! The words of PTX for types and state spaces; which of them an instruction takes is left to the machine.

/// A fundamental type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub enum ScalarType {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
}

/// Every type with its name and its size in bytes.
const TYPES: [(ScalarType, &str, usize); 20] = [
    (ScalarType::Pred, "pred", 1),
    (ScalarType::B8, "b8", 1),
    (ScalarType::B16, "b16", 2),
    (ScalarType::B32, "b32", 4),
    (ScalarType::B64, "b64", 8),
    (ScalarType::B128, "b128", 16),
    (ScalarType::U8, "u8", 1),
    (ScalarType::U16, "u16", 2),
    (ScalarType::U32, "u32", 4),
    (ScalarType::U64, "u64", 8),
    (ScalarType::S8, "s8", 1),
    (ScalarType::S16, "s16", 2),
    (ScalarType::S32, "s32", 4),
    (ScalarType::S64, "s64", 8),
    (ScalarType::F16, "f16", 2),
    (ScalarType::F16x2, "f16x2", 4),
    (ScalarType::Bf16, "bf16", 2),
    (ScalarType::Bf16x2, "bf16x2", 4),
    (ScalarType::F32, "f32", 4),
    (ScalarType::F64, "f64", 8),
];

impl ScalarType {
    /// The type of this name, written without the dot.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        TYPES.iter().find(|(_, n, _)| *n == name).map(|(ty, _, _)| *ty)
    }

    fn row(self) -> (&'static str, usize) {
        TYPES.iter().find(|(ty, _, _)| *ty == self).map_or(("?", 1), |(_, name, size)| (name, *size))
    }

    /// The name without the dot.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Size in bytes; a predicate counts as one.
    #[must_use]
    pub fn size(self) -> usize {
        self.row().1
    }

    /// Whether it is a signed integer.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// Whether it is a scalar floating-point type.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }
}

/// A state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Device memory.
    Global,
    /// Read-only device memory.
    Const,
    /// Memory of a block.
    Shared,
    /// Memory of a thread.
    Local,
    /// Kernel parameters.
    Param,
    /// Any of them, told apart by the address.
    Generic,
}

impl Space {
    /// The space of this name, written without the dot.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "global" => Self::Global,
            "const" => Self::Const,
            "shared" | "shared::cta" => Self::Shared,
            "local" => Self::Local,
            "param" => Self::Param,
            _ => return None,
        })
    }

    /// The word used in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Const => "const",
            Self::Shared => "shared",
            Self::Local => "local",
            Self::Param => "param",
            Self::Generic => "generic",
        }
    }
}
