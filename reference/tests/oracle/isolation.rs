//! NaN and infinity reach exactly what depends on them; and the other corners of the contract: resets, no
//! tokens, absent initial states.

use crate::support::{Regime, problem, ratio};
use ndarray::{Array3, ArrayD, Axis};
use plumbline_reference::rglru::{Gates, Inputs, Problem, solve};
use plumbline_reference::staged::{Order, Staging, Twist, simulate};
use plumbline_reference::{Quantity, RoundingPlan, Truth};

const LENGTH: usize = 6;
/// The token that resets in every problem here.
const RESET: usize = 3;

fn inputs() -> Inputs {
    let mut inputs = problem(Regime::Init, 5, (1, LENGTH, 2), false).into_inputs();
    inputs.reset.fill(false);
    inputs.reset[[0, RESET]] = true;
    inputs.h0 = Some(inputs.dlast.clone());
    inputs
}

fn truth(inputs: &Inputs) -> Truth {
    solve(&Problem::new(inputs.clone()).unwrap(), &RoundingPlan::f32())
}

fn values(truth: &Truth, quantity: Quantity) -> &ArrayD<f64> {
    &truth.get(quantity).unwrap().value
}

/// The tokens of channel 0 at which a tensor is NaN; channel 1 must be clean.
fn poisoned(truth: &Truth, quantity: Quantity) -> Vec<usize> {
    let values = values(truth, quantity);
    assert!(values.index_axis(Axis(2), 1).iter().all(|v| v.is_finite()), "channels do not talk");
    let column = values.index_axis(Axis(2), 0);
    column.iter().enumerate().filter(|(_, v)| v.is_nan()).map(|(t, _)| t).collect()
}

fn poison(tensor: &mut Array3<f64>, t: usize) {
    tensor[[0, t, 0]] = f64::NAN;
}

fn logits(inputs: &mut Inputs) -> [&mut Array3<f64>; 2] {
    match &mut inputs.gates {
        Gates::Logits { u, v } => [u, v],
        Gates::Projected { .. } => unreachable!("asked for logits"),
    }
}

#[test]
fn a_nan_input_stops_at_the_reset_and_spares_its_own_gradient() {
    let mut inputs = inputs();
    poison(&mut inputs.x, 1);
    let truth = truth(&inputs);
    assert_eq!(poisoned(&truth, Quantity::Y), [1, 2]);
    assert_eq!(poisoned(&truth, Quantity::Dx), [0; 0]);
    assert_eq!(poisoned(&truth, Quantity::Du), [1]);
    assert_eq!(poisoned(&truth, Quantity::Dv), [1, 2]);
}

#[test]
fn a_nan_input_logit_poisons_the_state_and_its_own_gradients() {
    let mut inputs = inputs();
    poison(logits(&mut inputs)[0], 1);
    let truth = truth(&inputs);
    assert_eq!(poisoned(&truth, Quantity::Y), [1, 2]);
    assert_eq!(poisoned(&truth, Quantity::Dx), [1]);
    assert_eq!(poisoned(&truth, Quantity::Du), [1]);
    assert_eq!(poisoned(&truth, Quantity::Dv), [1, 2]);
}

#[test]
fn a_nan_recurrence_logit_goes_both_ways() {
    let mut inputs = inputs();
    poison(logits(&mut inputs)[1], 1);
    let truth = truth(&inputs);
    assert_eq!(poisoned(&truth, Quantity::Y), [1, 2]);
    // Its decay takes every earlier cotangent along.
    assert_eq!(poisoned(&truth, Quantity::Dx), [0, 1]);
    assert!(values(&truth, Quantity::Dh0)[[0, 0]].is_nan());
}

#[test]
fn a_nan_recurrence_logit_of_a_reset_reaches_nothing() {
    let clean = truth(&inputs());
    let mut inputs = inputs();
    poison(logits(&mut inputs)[1], RESET);
    let truth = truth(&inputs);
    for (quantity, bounded) in clean.iter() {
        assert_eq!(&bounded.value, values(&truth, quantity), "{}", quantity.name());
        assert_eq!(bounded.envelope, truth.get(quantity).unwrap().envelope, "{}", quantity.name());
    }
}

#[test]
fn a_nan_cotangent_stops_at_the_reset_on_its_way_back() {
    let mut inputs = inputs();
    poison(&mut inputs.dy, 4);
    let truth = truth(&inputs);
    assert_eq!(poisoned(&truth, Quantity::Y), [0; 0]);
    assert_eq!(poisoned(&truth, Quantity::Dx), [3, 4]);
    // The reset token itself has no decay to be blamed.
    assert_eq!(poisoned(&truth, Quantity::Dv), [4]);
    assert!(values(&truth, Quantity::Dh0).iter().all(|v| v.is_finite()));
}

