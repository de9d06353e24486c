//! Forward-mode dual numbers over double-doubles: a value and its derivative in one direction; which
//! direction is the business of the witness.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::double::{Double, NEGLIGIBLE};

/// `value + derivative * epsilon`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dual {
    pub(crate) value: Double,
    pub(crate) derivative: Double,
}

impl Dual {
    pub(crate) const ZERO: Self = Self { value: Double::ZERO, derivative: Double::ZERO };

    pub(crate) fn constant(value: f64) -> Self {
        Self { value: Double::from(value), derivative: Double::ZERO }
    }

    fn chain(self, value: Double, slope: Double) -> Self {
        Self { value, derivative: slope * self.derivative }
    }

    pub(crate) fn exp(self) -> Self {
        let value = self.value.exp();
        self.chain(value, value)
    }

    pub(crate) fn expm1(self) -> Self {
        self.chain(self.value.expm1(), self.value.exp())
    }

    fn ln_1p(self) -> Self {
        self.chain(self.value.ln_1p(), Double::ONE / (Double::ONE + self.value))
    }

    /// The square root, with the derivative clipped at 1000: at the foot of the root the clip is the
    /// definition, not an approximation.
    pub(crate) fn clipped_sqrt(self) -> Self {
        let value = self.value.sqrt();
        let slope =
            if value.to_f64() <= 0.0005 { Double::from(1000.0) } else { Double::ONE / (value + value) };
        self.chain(value, slope)
    }

    /// `1 / (1 + exp(-t))`; beyond the range of `exp` the 1 is negligible.
    pub(crate) fn sigmoid(self) -> Self {
        if self.value.to_f64() < -NEGLIGIBLE {
            return self.exp();
        }
        Self::constant(1.0) / (Self::constant(1.0) + (-self).exp())
    }

    /// `log(1 + exp(t))`, with `t` taken out where the exponential is large.
    pub(crate) fn softplus(self) -> Self {
        if self.value.to_f64() > 0.0 { self + (-self).exp().ln_1p() } else { self.exp().ln_1p() }
    }
}

impl Neg for Dual {
    type Output = Self;
    fn neg(self) -> Self {
        Self { value: -self.value, derivative: -self.derivative }
    }
}

impl Add for Dual {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { value: self.value + other.value, derivative: self.derivative + other.derivative }
    }
}

impl Sub for Dual {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Dual {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let derivative = self.derivative * other.value + self.value * other.derivative;
        Self { value: self.value * other.value, derivative }
    }
}

impl Div for Dual {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        Self { value, derivative: (self.derivative - value * other.derivative) / other.value }
    }
}
