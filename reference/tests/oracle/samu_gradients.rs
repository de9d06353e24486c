//! The mixer's gradients against derivatives of the very forward pass, by dual numbers: no sign is taken on trust.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::samu_support::{Regime, problem};
use plumbline_reference::number::Number;
use plumbline_reference::samu::{Input, Problem, evaluate, forward};
use plumbline_reference::{Quantity, Tensors};

/// `value + slope * epsilon`.
#[derive(Clone, Copy, Debug)]
struct Dual {
    value: f64,
    slope: f64,
}

impl Dual {
    fn chain(self, value: f64, slope: f64) -> Self {
        // A constant has no slope, whatever the function's.
        Self { value, slope: if self.slope == 0.0 { 0.0 } else { slope * self.slope } }
    }
}

impl Add for Dual {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { value: self.value + other.value, slope: self.slope + other.slope }
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
        Self { value: self.value * other.value, slope: self.slope * other.value + self.value * other.slope }
    }
}

impl Div for Dual {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        Self { value, slope: (self.slope - value * other.slope) / other.value }
    }
}

impl Neg for Dual {
    type Output = Self;
    fn neg(self) -> Self {
        Self { value: -self.value, slope: -self.slope }
    }
}

impl Number for Dual {
    type Mask = bool;

    fn from_f64(value: f64) -> Self {
        Self { value, slope: 0.0 }
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
        self.chain(self.value.sqrt(), 0.5 / self.value.sqrt())
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

/// The derivative of the loss with respect to one number.
fn derivative(problem: &Problem, input: Input, index: usize) -> f64 {
    let out = forward(problem, |which, at| Dual {
        value: problem.number(which, at),
        slope: f64::from(u8::from(which == input && at == index)),
    });
    let pull = |seen: &[Dual], cotangent: ndarray::ArrayViewD<'_, f64>| -> f64 {
        seen.iter().zip(cotangent).map(|(dual, d)| dual.slope * d).sum()
    };
    pull(&out.y, problem.inputs().dy.view().into_dyn())
        + pull(&out.last, problem.inputs().dlast.view().into_dyn())
}

const GRADIENTS: [(Input, Quantity); 8] = [
    (Input::X, Quantity::DxTotal),
    (Input::NuLog, Quantity::DnuLog),
    (Input::ThetaLog, Quantity::DthetaLog),
    (Input::PhaseDirection, Quantity::DphaseDirection),
    (Input::RadialDirection, Quantity::DradialDirection),
    (Input::PhaseAmplitude, Quantity::DphaseAmplitude),
    (Input::RadialAmplitude, Quantity::DradialAmplitude),
    (Input::H0, Quantity::Dh0),
];

/// Largest difference of a gradient from the derivative, relative to the largest element.
fn disagreement(problem: &Problem, values: &Tensors, input: Input, quantity: Quantity) -> f64 {
    let gradient = values.get(quantity).unwrap();
    let scale = gradient.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
    let worst = gradient
        .iter()
        .enumerate()
        .map(|(index, &value)| (derivative(problem, input, index) - value).abs())
        .fold(0.0, f64::max);
    if worst == 0.0 { 0.0 } else { worst / scale }
}

#[test]
fn gradients_are_the_derivatives_of_the_forward_pass() {
    let regimes = [
        Regime::Init,
        Regime::NearOne,
        Regime::Forgetful,
        Regime::Winding,
        Regime::Mixed,
        Regime::Ungated,
        Regime::Huge,
        Regime::Tiny,
        Regime::Zeros,
        Regime::Sparse,
        Regime::Constant,
    ];
    for regime in regimes {
        for seed in 0..12 {
            let problem = problem(regime, seed, (2, 7, 6));
            let values = evaluate(&problem);
            for (input, quantity) in GRADIENTS {
                // Where `q / (1 + q^2)` is flat, its derivative by the rules of duals is a difference that cancels.
                if regime == Regime::Huge && input == Input::RadialDirection {
                    continue;
                }
                let worst = disagreement(&problem, &values, input, quantity);
                // Sums over tokens and modes cancel; the derivative does it in another order.
                assert!(worst < 1e-11, "{regime:?} {seed} {}: {worst:e}", quantity.name());
            }
        }
    }
}

/// Below the floor of the norm a direction is divided by a constant, so the gradient along it stays.
#[test]
fn a_direction_below_the_floor_has_no_projection() {
    let mut inputs = problem(Regime::Init, 3, (1, 9, 4)).into_inputs();
    inputs.reset.fill(false);
    inputs.phase_direction *= 1e-13;
    let problem = Problem::new(inputs).unwrap();
    let values = evaluate(&problem);
    let (input, quantity) = (Input::PhaseDirection, Quantity::DphaseDirection);
    assert!(disagreement(&problem, &values, input, quantity) < 1e-11);
    let along: f64 =
        values.get(quantity).unwrap().iter().zip(&problem.inputs().phase_direction).map(|(g, d)| g * d).sum();
    assert!(along.abs() > 1e-6, "{along}");
}

/// Above it the loss does not depend on the length of a direction.
#[test]
fn a_gradient_stands_at_right_angles_to_its_direction() {
    let problem = problem(Regime::Init, 4, (2, 12, 8));
    let values = evaluate(&problem);
    for (quantity, direction) in [
        (Quantity::DphaseDirection, &problem.inputs().phase_direction),
        (Quantity::DradialDirection, &problem.inputs().radial_direction),
    ] {
        let gradient = values.get(quantity).unwrap();
        let dot: f64 = gradient.iter().zip(direction).map(|(g, d)| g * d).sum();
        let size: f64 = gradient.iter().zip(direction).map(|(g, d)| (g * d).abs()).sum();
        assert!(dot.abs() < 1e-14 * size && size > 0.0, "{dot:e} of {size:e}");
    }
}

/// Gradients with the controls held fixed: `deta` and `ddelta` move them, `dx` leaves them alone.
#[test]
fn the_controls_connect_both_gradients_of_x() {
    let problem = problem(Regime::Init, 5, (2, 6, 4));
    let values = evaluate(&problem);
    let mut seen = values.get(Quantity::Dx).unwrap().clone();
    for (quantity, of) in [(Quantity::Ddelta, 0), (Quantity::Deta, 1)] {
        let gradient = values.get(quantity).unwrap();
        for (index, element) in seen.indexed_iter_mut() {
            let at = (index[0] * 6 + index[1]) * 4 + index[2];
            let out = forward(&problem, |which, i| Dual {
                value: problem.number(which, i),
                slope: f64::from(u8::from(which == Input::X && i == at)),
            });
            let controls = [&out.delta, &out.eta][of];
            *element += gradient.iter().zip(controls).map(|(g, control)| g * control.slope).sum::<f64>();
        }
    }
    let total = values.get(Quantity::DxTotal).unwrap();
    let scale = total.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
    assert!((seen - total).iter().all(|difference| difference.abs() < 1e-13 * scale));
}
