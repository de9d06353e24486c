//! The one list of kernels: names, tensors, geometry, limits and declared plan; which numbers go in and what is thought of those that come out is left to others.

mod rglru;

use crate::artifact::Artifact;
use crate::buffer::{Buffer, BufferId, BufferSet, Dtype, Role};
use crate::launch::{Argument, Launch};

/// Every kernel, in the order of reports.
pub static KERNELS: [&Kernel; 4] =
    [&rglru::FORWARD_F32, &rglru::FORWARD_BF16, &rglru::BACKWARD_F32, &rglru::BACKWARD_BF16];

/// The kernel of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Kernel> {
    KERNELS.iter().copied().find(|kernel| kernel.name == name)
}

/// Sizes of one problem: batch B, length L, width W.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimensions {
    /// B, at least 1.
    pub batch: usize,
    /// L, 0 allowed.
    pub length: usize,
    /// W, at least 1.
    pub width: usize,
}

/// Which recurrence a kernel computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// RG-LRU with the gate logits given.
    Rglru,
}

/// Which way through time a kernel goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pass {
    /// Outputs from inputs.
    Forward,
    /// Gradients from inputs and cotangents.
    Backward,
}

/// Which part of the recurrence's definition a kernel claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Contract {
    /// All of it: resets anywhere, initial state, cotangent of the final state, any B, L, W.
    Canonical,
}

/// How the author says a kernel rounds; the judge turns it into an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Type of the state and of all arithmetic.
    pub carry: Dtype,
    /// How `1 - g` is formed in the derivative of a sigmoid.
    pub complement: Complement,
    /// How the write's norm is formed.
    pub norm: Norm,
    /// Steps whose contributions to a parameter's gradient are added before the sum joins the others.
    pub chunk: usize,
}

/// How `1 - g` is formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complement {
    /// As its own quotient, to full relative accuracy.
    Quotient,
    /// As a difference, which cancels where the gate saturates.
    Difference,
}

/// How `sqrt(1 - exp(2 l))` is formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// Through `-expm1(2 l)`: accurate for every `l`.
    Expm1,
    /// Through a subtraction, which cancels for small `l`.
    Naive,
}

/// Type of a tensor in terms of the kernel's storage type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// The kernel's storage type.
    Storage,
    /// f32 whatever the storage.
    F32,
    /// i32.
    I32,
}

/// Number of elements of a tensor in terms of B, L, W.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// `[B, L, W]`
    Blw,
    /// `[B, L]`
    Bl,
    /// `[B, W]`
    Bw,
    /// `[W]`
    W,
    /// `[ceil(L / n), B, W]`
    ChunkBw(usize),
}

impl Extent {
    /// The number for these sizes.
    #[must_use]
    pub const fn len(self, d: Dimensions) -> usize {
        match self {
            Self::Blw => d.batch * d.length * d.width,
            Self::Bl => d.batch * d.length,
            Self::Bw => d.batch * d.width,
            Self::W => d.width,
            Self::ChunkBw(n) => d.length.div_ceil(n) * d.batch * d.width,
        }
    }
}

/// One tensor of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Symbol of the mathematics.
    pub name: &'static str,
    /// Element type.
    pub element: Element,
    /// Number of elements.
    pub extent: Extent,
    /// What the kernel does with it.
    pub role: Role,
    /// Whether it may be absent, as a null pointer.
    pub optional: bool,
}

/// One argument of an entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// Address of the tensor of this name.
    Tensor(&'static str),
    /// B as i64.
    B,
    /// L as i64.
    L,
    /// W as i64.
    W,
}

/// How many blocks an entry needs along x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// One for every batch row and tile of channels.
    RowsByTiles,
    /// One for every tile of channels.
    Tiles,
}

/// One entry point of a kernel's pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name in the PTX.
    pub name: &'static str,
    /// Arguments in order.
    pub parameters: &'static [Parameter],
    /// Blocks.
    pub grid: Grid,
    /// Threads of a block, and channels of a tile.
    pub block: u32,
}

/// One kernel: everything that is known of it before it runs.
#[derive(Debug)]
pub struct Kernel {
    /// `family_pass_algorithm_storage`: test, report row, ledger row.
    pub name: &'static str,
    /// What it computes.
    pub family: Family,
    /// Which way.
    pub pass: Pass,
    /// How, in a word.
    pub algorithm: &'static str,
    /// Type of the large tensors in memory.
    pub storage: Dtype,
    /// What it claims.
    pub contract: Contract,
    /// How it rounds.
    pub declaration: Declaration,
    /// Whether two runs give the same bits.
    pub deterministic: bool,
    /// Its source and PTX.
    pub artifact: Artifact,
    /// Its tensors.
    pub tensors: &'static [Tensor],
    /// Its entry points in the order of launch.
    pub entries: &'static [Entry],
}

