//! Operations of one 32-bit operand.

use crate::machine::number::{bits, float, from_f16, ideal, round, to_bf16, to_f16, to_s32, to_u32};
use crate::machine::op::Un32;
use crate::machine::warp::LANES;

#[inline(always)]
fn map(a: &[u32; LANES], f: impl Fn(u32) -> u32) -> [u32; LANES] {
    std::array::from_fn(|i| f(a[i]))
}

#[inline(always)]
pub(super) fn unary(f: Un32, a: &[u32; LANES]) -> [u32; LANES] {
    const SIGN: u32 = 0x8000_0000;
    match f {
        Un32::Mov => *a,
        Un32::Not => map(a, |x| !x),
        Un32::Neg => map(a, u32::wrapping_neg),
        Un32::Abs => map(a, |x| x.cast_signed().wrapping_abs().cast_unsigned()),
        Un32::NegF => map(a, |x| x ^ SIGN),
        Un32::AbsF => map(a, |x| x & !SIGN),
        Un32::RcpF => map(a, |x| bits(1.0 / float(x))),
        Un32::SqrtF => map(a, |x| bits(float(x).sqrt())),
        Un32::Popc => map(a, u32::count_ones),
        Un32::Clz => map(a, u32::leading_zeros),
        Un32::Brev => map(a, u32::reverse_bits),
        Un32::F32ToS32(r) => map(a, |x| to_s32(float(x), r)),
        Un32::F32ToU32(r) => map(a, |x| to_u32(float(x), r)),
        Un32::F32ToF32(r) => map(a, |x| bits(round(float(x), r))),
        Un32::S32ToF32 => map(a, |x| (x.cast_signed() as f32).to_bits()),
        Un32::U32ToF32 => map(a, |x| (x as f32).to_bits()),
        Un32::F32ToBf16 => map(a, |x| to_bf16(float(x))),
        Un32::Bf16ToF32 => map(a, |x| bits(float(x << 16))),
        Un32::F32ToF16 => map(a, |x| to_f16(float(x))),
        Un32::F16ToF32 => map(a, from_f16),
        Un32::Low16 => map(a, |x| x & 0xffff),
        Un32::Low8 => map(a, |x| x & 0xff),
        Un32::SignExtend16 => map(a, |x| ((x << 16).cast_signed() >> 16).cast_unsigned()),
        Un32::SignExtend8 => map(a, |x| ((x << 24).cast_signed() >> 24).cast_unsigned()),
        approximate => self::approximate(approximate, a),
    }
}

/// Approximate functions: rare, so they stay out of the loop that is compiled for every instruction set.
#[inline(never)]
fn approximate(f: Un32, a: &[u32; LANES]) -> [u32; LANES] {
    match f {
        Un32::RsqrtApprox => map(a, |x| ideal(x, |v| 1.0 / v.sqrt())),
        Un32::Ex2Approx => map(a, |x| ideal(x, f64::exp2)),
        Un32::Lg2Approx => map(a, |x| ideal(x, f64::log2)),
        Un32::SinApprox => map(a, |x| ideal(x, f64::sin)),
        Un32::CosApprox => map(a, |x| ideal(x, f64::cos)),
        Un32::TanhApprox => map(a, |x| ideal(x, f64::tanh)),
        _ => *a,
    }
}
