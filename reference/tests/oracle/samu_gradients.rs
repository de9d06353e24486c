//! The mixer's gradients against derivatives of the very forward pass, by dual numbers: no sign is taken on trust; and
//! the oracle's own error, against 237 bits.

use crate::numbers::{Dual, Octuple};
use crate::samu_support::{REGIMES, Regime, problem};
use plumbline_reference::number::Number;
use plumbline_reference::samu::{Input, Outputs, Problem, evaluate, forward, solve};
use plumbline_reference::{Quantity, RoundingPlan, Tensors, Truth};

/// The forward pass with a derivative in the direction of one number.
fn along<N: Number>(problem: &Problem, input: Input, index: usize) -> Outputs<Dual<N>> {
    forward(problem, |which, at| {
        let slope = if which == input && at == index { 1.0 } else { 0.0 };
        Dual::new(N::from_f64(problem.number(which, at)), N::from_f64(slope))
    })
}

/// The derivative of the loss with respect to one number.
fn derivative<N: Number>(problem: &Problem, input: Input, index: usize) -> N {
    let out = along::<N>(problem, input, index);
    let pull = |seen: &[Dual<N>], cotangent: ndarray::ArrayViewD<'_, f64>| {
        seen.iter().zip(cotangent).fold(N::zero(), |sum, (dual, &d)| sum + dual.slope.times(d))
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
        .map(|(index, &value)| (derivative::<f64>(problem, input, index) - value).abs())
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
                // Where `q / (1 + q^2)` is flat, its derivative by the rules of duals is a difference that
                // cancels: that takes more bits, below.
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
            let out = along::<f64>(&problem, Input::X, at);
            let controls = [&out.delta, &out.eta][of];
            *element += gradient.iter().zip(controls).map(|(g, control)| g * control.slope).sum::<f64>();
        }
    }
    let total = values.get(Quantity::DxTotal).unwrap();
    let scale = total.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
    assert!((seen - total).iter().all(|difference| difference.abs() < 1e-13 * scale));
}

/// Largest error over the envelope, of a tensor that is known to 237 bits.
fn own_error(truth: &Truth, quantity: Quantity, exact: impl Fn(usize) -> Octuple) -> f64 {
    let bounded = truth.get(quantity).unwrap();
    let elements = bounded.value.iter().zip(&bounded.envelope).enumerate();
    let ratio = |(index, (&value, &envelope)): (usize, (&f64, &f64))| {
        let error = exact(index).minus(value).abs();
        assert!(!error.is_nan(), "{} {index}", quantity.name());
        if error == 0.0 { 0.0 } else { error / envelope }
    };
    elements.map(ratio).fold(0.0, f64::max)
}

#[test]
fn the_oracles_own_error_is_far_inside_its_envelope() {
    let mut worst = std::collections::BTreeMap::<Quantity, f64>::new();
    for (seed, regime) in REGIMES.into_iter().enumerate() {
        let problem = problem(regime, seed as u64, (1, 5, 4));
        let truth = solve(&problem, &RoundingPlan::f32());
        let mut record = |quantity: Quantity, error: f64| {
            assert!(error < 1e-3, "{regime:?} {}: {error:e}", quantity.name());
            let largest = worst.entry(quantity).or_default();
            *largest = largest.max(error);
        };
        let out = forward(&problem, |input, index| Octuple::from_f64(problem.number(input, index)));
        for (quantity, seen) in [
            (Quantity::Y, &out.y),
            (Quantity::Last, &out.last),
            (Quantity::H, &out.h),
            (Quantity::Eta, &out.eta),
            (Quantity::Delta, &out.delta),
        ] {
            record(quantity, own_error(&truth, quantity, |index| seen[index]));
        }
        for (input, quantity) in GRADIENTS {
            record(quantity, own_error(&truth, quantity, |index| derivative(&problem, input, index)));
        }
    }
    for (quantity, error) in worst {
        println!("{:17} {error:.1e} of its envelope", quantity.name());
    }
}
