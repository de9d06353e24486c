//! What the complex recurrence is: gradients of its own forward pass, the real recurrence where nothing is imaginary, and
//! isolation at resets.

use ndarray::{Array2, Array3, ArrayD, Axis, Slice, concatenate};
use plumbline_reference::number::Number;
use plumbline_reference::rglru;
use plumbline_reference::rglru_complex::{Gates, Input, Inputs, Problem, evaluate, forward, solve};
use plumbline_reference::{Bounded, Quantity, RoundingPlan, Truth};

use crate::numbers::{Dual, Octuple};
use crate::rglru_complex::problem;
use crate::support::{REGIMES, Regime, problem as real_problem, ratio};

/// The value of an element of an input.
fn value(problem: &Problem, input: Input, at: usize) -> f64 {
    let inputs = problem.inputs();
    let of = |tensor: &Array3<f64>| tensor.as_slice().unwrap()[at];
    match (input, &inputs.gates) {
        (Input::X, _) => of(&inputs.x),
        (Input::U, Gates::Logits { u, .. }) => of(u),
        (Input::V, Gates::Logits { v, .. }) => of(v),
        (Input::Wi, Gates::Projected { wi, .. }) => of(wi),
        (Input::Wr, Gates::Projected { wr, .. }) => of(wr),
        (Input::Bi, Gates::Projected { bi, .. }) => bi.as_slice().unwrap()[at],
        (Input::Br, Gates::Projected { br, .. }) => br.as_slice().unwrap()[at],
        (Input::AParam, _) => inputs.a_param[at],
        (Input::AImag, _) => inputs.a_imag[at],
        (Input::H0, _) => inputs.h0.as_ref().unwrap().as_slice().unwrap()[at],
        _ => unreachable!("not an input of this problem"),
    }
}

/// The derivative of the loss with respect to one element.
fn derivative<N: Number>(problem: &Problem, input: Input, seeded: usize) -> N {
    let outputs = forward(problem, |of, at| {
        let slope = if of == input && at == seeded { N::one() } else { N::zero() };
        Dual::new(N::from_f64(value(problem, of, at)), slope)
    });
    let (dy, dlast) = (problem.dy().iter(), problem.dlast().iter());
    let pairs = outputs.y.iter().zip(dy).chain(outputs.last.iter().zip(dlast));
    pairs.fold(N::zero(), |sum, (number, &cotangent)| sum + number.slope.times(cotangent))
}

fn agree(problem: &Problem, truth: &Truth, quantity: Quantity, input: Input, context: &str) {
    let bounded = truth.get(quantity).unwrap();
    let slopes = (0..bounded.value.len()).map(|at| derivative::<f64>(problem, input, at)).collect();
    close(slopes, bounded, 1.0, &format!("{context} {}", quantity.name()));
}

/// Within a share of an envelope.
fn close(numbers: Vec<f64>, bounded: &Bounded, share: f64, context: &str) {
    let seen = ArrayD::from_shape_vec(bounded.value.raw_dim(), numbers).unwrap();
    let worst = ratio(&seen, bounded);
    assert!(worst <= share, "{context}: {worst} of the envelope");
}

/// A problem whose initial state is given, so that it has a derivative.
fn whole(regime: Regime, seed: u64, size: (usize, usize, usize), projected: bool) -> Problem {
    let mut inputs = problem(regime, seed, size, projected).into_inputs();
    inputs.h0 = Some(inputs.dlast.clone() * 0.5);
    Problem::new(inputs).unwrap()
}

/// The oracle's own error: inside the envelope of a kernel that computes in f64, and below a thousandth of that by which
/// kernels in f32 are judged.
#[test]
fn the_complex_oracle_is_exact_to_octuple_precision() {
    let pairs = [
        (Quantity::Dx, Input::X),
        (Quantity::Dv, Input::V),
        (Quantity::DaParam, Input::AParam),
        (Quantity::DaImag, Input::AImag),
        (Quantity::Dh0, Input::H0),
    ];
    for regime in REGIMES {
        let problem = whole(regime, 5, (1, 4, 1), false);
        let plans = [(RoundingPlan::f64(), 1.0), (RoundingPlan::f32(), 1e-3)];
        let truths = plans.map(|(plan, share)| (solve(&problem, &plan), share));
        let check = |quantity: Quantity, numbers: &[Octuple]| {
            for (truth, share) in &truths {
                let numbers = numbers.iter().map(|number| number.to_f64()).collect();
                let context = format!("{regime:?} {}", quantity.name());
                close(numbers, truth.get(quantity).unwrap(), *share, &context);
            }
        };
        let outputs = forward(&problem, |input, at| Octuple::from_f64(value(&problem, input, at)));
        check(Quantity::Y, &outputs.y);
        check(Quantity::Last, &outputs.last);
        for (quantity, input) in pairs {
            let elements = truths[0].0.get(quantity).unwrap().value.len();
            let slopes: Vec<Octuple> = (0..elements).map(|at| derivative(&problem, input, at)).collect();
            check(quantity, &slopes);
        }
    }
}

