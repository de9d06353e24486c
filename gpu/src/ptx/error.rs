//! What can be wrong with PTX text, each with its line; how it is shown is left to the caller.

/// PTX text that cannot be read: where and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}:{line}: {kind} in `{text}`")]
pub struct PtxError {
    /// Name given to [`super::parse`].
    pub source_name: String,
    /// Line in the PTX text, from 1.
    pub line: u32,
    /// The text of that line, trimmed.
    pub text: String,
    /// What is wrong.
    pub kind: PtxErrorKind,
}

/// What is wrong with a line of PTX.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PtxErrorKind {
    /// Something else stands where the grammar wants a certain thing.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What the grammar wants.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// Valid PTX that this crate does not read.
    #[error("{what} is not supported")]
    Unsupported {
        /// The construct.
        what: String,
    },
    /// A number that is malformed or out of range.
    #[error("`{text}` is not a number that fits in 64 bits")]
    Number {
        /// The number as written.
        text: String,
    },
    /// A name used but not declared.
    #[error("unknown {what} `{name}`")]
    Unknown {
        /// Register, label or the like.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A name declared twice in one scope.
    #[error("{what} `{name}` is declared twice")]
    Duplicate {
        /// Register, label or the like.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A size that overflows or is no size at all.
    #[error("size or alignment of `{name}` is out of range")]
    Size {
        /// The variable.
        name: String,
    },
}

/// An error inside the parser: the line is known, the file and its text are added at the door.
pub(super) type Failure = (u32, PtxErrorKind);
