//! Arithmetic of f32 and f64; conversions and comparisons have their own files.
#![expect(clippy::inline_always, reason = "must be compiled for the instruction set of the caller")]

use super::lanes::{map1, map2, map3};
use crate::machine::approximate;
use crate::machine::number::{Exact, canonical, canonical_f64, max_f32, max_f64, min_f32, min_f64};
use crate::machine::operation::{ApproximateOp, FloatMode, FloatOp, Instruction, RoundedOp, Rounding};
use crate::machine::registers::Registers;

#[inline(always)]
pub(super) fn single(op: FloatOp, mode: FloatMode, r: &mut Registers, i: &Instruction, mask: u32) {
    match op {
        FloatOp::Add => two(mode, r, i, mask, |a, b| a + b),
        FloatOp::Sub => two(mode, r, i, mask, |a, b| a - b),
        FloatOp::Mul => two(mode, r, i, mask, |a, b| a * b),
        FloatOp::Fma => three(mode, r, i, mask, f32::mul_add),
        FloatOp::Div => two(mode, r, i, mask, |a, b| a / b),
        FloatOp::Rcp => one(mode, r, i, mask, |a| 1.0 / a),
        FloatOp::Sqrt => one(mode, r, i, mask, f32::sqrt),
        FloatOp::Min => two(mode, r, i, mask, min_f32),
        FloatOp::Max => two(mode, r, i, mask, max_f32),
        FloatOp::MinNan => two(mode, r, i, mask, |a, b| {
            if a.is_nan() {
                a
            } else if b.is_nan() {
                b
            } else {
                min_f32(a, b)
            }
        }),
        FloatOp::MaxNan => two(mode, r, i, mask, |a, b| {
            if a.is_nan() {
                a
            } else if b.is_nan() {
                b
            } else {
                max_f32(a, b)
            }
        }),
        // Signs are moved on the bits, so a NaN keeps its payload.
        FloatOp::Abs => map1(r, i, mask, |a: f32| mode.before(a).abs()),
        FloatOp::Neg => map1(r, i, mask, |a: f32| -mode.before(a)),
        FloatOp::CopySign => map2(r, i, mask, |a: f32, b: f32| b.copysign(a)),
    }
}

#[inline(always)]
fn one(mode: FloatMode, r: &mut Registers, i: &Instruction, mask: u32, f: impl Fn(f32) -> f32) {
    if mode.is_plain() {
        map1(r, i, mask, |a| canonical(f(a)));
    } else {
        map1(r, i, mask, |a| mode.after(f(mode.before(a))));
    }
}

#[inline(always)]
fn two(mode: FloatMode, r: &mut Registers, i: &Instruction, mask: u32, f: impl Fn(f32, f32) -> f32) {
    if mode.is_plain() {
        map2(r, i, mask, |a, b| canonical(f(a, b)));
    } else {
        map2(r, i, mask, |a, b| mode.after(f(mode.before(a), mode.before(b))));
    }
}

#[inline(always)]
fn three(mode: FloatMode, r: &mut Registers, i: &Instruction, mask: u32, f: impl Fn(f32, f32, f32) -> f32) {
    if mode.is_plain() {
        map3(r, i, mask, |a, b, c| canonical(f(a, b, c)));
    } else {
        map3(r, i, mask, |a, b, c| mode.after(f(mode.before(a), mode.before(b), mode.before(c))));
    }
}

#[inline(always)]
pub(super) fn double(op: FloatOp, r: &mut Registers, i: &Instruction, mask: u32) {
    match op {
        FloatOp::Add => map2(r, i, mask, |a: f64, b| canonical_f64(a + b, &[a, b])),
        FloatOp::Sub => map2(r, i, mask, |a: f64, b| canonical_f64(a - b, &[a, b])),
        FloatOp::Mul => map2(r, i, mask, |a: f64, b| canonical_f64(a * b, &[a, b])),
        FloatOp::Fma => map3(r, i, mask, |a: f64, b, c| canonical_f64(a.mul_add(b, c), &[a, b, c])),
        FloatOp::Div => map2(r, i, mask, |a: f64, b| canonical_f64(a / b, &[a, b])),
        FloatOp::Rcp => map1(r, i, mask, |a: f64| canonical_f64(1.0 / a, &[a])),
        FloatOp::Sqrt => map1(r, i, mask, |a: f64| canonical_f64(a.sqrt(), &[a])),
        FloatOp::Min | FloatOp::MinNan => map2(r, i, mask, min_f64),
        FloatOp::Max | FloatOp::MaxNan => map2(r, i, mask, max_f64),
        FloatOp::Abs => map1(r, i, mask, f64::abs),
        FloatOp::Neg => map1(r, i, mask, |a: f64| -a),
        FloatOp::CopySign => map2(r, i, mask, |a: f64, b: f64| b.copysign(a)),
    }
}

pub(super) fn rounded(
    op: RoundedOp,
    rounding: Rounding,
    mode: FloatMode,
    r: &mut Registers,
    i: &Instruction,
    mask: u32,
) {
    let wide = |a: f32| f64::from(mode.before(a));
    let done = |exact: Exact| mode.after(exact.round(rounding));
    // A sum that cancels exactly is -0 when rounding down, +0 otherwise; equal zeros keep their sign.
    let sum = |a: f64, b: f64| {
        let exact = Exact::sum(a, b);
        let cancels = exact.value == 0.0 && (a != 0.0 || a.is_sign_negative() != b.is_sign_negative());
        let zero = if rounding == Rounding::Down { -0.0 } else { 0.0 };
        if cancels { Exact::of(zero) } else { exact }
    };
    match op {
        RoundedOp::Add => map2(r, i, mask, |a, b| done(sum(wide(a), wide(b)))),
        RoundedOp::Sub => map2(r, i, mask, |a, b| done(sum(wide(a), -wide(b)))),
        RoundedOp::Mul => map2(r, i, mask, |a, b| done(Exact::of(wide(a) * wide(b)))),
        RoundedOp::Fma => map3(r, i, mask, |a, b, c| done(sum(wide(a) * wide(b), wide(c)))),
        RoundedOp::Div => map2(r, i, mask, |a, b| done(Exact::quotient(wide(a), wide(b)))),
        RoundedOp::Rcp => map1(r, i, mask, |a| done(Exact::quotient(1.0, wide(a)))),
        RoundedOp::Sqrt => map1(r, i, mask, |a| done(Exact::root(wide(a)))),
    }
}

#[inline(always)]
pub(super) fn approximate(op: ApproximateOp, mode: FloatMode, r: &mut Registers, i: &Instruction, mask: u32) {
    match op {
        ApproximateOp::Exp2 => one(mode, r, i, mask, approximate::exp2),
        ApproximateOp::Log2 => one(mode, r, i, mask, approximate::log2),
        ApproximateOp::Rcp => one(mode, r, i, mask, |a| 1.0 / a),
        ApproximateOp::Sqrt => one(mode, r, i, mask, f32::sqrt),
        ApproximateOp::Rsqrt => one(mode, r, i, mask, approximate::rsqrt),
        ApproximateOp::Sin => one(mode, r, i, mask, approximate::sin),
        ApproximateOp::Cos => one(mode, r, i, mask, approximate::cos),
        ApproximateOp::Tanh => one(mode, r, i, mask, approximate::tanh),
        ApproximateOp::Div => two(mode, r, i, mask, |a, b| a / b),
    }
}
