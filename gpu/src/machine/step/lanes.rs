//! Applying a scalar function to every lane of one to three rows; which function is left to the instruction groups.
#![expect(clippy::inline_always, reason = "must be compiled for the instruction set of the caller")]

use crate::machine::operation::Instruction;
use crate::machine::registers::{FULL, LANES, Registers, Value};

#[inline(always)]
pub(super) fn write<D: Value>(r: &mut Registers, row: u16, mask: u32, out: &[D::Cell; LANES]) {
    let row = &mut D::bank_mut(r)[usize::from(row)].0;
    if mask == FULL {
        *row = *out;
        return;
    }
    for n in 0..LANES {
        row[n] = if mask >> n & 1 == 1 { out[n] } else { row[n] };
    }
}

#[inline(always)]
pub(super) fn map1<A: Value, D: Value>(r: &mut Registers, i: &Instruction, mask: u32, f: impl Fn(A) -> D) {
    let a = &A::bank(r)[usize::from(i.a)].0;
    let mut out = [D::Cell::default(); LANES];
    for n in 0..LANES {
        out[n] = f(A::of(a[n])).cell();
    }
    write::<D>(r, i.d, mask, &out);
}

#[inline(always)]
pub(super) fn map2<A: Value, B: Value, D: Value>(
    r: &mut Registers,
    i: &Instruction,
    mask: u32,
    f: impl Fn(A, B) -> D,
) {
    let a = &A::bank(r)[usize::from(i.a)].0;
    let b = &B::bank(r)[usize::from(i.b)].0;
    let mut out = [D::Cell::default(); LANES];
    for n in 0..LANES {
        out[n] = f(A::of(a[n]), B::of(b[n])).cell();
    }
    write::<D>(r, i.d, mask, &out);
}

#[inline(always)]
pub(super) fn map3<A: Value, B: Value, C: Value, D: Value>(
    r: &mut Registers,
    i: &Instruction,
    mask: u32,
    f: impl Fn(A, B, C) -> D,
) {
    let a = &A::bank(r)[usize::from(i.a)].0;
    let b = &B::bank(r)[usize::from(i.b)].0;
    let c = &C::bank(r)[usize::from(i.c)].0;
    let mut out = [D::Cell::default(); LANES];
    for n in 0..LANES {
        out[n] = f(A::of(a[n]), B::of(b[n]), C::of(c[n])).cell();
    }
    write::<D>(r, i.d, mask, &out);
}

/// The lanes where `f` holds.
#[inline(always)]
pub(super) fn test2<A: Value>(r: &Registers, i: &Instruction, f: impl Fn(A, A) -> bool) -> u32 {
    let a = &A::bank(r)[usize::from(i.a)].0;
    let b = &A::bank(r)[usize::from(i.b)].0;
    let mut bits = 0;
    for n in 0..LANES {
        bits |= u32::from(f(A::of(a[n]), A::of(b[n]))) << n;
    }
    bits
}

#[inline(always)]
pub(super) fn write_predicate(r: &mut Registers, row: u16, mask: u32, bits: u32) {
    let row = &mut r.predicates[usize::from(row)];
    *row = *row & !mask | bits & mask;
}
