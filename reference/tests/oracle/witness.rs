//! The oracle against the witness: two derivations, one truth; and both against plain finite differences.

use crate::support::{REGIMES, Regime, problem, ratio};
use plumbline_reference::rglru::{Gates, Inputs, Problem, solve};
use plumbline_reference::witness::testify;
use plumbline_reference::{Quantity, RoundingPlan};

/// The oracle's own error must be inside the envelope of a kernel that computes in f64, and below a
/// thousandth of the f32 envelope by which kernels are judged.
fn agree(regime: Regime, seed: u64, shape: (usize, usize, usize), projected: bool) {
    let problem = problem(regime, seed, shape, projected);
    let testimony = testify(&problem);
    let (own, kernel) = (solve(&problem, &RoundingPlan::f64()), solve(&problem, &RoundingPlan::f32()));
    assert_eq!(own.iter().count(), testimony.iter().count());
    for (quantity, bounded) in own.iter() {
        let seen = testimony.get(quantity).unwrap();
        let context = format!("{regime:?} seed {seed} {shape:?} projected {projected}: {}", quantity.name());
        let worst = ratio(seen, bounded);
        assert!(worst <= 1.0, "{context}: {worst} of the f64 envelope");
        let worst = ratio(seen, kernel.get(quantity).unwrap());
        assert!(worst < 1e-3, "{context}: {worst} of the f32 envelope");
    }
}

#[test]
fn oracle_and_witness_agree_in_every_regime() {
    for regime in REGIMES {
        for seed in 0..4 {
            agree(regime, seed, (2, 5, 2), false);
            agree(regime, 100 + seed, (1, 8, 1), false);
        }
    }
}

#[test]
fn oracle_and_witness_agree_through_the_projections() {
    for regime in REGIMES {
        for seed in 0..2 {
            agree(regime, seed, (2, 3, 4), true);
            agree(regime, 100 + seed, (1, 2, 3), true);
        }
    }
}

#[test]
fn oracle_and_witness_agree_on_no_token_and_on_one() {
    for seed in 0..4 {
        agree(Regime::Mixed, seed, (1, 0, 2), false);
        agree(Regime::Mixed, seed, (2, 0, 2), true);
        agree(Regime::Mixed, seed, (1, 1, 1), false);
        agree(Regime::Mixed, seed, (1, 1, 1), true);
    }
}

#[test]
fn values_agree_to_thirteen_digits_where_nothing_cancels() {
    for seed in 0..10 {
        let problem = problem(Regime::Init, seed, (1, 6, 2), false);
        let (truth, testimony) = (solve(&problem, &RoundingPlan::f32()), testify(&problem));
        for (quantity, bounded) in truth.iter() {
            let seen = testimony.get(quantity).unwrap();
            let scale = bounded.value.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
            let worst = (seen - &bounded.value).iter().fold(0.0, |max: f64, v| max.max(v.abs()));
            assert!(worst <= 1e-13 * scale, "{}: {worst:e} of {scale:e}", quantity.name());
        }
    }
}

fn loss(inputs: Inputs) -> f64 {
    let (dy, dlast) = (inputs.dy.clone(), inputs.dlast.clone());
    let truth = solve(&Problem::new(inputs).unwrap(), &RoundingPlan::exact());
    let dot =
        |quantity, cotangent: &ndarray::ArrayD<f64>| (&truth.get(quantity).unwrap().value * cotangent).sum();
    dot(Quantity::Y, &dy.into_dyn()) + dot(Quantity::Last, &dlast.into_dyn())
}

/// Central difference of the loss when `change` adds a step to one input.
fn difference(inputs: &Inputs, change: impl Fn(&mut Inputs, f64)) -> f64 {
    let step = 1e-6;
    let moved = |by: f64| {
        let mut inputs = inputs.clone();
        change(&mut inputs, by);
        loss(inputs)
    };
    (moved(step) - moved(-step)) / (2.0 * step)
}

/// Away from the clip (`4 z >= 1e-6`) only: below it the gradient is not the derivative.
#[test]
fn gradients_are_those_of_finite_differences() {
    let inputs = problem(Regime::Init, 2, (1, 4, 2), false).into_inputs();
    let truth = solve(&Problem::new(inputs.clone()).unwrap(), &RoundingPlan::exact());
    let check = |quantity: Quantity, index: &[usize], seen: f64| {
        let value = truth.get(quantity).unwrap().value[index];
        assert!((seen - value).abs() < 1e-7 * (1.0 + value.abs()), "{}: {seen} {value}", quantity.name());
    };
    for (t, w) in [(0, 0), (1, 1), (3, 0)] {
        let at = [0, t, w];
        check(Quantity::Dx, &at, difference(&inputs, |inputs, by| inputs.x[at] += by));
        let logit = |second: bool| {
            move |inputs: &mut Inputs, by: f64| match &mut inputs.gates {
                Gates::Logits { u, v } => (if second { v } else { u })[at] += by,
                Gates::Projected { .. } => unreachable!("asked for logits"),
            }
        };
        check(Quantity::Du, &at, difference(&inputs, logit(false)));
        check(Quantity::Dv, &at, difference(&inputs, logit(true)));
    }
    check(Quantity::DaParam, &[1], difference(&inputs, |inputs, by| inputs.a_param[1] += by));
}
