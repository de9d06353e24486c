//! Arithmetic with a significand of 237 bits, and the way back to f64; the functions are those of the crate `f256`.

use std::ops::{Add, Div, Mul, Neg, Sub};

use f256::f256;
use plumbline_reference::number::Number;

/// A number of IEEE octuple precision: 71 decimal digits, and exponents up to 2^262143.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Octuple(pub(crate) f256);

impl Octuple {
    /// `self - value`, rounded once to f64: the error of `value`.
    pub(crate) fn minus(self, value: f64) -> f64 {
        (self - Self::from_f64(value)).to_f64()
    }

    /// The nearest f64, ties to even.
    pub(crate) fn to_f64(self) -> f64 {
        let sign = if self.0.is_sign_negative() { -1.0 } else { 1.0 };
        if self.0.is_nan() {
            return f64::NAN;
        }
        if self.0.is_infinite() || self.0.eq_zero() {
            return sign * if self.0.eq_zero() { 0.0 } else { f64::INFINITY };
        }
        let (_, exponent, (high, low)) = self.0.as_sign_exp_signif();
        sign * rounded(high, low, exponent)
    }
}

/// The f64 nearest to `(2^128 high + low) 2^exponent`, ties to even.
#[expect(clippy::cast_possible_wrap, reason = "a count of at most 256 bits")]
#[expect(clippy::cast_possible_truncation, reason = "at most 54 bits are kept")]
fn rounded(high: u128, low: u128, exponent: i32) -> f64 {
    let bits = if high == 0 { 128 - low.leading_zeros() } else { 256 - high.leading_zeros() } as i32;
    // The place of the last bit that an f64 of this size has; subnormal numbers all have the same.
    let place = (exponent + bits - 53).max(-1074);
    let drop = place - exponent;
    if drop <= 0 {
        return low as f64 * power_of_two(exponent);
    }
    if drop > bits {
        return 0.0;
    }
    let [kept, half, rest] = split(high, low, drop.cast_unsigned());
    let up = half == 1 && (rest != 0 || kept % 2 == 1);
    (kept as u64 + u64::from(up)) as f64 * power_of_two(place)
}

/// The bits above the last `drop` ones, the first of those, and whether any other of them is set; at most 64 bits stay.
fn split(high: u128, low: u128, drop: u32) -> [u128; 3] {
    let shifted = |by: u32| match by {
        0 => low,
        1..128 => (high << (128 - by)) | (low >> by),
        _ => high.checked_shr(by - 128).unwrap_or(0),
    };
    let half = shifted(drop - 1) & 1;
    let below = drop - 1;
    let rest = if below < 128 { low & ((1 << below) - 1) } else { low | (high & ((1 << (below - 128)) - 1)) };
    [shifted(drop), half, u128::from(rest != 0)]
}

/// `2^exponent`; 0 or infinity outside the range of f64.
fn power_of_two(exponent: i32) -> f64 {
    match exponent {
        ..-1074 => 0.0,
        -1074..-1022 => f64::from_bits(1 << (exponent + 1074)),
        -1022..1024 => f64::from_bits(u64::try_from(exponent + 1023).unwrap() << 52),
        1024.. => f64::INFINITY,
    }
}

impl Add for Octuple {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Octuple {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul for Octuple {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self(self.0 * other.0)
    }
}

impl Div for Octuple {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        Self(self.0 / other.0)
    }
}

impl Neg for Octuple {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Number for Octuple {
    type Mask = bool;

    fn from_f64(value: f64) -> Self {
        Self(f256::from(value))
    }
    fn exp(self) -> Self {
        Self(self.0.exp())
    }
    fn exp_m1(self) -> Self {
        Self(self.0.exp_m1())
    }
    fn ln_1p(self) -> Self {
        Self(self.0.ln_1p())
    }
    fn sqrt(self) -> Self {
        Self(self.0.sqrt())
    }
    fn sin_cos(self) -> (Self, Self) {
        let (sin, cos) = self.0.sin_cos();
        (Self(sin), Self(cos))
    }
    fn abs(self) -> Self {
        Self(self.0.abs())
    }
    fn less(self, other: Self) -> bool {
        self.0 < other.0
    }
    fn pick(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
    fn all_less(self, limit: f64) -> bool {
        self.0 < f256::from(limit)
    }
}
