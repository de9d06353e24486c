//! NaN and infinity in the mixer reach exactly what depends on them; and the other corners of its contract.

use crate::samu_support::{Regime, problem};
use crate::support::ratio;
use ndarray::ArrayD;
use plumbline_reference::samu::{Inputs, Problem, solve};
use plumbline_reference::staged::{Order, Staging, Twist, simulate};
use plumbline_reference::{Quantity, RoundingPlan, Truth};

const LENGTH: usize = 6;
/// The token that resets in every problem here.
const RESET: usize = 3;
/// Two modes: channels 0 and 2 are one, 1 and 3 the other.
const WIDTH: usize = 4;

fn inputs() -> Inputs {
    let mut inputs = problem(Regime::Init, 5, (1, LENGTH, WIDTH)).into_inputs();
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

/// The tokens, with their channels, at which a tensor is NaN.
fn poisoned(truth: &Truth, quantity: Quantity) -> Vec<(usize, Vec<usize>)> {
    let values = values(truth, quantity);
    let channels = values.len() / LENGTH;
    (0..LENGTH)
        .map(|t| {
            let nan = |w: &usize| values.as_slice().unwrap()[t * channels + w].is_nan();
            (t, (0..channels).filter(nan).collect::<Vec<_>>())
        })
        .filter(|(_, nans)| !nans.is_empty())
        .collect()
}

fn everywhere(tokens: &[usize]) -> Vec<(usize, Vec<usize>)> {
    tokens.iter().map(|&t| (t, (0..WIDTH).collect())).collect()
}

#[test]
fn a_nan_input_poisons_all_modes_through_the_controls_until_the_reset() {
    let mut inputs = inputs();
    inputs.x[[0, 1, 0]] = f64::NAN;
    let truth = truth(&inputs);
    assert_eq!(poisoned(&truth, Quantity::Y), everywhere(&[1, 2]));
    assert_eq!(poisoned(&truth, Quantity::Eta), [(1, vec![0])]);
    // Its decay takes every earlier cotangent along.
    assert_eq!(poisoned(&truth, Quantity::Ddelta), [(0, vec![0]), (1, vec![0]), (2, vec![0])]);
    assert!(values(&truth, Quantity::Last).iter().all(|v| v.is_finite()));
    assert!(values(&truth, Quantity::DnuLog).iter().all(|v| v.is_nan()));
}

#[test]
fn a_nan_input_of_a_reset_poisons_the_state_of_its_own_mode_only() {
    let mut inputs = inputs();
    inputs.x[[0, RESET, 1]] = f64::NAN;
    let truth = truth(&inputs);
    // The real part alone at first; a decay turns it into both.
    assert_eq!(poisoned(&truth, Quantity::H), [(3, vec![1]), (4, vec![1, 3]), (5, vec![1, 3])]);
    assert_eq!(poisoned(&truth, Quantity::Eta), [(3, vec![0])]);
    assert_eq!(poisoned(&truth, Quantity::Deta), [(4, vec![0]), (5, vec![0])]);
    assert!(values(&truth, Quantity::Dh0).iter().all(|v| v.is_finite()));
}

/// If the next token is a reset too, nothing is carried on and no parameter of the controls hears of it.
#[test]
fn a_nan_input_of_a_document_of_one_token_does_not_reach_the_controls() {
    let mut inputs = inputs();
    inputs.reset[[0, RESET + 1]] = true;
    inputs.x[[0, RESET, 1]] = f64::NAN;
    let truth = truth(&inputs);
    for quantity in [
        Quantity::DphaseDirection,
        Quantity::DradialDirection,
        Quantity::DphaseAmplitude,
        Quantity::DradialAmplitude,
        Quantity::DthetaLog,
        Quantity::DxTotal,
    ] {
        assert!(values(&truth, quantity).iter().all(|v| v.is_finite()), "{}", quantity.name());
    }
    let dnu_log = values(&truth, Quantity::DnuLog);
    assert!(dnu_log[[0]].is_finite() && dnu_log[[1]].is_nan());
}

#[test]
fn a_nan_cotangent_stops_at_the_reset_on_its_way_back() {
    let mut inputs = inputs();
    inputs.x.mapv_inplace(f64::abs);
    inputs.dlast[[0, 0]] = f64::NAN;
    let truth = truth(&inputs);
    assert_eq!(poisoned(&truth, Quantity::Y), []);
    assert_eq!(poisoned(&truth, Quantity::Dx), [(3, vec![0, 2]), (4, vec![0, 2]), (5, vec![0])]);
    assert_eq!(poisoned(&truth, Quantity::Deta), [(4, vec![0]), (5, vec![0])]);
    assert_eq!(
        poisoned(&truth, Quantity::DxTotal),
        [(3, vec![0, 2]), (4, vec![0, 1, 2, 3]), (5, vec![0, 1, 2, 3])]
    );
    assert!(values(&truth, Quantity::Dh0).iter().all(|v| v.is_finite()));
}

#[test]
fn an_infinite_initial_state_is_discarded_with_the_rest() {
    let mut inputs = inputs();
    inputs.h0.as_mut().unwrap()[[0, 0]] = f64::INFINITY;
    let truth = truth(&inputs);
    let h = values(&truth, Quantity::H);
    assert!(
        (0..RESET).all(|t| !h[[0, t, 0]].is_finite()) && (RESET..LENGTH).all(|t| h[[0, t, 0]].is_finite())
    );
    assert!(truth.get(Quantity::Y).unwrap().envelope[[0, RESET, 0]].is_finite());
}

#[test]
fn a_nan_parameter_poisons_its_mode_alone_forward() {
    let mut inputs = inputs();
    inputs.theta_log[0] = f64::NAN;
    let truth = truth(&inputs);
    let expected: Vec<_> = [0, 1, 2, 4, 5].into_iter().map(|t| (t, vec![0, 2])).collect();
    assert_eq!(poisoned(&truth, Quantity::H), expected);
}

/// The staged simulation isolates as the oracle does, in every order; and multiplying by zero does not.
#[test]
fn a_simulated_kernel_discards_too_unless_it_multiplies() {
    let mut inputs = inputs();
    inputs.x[[0, 1, 0]] = f64::NAN;
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
        let mut inputs = problem(Regime::Init, 1, (2, 0, 4)).into_inputs();
        inputs.h0 = h0.then(|| inputs.dlast.clone() + 1.0);
        let expected = inputs.h0.clone().unwrap_or_else(|| inputs.dlast.clone() * 0.0);
        let truth = truth(&inputs);
        assert_eq!(values(&truth, Quantity::Y).shape(), [2, 0, 4]);
        assert_eq!(values(&truth, Quantity::Last), &expected.into_dyn());
        assert_eq!(values(&truth, Quantity::Dh0), &inputs.dlast.into_dyn());
        assert!(truth.get(Quantity::Last).unwrap().envelope.iter().all(|&e| e == 0.0));
        assert!(values(&truth, Quantity::DphaseAmplitude)[[]] == 0.0);
    }
}

