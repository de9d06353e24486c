//! Operations of two and three 32-bit operands, integer and float.

use crate::machine::number::{bits, float, lookup, max, min, permute};
use crate::machine::op::{Bin32, Tern32};
use crate::machine::warp::LANES;

#[inline(always)]
fn map(a: &[u32; LANES], b: &[u32; LANES], f: impl Fn(u32, u32) -> u32) -> [u32; LANES] {
    std::array::from_fn(|i| f(a[i], b[i]))
}

#[inline(always)]
fn signed(a: &[u32; LANES], b: &[u32; LANES], f: impl Fn(i32, i32) -> i32) -> [u32; LANES] {
    map(a, b, |x, y| f(x.cast_signed(), y.cast_signed()).cast_unsigned())
}

#[inline(always)]
fn floats(a: &[u32; LANES], b: &[u32; LANES], f: impl Fn(f32, f32) -> f32) -> [u32; LANES] {
    map(a, b, |x, y| bits(f(float(x), float(y))))
}

#[inline(always)]
pub(super) fn binary(f: Bin32, a: &[u32; LANES], b: &[u32; LANES]) -> [u32; LANES] {
    match f {
        Bin32::Add => map(a, b, u32::wrapping_add),
        Bin32::Sub => map(a, b, u32::wrapping_sub),
        Bin32::MulLo => map(a, b, u32::wrapping_mul),
        Bin32::MulHiU => map(a, b, |x, y| ((u64::from(x) * u64::from(y)) >> 32) as u32),
        Bin32::MulHiS => signed(a, b, |x, y| ((i64::from(x) * i64::from(y)) >> 32) as i32),
        Bin32::And => map(a, b, |x, y| x & y),
        Bin32::Or => map(a, b, |x, y| x | y),
        Bin32::Xor => map(a, b, |x, y| x ^ y),
        // Shift amounts beyond the width are clamped, not wrapped.
        Bin32::Shl => map(a, b, |x, y| if y > 31 { 0 } else { x << y }),
        Bin32::ShrU => map(a, b, |x, y| if y > 31 { 0 } else { x >> y }),
        Bin32::ShrS => map(a, b, |x, y| (x.cast_signed() >> y.min(31)).cast_unsigned()),
        Bin32::MinU => map(a, b, u32::min),
        Bin32::MaxU => map(a, b, u32::max),
        Bin32::MinS => signed(a, b, i32::min),
        Bin32::MaxS => signed(a, b, i32::max),
        // PTX leaves division by zero open; the hardware gives all ones.
        Bin32::DivU => map(a, b, |x, y| x.checked_div(y).unwrap_or(u32::MAX)),
        Bin32::DivS => signed(a, b, |x, y| if y == 0 { -1 } else { x.wrapping_div(y) }),
        Bin32::RemU => map(a, b, |x, y| x.checked_rem(y).unwrap_or(x)),
        Bin32::RemS => signed(a, b, |x, y| if y == 0 { x } else { x.wrapping_rem(y) }),
        Bin32::AddF => floats(a, b, |x, y| x + y),
        Bin32::SubF => floats(a, b, |x, y| x - y),
        Bin32::MulF => floats(a, b, |x, y| x * y),
        Bin32::DivF => floats(a, b, |x, y| x / y),
        Bin32::MinF => map(a, b, |x, y| min(float(x), float(y))),
        Bin32::MaxF => map(a, b, |x, y| max(float(x), float(y))),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
#[inline(always)]
pub(super) fn ternary(f: Tern32, a: &[u32; LANES], b: &[u32; LANES], c: &[u32; LANES]) -> [u32; LANES] {
    match f {
        Tern32::Fma => std::array::from_fn(|i| bits(float(a[i]).mul_add(float(b[i]), float(c[i])))),
        Tern32::MadLo => std::array::from_fn(|i| a[i].wrapping_mul(b[i]).wrapping_add(c[i])),
        Tern32::BfeU => std::array::from_fn(|i| extract(a[i], b[i] & 0xff, c[i] & 0xff)),
        Tern32::ShfL => std::array::from_fn(|i| (pair(a[i], b[i]) << (c[i] & 31) >> 32) as u32),
        Tern32::ShfR => std::array::from_fn(|i| (pair(a[i], b[i]) >> (c[i] & 31)) as u32),
        Tern32::Prmt => std::array::from_fn(|i| permute(a[i], b[i], c[i])),
        Tern32::Lop3(table) => std::array::from_fn(|i| lookup(table, a[i], b[i], c[i])),
    }
}

#[inline(always)]
fn pair(low: u32, high: u32) -> u64 {
    (u64::from(high) << 32) | u64::from(low)
}

#[inline(always)]
fn extract(value: u32, position: u32, length: u32) -> u32 {
    if position > 31 || length == 0 {
        return 0;
    }
    let shifted = value >> position;
    if length > 31 { shifted } else { shifted & ((1 << length) - 1) }
}
