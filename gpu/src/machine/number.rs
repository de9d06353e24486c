//! Numbers as the hardware computes them: canonical NaN, min and max that prefer numbers, conversions that saturate, approximate functions as their ideal.

use half::{bf16, f16};

use super::op::Rounding;

/// The NaN that arithmetic gives.
const NAN: u32 = 0x7fff_ffff;

#[inline(always)]
pub(super) fn float(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// Result of an f32 operation: every NaN becomes the canonical one.
#[inline(always)]
pub(super) fn bits(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

/// Result of an f64 operation: PTX leaves NaN payloads open, so one is chosen.
#[inline(always)]
pub(super) fn bits64(value: f64) -> u64 {
    if value.is_nan() { 0x7fff_ffff_ffff_ffff } else { value.to_bits() }
}

/// A number beats a NaN, and -0 is less than +0.
#[inline(always)]
pub(super) fn min(a: f32, b: f32) -> u32 {
    if a.is_nan() {
        bits(b)
    } else if b.is_nan() || a < b || (a == b && a.is_sign_negative()) {
        a.to_bits()
    } else {
        b.to_bits()
    }
}

#[inline(always)]
pub(super) fn max(a: f32, b: f32) -> u32 {
    if a.is_nan() {
        bits(b)
    } else if b.is_nan() || a > b || (a == b && a.is_sign_positive()) {
        a.to_bits()
    } else {
        b.to_bits()
    }
}

#[inline(always)]
pub(super) fn round(value: f32, rounding: Rounding) -> f32 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

pub(super) fn round64(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

/// Rust's conversions saturate and send NaN to 0, as PTX's do.
#[expect(clippy::cast_possible_truncation, reason = "saturation is meant")]
#[inline(always)]
pub(super) fn to_s32(value: f32, rounding: Rounding) -> u32 {
    (round(value, rounding) as i32).cast_unsigned()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturation is meant")]
#[inline(always)]
pub(super) fn to_u32(value: f32, rounding: Rounding) -> u32 {
    round(value, rounding) as u32
}

pub(super) fn to_bf16(value: f32) -> u32 {
    if value.is_nan() { 0x7fff } else { u32::from(bf16::from_f32(value).to_bits()) }
}

pub(super) fn to_f16(value: f32) -> u32 {
    if value.is_nan() { 0x7fff } else { u32::from(f16::from_f32(value).to_bits()) }
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
pub(super) fn from_f16(value: u32) -> u32 {
    bits(f16::from_bits(value as u16).to_f32())
}

/// An approximate function as its ideal: evaluated in f64 and rounded once.
pub(super) fn ideal(value: u32, f: impl Fn(f64) -> f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
    bits(f(f64::from(float(value))) as f32)
}

/// `prmt` in its default mode: each selector picks a byte of `b:a`, or its sign spread over a byte.
pub(super) fn permute(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = (u64::from(b) << 32) | u64::from(a);
    (0..4).fold(0, |result, i| {
        let pick = (selector >> (4 * i)) & 0xf;
        let byte = ((bytes >> (8 * (pick & 7))) & 0xff) as u32;
        let byte = if pick & 8 == 0 {
            byte
        } else if byte & 0x80 == 0 {
            0
        } else {
            0xff
        };
        result | (byte << (8 * i))
    })
}

/// `lop3`: the table's bit at the position that the three bits spell.
#[inline(always)]
pub(super) fn lookup(table: u8, a: u32, b: u32, c: u32) -> u32 {
    (0..8u32).filter(|i| table >> i & 1 == 1).fold(0, |result, i| {
        let pick = |bits: u32, on: bool| if on { bits } else { !bits };
        result | (pick(a, i & 4 != 0) & pick(b, i & 2 != 0) & pick(c, i & 1 != 0))
    })
}
