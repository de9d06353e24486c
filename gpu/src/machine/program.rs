//! A kernel ready to run: decoded instructions, tables, layout of memory, and the way back to PTX and CUDA lines; how it came about is left to `decode`.

use super::access::Access;
use super::decode;
use super::operation::{Bank, Instruction};
use super::step::convert::Conversion;
use super::trap::SourceLocation;
use crate::ptx::{Location, Module, Parameter, Position, Variable};

/// A kernel that was checked and decoded. It is never changed by a run, so threads may share it.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) entry: String,
    pub(crate) ptx_name: String,
    pub(crate) code: Vec<Instruction>,
    /// For each decoded instruction the index of its PTX instruction in `origins`.
    pub(crate) origin: Vec<u32>,
    pub(crate) origins: Vec<Origin>,
    pub(crate) files: Vec<(u32, String)>,
    pub(crate) tables: Tables,
    pub(crate) rows: [usize; 3],
    pub(crate) presets: Vec<Preset>,
    /// Names of the rows that stand for PTX registers.
    pub(crate) names: Vec<(Bank, u16, String)>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) shared: Vec<Variable>,
    pub(crate) local: Vec<Variable>,
    /// Module variables that live in global or constant memory.
    pub(crate) global: Vec<Variable>,
    pub(crate) max_threads: Option<[u32; 3]>,
    pub(crate) required_threads: Option<[u32; 3]>,
}

/// What decoded instructions refer to by index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    pub(crate) accesses: Vec<Access>,
    pub(crate) repacks: Vec<super::step::data::Repack>,
    pub(crate) conversions: Vec<Conversion>,
}

/// Where a PTX instruction stands.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) line: u32,
    pub(crate) text: String,
    pub(crate) location: Option<Location>,
}

/// A row that is filled before a warp starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preset {
    pub(crate) bank: Bank,
    pub(crate) row: u16,
    pub(crate) content: Content,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Constant(u64),
    Special(Special),
    /// Bytes of a parameter.
    Parameter {
        index: usize,
        offset: usize,
        width: usize,
        signed: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Thread(usize),
    ThreadCount(usize),
    Block(usize),
    BlockCount(usize),
    Lane,
    Warp,
    WarpCount,
    LanesEqual,
    LanesBelow,
    LanesBelowOrEqual,
    LanesAbove,
    LanesAboveOrEqual,
    DynamicShared,
    TotalShared,
    Zero,
    One,
}

/// Why an entry cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The module has no such entry.
    #[error("{ptx_name}: no entry `{entry}`; it has {available}")]
    NoEntry {
        /// Name of the PTX text.
        ptx_name: String,
        /// The entry asked for.
        entry: String,
        /// The entries there are.
        available: String,
    },
    /// An instruction that the machine does not know, or not in this form.
    #[error("{ptx_name}:{line}: {what} in `{instruction}` is not supported")]
    Unsupported {
        /// Name of the PTX text.
        ptx_name: String,
        /// Line of the instruction.
        line: u32,
        /// The instruction as written.
        instruction: String,
        /// What of it.
        what: String,
    },
    /// An instruction whose operands do not fit it.
    #[error("{ptx_name}:{line}: `{instruction}`: expected {expected}, found {found}")]
    Operand {
        /// Name of the PTX text.
        ptx_name: String,
        /// Line of the instruction.
        line: u32,
        /// The instruction as written.
        instruction: String,
        /// What it takes.
        expected: String,
        /// What it has.
        found: String,
    },
    /// More of something than the machine has room for.
    #[error("{ptx_name}: entry `{entry}` has {found} {what}, at most {limit} are supported")]
    TooMany {
        /// Name of the PTX text.
        ptx_name: String,
        /// The entry.
        entry: String,
        /// Of what.
        what: &'static str,
        /// How many or how large.
        found: usize,
        /// The limit.
        limit: usize,
    },
}

impl Program {
    /// Decodes and checks one entry.
    ///
    /// # Errors
    /// If there is no such entry, or it holds anything that the machine would not execute faithfully.
    pub fn load(module: &Module, entry: &str) -> Result<Self, LoadError> {
        decode::program(module, entry)
    }

    /// Name of the entry.
    #[must_use]
    pub fn entry(&self) -> &str {
        &self.entry
    }

    pub(crate) fn origin_of(&self, pc: usize) -> Option<&Origin> {
        let index = self.origin.get(pc).or(self.origin.last())?;
        self.origins.get(*index as usize)
    }

    pub(crate) fn source(&self, origin: &Origin) -> Option<SourceLocation> {
        let location = origin.location?;
        let place = |p: Position| {
            let file = self.files.iter().find(|(index, _)| *index == p.file);
            (file.map_or("?", |(_, name)| name.as_str()).to_owned(), p.line)
        };
        let (file, line) = place(location.position);
        Some(SourceLocation { file, line, inlined_at: location.inlined_at.map(place) })
    }

    pub(crate) fn name_of(&self, bank: Bank, row: u16) -> String {
        let found = self.names.iter().find(|(b, r, _)| *b == bank && *r == row);
        found.map_or_else(|| "of the machine".to_owned(), |(_, _, name)| name.clone())
    }
}
