//! One warp: registers of 32 lanes, the stack of diverged paths, and the loop that runs until a barrier or the end.

use super::block::Context;
use super::error::TrapKind;
use super::memory::Memory;
use super::op::{D, Op, P, R, Slot};
use super::program::{Preset, Program, Step};
use super::step;

/// Lanes of a warp.
pub(super) const LANES: usize = 32;

/// A path of threads that run together until they meet the others.
#[derive(Clone, Copy)]
struct Path {
    pc: usize,
    mask: u32,
    meet: usize,
}

/// Registers, predicates and paths of one warp.
pub(super) struct Warp {
    pub(super) r: Vec<[u32; LANES]>,
    pub(super) d: Vec<[u64; LANES]>,
    pub(super) p: Vec<u32>,
    /// Lanes that have written a register whose reads are not proven.
    written: Vec<(Slot, u32)>,
    paths: Vec<Path>,
    live: u32,
    first_thread: u32,
}

/// Why a warp stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    Barrier,
    Ended,
}

/// A trap before it knows its place: the instruction and the lanes it concerns.
pub(super) struct Fault {
    pub(super) pc: usize,
    pub(super) lane: u32,
    pub(super) kind: TrapKind,
}

impl Warp {
    /// A warp of the block in `context` whose first thread has this linear index.
    pub(super) fn new(program: &Program, context: &Context, first_thread: u32) -> Self {
        let threads = context.threads() - first_thread;
        let live = if threads >= 32 { u32::MAX } else { (1 << threads) - 1 };
        let mut warp = Self {
            r: vec![[0; LANES]; usize::from(program.counts.r)],
            d: vec![[0; LANES]; usize::from(program.counts.d)],
            p: vec![0; usize::from(program.counts.p)],
            written: Vec::new(),
            paths: vec![Path { pc: 0, mask: live, meet: program.steps.len() }],
            live,
            first_thread,
        };
        for &(slot, preset) in &program.presets32 {
            warp.r[usize::from(slot.0)] =
                std::array::from_fn(|lane| context.preset(preset, first_thread, lane));
        }
        for &(slot, value) in &program.presets64 {
            warp.d[usize::from(slot.0)] = [value; LANES];
        }
        warp
    }

    /// Linear index of a lane's thread in its block.
    pub(super) fn thread(&self, lane: u32) -> u32 {
        self.first_thread + lane
    }

    /// Runs until every thread has ended or waits at a barrier.
    #[inline(always)]
    pub(super) fn run(
        &mut self,
        program: &Program,
        context: &mut Context,
        memory: &mut Memory,
    ) -> Result<Pause, Fault> {
        while let Some(&Path { pc, mask, meet }) = self.paths.last() {
            if mask == 0 || pc == meet {
                self.paths.pop();
                continue;
            }
            let Some(step) = program.steps.get(pc) else {
                self.end(mask);
                continue;
            };
            let fault = |lane: u32, kind| Fault { pc, lane, kind };
            context.spend(mask.count_ones()).map_err(|kind| fault(mask.trailing_zeros(), kind))?;
            let active = mask & self.guard(step);
            if !step.check.is_empty() {
                self.check(step, active, program).map_err(|(lane, kind)| fault(lane, kind))?;
            }
            match &step.op {
                Op::Branch { target, meet } => self.branch(active, *target, *meet),
                Op::Exit => {
                    self.advance();
                    self.end(active);
                }
                Op::Barrier => {
                    self.advance();
                    if mask != self.live {
                        return Err(fault(mask.trailing_zeros(), TrapKind::DivergentBarrier));
                    }
                    return Ok(Pause::Barrier);
                }
                Op::Trap if active != 0 => return Err(fault(active.trailing_zeros(), TrapKind::Explicit)),
                op => {
                    step::execute(op, self, memory, context.parameters(), active)
                        .map_err(|(lane, kind)| fault(lane, kind))?;
                    self.advance();
                }
            }
            if !step.mark.is_empty() {
                self.mark(step, active);
            }
        }
        Ok(Pause::Ended)
    }

