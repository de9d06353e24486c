//! One block of threads: filling its warps, running them in turn, and its barriers; the grid is left to `grid`.

use super::memory::Memory;
use super::program::{Content, Preset, Program, Special};
use super::registers::LANES;
use super::step::Counts;
use super::trap::TrapKind;
use super::warp::{State, Stop, Surroundings, Warp};
use crate::launch::Launch;

/// A fault with the warp it happened in.
pub(crate) struct Crash {
    pub(crate) warp: usize,
    pub(crate) stop: Stop,
}

pub(crate) struct Block<'a> {
    program: &'a Program,
    launch: &'a Launch,
    warps: Vec<Warp>,
    arch: pulp::Arch,
    budget: u64,
    /// Barriers completed, over all blocks: races are told apart by it.
    epoch: u32,
}

impl<'a> Block<'a> {
    /// A block of the launch's shape; `parameters` holds the bytes of each.
    pub(crate) fn new(program: &'a Program, launch: &'a Launch, parameters: &[Vec<u8>], budget: u64) -> Self {
        let threads = launch.block.iter().product::<u32>() as usize;
        let warps = (0..threads.div_ceil(LANES)).map(|index| {
            let lanes = (threads - index * LANES).min(LANES);
            let mut warp = Warp::new(program, index, u32::MAX >> (LANES - lanes));
            for preset in &program.presets {
                fill(&mut warp, preset, |lane| match preset.content {
                    Content::Constant(value) => value,
                    Content::Special(special) => special_value(special, launch, program, index, lane),
                    Content::Parameter { index, offset, width, signed } => {
                        parameter(parameters.get(index).map_or(&[], Vec::as_slice), offset, width, signed)
                    }
                });
            }
            warp.registers.predicates[0] = u32::MAX;
            warp
        });
        Self { program, launch, warps: warps.collect(), arch: pulp::Arch::new(), budget, epoch: 1 }
    }

    /// Runs the block at this place of the grid.
    pub(crate) fn run(
        &mut self,
        place: [u32; 3],
        memory: &mut Memory,
        counts: &mut Counts,
    ) -> Result<(), Crash> {
        memory.start_block();
        for warp in &mut self.warps {
            for preset in &self.program.presets {
                if let Content::Special(Special::Block(axis)) = preset.content {
                    fill(warp, preset, |_| u64::from(place.get(axis).copied().unwrap_or(0)));
                }
            }
            warp.restart();
        }
        loop {
            self.turn(memory, counts)?;
            if self.warps.iter().all(|warp| warp.state == State::Done) {
                self.epoch += 1;
                return Ok(());
            }
            self.barrier()?;
        }
    }

    /// Each warp in turn up to its next barrier.
    fn turn(&mut self, memory: &mut Memory, counts: &mut Counts) -> Result<(), Crash> {
        for (index, warp) in self.warps.iter_mut().enumerate() {
            if warp.state != State::Ready {
                continue;
            }
            let mut around = Surroundings {
                program: self.program,
                arch: self.arch,
                memory,
                counts,
                budget: self.budget,
                block_epoch: self.epoch,
            };
            warp.run(&mut around).map_err(|stop| Crash { warp: index, stop })?;
        }
        Ok(())
    }

    /// Opens the barrier at which all warps wait. After a turn none is ready, so anything else never opens.
    fn barrier(&mut self) -> Result<(), Crash> {
        let waiting = self.warps.iter().position(|warp| matches!(warp.state, State::AtBarrier(_)));
        let Some(waiting) = waiting else { return Ok(()) };
        let state = self.warps[waiting].state;
        if let Some(other) = self.warps.iter().position(|warp| warp.state != state) {
            let why = match self.warps[other].state {
                State::AtBarrier(id) => format!("warp {other} waits at barrier {id}"),
                _ => format!("warp {other} has exited"),
            };
            let why = format!("warp {waiting} waits at {}, but {why}", barrier_name(state));
            let kind = TrapKind::DivergentBarrier { why };
            // The warp has moved on to the instruction after the barrier.
            let warp = &self.warps[waiting];
            let stop = Stop { pc: warp.pc().saturating_sub(1), lane: warp.first_lane(), kind };
            return Err(Crash { warp: waiting, stop });
        }
        self.warps.iter_mut().for_each(|warp| warp.state = State::Ready);
        self.epoch += 1;
        Ok(())
    }

    /// `%tid` of a linear thread index.
    pub(crate) fn thread(&self, linear: usize) -> [u32; 3] {
        coordinates(linear, self.launch.block)
    }
}

fn barrier_name(state: State) -> String {
    if let State::AtBarrier(id) = state { format!("barrier {id}") } else { "no barrier".to_owned() }
}

fn fill(warp: &mut Warp, preset: &Preset, value: impl Fn(usize) -> u64) {
    for lane in 0..LANES {
        warp.registers.set_lane(preset.bank, preset.row, lane, value(lane));
    }
}

fn coordinates(linear: usize, [x, y, _]: [u32; 3]) -> [u32; 3] {
    let (x, y) = (x as usize, y as usize);
    [linear % x, linear / x % y, linear / (x * y)].map(|c| u32::try_from(c).unwrap_or(0))
}

fn parameter(bytes: &[u8], offset: usize, width: usize, signed: bool) -> u64 {
    let part = bytes.get(offset..offset + width).unwrap_or(&[]);
    let value = part.iter().rev().fold(0, |value: u64, &byte| value << 8 | u64::from(byte));
    let unused = u32::try_from(64 - 8 * width).unwrap_or(0);
    if signed { ((value << unused).cast_signed() >> unused).cast_unsigned() } else { value }
}

fn special_value(special: Special, launch: &Launch, program: &Program, warp: usize, lane: usize) -> u64 {
    let threads = launch.block.iter().product::<u32>() as usize;
    let axis = |extents: [u32; 3], axis: usize| u64::from(extents.get(axis).copied().unwrap_or(1));
    match special {
        Special::Thread(a) => axis(coordinates(warp * LANES + lane, launch.block), a),
        Special::ThreadCount(a) => axis(launch.block, a),
        Special::BlockCount(a) => axis(launch.grid, a),
        Special::Block(_) | Special::Zero => 0,
        Special::One => 1,
        Special::Lane => lane as u64,
        Special::Warp => warp as u64,
        Special::WarpCount => threads.div_ceil(LANES) as u64,
        Special::LanesEqual => 1 << lane,
        Special::LanesBelow => (1 << lane) - 1,
        Special::LanesBelowOrEqual => (2 << lane) - 1,
        Special::LanesAbove => 0xffff_ffff & !((2 << lane) - 1),
        Special::LanesAboveOrEqual => 0xffff_ffff & !((1 << lane) - 1),
        Special::DynamicShared => u64::from(launch.shared_bytes),
        Special::TotalShared => {
            u64::from(launch.shared_bytes) + program.shared.iter().map(|v| v.size as u64).sum::<u64>()
        }
    }
}
