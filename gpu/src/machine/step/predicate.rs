//! Comparisons and logic: one bit a lane.

use crate::machine::number::float;
use crate::machine::op::{Compare, Logic, Reading};
use crate::machine::warp::LANES;

#[inline(always)]
fn gather(f: impl Fn(usize) -> bool) -> u32 {
    (0..LANES).fold(0, |bits, i| bits | u32::from(f(i)) << i)
}

#[inline(always)]
fn ordered<T: PartialOrd>(compare: Compare, a: impl Fn(usize) -> T, b: impl Fn(usize) -> T) -> u32 {
    match compare {
        Compare::Eq => gather(|i| a(i) == b(i)),
        Compare::Ne => gather(|i| a(i) < b(i) || a(i) > b(i)),
        Compare::Lt => gather(|i| a(i) < b(i)),
        Compare::Le => gather(|i| a(i) <= b(i)),
        Compare::Gt => gather(|i| a(i) > b(i)),
        Compare::Ge => gather(|i| a(i) >= b(i)),
        // The negated ordered comparison is true where an operand is NaN.
        Compare::Equ => gather(|i| !(a(i) < b(i) || a(i) > b(i))),
        Compare::Neu => gather(|i| a(i) != b(i)),
        Compare::Ltu => !gather(|i| a(i) >= b(i)),
        Compare::Leu => !gather(|i| a(i) > b(i)),
        Compare::Gtu => !gather(|i| a(i) <= b(i)),
        Compare::Geu => !gather(|i| a(i) < b(i)),
        Compare::Num => gather(|i| a(i).partial_cmp(&b(i)).is_some()),
        Compare::Nan => gather(|i| a(i).partial_cmp(&b(i)).is_none()),
    }
}

#[inline(always)]
pub(super) fn compare32(compare: Compare, reading: Reading, a: &[u32; LANES], b: &[u32; LANES]) -> u32 {
    match reading {
        Reading::Unsigned => ordered(compare, |i| a[i], |i| b[i]),
        Reading::Signed => ordered(compare, |i| a[i].cast_signed(), |i| b[i].cast_signed()),
        Reading::Float => ordered(compare, |i| float(a[i]), |i| float(b[i])),
    }
}

#[inline(always)]
pub(super) fn compare64(compare: Compare, reading: Reading, a: &[u64; LANES], b: &[u64; LANES]) -> u32 {
    match reading {
        Reading::Unsigned => ordered(compare, |i| a[i], |i| b[i]),
        Reading::Signed => ordered(compare, |i| a[i].cast_signed(), |i| b[i].cast_signed()),
        Reading::Float => ordered(compare, |i| f64::from_bits(a[i]), |i| f64::from_bits(b[i])),
    }
}

#[inline(always)]
pub(super) fn logic(f: Logic, a: u32, b: u32) -> u32 {
    match f {
        Logic::And => a & b,
        Logic::Or => a | b,
        Logic::Xor => a ^ b,
        Logic::First => a,
        Logic::NotFirst => !a,
    }
}
