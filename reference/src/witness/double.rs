//! Double-double numbers, about 31 decimal digits, with the few functions that the witness needs; range and
//! special values (infinity, NaN, subnormals) are those of well-behaved problems only.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// The unevaluated sum of two doubles, the second below half a unit in the last place of the first.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Double {
    high: f64,
    low: f64,
}

/// `ln 2`, rounded to two doubles.
const LN_2: Double = Double { high: std::f64::consts::LN_2, low: 2.319_046_813_846_299_6e-17 };
/// Beyond this the smaller of two terms is below one part in 10^130 of the larger.
pub(crate) const NEGLIGIBLE: f64 = 300.0;

fn two_sum(a: f64, b: f64) -> Double {
    let high = a + b;
    let part = high - a;
    Double { high, low: (a - (high - part)) + (b - part) }
}

fn two_product(a: f64, b: f64) -> Double {
    let high = a * b;
    Double { high, low: a.mul_add(b, -high) }
}

impl Double {
    pub(crate) const ZERO: Self = Self { high: 0.0, low: 0.0 };
    pub(crate) const ONE: Self = Self { high: 1.0, low: 0.0 };

    /// The nearest f64.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.high + self.low
    }

    /// The product with a power of two.
    fn scaled(self, factor: f64) -> Self {
        Self { high: self.high * factor, low: self.low * factor }
    }

    /// `exp(x) - 1` for `|x| < 0.36` by its series: no cancellation, hence relatively accurate.
    fn small_expm1(self) -> Self {
        let (mut sum, mut term) = (self, self);
        for n in 2..40 {
            term = term * self / Self::from(f64::from(n));
            sum = sum + term;
            if term.high.abs() < sum.high.abs() * 1e-34 {
                break;
            }
        }
        sum
    }

    /// `exp(x)`; zero where f64 has no normal number for it.
    #[must_use]
    pub fn exp(self) -> Self {
        if self.high < -700.0 {
            return Self::ZERO;
        }
        let k = (self.high / LN_2.high).round();
        let rest = self - LN_2 * Self::from(k);
        (Self::ONE + rest.small_expm1()).scaled(k.exp2())
    }

    /// `exp(x) - 1`, relatively accurate near 0.
    #[must_use]
    pub fn expm1(self) -> Self {
        if self.high.abs() < 0.35 { self.small_expm1() } else { self.exp() - Self::ONE }
    }

    /// `log(1 + x)` for `x >= 0`: one Newton step on `expm1` from the f64 value doubles its digits.
    #[must_use]
    pub fn ln_1p(self) -> Self {
        let guess = Self::from(self.high.ln_1p());
        let there = guess.expm1();
        guess - (there - self) / (there + Self::ONE)
    }

    /// The square root of `x >= 0`, by one Newton step.
    #[must_use]
    pub fn sqrt(self) -> Self {
        if self.high <= 0.0 {
            return Self::ZERO;
        }
        let guess = Self::from(self.high.sqrt());
        guess + (self - guess * guess) / guess.scaled(2.0)
    }
}

impl From<f64> for Double {
    fn from(high: f64) -> Self {
        Self { high, low: 0.0 }
    }
}

impl Neg for Double {
    type Output = Self;
    fn neg(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }
}

impl Add for Double {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        // Both parts are summed exactly: the cheap form loses everything if the high parts cancel.
        let (high, low) = (two_sum(self.high, other.high), two_sum(self.low, other.low));
        let first = two_sum(high.high, high.low + low.high);
        two_sum(first.high, first.low + low.low)
    }
}

impl Sub for Double {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Double {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let exact = two_product(self.high, other.high);
        two_sum(exact.high, exact.low + (self.high * other.low + self.low * other.high))
    }
}

impl Div for Double {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let first = self.high / other.high;
        let rest = self - other * Self::from(first);
        let second = rest.high / other.high;
        let rest = rest - other * Self::from(second);
        two_sum(first, second) + Self::from(rest.high / other.high)
    }
}

#[cfg(test)]
mod tests {
    use super::Double;

    fn close(a: Double, b: Double) {
        let gap = ((a - b) / b).to_f64().abs();
        assert!(gap < 1e-29, "relative distance {gap:e}");
    }

    #[test]
    fn exp_of_one_is_e_to_thirty_digits() {
        close(
            Double::from(1.0).exp(),
            Double { high: std::f64::consts::E, low: 1.445_646_891_729_250_2e-16 },
        );
    }

    #[test]
    fn exp_turns_sums_into_products() {
        for t in [-300.5, -20.1, -1e-3, 0.7, 33.3] {
            let t = Double::from(t);
            close(t.exp() * t.exp(), (t + t).exp());
        }
    }

    #[test]
    fn expm1_and_ln_1p_undo_each_other() {
        for t in [1e-20, 1e-9, 0.2, 0.5, 3.0, 40.0] {
            close(Double::from(t).expm1().ln_1p(), Double::from(t));
        }
    }

    #[test]
    fn a_root_squared_and_a_quotient_multiplied_give_the_number_back() {
        for t in [1e-30, 0.3, 2.0, 1e10] {
            let t = Double::from(t);
            close(t.sqrt() * t.sqrt(), t);
            close(t / Double::from(3.0) * Double::from(3.0), t);
        }
    }
}
