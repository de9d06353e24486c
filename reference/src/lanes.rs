//! Several doubles side by side, so that neighbouring channels share one stream of instructions; what is computed with
//! them is left to the families.

#![expect(
    clippy::needless_range_loop,
    reason = "plain loops over all lanes are what becomes one instruction"
)]

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::number::Number;
use crate::sums::{Told, mark};

/// How many numbers stand side by side: a cache line; with debug assertions fewer, since every operation is written out once
/// for each of them and compiling that takes long. The bits are the same for any number.
pub(crate) const LANES: usize = if cfg!(debug_assertions) { 2 } else { 8 };

/// Several numbers, each computed as if it were alone. Every operation is a loop over all of them, without a call or a branch,
/// so that the compiler makes it one instruction where the processor has it ([`widest`]). Products and sums are never
/// fused: the bits do not depend on the instruction set.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
pub(crate) struct Lanes([f64; LANES]);

/// Where a comparison holds, all bits are set.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Mask([u64; LANES]);

/// Runs `work` compiled for the widest vectors that this processor has; with debug assertions as it stands, since compiling
/// it once for each kind of vector takes long and changes no bit.
#[inline(always)]
pub(crate) fn widest<R>(work: impl FnOnce() -> R) -> R {
    if cfg!(debug_assertions) { work() } else { pulp::Arch::new().dispatch(work) }
}

impl Lanes {
    pub(crate) const ZERO: Self = Self([0.0; LANES]);

    #[inline(always)]
    pub(crate) fn new(numbers: [f64; LANES]) -> Self {
        Self(numbers)
    }

    #[inline(always)]
    pub(crate) fn numbers(&self) -> &[f64; LANES] {
        &self.0
    }

    #[inline(always)]
    fn splat(number: f64) -> Self {
        Self([number; LANES])
    }

    #[inline(always)]
    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        let mut out = [0.0; LANES];
        for (out, number) in out.iter_mut().zip(self.0) {
            *out = f(number);
        }
        Self(out)
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        let mut out = [0.0; LANES];
        for i in 0..LANES {
            out[i] = f(self.0[i], other.0[i]);
        }
        Self(out)
    }
}

impl Add for Lanes {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
}

impl Sub for Lanes {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
}

impl Mul for Lanes {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
}

impl Div for Lanes {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| a / b)
    }
}

impl Neg for Lanes {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.map(|a| -a)
    }
}

/// `ln 2` in two parts; multiples of the first by a power of two below `2^20` are exact.
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
/// Added and taken away again, it rounds to an integer, which stands in the low bits in between.
const INTEGER: f64 = 6_755_399_441_055_744.0;

/// `exp(t) = 2^k (1 + q)`.
struct Exponential {
    /// `2^k` as a product of two numbers, since it may be out of range.
    powers: [Lanes; 2],
    q: Lanes,
}

impl Exponential {
    /// `t = k ln 2 + r` with `|r| <= ln(2) / 2`, and `q = exp(r) - 1` by its Taylor series, whose remainder is
    /// `r^14 / 14! < 5e-18`. Beyond the range of f64 `t` is as good as its end. NaN goes through.
    #[inline(always)]
    fn new(t: Lanes) -> Self {
        let t = within(t, -750.0, 750.0);
        let integer = Lanes::splat(INTEGER);
        let k = (t * Lanes::splat(std::f64::consts::LOG2_E) + integer) - integer;
        let r = (t - k * Lanes::splat(LN_2[0])) - k * Lanes::splat(LN_2[1]);
        let most = within(k, -1000.0, 1000.0);
        Self { powers: [power_of_two(most), power_of_two(k - most)], q: r + r * r * taylor(r) }
    }
}

#[inline(always)]
fn within(t: Lanes, low: f64, high: f64) -> Lanes {
    let (low, high) = (Lanes::splat(low), Lanes::splat(high));
    let t = t.if_less(low, low, t);
    high.if_less(t, high, t)
}

/// `2^k` for integers from -1022 to 1023.
#[inline(always)]
fn power_of_two(k: Lanes) -> Lanes {
    (k + Lanes::splat(INTEGER + 1023.0)).map(|biased| f64::from_bits(biased.to_bits() << 52))
}

/// `(exp(r) - 1 - r) / r^2`: 1/2! + r/3! + ... + r^11/13!, in pairs and pairs of pairs: a chain of four steps instead of
/// eleven.
#[inline(always)]
fn taylor(r: Lanes) -> Lanes {
    const FACTORIALS: [f64; 12] = [
        2.0,
        6.0,
        24.0,
        120.0,
        720.0,
        5_040.0,
        40_320.0,
        362_880.0,
        3_628_800.0,
        39_916_800.0,
        479_001_600.0,
        6_227_020_800.0,
    ];
    let square = r * r;
    let fourth = square * square;
    let term = |i: usize| Lanes::splat(1.0 / FACTORIALS[i]);
    let two = |i: usize| term(i) + term(i + 1) * r;
    let four = |i: usize| two(i) + two(i + 2) * square;
    four(0) + (four(4) + four(8) * fourth) * fourth
}