/// Every regime, the clipped derivative of the root among them: a dual number knows the clip.
#[test]
fn complex_gradients_are_those_of_dual_numbers() {
    let pairs = [
        (Quantity::Dx, Input::X),
        (Quantity::Du, Input::U),
        (Quantity::Dv, Input::V),
        (Quantity::DaParam, Input::AParam),
        (Quantity::DaImag, Input::AImag),
        (Quantity::Dh0, Input::H0),
    ];
    for regime in REGIMES {
        for (seed, size) in [(1, (2, 5, 2)), (2, (1, 7, 1)), (3, (1, 1, 3)), (4, (2, 0, 1))] {
            let problem = whole(regime, seed, size, false);
            let truth = solve(&problem, &RoundingPlan::f64());
            for (quantity, input) in pairs {
                agree(&problem, &truth, quantity, input, &format!("{regime:?} seed {seed} {size:?}"));
            }
        }
    }
}

#[test]
fn complex_gradients_through_the_projections_are_those_of_dual_numbers() {
    let pairs = [
        (Quantity::DxTotal, Input::X),
        (Quantity::Dwi, Input::Wi),
        (Quantity::Dbi, Input::Bi),
        (Quantity::Dwr, Input::Wr),
        (Quantity::Dbr, Input::Br),
        (Quantity::DaParam, Input::AParam),
        (Quantity::DaImag, Input::AImag),
        (Quantity::Dh0, Input::H0),
    ];
    for regime in REGIMES {
        for (seed, size) in [(1, (2, 3, 4)), (2, (1, 4, 3)), (3, (1, 1, 1))] {
            let problem = whole(regime, seed, size, true);
            let truth = solve(&problem, &RoundingPlan::f64());
            for (quantity, input) in pairs {
                agree(&problem, &truth, quantity, input, &format!("{regime:?} seed {seed} {size:?}"));
            }
        }
    }
}

/// The generic forward pass and the tiles are one recurrence, and a solution without envelopes has the same values.
#[test]
fn complex_evaluation_is_solution_without_envelopes() {
    for (regime, projected) in REGIMES.into_iter().flat_map(|regime| [(regime, false), (regime, true)]) {
        let problem = whole(regime, 7, (2, 9, 41), projected);
        let (values, truth) = (evaluate(&problem), solve(&problem, &RoundingPlan::f32()));
        for (quantity, bounded) in truth.iter() {
            assert_eq!(values.get(quantity).unwrap(), &bounded.value, "{regime:?} {}", quantity.name());
        }
        let lifted = forward(&problem, |input, at| f64::from_f64(value(&problem, input, at)));
        let own = solve(&problem, &RoundingPlan::f64());
        for (quantity, lifted) in [(Quantity::Y, lifted.y), (Quantity::Last, lifted.last)] {
            let bounded = own.get(quantity).unwrap();
            let seen = ArrayD::from_shape_vec(bounded.value.raw_dim(), lifted).unwrap();
            // Projections may be summed in another order.
            assert!(ratio(&seen, bounded) <= 1.0, "{regime:?} projected {projected} {}", quantity.name());
        }
    }
}

/// A real problem as a complex one in which nothing is imaginary.
fn widened(problem: &rglru::Problem) -> Problem {
    let inputs = problem.inputs();
    let tokens = |x: &Array3<f64>| concatenate![Axis(2), *x, x * 0.0];
    let states = |x: &Array2<f64>| concatenate![Axis(1), *x, x * 0.0];
    let rglru::Gates::Logits { u, v } = &inputs.gates else { unreachable!("asked for logits") };
    Problem::new(Inputs {
        x: tokens(&inputs.x),
        gates: Gates::Logits { u: u.clone(), v: v.clone() },
        a_param: inputs.a_param.clone(),
        a_imag: &inputs.a_param * 0.0,
        reset: inputs.reset.clone(),
        h0: inputs.h0.as_ref().map(states),
        dy: tokens(&inputs.dy),
        dlast: states(&inputs.dlast),
    })
    .unwrap()
}

/// Two implementations of one recurrence, each with its own order of operations.
#[test]
fn without_phase_and_imaginary_parts_it_is_the_real_recurrence() {
    for (regime, seed) in REGIMES.into_iter().flat_map(|regime| (0..4).map(move |seed| (regime, seed))) {
        let problem = real_problem(regime, seed, (2, 12, 3), false);
        let real = rglru::solve(&problem, &RoundingPlan::f64());
        let complex = evaluate(&widened(&problem));
        for (quantity, bounded) in real.iter() {
            let context = format!("{regime:?} seed {seed} {}", quantity.name());
            let both = complex.get(quantity).unwrap();
            let axis = Axis(bounded.value.ndim() - 1);
            let half = both.slice_axis(axis, Slice::from(0..3)).to_owned();
            let worst = ratio(&half, bounded);
            assert!(worst <= 1.0, "{context}: {worst} of the f64 envelope");
            let merged = both.len_of(axis) == 6;
            if merged {
                let rest = both.slice_axis(axis, Slice::from(3..6));
                assert!(rest.iter().all(|&im| im == 0.0), "{context}: imaginary part");
            }
        }
    }
}

