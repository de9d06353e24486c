//! Comparisons that write predicates, and logic on predicates; selection by them is left to `data`.
#![expect(clippy::inline_always, reason = "must be compiled for the instruction set of the caller")]

use super::lanes::{test2, write_predicate};
use crate::machine::number::flush;
use crate::machine::operation::{Combine, CompareType, Comparison, Instruction, LogicOp};
use crate::machine::registers::{Registers, Value};

#[inline(always)]
pub(super) fn step(
    (ty, comparison, combine): (CompareType, Comparison, Combine),
    r: &mut Registers,
    i: &Instruction,
    mask: u32,
) {
    let bits = match ty {
        CompareType::U16 => test::<u16, u16>(comparison, r, i, |v| v),
        CompareType::S16 => test::<i16, i16>(comparison, r, i, |v| v),
        CompareType::U32 => test::<u32, u32>(comparison, r, i, |v| v),
        CompareType::S32 => test::<i32, i32>(comparison, r, i, |v| v),
        CompareType::U64 => test::<u64, u64>(comparison, r, i, |v| v),
        CompareType::S64 => test::<i64, i64>(comparison, r, i, |v| v),
        CompareType::F32 => test::<f32, f32>(comparison, r, i, |v| v),
        CompareType::F32Flushed => test::<f32, f32>(comparison, r, i, flush),
        CompareType::F64 => test::<f64, f64>(comparison, r, i, |v| v),
    };
    let other = r.predicates[usize::from(i.c)];
    let bits = match combine {
        Combine::Alone => bits,
        Combine::And { flip } => bits & (other ^ flip),
        Combine::Or { flip } => bits | (other ^ flip),
        Combine::Xor { flip } => bits ^ other ^ flip,
    };
    write_predicate(r, i.d, mask, bits);
}

#[inline(always)]
#[expect(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "the unordered comparisons are the negated ordered ones"
)]
#[expect(clippy::double_comparisons, reason = "with a NaN, unequal is less than less or greater")]
#[expect(clippy::eq_op, reason = "a NaN is what does not equal itself")]
fn test<V: Value, T: PartialOrd + Copy>(
    comparison: Comparison,
    r: &Registers,
    i: &Instruction,
    view: impl Fn(V) -> T,
) -> u32 {
    let of = |f: fn(T, T) -> bool| test2::<V>(r, i, |a, b| f(view(a), view(b)));
    match comparison {
        Comparison::Eq => of(|a, b| a == b),
        Comparison::Ne => of(|a, b| a < b || a > b),
        Comparison::Lt => of(|a, b| a < b),
        Comparison::Le => of(|a, b| a <= b),
        Comparison::Gt => of(|a, b| a > b),
        Comparison::Ge => of(|a, b| a >= b),
        Comparison::Equ => of(|a, b| !(a < b || a > b)),
        Comparison::Neu => of(|a, b| a != b),
        Comparison::Ltu => of(|a, b| !(a >= b)),
        Comparison::Leu => of(|a, b| !(a > b)),
        Comparison::Gtu => of(|a, b| !(a <= b)),
        Comparison::Geu => of(|a, b| !(a < b)),
        Comparison::Num => of(|a, b| a == a && b == b),
        Comparison::Nan => of(|a, b| a != a || b != b),
    }
}

#[inline(always)]
pub(super) fn logic(op: LogicOp, r: &mut Registers, i: &Instruction, mask: u32) {
    let (a, b) = (r.predicates[usize::from(i.a)], r.predicates[usize::from(i.b)]);
    let bits = match op {
        LogicOp::And => a & b,
        LogicOp::Or => a | b,
        LogicOp::Xor => a ^ b,
        LogicOp::Not => !a,
    };
    write_predicate(r, i.d, mask, bits);
}
