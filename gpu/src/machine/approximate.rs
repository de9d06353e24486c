//! The approximate functions, evaluated in f64 and rounded once: what an ideal GPU would return; its error bounds are left to the judge.
//!
//! Exponential and logarithm are arithmetic alone, so that they vectorise and give the same bits on every host.
#![expect(clippy::cast_possible_truncation, reason = "the one rounding, from f64 to f32")]

use std::f64::consts::LN_2;

/// ln(2)^k / k! for k = 0 to 13: at |t| <= 1/2 the first term left out is below 2^-56.
const EXP2: [f64; 14] = {
    let mut terms = [1.0; 14];
    let mut k = 1;
    while k < terms.len() {
        terms[k] = terms[k - 1] * LN_2 / k as f64;
        k += 1;
    }
    terms
};

/// 2^x.
#[inline]
pub(crate) fn exp2(x: f32) -> f32 {
    const MAGIC: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52: adding it rounds to an integer
    let x = f64::from(x);
    let clamped = if x > 200.0 { 200.0 } else { x };
    let clamped = if clamped < -200.0 { -200.0 } else { clamped };
    let shifted = clamped + MAGIC;
    let t = clamped - (shifted - MAGIC);
    let series = EXP2.iter().rev().fold(0.0_f64, |sum, &term| sum.mul_add(t, term));
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    (series * scale) as f32
}

/// log2(x): exact at powers of two, because the series is odd in (m - 1) / (m + 1).
#[inline]
pub(crate) fn log2(x: f32) -> f32 {
    if x.is_nan() || x < 0.0 {
        return f32::NAN;
    }
    if x == 0.0 || x.is_infinite() {
        return if x == 0.0 { f32::NEG_INFINITY } else { x };
    }
    let bits = f64::from(x).to_bits();
    let near_root = bits.wrapping_add(0x3ff0_0000_0000_0000 - 0x3fe6_a09e_667f_3bcd);
    let exponent = f64::from((near_root >> 52) as u32) - 1023.0;
    let m = f64::from_bits(bits.wrapping_sub((near_root >> 52).wrapping_sub(1023) << 52));
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let series = (0..13).rev().fold(0.0_f64, |sum, k| sum.mul_add(square, 1.0 / f64::from(2 * k + 1)));
    (2.0 / LN_2 * s).mul_add(series, exponent) as f32
}

/// 1 / sqrt(x).
#[inline]
pub(crate) fn rsqrt(x: f32) -> f32 {
    (1.0 / f64::from(x).sqrt()) as f32
}

/// sin(x) of the whole argument, by the host's f64 function.
pub(crate) fn sin(x: f32) -> f32 {
    f64::from(x).sin() as f32
}

/// cos(x) of the whole argument, by the host's f64 function.
pub(crate) fn cos(x: f32) -> f32 {
    f64::from(x).cos() as f32
}

/// tanh(x), by the host's f64 function.
pub(crate) fn tanh(x: f32) -> f32 {
    f64::from(x).tanh() as f32
}

#[cfg(test)]
mod tests {
    use super::{exp2, log2};

    #[test]
    fn powers_of_two_are_exact() {
        for n in -149..128_i32 {
            let power = 2f64.powi(n) as f32;
            assert_eq!(exp2(n as f32).to_bits(), power.to_bits(), "2^{n}");
            assert_eq!(log2(power), n as f32, "log2 2^{n}");
        }
        assert_eq!(exp2(128.0), f32::INFINITY);
        assert_eq!(exp2(f32::NEG_INFINITY), 0.0);
        assert!(exp2(f32::NAN).is_nan());
        assert_eq!(log2(0.0), f32::NEG_INFINITY);
        assert!(log2(-1.0).is_nan());
    }

    #[test]
    fn both_round_once() {
        for k in 0..20_000_u32 {
            let x = f32::from_bits(0x3f80_0000 + k * 3571);
            assert_eq!(log2(x), f64::from(x).log2() as f32, "log2 {x}");
            let y = (k as f32 - 10_000.0) * 0.0137;
            assert_eq!(exp2(y), f64::from(y).exp2() as f32, "exp2 {y}");
        }
    }
}
