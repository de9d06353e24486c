//! One warp: its registers, the stack of diverged paths, and everything that is not straight-line; other warps are left to `block`.

use super::collective;
use super::memory::{Accessor, Fault, Memory};
use super::operation::{Bank, Instruction, Op};
use super::program::Program;
use super::race::Stamp;
use super::registers::Registers;
use super::step::{Counts, Straight};
use super::trap::TrapKind;

/// A path through the code for some lanes, up to the point where they meet the others.
#[derive(Clone, Copy, Debug)]
struct Frame {
    pc: usize,
    mask: u32,
    reconvergence: usize,
}

/// Where lanes never meet again before they exit.
pub(crate) const NEVER: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    AtBarrier(u8),
    Done,
}

#[derive(Clone, Debug)]
pub(crate) struct Warp {
    pub(crate) registers: Registers,
    pub(crate) state: State,
    index: usize,
    /// Lanes that are threads of the block.
    threads: u32,
    stack: Vec<Frame>,
    epoch: u32,
}

/// What a warp needs from outside to run.
pub(crate) struct Surroundings<'a> {
    pub(crate) program: &'a Program,
    pub(crate) arch: pulp::Arch,
    pub(crate) memory: &'a mut Memory,
    pub(crate) counts: &'a mut Counts,
    pub(crate) budget: u64,
    pub(crate) block_epoch: u32,
}

/// A fault with the place in the code.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    pub(crate) pc: usize,
    pub(crate) lane: usize,
    pub(crate) kind: TrapKind,
}

impl Warp {
    pub(crate) fn new(program: &Program, index: usize, threads: u32) -> Self {
        let registers = Registers::new(program.rows);
        Self { registers, state: State::Ready, index, threads, stack: Vec::new(), epoch: 0 }
    }

    /// Back to the first instruction, for the next block.
    pub(crate) fn restart(&mut self) {
        self.registers.forget();
        self.stack.clear();
        self.stack.push(Frame { pc: 0, mask: self.threads, reconvergence: NEVER as usize });
        self.state = State::Ready;
        self.epoch = 0;
    }

    /// First lane that still runs, for messages.
    pub(crate) fn first_lane(&self) -> usize {
        self.stack.last().map_or(0, |frame| frame.mask.trailing_zeros() as usize)
    }

    pub(crate) fn pc(&self) -> usize {
        self.stack.last().map_or(0, |frame| frame.pc)
    }

    /// Runs to the next barrier or to the end.
    pub(crate) fn run(&mut self, around: &mut Surroundings<'_>) -> Result<(), Stop> {
        while let Some(frame) = self.stack.last().copied() {
            let straight = Straight {
                code: &around.program.code,
                tables: &around.program.tables,
                registers: &mut self.registers,
                pc: frame.pc,
                active: frame.mask,
                counts: around.counts,
            };
            let pc = around.arch.dispatch(straight);
            if around.counts.warp > around.budget {
                let kind = TrapKind::BudgetExceeded { budget: around.budget };
                return Err(Stop { pc, lane: frame.mask.trailing_zeros() as usize, kind });
            }
            self.jump(pc);
            // The decoder ends every program with `exit`.
            let Some(instruction) = around.program.code.get(pc) else { break };
            let guard =
                self.registers.predicates[usize::from(instruction.guard.row)] ^ instruction.guard.flip;
            let mask = frame.mask & guard;
            if instruction.op.counts() {
                around.counts.warp += 1;
                around.counts.lanes += u64::from(mask.count_ones());
            }
            self.special(instruction, Frame { pc, ..frame }, mask, around)
                .map_err(|Fault { lane, kind }| Stop { pc, lane, kind })?;
            if self.state != State::Ready {
                return Ok(());
            }
        }
        self.state = State::Done;
        Ok(())
    }

    fn jump(&mut self, pc: usize) {
        if let Some(frame) = self.stack.last_mut() {
            frame.pc = pc;
        }
    }

