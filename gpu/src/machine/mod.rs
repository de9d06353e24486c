//! The PTX machine: executes a kernel on the CPU as a GPU would, and stops at the first thing a GPU would let pass; reading PTX text is left to `ptx`.
//!
//! Warps of 32 lanes run in lock-step and meet again at immediate post-dominators; blocks run one after the other.
//! The same launch gives the same bits on every run.

mod access;
mod approximate;
mod assignment;
mod block;
mod collective;
mod decode;
mod graph;
mod grid;
mod memory;
mod number;
mod operation;
mod program;
mod race;
mod registers;
mod space;
mod step;
mod trap;
mod warp;

pub use program::{LoadError, Program};
pub use trap::{Direction, LaunchError, Place, Site, SourceLocation, Trap, TrapKind};

use crate::buffer::BufferSet;
use crate::launch::Launch;

/// The settings under which programs run. Holds no state: one machine may run many programs at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Most warp instructions of a launch; one more is a trap.
    pub instruction_budget: u64,
    /// Checks beyond those that are always made (bounds, alignment, read-only buffers, registers, barriers).
    pub checks: Checks,
}

/// Checks that can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Reads of memory that nothing has written.
    pub uninitialised: bool,
    /// Data races in shared memory.
    pub races: bool,
}

impl Default for Machine {
    /// All checks, and a budget of 2^32 warp instructions: minutes of running.
    fn default() -> Self {
        Self { instruction_budget: 1 << 32, checks: Checks { uninitialised: true, races: true } }
    }
}

/// What a launch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Blocks run.
    pub blocks: u64,
    /// PTX instructions executed, counted once a warp.
    pub warp_instructions: u64,
    /// PTX instructions executed, counted once an active lane.
    pub lane_instructions: u64,
}

impl Machine {
    /// Runs one launch to its end. After a trap the buffers hold what was written until then.
    ///
    /// # Errors
    /// If the launch does not fit the program, or anything is found while it runs.
    pub fn run(
        &self,
        program: &Program,
        launch: &Launch,
        buffers: &mut BufferSet,
    ) -> Result<Statistics, Trap> {
        grid::run(self, program, launch, buffers)
    }
}
