//! The virtual device: executes one entry of a PTX module on the CPU, warp by warp, and checks every access; kernels and their meaning are left to the catalogue.
//!
//! Warps of 32 lanes run in lock-step; diverged threads meet again at immediate post-dominators; blocks run one after
//! the other, warps of a block in turn from barrier to barrier. Results are the same in every run. IEEE operations are
//! exact; approximate ones are evaluated in f64 and rounded once.
//!
//! Every buffer has its own terabyte of address space, so that an overrun never lands in a neighbour and 32-bit address
//! arithmetic that wraps is seen.

#![expect(
    clippy::inline_always,
    reason = "only what is inlined into the dispatched loop is compiled for its instruction set"
)]

mod block;
mod decode;
mod error;
mod flow;
mod launch;
mod memory;
mod number;
mod op;
mod program;
mod step;
mod warp;

pub use error::{LoadError, Site, Trap, TrapKind};
pub use program::Program;

use crate::buffer::BufferSet;
use crate::launch::Launch;

/// A machine: the limits under which programs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Warp instructions that one launch may execute.
    pub instruction_budget: u64,
}

impl Default for Machine {
    /// A budget of ten billion: minutes of time, more than any case needs.
    fn default() -> Self {
        Self { instruction_budget: 10_000_000_000 }
    }
}

/// What a launch executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Blocks.
    pub blocks: u64,
    /// Instructions of warps.
    pub warp_instructions: u64,
    /// The same, each times the threads that were together at it.
    pub lane_instructions: u64,
}

impl Machine {
    /// Runs a launch to its end; outputs and scratch are then in `buffers`.
    ///
    /// # Errors
    /// The first trap, with its place; buffers then hold what was written until there.
    pub fn run(
        &self,
        program: &Program,
        launch: &Launch,
        buffers: &mut BufferSet,
    ) -> Result<Statistics, Trap> {
        let bad = |kind| Trap { site: None, kind };
        launch::check(program, launch).map_err(bad)?;
        let parameters = launch::parameters(program, launch, buffers).map_err(bad)?;
        let mut context = block::Context::new(launch, parameters, self.instruction_budget);
        let shared = program.shared_bytes + launch.shared_bytes as usize;
        let mut memory = memory::Memory::new(buffers, shared);
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || block::run_grid(program, &mut context, &mut memory),
        )?;
        Ok(context.statistics)
    }
}
