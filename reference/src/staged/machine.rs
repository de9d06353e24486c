//! One rounded operation at a time, honest or adversarial; which operations are performed, and in what
//! order, is left to the simulation.

use std::cell::Cell;

use super::Rounder;
use crate::plan::{Rounding, U32};

/// A simulated number, and what it would be had nothing been rounded so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Number {
    pub(crate) seen: f64,
    pub(crate) exact: f64,
}

impl Number {
    pub(crate) const ZERO: Self = Self { seen: 0.0, exact: 0.0 };
    pub(crate) const ONE: Self = Self { seen: 1.0, exact: 1.0 };

    pub(crate) fn exactly(value: f64) -> Self {
        Self { seen: value, exact: value }
    }

    /// An operation that rounds nothing, on both.
    pub(crate) fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self { seen: f(self.seen), exact: f(self.exact) }
    }

    pub(crate) fn zip(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Self { seen: f(self.seen, other.seen), exact: f(self.exact, other.exact) }
    }
}

/// Performs the roundings.
#[derive(Debug)]
pub(crate) struct Machine {
    rounder: Rounder,
    state: Cell<u64>,
    performed: Cell<u64>,
}

impl Machine {
    pub(crate) fn new(rounder: Rounder) -> Self {
        let seed = if let Rounder::Random(seed) = rounder { seed } else { 0 };
        Self { rounder, state: Cell::new(seed), performed: Cell::new(0) }
    }

    /// Roundings so far.
    pub(crate) fn performed(&self) -> u64 {
        self.performed.get()
    }

    /// The sum of two numbers of the format. It is off by no more than the smaller of the two, as the other
    /// one would be a nearer result: what is negligible rounds nothing.
    pub(crate) fn add(&self, one: Number, two: Number, rounding: Rounding) -> Number {
        let sum = one.zip(two, |one, two| one + two);
        self.limited(sum, rounding, one.seen.abs().min(two.seen.abs()))
    }

    /// A sum that is off by no more than `limit`.
    pub(crate) fn limited(&self, sum: Number, rounding: Rounding, limit: f64) -> Number {
        let units = limit / (rounding.unit * sum.seen.abs());
        self.round(sum, rounding, if units < 1.0 { units } else { 1.0 })
    }

    /// The result of an operation that may be off by `units` unit roundoffs.
    pub(crate) fn round(&self, result: Number, rounding: Rounding, units: f64) -> Number {
        if rounding.unit == 0.0 || result.seen == 0.0 || !result.seen.is_finite() {
            return result;
        }
        let number = self.performed.get();
        self.performed.set(number + 1);
        let seen = match self.rounder {
            Rounder::Nearest => nearest(result.seen, rounding),
            Rounder::Random(_) => self.disturbed(result.seen, 2.0 * self.draw() - 1.0, rounding, units),
            Rounder::Up => self.disturbed(result.seen, result.seen.signum(), rounding, units),
            Rounder::Down => self.disturbed(result.seen, -result.seen.signum(), rounding, units),
            Rounder::Away => {
                let side = if result.seen < result.exact { -1.0 } else { 1.0 };
                self.disturbed(result.seen, side * result.seen.signum(), rounding, units)
            }
            Rounder::Only(only) if only == number => self.disturbed(result.seen, 1.0, rounding, units),
            Rounder::Only(_) => result.seen,
        };
        Number { seen, ..result }
    }

    fn disturbed(&self, value: f64, direction: f64, rounding: Rounding, units: f64) -> f64 {
        if value.abs() < rounding.underflow {
            // Flushed or kept: both are allowed.
            return if self.draw() < 0.5 { value * 0.0 } else { value };
        }
        let moved = value * (1.0 + direction * units * rounding.unit);
        if moved.abs() > rounding.overflow { moved * f64::INFINITY } else { moved }
    }

    /// Uniform in `[0, 1)` (the generator is splitmix64).
    fn draw(&self) -> f64 {
        let state = self.state.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.state.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / 9_007_199_254_740_992.0
    }
}

/// The nearest number of a format, ties to even.
#[expect(clippy::cast_possible_truncation, reason = "the truncation is the rounding that is asked for")]
pub(crate) fn nearest(value: f64, rounding: Rounding) -> f64 {
    if rounding.unit <= f64::EPSILON {
        return value;
    }
    // A truncated f32 has the numbers of f32, and the best that a matrix unit can do is to hit the nearest.
    if rounding.unit == U32 || rounding == Rounding::F32_TRUNCATED {
        return f64::from(value as f32);
    }
    // Half-way points are exact in f64 for every narrower format.
    let power = f64::from_bits(value.to_bits() & 0x7ff0_0000_0000_0000);
    let smallest = 2.0 * rounding.unit * f64::max(power, smallest_normal(rounding));
    let rounded = (value / smallest).round_ties_even() * smallest;
    if rounded.abs() > rounding.overflow { rounded * f64::INFINITY } else { rounded }
}

/// 2^-14 for f16, else 2^-126.
fn smallest_normal(rounding: Rounding) -> f64 {
    if rounding.overflow < 1e5 { 1.0 / 16384.0 } else { f64::from(f32::MIN_POSITIVE) }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "results are numbers of the format")]
mod tests {
    use super::{Machine, Number, nearest};
    use crate::plan::Rounding;
    use crate::staged::Rounder;

    #[test]
    fn nearest_ties_to_even_in_every_format() {
        assert_eq!(nearest(1.0 + 1.0 / 256.0, Rounding::BF16), 1.0);
        assert_eq!(nearest(1.0 + 3.0 / 256.0, Rounding::BF16), 1.0 + 4.0 / 256.0);
        assert_eq!(nearest(-1.3, Rounding::F32), f64::from(-1.3f32));
        assert_eq!(nearest(65519.0, Rounding::F16), 65504.0);
        assert_eq!(nearest(65521.0, Rounding::F16), f64::INFINITY);
        assert_eq!(nearest(5e-8, Rounding::F16), 1.0 / 16_777_216.0);
    }

    #[test]
    fn away_moves_away() {
        let machine = Machine::new(Rounder::Away);
        let below = machine.round(Number { seen: 0.9, exact: 1.0 }, Rounding::BF16, 1.0);
        assert!(below.seen < 0.9);
        let negative = machine.round(Number { seen: -0.9, exact: -1.0 }, Rounding::BF16, 1.0);
        assert!(negative.seen > -0.9);
    }

    #[test]
    fn up_and_down_are_directions_on_the_line() {
        for value in [0.9, -0.9] {
            let number = Number::exactly(value);
            let moved = |rounder| Machine::new(rounder).round(number, Rounding::BF16, 1.0).seen;
            assert!(moved(Rounder::Down) < value && moved(Rounder::Up) > value);
        }
    }

    #[test]
    fn an_exact_stage_rounds_nothing() {
        let machine = Machine::new(Rounder::Random(3));
        assert_eq!(machine.round(Number::exactly(0.1), Rounding::EXACT, 4.0).seen, 0.1);
    }
}
