//! A dual number in double precision: a value and its slope in one direction; which direction is the business of a test.

use std::ops::{Add, Div, Mul, Neg, Sub};

use plumbline_reference::number::Number;

/// `value + slope * epsilon`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slope {
    pub(crate) value: f64,
    pub(crate) slope: f64,
}

impl Slope {
    pub(crate) fn new(value: f64, slope: f64) -> Self {
        Self { value, slope }
    }

    fn chain(self, value: f64, slope: f64) -> Self {
        Self { value, slope: slope * self.slope }
    }
}

impl Neg for Slope {
    type Output = Self;
    fn neg(self) -> Self {
        Self::new(-self.value, -self.slope)
    }
}

impl Add for Slope {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.value + other.value, self.slope + other.slope)
    }
}

impl Sub for Slope {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Slope {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self::new(self.value * other.value, self.slope * other.value + self.value * other.slope)
    }
}

impl Div for Slope {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        Self::new(value, (self.slope - value * other.slope) / other.value)
    }
}

impl Number for Slope {
    type Mask = bool;

    fn from_f64(value: f64) -> Self {
        Self::new(value, 0.0)
    }
    fn exp(self) -> Self {
        self.chain(self.value.exp(), self.value.exp())
    }
    fn exp_m1(self) -> Self {
        self.chain(self.value.exp_m1(), self.value.exp())
    }
    fn ln_1p(self) -> Self {
        self.chain(self.value.ln_1p(), 1.0 / (1.0 + self.value))
    }
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.chain(root, 0.5 / root)
    }
    fn clipped_sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.chain(root, if root < 0.0005 { 1000.0 } else { 0.5 / root })
    }
    fn sin_cos(self) -> (Self, Self) {
        let (sin, cos) = self.value.sin_cos();
        (self.chain(sin, cos), self.chain(cos, -sin))
    }
    fn abs(self) -> Self {
        self.chain(self.value.abs(), self.value.signum())
    }
    fn less(self, other: Self) -> bool {
        self.value < other.value
    }
    fn pick(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
    fn all_less(self, limit: f64) -> bool {
        self.value < limit
    }
}
