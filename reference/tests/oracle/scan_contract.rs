//! What the linear scan is: gradients of its own forward pass, the real scan where nothing is imaginary, isolation at a
//! decay of zero, and its other corners.

use ndarray::{Array2, Array3, ArrayD, Axis, Slice, concatenate};
use plumbline_reference::number::Number;
use plumbline_reference::scan::{Field, Input, Inputs, Problem, evaluate, run, solve};
use plumbline_reference::{Quantity, RoundingPlan, Truth};

use crate::numbers::{Dual, Octuple};
use crate::scan_family::{FIELDS, REGIMES, Regime, problem};
use crate::support::ratio;

fn value(problem: &Problem, input: Input, at: usize) -> f64 {
    problem.number(input, at)
}

/// The gradient of one input, element by element, from dual numbers in octuple precision.
fn slopes(problem: &Problem, input: Input, elements: usize) -> Vec<f64> {
    let inputs = problem.inputs();
    let derivative = |seeded: usize| {
        let outputs = run(problem, |of, at| {
            let slope = if of == input && at == seeded { 1.0 } else { 0.0 };
            Dual::new(Octuple::from_f64(value(problem, of, at)), Octuple::from_f64(slope))
        });
        let y = outputs.y.iter().zip(&inputs.dy);
        let pairs = y.chain(outputs.last.iter().zip(&inputs.dlast));
        pairs.fold(Octuple::zero(), |sum, (number, &cotangent)| sum + number.slope.times(cotangent)).to_f64()
    };
    (0..elements).map(derivative).collect()
}

/// In the envelope of a kernel that computes in f64.
fn agree(truth: &Truth, quantity: Quantity, numbers: Vec<f64>, context: &str) {
    let bounded = truth.get(quantity).unwrap();
    let seen = ArrayD::from_shape_vec(bounded.value.raw_dim(), numbers).unwrap();
    let worst = ratio(&seen, bounded);
    assert!(worst <= 1.0, "{context}: {} at {worst} of the f64 envelope", quantity.name());
}

#[test]
fn values_and_gradients_of_a_scan_are_those_of_octuple_precision() {
    for (regime, field) in REGIMES.into_iter().flat_map(|regime| FIELDS.map(|field| (regime, field))) {
        for (seed, length) in [(1, 6), (2, 5), (3, 1), (4, 0), (5, 7)] {
            let problem = problem(regime, field, seed, (2, length, 2));
            let truth = solve(&problem, &RoundingPlan::f64());
            let (tokens, states) = (problem.shape().elements(), problem.shape().states().iter().product());
            let context = format!("{regime:?} {field:?} seed {seed} length {length}");
            let exact = run(&problem, |input, at| Octuple::from_f64(value(&problem, input, at)));
            let rounded = |numbers: &[Octuple]| numbers.iter().map(|number| number.to_f64()).collect();
            agree(&truth, Quantity::Y, rounded(&exact.y), &context);
            agree(&truth, Quantity::Last, rounded(&exact.last), &context);
            agree(&truth, Quantity::Da, slopes(&problem, Input::A, tokens), &context);
            agree(&truth, Quantity::Dw, slopes(&problem, Input::W, tokens), &context);
            // An absent initial state is zeros, and they have a gradient.
            agree(&truth, Quantity::Dh0, slopes(&problem, Input::H0, states), &context);
        }
    }
}

#[test]
fn evaluation_is_solution_without_envelopes() {
    for (regime, field) in REGIMES.into_iter().flat_map(|regime| FIELDS.map(|field| (regime, field))) {
        let problem = problem(regime, field, 3, (3, 9, 11));
        let (values, truth) = (evaluate(&problem), solve(&problem, &RoundingPlan::f32()));
        let lifted = run(&problem, |input, at| f64::from_f64(value(&problem, input, at)));
        for (quantity, bounded) in truth.iter() {
            assert_eq!(values.get(quantity).unwrap(), &bounded.value, "{}", quantity.name());
        }
        assert!(truth.get(Quantity::Y).unwrap().value.iter().eq(&lifted.y));
        assert!(truth.get(Quantity::Last).unwrap().value.iter().eq(&lifted.last));
    }
}

/// Real numbers as complex ones.
fn widened(problem: &Problem) -> Problem {
    let inputs = problem.inputs();
    let tokens = |x: &Array3<f64>| concatenate![Axis(2), *x, x * 0.0];
    let states = |x: &Array2<f64>| concatenate![Axis(1), *x, x * 0.0];
    Problem::new(Inputs {
        field: Field::Complex,
        a: tokens(&inputs.a),
        w: tokens(&inputs.w),
        h0: inputs.h0.as_ref().map(states),
        dy: tokens(&inputs.dy),
        dlast: states(&inputs.dlast),
    })
    .unwrap()
}

#[test]
fn a_complex_scan_of_real_numbers_is_the_real_scan() {
    for (regime, seed) in REGIMES.into_iter().flat_map(|regime| (0..4).map(move |seed| (regime, seed))) {
        let problem = problem(regime, Field::Real, seed, (2, 12, 3));
        let (real, complex) = (evaluate(&problem), evaluate(&widened(&problem)));
        for (quantity, values) in real.iter() {
            let both = complex.get(quantity).unwrap();
            let axis = Axis(values.ndim() - 1);
            let half = |from: usize| both.slice_axis(axis, Slice::from(from..from + 3));
            assert_eq!(half(0), values, "{regime:?} {}", quantity.name());
            assert!(half(3).iter().all(|&im| im == 0.0), "{regime:?} {}", quantity.name());
        }
    }
}

