//! Every way a run can end early: one finding with kernel, source line, block, thread and memory place; judging it is left to the caller.

use std::fmt;

use crate::ptx::Space;

/// A run that was stopped: what was found, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Trap {
    /// Name of the entry.
    pub entry: String,
    /// What was found.
    pub kind: TrapKind,
    /// Where; absent for a launch that never started.
    pub site: Option<Box<Site>>,
}

/// The instruction and the thread that ran it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// CUDA source, where the PTX has line information.
    pub source: Option<SourceLocation>,
    /// Name of the PTX text.
    pub ptx_name: String,
    /// Line in the PTX text.
    pub ptx_line: u32,
    /// The instruction as written.
    pub instruction: String,
    /// `%ctaid`.
    pub block: [u32; 3],
    /// `%tid` of the first thread concerned.
    pub thread: [u32; 3],
}

/// A line of CUDA source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// The file, as the PTX names it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// File and line where the function was inlined.
    pub inlined_at: Option<(String, u32)>,
}

impl std::error::Error for Trap {}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.entry, self.kind)?;
        let Some(site) = &self.site else { return Ok(()) };
        write!(f, "; block {:?}, thread {:?}", site.block, site.thread)?;
        if let Some(source) = &site.source {
            write!(f, ", at {}:{}", source.file, source.line)?;
            if let Some((file, line)) = &source.inlined_at {
                write!(f, " (inlined at {file}:{line})")?;
            }
        }
        write!(f, ", {}:{} `{}`", site.ptx_name, site.ptx_line, site.instruction)
    }
}

/// Whether memory was read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// A load.
    Read,
    /// A store.
    Write,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Read { "read" } else { "write" })
    }
}

/// Where an address leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Into, before or behind an allocation.
    Buffer {
        /// Its space: global, shared or local.
        space: Space,
        /// Its name.
        name: String,
        /// Byte offset from its start.
        offset: i64,
        /// Its size in bytes.
        size: usize,
    },
    /// Near address 0.
    Null {
        /// The address.
        address: u64,
    },
    /// Far from everything.
    Nowhere {
        /// The address.
        address: u64,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buffer { space: Space::Global, name, offset, size } => {
                write!(f, "buffer `{name}`, byte {offset} of {size}")
            }
            Self::Buffer { space, name, offset, size } => {
                write!(f, "{} memory `{name}`, byte {offset} of {size}", space.name())
            }
            Self::Null { address } => write!(f, "null pointer plus {address}"),
            Self::Nowhere { address } => write!(f, "address {address:#x} in no buffer"),
        }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TrapKind {
    /// An access that is not wholly inside one allocation.
    #[error("{} {direction} of {size} bytes out of bounds: {place}", space.name())]
    OutOfBounds {
        /// Load or store.
        direction: Direction,
        /// Bytes of the access.
        size: usize,
        /// State space of the instruction.
        space: Space,
        /// Where it went.
        place: Place,
    },
    /// An address that is no multiple of the access size.
    #[error("{direction} of {size} bytes misaligned: {place}")]
    Misaligned {
        /// Load or store.
        direction: Direction,
        /// Bytes of the access.
        size: usize,
        /// Where it went.
        place: Place,
    },
    /// A load of bytes that nothing has written.
    #[error("read of {size} bytes that were never written: {place}")]
    UninitialisedMemory {
        /// Bytes of the access.
        size: usize,
        /// Where it went.
        place: Place,
    },
    /// A register used before it was assigned.
    #[error("register {register} is used but was never assigned")]
    UninitialisedRegister {
        /// Its name.
        register: String,
    },
    /// A store into an input or a constant.
    #[error("write of {size} bytes to read-only memory: {place}")]
    WriteToInput {
        /// Bytes of the access.
        size: usize,
        /// Where it went.
        place: Place,
    },
    /// Two threads on the same bytes, one of them writing, with no barrier between.
    #[error(
        "data race: {direction} of {place}, after a {other} by thread {thread:?} with no barrier between"
    )]
    DataRace {
        /// What this thread did.
        direction: Direction,
        /// Where.
        place: Place,
        /// What the other thread did before.
        other: Direction,
        /// `%tid` of the other thread.
        thread: [u32; 3],
    },
    /// More instructions than allowed: most likely an endless loop.
    #[error("instruction budget of {budget} warp instructions exceeded (endless loop?)")]
    BudgetExceeded {
        /// The budget.
        budget: u64,
    },
    /// A barrier that not all threads of the block reach.
    #[error("divergent barrier: {why}")]
    DivergentBarrier {
        /// Who is missing.
        why: String,
    },
    /// The `trap` instruction.
    #[error("the kernel executed `trap`")]
    Explicit,
    /// The launch does not fit the kernel.
    #[error("bad launch: {0}")]
    BadLaunch(#[from] LaunchError),
}

/// Why a launch was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The program was loaded from another entry.
    #[error("expected entry `{expected}`, found `{found}`")]
    Entry {
        /// Entry of the program.
        expected: String,
        /// Entry of the launch.
        found: String,
    },
    /// Too many or too few arguments.
    #[error("expected {expected} arguments, found {found}")]
    ArgumentCount {
        /// Parameters of the entry.
        expected: usize,
        /// Arguments of the launch.
        found: usize,
    },
    /// An argument of another type or size than its parameter.
    #[error("argument {index}: expected .{ty} of {size} bytes for `{parameter}`, found {found}")]
    Argument {
        /// Position, from 0.
        index: usize,
        /// Name of the parameter.
        parameter: String,
        /// Its PTX type.
        ty: &'static str,
        /// Its size.
        size: usize,
        /// The argument.
        found: String,
    },
    /// A buffer index that the set does not have.
    #[error("argument {index}: there is no buffer {buffer} in a set of {count}")]
    NoBuffer {
        /// Position, from 0.
        index: usize,
        /// The buffer asked for.
        buffer: usize,
        /// Buffers there are.
        count: usize,
    },
    /// A grid extent of 0 or above the hardware's limit.
    #[error("grid: expected 1 to 2147483647 blocks along x and 1 to 65535 along y and z, found {grid:?}")]
    Grid {
        /// The grid.
        grid: [u32; 3],
    },
    /// A block extent of 0, or too many threads.
    #[error("block: expected 1 to {limit} threads, at most 64 along z, found {block:?}")]
    Block {
        /// The block.
        block: [u32; 3],
        /// Most threads allowed.
        limit: u32,
    },
    /// A block other than the one the entry requires.
    #[error("block: expected {required:?} as the entry requires, found {block:?}")]
    RequiredBlock {
        /// The block.
        block: [u32; 3],
        /// `.reqntid`.
        required: [u32; 3],
    },
    /// More shared memory than a block can have.
    #[error("shared memory of a block: expected at most {limit} bytes, found {found}")]
    Shared {
        /// Static and dynamic together.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// More buffers than there are fake addresses for, or a buffer with fewer flags than bytes.
    #[error("buffer `{name}` cannot be mapped: {why}")]
    Buffer {
        /// Its name.
        name: String,
        /// What is wrong.
        why: &'static str,
    },
}