const RESET: usize = 3;

fn inputs() -> Inputs {
    let mut inputs = problem(Regime::Init, 5, (1, 6, 2), false).into_inputs();
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

/// The tokens of channel 0 at which either part of a tensor is NaN; channel 1 must be clean.
fn poisoned(truth: &Truth, quantity: Quantity) -> Vec<usize> {
    let values = values(truth, quantity);
    let is_nan =
        |t: usize, m: usize| (m..values.len_of(Axis(2))).step_by(2).any(|w| values[[0, t, w]].is_nan());
    assert!((0..6).all(|t| !is_nan(t, 1)), "channels do not talk");
    (0..6).filter(|&t| is_nan(t, 0)).collect()
}

#[test]
fn a_nan_input_of_either_half_stops_at_the_reset_and_spares_its_own_gradient() {
    for half in [0, 2] {
        let mut inputs = inputs();
        inputs.x[[0, 1, half]] = f64::NAN;
        let truth = truth(&inputs);
        assert_eq!(poisoned(&truth, Quantity::Y), [1, 2]);
        assert_eq!(poisoned(&truth, Quantity::Dx), [0; 0]);
        assert_eq!(poisoned(&truth, Quantity::Du), [1]);
        assert_eq!(poisoned(&truth, Quantity::Dv), [1, 2]);
    }
}

#[test]
fn a_nan_recurrence_logit_of_a_reset_reaches_nothing() {
    let clean = truth(&inputs());
    let mut inputs = inputs();
    let Gates::Logits { v, .. } = &mut inputs.gates else { unreachable!("asked for logits") };
    v[[0, RESET, 0]] = f64::NAN;
    let truth = truth(&inputs);
    for (quantity, bounded) in clean.iter() {
        assert_eq!(&bounded.value, values(&truth, quantity), "{}", quantity.name());
        assert_eq!(bounded.envelope, truth.get(quantity).unwrap().envelope, "{}", quantity.name());
    }
}

#[test]
fn a_nan_cotangent_stops_at_the_reset_on_its_way_back() {
    let mut inputs = inputs();
    inputs.dy[[0, 4, 2]] = f64::NAN;
    let truth = truth(&inputs);
    assert_eq!(poisoned(&truth, Quantity::Y), [0; 0]);
    assert_eq!(poisoned(&truth, Quantity::Dx), [3, 4]);
    assert_eq!(poisoned(&truth, Quantity::Dv), [4]);
    assert!(values(&truth, Quantity::Dh0).iter().all(|v| v.is_finite()));
}

#[test]
fn a_cotangent_of_the_final_state_that_is_not_finite_stays_in_its_half_at_the_last_token() {
    for wild in [f64::NAN, f64::INFINITY] {
        let mut inputs = inputs();
        inputs.dlast[[0, 0]] = wild;
        let dx = truth(&inputs);
        let dx = values(&dx, Quantity::Dx);
        assert!(!dx[[0, 5, 0]].is_finite() && dx[[0, 5, 2]].is_finite());
    }
}

#[test]
fn a_nan_phase_poisons_its_channel_but_no_reset_token() {
    let mut inputs = inputs();
    inputs.a_imag[0] = f64::NAN;
    let truth = truth(&inputs);
    assert_eq!(poisoned(&truth, Quantity::Y), [0, 1, 2, 4, 5]);
    assert!(values(&truth, Quantity::DaImag)[[0]].is_nan());
    assert_eq!(values(&truth, Quantity::Dv)[[0, RESET, 0]].abs(), 0.0);
}

#[test]
fn a_first_token_that_resets_leaves_the_complex_initial_state_without_gradient() {
    let mut inputs = inputs();
    inputs.reset[[0, 0]] = true;
    assert!(values(&truth(&inputs), Quantity::Dh0).iter().all(|&v| v == 0.0));
}

#[test]
fn without_tokens_the_complex_state_goes_through_and_so_does_its_cotangent() {
    let problem = whole(Regime::Init, 1, (2, 0, 3), false);
    let truth = solve(&problem, &RoundingPlan::f32());
    assert_eq!(values(&truth, Quantity::Last), &problem.h0().unwrap().clone().into_dyn());
    assert_eq!(values(&truth, Quantity::Dh0), &problem.dlast().clone().into_dyn());
    assert_eq!(values(&truth, Quantity::Y).shape(), [2, 0, 6]);
}

/// The same bits from one thread and from three.
#[test]
fn the_bits_of_the_complex_recurrence_do_not_depend_on_the_threads() {
    let problem = problem(Regime::Init, 8, (3, 40, 37), true);
    let solved = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| solve(&problem, &RoundingPlan::f32()))
    };
    let (one, three) = (solved(1), solved(3));
    for (quantity, bounded) in one.iter() {
        let other = three.get(quantity).unwrap();
        assert!(bounded.value == other.value && bounded.envelope == other.envelope, "{}", quantity.name());
    }
}
