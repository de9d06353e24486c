//! What can be wrong when a program is loaded or run, each with its place; how it is shown is left to the caller.

use std::fmt;

/// PTX that parses and that the machine cannot run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The module has no such entry.
    #[error("{module}: no entry `{entry}`; it has {known}")]
    NoEntry {
        /// Name of the PTX file.
        module: String,
        /// The entry asked for.
        entry: String,
        /// The entries there are.
        known: String,
    },
    /// An instruction, or a form of it, that the machine does not do.
    #[error("{module}:{line}: `{text}`: {why}")]
    Unsupported {
        /// Name of the PTX file.
        module: String,
        /// Line in the PTX text.
        line: u32,
        /// The instruction.
        text: String,
        /// What of it is not supported.
        why: String,
    },
}

/// Where a trap happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The entry.
    pub entry: String,
    /// File and line of the CUDA source, if the PTX tells.
    pub source: Option<String>,
    /// Line of the PTX text.
    pub ptx_line: u32,
    /// The instruction.
    pub text: String,
    /// Block index.
    pub block: [u32; 3],
    /// Thread index within the block.
    pub thread: [u32; 3],
}

/// A kernel did what it must not do, or was launched wrongly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Trap {
    /// Where, unless the launch itself is wrong.
    pub site: Option<Box<Site>>,
    /// What.
    pub kind: TrapKind,
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(site) = &self.site else { return write!(f, "{}", self.kind) };
        let Site { entry, source, ptx_line, text, block, thread } = site.as_ref();
        write!(f, "{}: in {entry}", self.kind)?;
        if let Some(source) = source {
            write!(f, " at {source}")?;
        }
        write!(f, " (PTX line {ptx_line}, `{text}`), block {block:?}, thread {thread:?}")
    }
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrapKind {
    /// An access outside every buffer or outside the one it points into.
    #[error("{access} of {size} bytes out of bounds: {place}")]
    OutOfBounds {
        /// Load or store.
        access: &'static str,
        /// Bytes accessed.
        size: usize,
        /// The buffer, its size and the offset, or the address.
        place: String,
    },
    /// An address that is no multiple of the access's size.
    #[error("{access} of {size} bytes misaligned: {place}")]
    Misaligned {
        /// Load or store.
        access: &'static str,
        /// Bytes accessed.
        size: usize,
        /// The buffer and the offset.
        place: String,
    },
    /// A read of memory that nothing has written.
    #[error("load of {size} bytes that were never written: {place}")]
    UninitialisedMemory {
        /// Bytes read.
        size: usize,
        /// The buffer and the offset.
        place: String,
    },
    /// A read of a register that this thread has not written.
    #[error("register {register} was never written")]
    UninitialisedRegister {
        /// The register.
        register: String,
    },
    /// A store to an input.
    #[error("store of {size} bytes to an input: {place}")]
    WriteToInput {
        /// Bytes written.
        size: usize,
        /// The buffer and the offset.
        place: String,
    },
    /// The launch executed more instructions than it may: an endless loop.
    #[error("more than {budget} warp instructions: the kernel may never end")]
    BudgetExceeded {
        /// The budget.
        budget: u64,
    },
    /// A barrier that not all threads of a warp reach together.
    #[error("barrier reached by some threads of a warp only")]
    DivergentBarrier,
    /// A barrier that some warps wait at and others have left.
    #[error("barrier that never opens: {waiting} of {warps} warps wait, the others have ended")]
    Deadlock {
        /// Warps at the barrier.
        waiting: usize,
        /// Warps of the block.
        warps: usize,
    },
    /// The kernel trapped of its own.
    #[error("trap instruction")]
    Explicit,
    /// The launch does not fit the entry.
    #[error("launch of {entry}: {what}: expected {expected}, found {found}")]
    BadLaunch {
        /// The entry.
        entry: String,
        /// Which part of the launch.
        what: String,
        /// What the entry wants.
        expected: String,
        /// What the launch gives.
        found: String,
    },
}