    #[inline(always)]
    fn guard(&self, step: &Step) -> u32 {
        match step.guard {
            None => u32::MAX,
            Some((P(p), false)) => self.p[usize::from(p)],
            Some((P(p), true)) => !self.p[usize::from(p)],
        }
    }

    #[inline(always)]
    fn advance(&mut self) {
        if let Some(path) = self.paths.last_mut() {
            path.pc += 1;
        }
    }

    /// Sends the taking lanes to the target; where not all take it, both groups run until they meet.
    #[inline(always)]
    fn branch(&mut self, taking: u32, target: usize, meet: usize) {
        let Some(path) = self.paths.last_mut() else { return };
        let (pc, mask) = (path.pc, path.mask);
        if taking == mask {
            path.pc = target;
        } else if taking == 0 {
            path.pc += 1;
        } else {
            path.pc = meet;
            self.paths.push(Path { pc: pc + 1, mask: mask & !taking, meet });
            self.paths.push(Path { pc: target, mask: taking, meet });
        }
    }

    fn end(&mut self, lanes: u32) {
        self.live &= !lanes;
        for path in &mut self.paths {
            path.mask &= !lanes;
        }
    }

    #[cold]
    fn check(&self, step: &Step, active: u32, program: &Program) -> Result<(), (u32, TrapKind)> {
        for slot in &step.check {
            let written = self.written.iter().find(|(s, _)| s == slot).map_or(0, |(_, mask)| *mask);
            let missing = active & !written;
            if missing != 0 {
                let register = program.names.get(slot).cloned().unwrap_or_else(|| "?".to_owned());
                return Err((missing.trailing_zeros(), TrapKind::UninitialisedRegister { register }));
            }
        }
        Ok(())
    }

    #[cold]
    fn mark(&mut self, step: &Step, active: u32) {
        for slot in &step.mark {
            match self.written.iter_mut().find(|(s, _)| s == slot) {
                Some((_, mask)) => *mask |= active,
                None => self.written.push((*slot, active)),
            }
        }
    }

    #[inline(always)]
    pub(super) fn r(&self, slot: R) -> [u32; LANES] {
        self.r[usize::from(slot.0)]
    }

    #[inline(always)]
    pub(super) fn d(&self, slot: D) -> [u64; LANES] {
        self.d[usize::from(slot.0)]
    }

    #[inline(always)]
    pub(super) fn p(&self, slot: P) -> u32 {
        self.p[usize::from(slot.0)]
    }

    /// Writes the active lanes of a 32-bit register.
    #[inline(always)]
    pub(super) fn set_r(&mut self, slot: R, active: u32, values: [u32; LANES]) {
        let register = &mut self.r[usize::from(slot.0)];
        if active == u32::MAX {
            *register = values;
        } else {
            for lane in 0..LANES {
                register[lane] = if active >> lane & 1 == 1 { values[lane] } else { register[lane] };
            }
        }
    }

    /// Writes the active lanes of a 64-bit register.
    #[inline(always)]
    pub(super) fn set_d(&mut self, slot: D, active: u32, values: [u64; LANES]) {
        let register = &mut self.d[usize::from(slot.0)];
        if active == u32::MAX {
            *register = values;
        } else {
            for lane in 0..LANES {
                register[lane] = if active >> lane & 1 == 1 { values[lane] } else { register[lane] };
            }
        }
    }

    #[inline(always)]
    pub(super) fn set_p(&mut self, slot: P, active: u32, values: u32) {
        let register = &mut self.p[usize::from(slot.0)];
        *register = (*register & !active) | (values & active);
    }
}

/// Value of a preset register in one lane.
impl Context<'_> {
    pub(super) fn preset(&self, preset: Preset, first_thread: u32, lane: usize) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "below 32")]
        let lane = lane as u32;
        let thread = first_thread + lane;
        match preset {
            Preset::Const(value) => value,
            Preset::Tid(axis) => self.thread(thread)[usize::from(axis)],
            Preset::Ctaid(axis) => self.block_index[usize::from(axis)],
            Preset::Ntid(axis) => self.launch.block[usize::from(axis)],
            Preset::Nctaid(axis) => self.launch.grid[usize::from(axis)],
            Preset::Lane => lane,
            Preset::Warp => first_thread / 32,
        }
    }
}