impl Number for Lanes {
    type Mask = Mask;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        Self::splat(value)
    }
    #[inline(always)]
    fn exp(self) -> Self {
        let Exponential { powers: [most, rest], q } = Exponential::new(self);
        (most + most * q) * rest
    }
    #[inline(always)]
    fn exp_m1(self) -> Self {
        let Exponential { powers: [most, rest], q } = Exponential::new(self);
        let one = Self::splat(1.0);
        // Where `rest` is not 1 the result is -1 or beyond 2^1000.
        ((most - one) + most * q) * one.if_less(most, rest, one)
    }
    /// From one exponential: with `exp(self) = 2^k (1 + q)`, `exp(2 self) = 4^k + 4^k (2 q + q^2)`. Where `k` is 0 nothing
    /// cancels; where it is less, `exp(2 self)` is at most 1/2.
    #[inline(always)]
    fn decay(self) -> (Self, Self) {
        let Exponential { powers: [most, rest], q } = Exponential::new(self);
        let (one, power) = (Self::splat(1.0), most * rest);
        let square = power * power;
        ((most + most * q) * rest, (one - square) - square * (q + q + q * q))
    }
    #[inline(always)]
    fn ln_1p(self) -> Self {
        self.map(f64::ln_1p)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(f64::sqrt)
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        (self.map(f64::sin), self.map(f64::cos))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self.map(f64::abs)
    }
    #[inline(always)]
    fn less(self, other: Self) -> Mask {
        let mut mask = [0; LANES];
        for i in 0..LANES {
            mask[i] = if self.0[i] < other.0[i] { u64::MAX } else { 0 };
        }
        Mask(mask)
    }
    #[inline(always)]
    fn pick(mask: Mask, yes: Self, no: Self) -> Self {
        let mut out = [0.0; LANES];
        for i in 0..LANES {
            out[i] = if mask.0[i] == 0 { no.0[i] } else { yes.0[i] };
        }
        Self(out)
    }
    #[inline(always)]
    fn if_less(self, other: Self, yes: Self, no: Self) -> Self {
        let mut out = [0.0; LANES];
        for i in 0..LANES {
            out[i] = if self.0[i] < other.0[i] { yes.0[i] } else { no.0[i] };
        }
        Self(out)
    }
    #[inline(always)]
    fn all_less(self, limit: f64) -> bool {
        let Mask(mask) = self.less(Self::splat(limit));
        mask.iter().fold(u64::MAX, |all, &one| all & one) != 0
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        self.map(f64::tanh)
    }
}

impl Told for Lanes {
    type Marks = [u64; LANES];

    #[inline(always)]
    fn mark(self, marks: &mut [u64; LANES]) {
        let mut all = *marks;
        for i in 0..LANES {
            all[i] |= mark(self.0[i]);
        }
        *marks = all;
    }

    #[inline(always)]
    fn classes(marks: [u64; LANES]) -> Self {
        Self(marks.map(|marks| f64::from(marks.count_ones())))
    }
}

#[cfg(test)]
mod tests {
    use super::{LANES, Lanes};
    use crate::number::Number;

    /// Distance in units in the last place.
    fn ulps(got: f64, expected: f64) -> f64 {
        if got == expected || (got.is_nan() && expected.is_nan()) {
            return 0.0;
        }
        let spacing = f64::from_bits(expected.abs().to_bits() + 1) - expected.abs();
        (got - expected).abs() / spacing
    }

    fn worst(
        f: impl Fn(Lanes) -> Lanes,
        reference: impl Fn(f64) -> f64,
        arguments: impl Iterator<Item = f64>,
    ) -> f64 {
        let at = |t: f64| ulps(f(Lanes::from_f64(t)).numbers()[LANES - 1], reference(t));
        arguments.map(at).fold(0.0, f64::max)
    }

    fn grid() -> impl Iterator<Item = f64> {
        let even = (-760_000..=720_000).map(|i| f64::from(i) * 0.001_003);
        let small = (0..3000).map(|i| -(2.0f64.powi(-i / 40)) * (1.0 + f64::from(i % 40) / 40.0));
        even.chain(small)
    }

    #[test]
    fn exponentials_are_within_two_units_in_the_last_place() {
        assert!(worst(Lanes::exp, f64::exp, grid()) <= 1.5);
        assert!(worst(Lanes::exp_m1, f64::exp_m1, grid()) <= 2.0);
        let falling = || grid().filter(|&t| t <= 0.0);
        assert!(worst(|t| t.decay().0, f64::exp, falling()) <= 1.5);
        assert!(worst(|t| t.decay().1, |t| -(2.0 * t).exp_m1(), falling()) <= 4.0);
    }

    #[test]
    fn exponentials_know_the_ends_of_their_range() {
        let ends = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e300, 1e300, 0.0, -745.2, 709.79, -0.0];
        assert_eq!(worst(Lanes::exp, f64::exp, ends.into_iter()), 0.0);
        assert_eq!(worst(Lanes::exp_m1, f64::exp_m1, ends.into_iter()), 0.0);
        let ends = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e300, 0.0, -0.0, -745.2];
        assert_eq!(worst(|t| t.decay().1, |t| -(2.0 * t).exp_m1(), ends.into_iter()), 0.0);
    }

    #[test]
    fn every_lane_goes_its_own_way() {
        let all = [-3.0, f64::NAN, 0.0, 1.0, -1.0, 2.0, -0.5, 7.0];
        let numbers = Lanes::new(std::array::from_fn(|i| all[i]));
        let picked = numbers.if_less(Lanes::ZERO, -numbers, Lanes::from_f64(9.0));
        let expected = [3.0, 9.0, 9.0, 9.0, 1.0, 9.0, 0.5, 9.0];
        assert_eq!(picked.numbers()[..], expected[..LANES]);
        assert!(!numbers.all_less(100.0) && picked.all_less(10.0));
    }
}
