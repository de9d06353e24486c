//! Moving registers about: copies, selection, packing; memory is left to `warp`.
#![expect(clippy::inline_always, reason = "must be compiled for the instruction set of the caller")]

use super::lanes::{map1, write, write_predicate};
use crate::machine::operation::{Bank, Instruction};
use crate::machine::program::Tables;
use crate::machine::registers::{LANES, Registers, Value};

#[inline(always)]
pub(super) fn copy(bank: Bank, r: &mut Registers, i: &Instruction, mask: u32) {
    match bank {
        Bank::Narrow => map1(r, i, mask, |a: u32| a),
        Bank::Wide => map1(r, i, mask, |a: u64| a),
        Bank::Predicate => {
            let bits = r.predicates[usize::from(i.a)];
            write_predicate(r, i.d, mask, bits);
        }
    }
}

#[inline(always)]
pub(super) fn select(bank: Bank, r: &mut Registers, i: &Instruction, mask: u32) {
    match bank {
        Bank::Wide => choose::<u64>(r, i, mask),
        _ => choose::<u32>(r, i, mask),
    }
}

#[inline(always)]
fn choose<V: Value>(r: &mut Registers, i: &Instruction, mask: u32) {
    let chosen = r.predicates[usize::from(i.c)];
    let a = &V::bank(r)[usize::from(i.a)].0;
    let b = &V::bank(r)[usize::from(i.b)].0;
    let mut out = [V::Cell::default(); LANES];
    for n in 0..LANES {
        out[n] = if chosen >> n & 1 == 1 { a[n] } else { b[n] };
    }
    write::<V>(r, i.d, mask, &out);
}

/// One register cut into or made of several, low part first.
#[derive(Clone, Debug)]
pub(crate) struct Repack {
    /// Sources with their banks, each `part_bits` wide, or one whole.
    pub(crate) sources: Vec<(Bank, u16)>,
    /// Destinations; `None` where nobody wants the part.
    pub(crate) destinations: Vec<Option<(Bank, u16)>>,
    /// Width of the parts.
    pub(crate) part_bits: u32,
}

pub(super) fn repack(index: u16, tables: &Tables, r: &mut Registers, mask: u32) {
    let Some(repack) = tables.repacks.get(usize::from(index)) else { return };
    let part = u64::MAX.checked_shr(64 - repack.part_bits).unwrap_or(0);
    let whole = repack.destinations.len() == 1;
    for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
        let value = repack.sources.iter().rev().fold(0, |value: u64, &(bank, row)| {
            value.checked_shl(repack.part_bits).unwrap_or(0) | r.lane(bank, row, lane)
        });
        for (k, destination) in (0_u32..).zip(&repack.destinations) {
            let Some((bank, row)) = *destination else { continue };
            let piece = value.checked_shr(k * repack.part_bits).unwrap_or(0);
            r.set_lane(bank, row, lane, if whole { piece } else { piece & part });
        }
    }
}