    fn special(
        &mut self,
        i: &Instruction,
        frame: Frame,
        mask: u32,
        around: &mut Surroundings<'_>,
    ) -> Result<(), Fault> {
        let next = frame.pc + 1;
        match i.op {
            Op::Branch { target, reconvergence } => {
                self.branch(frame, mask, target as usize, reconvergence as usize);
                return Ok(());
            }
            Op::Reconverge if frame.reconvergence == frame.pc => {
                self.stack.pop();
                return Ok(());
            }
            Op::Memory(index) => self.memory(index, mask, around)?,
            Op::Check(bank) => self.check(bank, i.a, mask, around.program)?,
            Op::Assign(bank) => *self.registers.assigned(bank, i.d) |= mask,
            Op::Trap if mask != 0 => return Err(fault(mask, TrapKind::Explicit)),
            Op::Barrier(id) if mask != 0 => self.barrier(id, frame.mask, mask)?,
            Op::WarpBarrier => self.epoch += 1,
            Op::Collective(op) => collective::run(op, &mut self.registers, i, mask)?,
            Op::Exit => {
                self.jump(next);
                self.exit(mask);
                return Ok(());
            }
            _ => {}
        }
        self.jump(next);
        Ok(())
    }

    fn branch(&mut self, frame: Frame, taken: u32, target: usize, reconvergence: usize) {
        let left = frame.mask & !taken;
        if left == 0 {
            return self.jump(target);
        }
        if taken == 0 {
            return self.jump(frame.pc + 1);
        }
        // The frame below already waits at the meeting point if this one was to end there too; a loop that lanes
        // leave one by one must not grow the stack.
        if reconvergence == frame.reconvergence {
            self.stack.pop();
        } else {
            self.jump(reconvergence);
        }
        for (pc, mask) in [(frame.pc + 1, left), (target, taken)] {
            if pc != reconvergence {
                self.stack.push(Frame { pc, mask, reconvergence });
            }
        }
    }

    fn exit(&mut self, mask: u32) {
        for frame in &mut self.stack {
            frame.mask &= !mask;
        }
        self.stack.retain(|frame| frame.mask != 0);
    }

    fn memory(&mut self, index: u32, mask: u32, around: &mut Surroundings<'_>) -> Result<(), Fault> {
        let Some(access) = around.program.tables.accesses.get(index as usize) else { return Ok(()) };
        let thread = u32::try_from(self.index * 32).unwrap_or(0);
        let stamp = Stamp { thread, block_epoch: around.block_epoch, warp_epoch: self.epoch };
        let who = Accessor { warp: self.index, stamp, locals: around.program.local.len() };
        around.memory.run(access, &mut self.registers, mask, who)
    }

    fn check(&mut self, bank: Bank, row: u16, mask: u32, program: &Program) -> Result<(), Fault> {
        let missing = mask & !*self.registers.assigned(bank, row);
        if missing == 0 {
            return Ok(());
        }
        Err(fault(missing, TrapKind::UninitialisedRegister { register: program.name_of(bank, row) }))
    }

    fn barrier(&mut self, id: u8, active: u32, mask: u32) -> Result<(), Fault> {
        let missing = self.threads & !mask;
        if missing != 0 {
            let exited = missing & !self.stack.iter().fold(0, |all, frame| all | frame.mask);
            let lane = missing.trailing_zeros();
            let why = if exited >> lane & 1 == 1 { "has exited" } else { "took another path" };
            let (lanes, of) = (mask.count_ones(), self.threads.count_ones());
            let why =
                format!("{lanes} of {of} threads of the warp reach barrier {id}; its lane {lane} {why}");
            return Err(fault(active, TrapKind::DivergentBarrier { why }));
        }
        self.state = State::AtBarrier(id);
        Ok(())
    }
}

fn fault(mask: u32, kind: TrapKind) -> Fault {
    Fault { lane: mask.trailing_zeros() as usize, kind }
}
