//! Straight-line execution: the loop over instructions that neither trap nor branch, compiled for the host's best instruction set; everything else is left to `warp`.
#![expect(
    clippy::inline_always,
    reason = "the loop and all it calls must be compiled for one instruction set"
)]

mod bits;
mod compare;
pub(crate) mod convert;
pub(crate) mod data;
mod float;
mod integer;
mod lanes;

use super::operation::{Instruction, Op};
use super::program::Tables;
use super::registers::Registers;

/// What a warp has executed so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) warp: u64,
    pub(crate) lanes: u64,
}

/// A run from `pc` to the first instruction that is not straight-line, which is not executed.
pub(crate) struct Straight<'a> {
    pub(crate) code: &'a [Instruction],
    pub(crate) tables: &'a Tables,
    pub(crate) registers: &'a mut Registers,
    pub(crate) pc: usize,
    pub(crate) active: u32,
    pub(crate) counts: &'a mut Counts,
}

impl pulp::NullaryFnOnce for Straight<'_> {
    type Output = usize;

    #[inline(always)]
    fn call(self) -> usize {
        let Self { code, tables, registers, mut pc, active, counts } = self;
        let (start, mut lanes) = (pc, 0);
        while let Some(instruction) = code.get(pc) {
            let mask = registers.predicates[usize::from(instruction.guard.row)] ^ instruction.guard.flip;
            let mask = mask & active;
            if !step(tables, registers, instruction, mask) {
                break;
            }
            lanes += u64::from(mask.count_ones());
            pc += 1;
        }
        counts.warp += (pc - start) as u64;
        counts.lanes += lanes;
        pc
    }
}

/// Whether the instruction was straight-line, and is done.
#[inline(always)]
fn step(tables: &Tables, r: &mut Registers, i: &Instruction, mask: u32) -> bool {
    match i.op {
        Op::F32(op, mode) => float::single(op, mode, r, i, mask),
        Op::F64(op) => float::double(op, r, i, mask),
        Op::Rounded(op, rounding, mode) => float::rounded(op, rounding, mode, r, i, mask),
        Op::Approximate(op, mode) => float::approximate(op, mode, r, i, mask),
        Op::I16(op) => integer::step16(op, r, i, mask),
        Op::I32(op) => integer::step32(op, r, i, mask),
        Op::I64(op) => integer::step64(op, r, i, mask),
        Op::Widening(op) => integer::widening(op, r, i, mask),
        Op::Bits(op) => bits::step(op, r, i, mask),
        Op::Compare(ty, comparison, combine) => compare::step((ty, comparison, combine), r, i, mask),
        Op::Logic(op) => compare::logic(op, r, i, mask),
        Op::Convert(op) => convert::step(op, tables, r, i, mask),
        Op::Move(bank) => data::copy(bank, r, i, mask),
        Op::Select(bank) => data::select(bank, r, i, mask),
        Op::Repack(index) => data::repack(index, tables, r, mask),
        _ => return false,
    }
    true
}
