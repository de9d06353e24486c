//! One block after the other: warps in turn, from barrier to barrier; what an instruction does is left to `step`.

use super::Statistics;
use super::error::{Site, Trap, TrapKind};
use super::memory::Memory;
use super::program::Program;
use super::warp::{Fault, Pause, Warp};
use crate::launch::Launch;

/// What the warps of a launch share.
pub(super) struct Context<'a> {
    pub(super) launch: &'a Launch,
    pub(super) block_index: [u32; 3],
    parameters: Vec<u8>,
    budget: u64,
    pub(super) statistics: Statistics,
}

impl<'a> Context<'a> {
    pub(super) fn new(launch: &'a Launch, parameters: Vec<u8>, budget: u64) -> Self {
        Self { launch, block_index: [0; 3], parameters, budget, statistics: Statistics::default() }
    }

    pub(super) fn parameters(&self) -> &[u8] {
        &self.parameters
    }

    /// Threads of a block.
    pub(super) fn threads(&self) -> u32 {
        self.launch.block.iter().product()
    }

    /// Index of a thread from its linear one.
    pub(super) fn thread(&self, linear: u32) -> [u32; 3] {
        let [x, y, _] = self.launch.block;
        [linear % x, linear / x % y, linear / x / y]
    }

    /// Counts one warp instruction.
    #[inline(always)]
    pub(super) fn spend(&mut self, lanes: u32) -> Result<(), TrapKind> {
        self.statistics.warp_instructions += 1;
        self.statistics.lane_instructions += u64::from(lanes);
        if self.statistics.warp_instructions > self.budget {
            return Err(TrapKind::BudgetExceeded { budget: self.budget });
        }
        Ok(())
    }
}

/// Runs every block of a launch.
#[inline(always)]
pub(super) fn run_grid(program: &Program, context: &mut Context, memory: &mut Memory) -> Result<(), Trap> {
    let [gx, gy, gz] = context.launch.grid;
    for z in 0..gz {
        for y in 0..gy {
            for x in 0..gx {
                context.block_index = [x, y, z];
                run_block(program, context, memory)?;
                context.statistics.blocks += 1;
            }
        }
    }
    Ok(())
}

#[inline(always)]
fn run_block(program: &Program, context: &mut Context, memory: &mut Memory) -> Result<(), Trap> {
    memory.next_block();
    let count = context.threads().div_ceil(32);
    let mut warps: Vec<Option<Warp>> =
        (0..count).map(|w| Some(Warp::new(program, context, w * 32))).collect();
    loop {
        let mut waiting = 0;
        for slot in &mut warps {
            let Some(warp) = slot else { continue };
            match warp.run(program, context, memory) {
                Ok(Pause::Barrier) => waiting += 1,
                Ok(Pause::Ended) => *slot = None,
                Err(fault) => return Err(locate(program, context, fault.lane + warp.thread(0), fault)),
            }
        }
        if waiting == 0 {
            return Ok(());
        }
        if waiting < warps.len() {
            let kind = TrapKind::Deadlock { waiting, warps: warps.len() };
            return Err(Trap { site: None, kind });
        }
    }
}

#[cold]
fn locate(program: &Program, context: &Context, thread: u32, fault: Fault) -> Trap {
    let site = program.origins.get(fault.pc).map(|origin| {
        Box::new(Site {
            entry: program.entry.clone(),
            source: origin.source.clone(),
            ptx_line: origin.line,
            text: origin.text.clone(),
            block: context.block_index,
            thread: context.thread(thread),
        })
    });
    Trap { site, kind: fault.kind }
}