/// Tokens of channel 0, in either part, that are NaN; the others must be clean.
fn poisoned(truth: &Truth, quantity: Quantity) -> Vec<usize> {
    let values = &truth.get(quantity).unwrap().value;
    let channels = values.len_of(Axis(2)) / 2;
    let is_nan = |t: usize, m: usize| (0..2).any(|part| values[[0, t, part * channels + m]].is_nan());
    let length = values.len_of(Axis(1));
    assert!((0..length).all(|t| (1..channels).all(|m| !is_nan(t, m))), "channels do not talk");
    (0..length).filter(|&t| is_nan(t, 0)).collect()
}

#[test]
fn a_nan_write_stops_at_the_zero_decay_except_in_its_gradient() {
    for part in 0..2 {
        let mut inputs = problem(Regime::Decaying, Field::Complex, 1, (1, 6, 2)).into_inputs();
        inputs.a.mapv_inplace(|a| if a == 0.0 { 0.5 } else { a });
        inputs.a[[0, 3, 0]] = 0.0;
        inputs.a[[0, 3, 2]] = 0.0;
        inputs.w[[0, 1, 2 * part]] = f64::NAN;
        let truth = solve(&Problem::new(inputs).unwrap(), &RoundingPlan::f32());
        assert_eq!(poisoned(&truth, Quantity::Y), [1, 2]);
        assert_eq!(poisoned(&truth, Quantity::Dw), [0; 0]);
        assert_eq!(poisoned(&truth, Quantity::Da), [2, 3]);
    }
}

#[test]
fn a_nan_cotangent_stops_at_the_zero_decay_too() {
    let mut inputs = problem(Regime::Decaying, Field::Complex, 1, (1, 6, 2)).into_inputs();
    inputs.a.mapv_inplace(|a| if a == 0.0 { 0.5 } else { a });
    inputs.a[[0, 3, 0]] = 0.0;
    inputs.a[[0, 3, 2]] = 0.0;
    inputs.dy[[0, 4, 0]] = f64::NAN;
    let truth = solve(&Problem::new(inputs).unwrap(), &RoundingPlan::f32());
    assert_eq!(poisoned(&truth, Quantity::Y), [0; 0]);
    assert_eq!(poisoned(&truth, Quantity::Dw), [3, 4]);
    assert!(truth.get(Quantity::Dh0).unwrap().value.iter().all(|v| v.is_finite()));
}

#[test]
fn a_cotangent_of_the_final_state_that_is_not_finite_stays_in_its_part_at_the_last_token() {
    for wild in [f64::NAN, f64::INFINITY] {
        let mut inputs = problem(Regime::Decaying, Field::Complex, 1, (1, 1, 2)).into_inputs();
        inputs.dlast[[0, 0]] = wild;
        let truth = solve(&Problem::new(inputs).unwrap(), &RoundingPlan::f32());
        let dw = &truth.get(Quantity::Dw).unwrap().value;
        assert!(!dw[[0, 0, 0]].is_finite() && dw[[0, 0, 2]].is_finite());
    }
}

#[test]
fn a_zero_first_decay_leaves_the_initial_state_without_gradient_but_has_one_itself() {
    let mut inputs = problem(Regime::Decaying, Field::Real, 2, (1, 4, 1)).into_inputs();
    inputs.a[[0, 0, 0]] = 0.0;
    inputs.h0 = Some(Array2::ones((1, 1)));
    let truth = solve(&Problem::new(inputs).unwrap(), &RoundingPlan::f32());
    assert_eq!(truth.get(Quantity::Dh0).unwrap().value[[0, 0]], 0.0);
    let (da, dw) = (truth.get(Quantity::Da).unwrap(), truth.get(Quantity::Dw).unwrap());
    assert_eq!(da.value[[0, 0, 0]], dw.value[[0, 0, 0]]);
    assert!(da.value[[0, 0, 0]] != 0.0);
}

/// A chunk multiplies its decays even where the state is zero: what overflows there is not held against it.
#[test]
fn decays_whose_product_overflows_promise_nothing() {
    let grow = Array3::from_elem((1, 6, 1), 1e20);
    let inputs = Inputs {
        field: Field::Real,
        a: grow.clone(),
        w: &grow * 0.0,
        h0: None,
        dy: &grow * 0.0,
        dlast: Array2::zeros((1, 1)),
    };
    let truth = solve(&Problem::new(inputs).unwrap(), &RoundingPlan::f32());
    let envelope = &truth.get(Quantity::Y).unwrap().envelope;
    assert!(envelope[[0, 0, 0]].is_finite() && envelope[[0, 5, 0]].is_infinite());
}

/// The same bits from one thread and from three.
#[test]
fn the_bits_of_a_scan_do_not_depend_on_the_threads() {
    let problem = problem(Regime::Decaying, Field::Complex, 8, (3, 40, 37));
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
