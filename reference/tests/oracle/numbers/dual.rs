//! A value with a derivative along one direction; which direction is left to the suites.

use std::ops::{Add, Div, Mul, Neg, Sub};

use plumbline_reference::number::Number;
use plumbline_reference::scalar::sqrt_slope;

/// A value, and its derivative along a direction in the space of inputs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dual<N> {
    pub(crate) value: N,
    pub(crate) slope: N,
}

impl<N: Number> Dual<N> {
    pub(crate) fn new(value: N, slope: N) -> Self {
        Self { value, slope }
    }

    /// A number that does not depend on the inputs.
    pub(crate) fn constant(value: N) -> Self {
        Self { value, slope: N::zero() }
    }
}

impl<N: Number> Add for Dual<N> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.value + other.value, self.slope + other.slope)
    }
}

impl<N: Number> Sub for Dual<N> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::new(self.value - other.value, self.slope - other.slope)
    }
}

impl<N: Number> Mul for Dual<N> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self::new(self.value * other.value, self.slope * other.value + self.value * other.slope)
    }
}

impl<N: Number> Div for Dual<N> {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let quotient = self.value / other.value;
        Self::new(quotient, (self.slope - quotient * other.slope) / other.value)
    }
}

impl<N: Number> Neg for Dual<N> {
    type Output = Self;
    fn neg(self) -> Self {
        Self::new(-self.value, -self.slope)
    }
}

impl<N: Number> Number for Dual<N> {
    type Mask = N::Mask;

    fn from_f64(value: f64) -> Self {
        Self::constant(N::from_f64(value))
    }
    fn exp(self) -> Self {
        let exp = self.value.exp();
        Self::new(exp, exp * self.slope)
    }
    fn exp_m1(self) -> Self {
        Self::new(self.value.exp_m1(), self.value.exp() * self.slope)
    }
    fn ln_1p(self) -> Self {
        Self::new(self.value.ln_1p(), self.slope / (N::one() + self.value))
    }
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        Self::new(root, self.slope / (root + root))
    }
    fn sin_cos(self) -> (Self, Self) {
        let (sin, cos) = self.value.sin_cos();
        (Self::new(sin, cos * self.slope), Self::new(cos, -(sin * self.slope)))
    }
    /// At 0 the derivative is that from the right.
    fn abs(self) -> Self {
        let negative = self.value.less(N::zero());
        Self::new(self.value.abs(), N::pick(negative, -self.slope, self.slope))
    }
    fn less(self, other: Self) -> N::Mask {
        self.value.less(other.value)
    }
    fn pick(mask: N::Mask, yes: Self, no: Self) -> Self {
        Self::new(N::pick(mask, yes.value, no.value), N::pick(mask, yes.slope, no.slope))
    }
    fn all_less(self, limit: f64) -> bool {
        self.value.all_less(limit)
    }
    fn clipped_sqrt(self) -> Self {
        Self::new(self.value.sqrt(), self.slope * sqrt_slope(self.value))
    }
}

/// A central difference of `f`; its error is about `step^2` and `2^-53 / step`, 1e-10 at best.
fn difference(f: impl Fn(f64) -> f64, at: f64) -> f64 {
    let step = 1e-5 * at.abs().max(0.1);
    (f(at + step) - f(at - step)) / (2.0 * step)
}

fn agrees(name: &str, at: f64, f: impl Fn(f64) -> f64, dual: impl Fn(Dual<f64>) -> Dual<f64>) {
    let seen = dual(Dual::new(at, 1.0));
    assert!((seen.value - f(at)).abs() <= 4.0 * f64::EPSILON * f(at).abs(), "{name} at {at}: {seen:?}");
    let slope = difference(f, at);
    assert!((seen.slope - slope).abs() < 1e-8 * slope.abs().max(1.0), "{name} at {at}: {seen:?}, {slope}");
}

#[test]
fn derivatives_of_functions_are_those_of_finite_differences() {
    for at in [-3.0, -0.7, -0.02, 0.3, 1.0, 2.5] {
        agrees("exp", at, f64::exp, Number::exp);
        agrees("exp_m1", at, f64::exp_m1, Number::exp_m1);
        agrees("abs", at, f64::abs, Number::abs);
        agrees("tanh", at, f64::tanh, Number::tanh);
        agrees("sin", at, f64::sin, |x| x.sin_cos().0);
        agrees("cos", at, f64::cos, |x| x.sin_cos().1);
        let positive = at.abs();
        agrees("ln_1p", positive, f64::ln_1p, Number::ln_1p);
        agrees("sqrt", positive, f64::sqrt, Number::sqrt);
        agrees("clipped_sqrt", positive, f64::sqrt, Number::clipped_sqrt);
    }
}

#[test]
fn derivatives_of_operations_are_those_of_finite_differences() {
    let constant = Dual::constant(1.7);
    for at in [-3.0, -0.4, 0.2, 2.0] {
        agrees("sum", at, |x| x * x + x, |x| x * x + x);
        agrees("difference", at, |x| 1.7 - x * x * x, |x| constant - x * x * x);
        agrees("quotient", at, |x| x / (1.7 + x * x), |x| x / (constant + x * x));
        agrees("minus", at, |x| -(x * x), |x| -(x * x));
        agrees(
            "pick",
            at,
            |x| if x < 1.0 { x * x } else { 3.0 * x },
            |x| x.if_less(Dual::one(), x * x, x.times(3.0)),
        );
    }
}

#[test]
fn derivatives_at_the_edges_are_the_chosen_ones() {
    let at = |value| Dual::new(value, 1.0);
    assert!(at(0.0).abs().slope == 1.0 && at(0.0).tanh().slope == 1.0);
    // Clipped, at and below 4 z = 1e-6; above it the true derivative.
    assert!(at(0.0).clipped_sqrt().slope == 1000.0 && at(1e-7).clipped_sqrt().slope == 1000.0);
    assert!((at(1e-6).clipped_sqrt().slope - 500.0).abs() < 1e-10);
}