#[test]
fn without_rounding_every_envelope_is_zero() {
    for regime in [Regime::Init, Regime::Sparse, Regime::Zeros, Regime::Mixed] {
        let truth = solve(&problem(regime, 2, (2, 9, 6)), &RoundingPlan::exact());
        assert_eq!(truth.undecided(), 0);
        for (quantity, bounded) in truth.iter() {
            assert!(bounded.envelope.iter().all(|&e| e == 0.0), "{regime:?} {}", quantity.name());
        }
    }
}

/// A state of exactly zero that nothing was written to is on no kink: every kernel has that zero.
#[test]
fn nothing_written_is_not_undecided() {
    let mut inputs = inputs();
    inputs.x.fill(0.0);
    inputs.h0 = None;
    assert_eq!(truth(&inputs).undecided(), 0);
    assert!(truth(&inputs).get(Quantity::Dx).unwrap().envelope.iter().all(|&e| e < 1e-5));
}

/// A state that cancels is: its cotangent may pass or not.
#[test]
fn a_state_that_cancels_is_undecided_and_its_cotangent_too() {
    // Without controls the decay does not depend on the input.
    let mut inputs = problem(Regime::Ungated, 7, (1, 2, 2)).into_inputs();
    inputs.reset.fill(false);
    inputs.h0 = None;
    let first = solve(&Problem::new(inputs.clone()).unwrap(), &RoundingPlan::exact());
    let (h, gamma) =
        (values(&first, Quantity::H).clone(), values(&first, Quantity::H)[[0, 0, 0]] / inputs.x[[0, 0, 0]]);
    // The second write takes the carried real part away.
    inputs.x[[0, 1, 0]] -= h[[0, 1, 0]] / gamma;
    let truth = truth(&inputs);
    assert!(values(&truth, Quantity::H)[[0, 1, 0]].abs() < 1e-15);
    assert_eq!(truth.undecided(), 1);
    assert!(truth.get(Quantity::Dx).unwrap().envelope[[0, 1, 0]] >= gamma * inputs.dy[[0, 1, 0]].abs());
}

#[test]
fn the_answer_does_not_depend_on_the_number_of_threads() {
    let problem = problem(Regime::Mixed, 11, (2, 40, 70));
    let solved = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| solve(&problem, &RoundingPlan::f32()))
    };
    let (one, three) = (solved(1), solved(3));
    for (quantity, bounded) in one.iter() {
        let other = three.get(quantity).unwrap();
        assert_eq!(
            (&bounded.value, &bounded.envelope),
            (&other.value, &other.envelope),
            "{}",
            quantity.name()
        );
    }
}