/// Why a kernel cannot be launched on the buffers given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AssemblyError {
    /// A required input is absent.
    #[error("{kernel}: input `{tensor}` is missing")]
    Missing {
        /// The kernel.
        kernel: &'static str,
        /// The tensor.
        tensor: &'static str,
    },
    /// An input has the wrong type or number of elements.
    #[error("{kernel}: input `{tensor}`: expected {expected}, found {found}")]
    Mismatch {
        /// The kernel.
        kernel: &'static str,
        /// The tensor.
        tensor: &'static str,
        /// Length and type wanted.
        expected: String,
        /// Length and type given.
        found: String,
    },
    /// The grid would have more blocks than a launch can have.
    #[error("{kernel}: {blocks} blocks along x, a launch can have at most 2147483647")]
    Grid {
        /// The kernel.
        kernel: &'static str,
        /// Blocks needed.
        blocks: usize,
    },
}

/// Buffers and launches of one run.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// Inputs as given, then outputs and scratch, poisoned.
    pub buffers: BufferSet,
    /// Launches in order.
    pub launches: Vec<Launch>,
}

impl Kernel {
    /// Element type of one of its tensors.
    #[must_use]
    pub const fn dtype(&self, tensor: &Tensor) -> Dtype {
        match tensor.element {
            Element::Storage => self.storage,
            Element::F32 => Dtype::F32,
            Element::I32 => Dtype::I32,
        }
    }

    /// Bytes that must move at least: every input once, every output once.
    #[must_use]
    pub fn traffic_bytes(&self, d: Dimensions) -> usize {
        self.bytes(d, |role| role != Role::Scratch)
    }

    /// Bytes of working memory.
    #[must_use]
    pub fn scratch_bytes(&self, d: Dimensions) -> usize {
        self.bytes(d, |role| role == Role::Scratch)
    }

    fn bytes(&self, d: Dimensions, which: impl Fn(Role) -> bool) -> usize {
        self.tensors.iter().filter(|t| which(t.role)).map(|t| t.extent.len(d) * self.dtype(t).size()).sum()
    }

    /// Joins inputs, in any order, with poisoned outputs and scratch, and lays out the launches.
    ///
    /// # Errors
    /// If an input is missing, has another type or length, or the grid is too large.
    pub fn assemble(&self, d: Dimensions, inputs: Vec<Buffer>) -> Result<Pipeline, AssemblyError> {
        let mut inputs: Vec<Option<Buffer>> = inputs.into_iter().map(Some).collect();
        let mut buffers = BufferSet::default();
        let mut placed = Vec::new();
        for tensor in self.tensors {
            let buffer = match tensor.role {
                Role::Input => self.take(&mut inputs, tensor, d)?,
                role => Some(Buffer::poisoned(tensor.name, self.dtype(tensor), role, tensor.extent.len(d))),
            };
            placed.push((tensor.name, buffer.map(|buffer| buffers.push(buffer))));
        }
        let launches = self.entries.iter().map(|e| self.launch(e, d, &placed)).collect::<Result<_, _>>()?;
        Ok(Pipeline { buffers, launches })
    }

    fn take(
        &self,
        inputs: &mut [Option<Buffer>],
        tensor: &Tensor,
        d: Dimensions,
    ) -> Result<Option<Buffer>, AssemblyError> {
        let slot = inputs.iter_mut().find(|slot| slot.as_ref().is_some_and(|b| b.name == tensor.name));
        let Some(buffer) = slot.and_then(Option::take) else {
            let missing = AssemblyError::Missing { kernel: self.name, tensor: tensor.name };
            return if tensor.optional { Ok(None) } else { Err(missing) };
        };
        let expected = (tensor.extent.len(d), self.dtype(tensor));
        let found = (buffer.len(), buffer.dtype);
        if expected == found {
            return Ok(Some(buffer));
        }
        let words = |(len, dtype): (usize, Dtype)| format!("{len} elements of {}", dtype.name());
        Err(AssemblyError::Mismatch {
            kernel: self.name,
            tensor: tensor.name,
            expected: words(expected),
            found: words(found),
        })
    }

    fn launch(
        &self,
        entry: &Entry,
        d: Dimensions,
        placed: &[(&str, Option<BufferId>)],
    ) -> Result<Launch, AssemblyError> {
        let tiles = d.width.div_ceil(entry.block as usize);
        let blocks = match entry.grid {
            Grid::RowsByTiles => tiles * d.batch,
            Grid::Tiles => tiles,
        };
        let x = i32::try_from(blocks).map_err(|_| AssemblyError::Grid { kernel: self.name, blocks })?;
        let arguments = entry.parameters.iter().map(|p| argument(*p, d, placed)).collect();
        Ok(Launch {
            entry: entry.name.to_owned(),
            grid: [x.unsigned_abs(), 1, 1],
            block: [entry.block, 1, 1],
            shared_bytes: 0,
            arguments,
        })
    }
}

fn argument(parameter: Parameter, d: Dimensions, placed: &[(&str, Option<BufferId>)]) -> Argument {
    // A size that fits in memory fits in 63 bits.
    let size = |n: usize| Argument::I64(i64::try_from(n).unwrap_or(i64::MAX));
    match parameter {
        Parameter::B => size(d.batch),
        Parameter::L => size(d.length),
        Parameter::W => size(d.width),
        Parameter::Tensor(name) => placed
            .iter()
            .find(|(tensor, _)| *tensor == name)
            .and_then(|(_, id)| *id)
            .map_or(Argument::Null, Argument::Buffer),
    }
}

#[cfg(test)]
mod tests;