#[test]
fn an_infinite_initial_state_is_discarded_with_the_rest() {
    let mut inputs = inputs();
    inputs.h0.as_mut().unwrap()[[0, 0]] = f64::INFINITY;
    let truth = truth(&inputs);
    let y = values(&truth, Quantity::Y);
    assert!(
        (0..RESET).all(|t| y[[0, t, 0]].is_infinite()) && (RESET..LENGTH).all(|t| y[[0, t, 0]].is_finite())
    );
    assert!(truth.get(Quantity::Y).unwrap().envelope[[0, RESET, 0]].is_finite());
}

#[test]
fn a_nan_parameter_poisons_its_channel_but_no_reset_token() {
    let mut inputs = inputs();
    inputs.a_param[0] = f64::NAN;
    let truth = truth(&inputs);
    assert_eq!(poisoned(&truth, Quantity::Y), [0, 1, 2, 4, 5]);
    assert!(values(&truth, Quantity::DaParam)[[0]].is_nan());
    assert_eq!(values(&truth, Quantity::Dv)[[0, RESET, 0]].abs(), 0.0);
}

/// The staged simulation isolates as the oracle does, in every order; and multiplying by zero does not.
#[test]
fn a_simulated_kernel_discards_too_unless_it_multiplies() {
    let mut inputs = inputs();
    poison(&mut inputs.x, 1);
    let problem = Problem::new(inputs).unwrap();
    let truth = solve(&problem, &RoundingPlan::f32());
    for order in [Order::Serial, Order::Chunked(2), Order::Tree] {
        let honest = Staging { order, ..Staging::new(RoundingPlan::f32()) };
        let outcome = simulate(&problem.clone().into(), &honest);
        for (quantity, bounded) in truth.iter() {
            let worst = ratio(outcome.get(quantity).unwrap(), bounded);
            assert!(worst <= 1.0, "{order:?} {}: {worst}", quantity.name());
        }
        let crossing = Staging { twist: Some(Twist::ResetByMultiplication), ..honest };
        assert!(simulate(&problem.clone().into(), &crossing).get(Quantity::Last).unwrap()[[0, 0]].is_nan());
    }
}

#[test]
fn without_tokens_the_state_goes_through_and_so_does_its_cotangent() {
    for h0 in [true, false] {
        let mut inputs = problem(Regime::Init, 1, (2, 0, 3), false).into_inputs();
        inputs.h0 = h0.then(|| inputs.dlast.clone() + 1.0);
        let expected = inputs.h0.clone().unwrap_or_else(|| inputs.dlast.clone() * 0.0);
        let truth = truth(&inputs);
        assert_eq!(values(&truth, Quantity::Y).shape(), [2, 0, 3]);
        assert_eq!(values(&truth, Quantity::Last), &expected.into_dyn());
        assert_eq!(values(&truth, Quantity::Dh0), &inputs.dlast.into_dyn());
        assert!(truth.get(Quantity::Last).unwrap().envelope.iter().all(|&e| e == 0.0));
    }
}

#[test]
fn a_first_token_that_resets_leaves_the_initial_state_without_gradient() {
    let mut inputs = inputs();
    inputs.reset[[0, 0]] = true;
    let dh0 = truth(&inputs);
    assert!(values(&dh0, Quantity::Dh0).iter().all(|&v| v == 0.0));
}

#[test]
fn an_absent_initial_state_is_zeros_and_has_their_gradient() {
    let mut inputs = inputs();
    inputs.h0 = None;
    let absent = truth(&inputs);
    inputs.h0 = Some(inputs.dlast.clone() * 0.0);
    let zeros = truth(&inputs);
    for (quantity, bounded) in absent.iter() {
        assert_eq!(&bounded.value, values(&zeros, quantity), "{}", quantity.name());
    }
    assert!(values(&absent, Quantity::Dh0).iter().any(|&v| v != 0.0));
}

#[test]
fn where_a_kernel_may_overflow_nothing_is_promised() {
    let mut inputs = inputs();
    inputs.x.fill(3e38);
    let envelope = &truth(&inputs).get(Quantity::Du).unwrap().envelope.clone();
    assert!(envelope.iter().any(|e| e.is_infinite()) && !envelope.iter().any(|e| e.is_nan()));
}
