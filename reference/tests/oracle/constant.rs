//! Constant inputs: every addition of a long sum, and every step of a scan, rounds the same way; a bound that counts on
//! independence must see it.

use ndarray::{Array1, Array2, Array3};
use plumbline_reference::rglru::{Gates, Inputs, Problem, solve};
use plumbline_reference::scan;
use plumbline_reference::staged::{Staging, simulate};
use plumbline_reference::{Quantity, RoundingPlan};

use super::support::{Random, ratio};

/// The same token `length` times, with gate projections of width 2.
fn constant(length: usize, x: f64, bias: f64) -> Problem {
    let shape = (1, length, 2);
    let weights = |w: f64| Array3::from_elem((1, 2, 2), w);
    Problem::new(Inputs {
        x: Array3::from_elem(shape, x),
        gates: Gates::Projected {
            wi: weights(0.25),
            bi: Array2::from_elem((1, 2), bias),
            wr: weights(-0.125),
            br: Array2::from_elem((1, 2), bias),
        },
        a_param: Array1::from_vec(vec![-1.0, -0.3]),
        reset: Array2::from_elem((1, length), false),
        h0: None,
        dy: Array3::from_elem(shape, 0.7),
        dlast: Array2::zeros((1, 2)),
    })
    .unwrap()
}

#[test]
fn sequential_sums_of_equal_terms_stay_inside() {
    let plan = RoundingPlan::f32();
    let mut largest = 0.0f64;
    for (x, bias) in [(0.3, 0.1), (1.7, -0.4), (0.9, 0.77)] {
        let problem = constant(8192, x, bias);
        let truth = solve(&problem, &plan);
        let seen = simulate(&problem.clone().into(), &Staging::new(plan));
        for (quantity, bounded) in truth.iter() {
            let ratio = ratio(seen.get(quantity).unwrap(), bounded);
            assert!(ratio <= 1.0, "{}: {ratio}", quantity.name());
            if quantity.is_reduced() {
                largest = largest.max(ratio);
            }
        }
    }
    // The roundings do add up: an envelope of independent ones would be 15 times smaller.
    assert!(largest > 0.1, "{largest}");
}

#[test]
fn varying_terms_pay_nothing_for_it() {
    let mut inputs = constant(4096, 0.5, 0.1).into_inputs();
    inputs.x.iter_mut().enumerate().for_each(|(i, x)| *x = (i as f64 * 0.7).sin());
    let problem = Problem::new(inputs).unwrap();
    let envelope = |plan: RoundingPlan| -> f64 {
        let truth = solve(&problem, &plan);
        truth.get(Quantity::Dwi).unwrap().envelope.iter().fold(0.0, |m, &e| m.max(e))
    };
    let exact_sum = RoundingPlan { reduce: RoundingPlan::exact().reduce, ..RoundingPlan::f32() };
    let sums_share = envelope(RoundingPlan::f32()) - envelope(exact_sum);
    let size: f64 = 4096.0;
    // 6 sqrt(n) u times a sum of magnitudes of at most n; in full it would be n u.
    assert!(sums_share < 7.0 * size.sqrt() * size / 16_777_216.0, "{sums_share}");
}

/// Tokens that come again after a while: what an addition rounds away comes again with them.
#[test]
fn sequential_sums_of_terms_that_come_again_stay_inside() {
    for period in [2, 3, 4, 5, 8, 16, 32, 60] {
        let mut random = Random(period as u64);
        let pattern: Vec<f64> = (0..2 * period).map(|_| random.between(0.2, 1.2)).collect();
        let mut inputs = constant(16384, 0.3, 0.1).into_inputs();
        inputs.x.iter_mut().enumerate().for_each(|(i, x)| *x = pattern[i % (2 * period)]);
        assert_inside(&Problem::new(inputs).unwrap(), &format!("period {period}"));
    }
}

#[test]
fn sequential_sums_over_equal_sequences_stay_inside() {
    for length in [1, 7, 300] {
        let batch = 6000 / length;
        let mut random = Random(length as u64);
        let pattern: Vec<f64> = (0..2 * length).map(|_| random.between(0.2, 1.2)).collect();
        let mut inputs = constant(length, 0.3, 0.1).into_inputs();
        let shape = (batch, length, 2);
        inputs.x = Array3::from_shape_fn(shape, |(_, t, w)| pattern[2 * t + w]);
        inputs.dy = Array3::from_elem(shape, 0.7);
        inputs.reset = Array2::from_elem((batch, length), false);
        inputs.dlast = Array2::zeros((batch, 2));
        assert_inside(&Problem::new(inputs).unwrap(), &format!("{batch} sequences of {length}"));
    }
}

/// With nothing written, each step of a slow decay takes 5.4 places from a state, and rounds off the same 0.4.
#[test]
fn a_state_left_alone_rounds_one_way() {
    let (steps, h0, u) = (4096, 0.9f32, f64::from(f32::EPSILON / 2.0));
    let decay = 1.0 - 3.0 * f32::EPSILON;
    let problem = scan::Problem::new(scan::Inputs {
        field: scan::Field::Real,
        a: Array3::from_elem((1, steps, 1), f64::from(decay)),
        w: Array3::zeros((1, steps, 1)),
        h0: Some(Array2::from_elem((1, 1), f64::from(h0))),
        dy: Array3::zeros((1, steps, 1)),
        dlast: Array2::ones((1, 1)),
    })
    .unwrap();
    let truth = scan::solve(&problem, &RoundingPlan::f32());
    let last = truth.get(Quantity::Last).unwrap();
    let kernel = (0..steps).fold(h0, |h, _| decay * h);
    let error = (f64::from(kernel) - last.value[[0, 0]]).abs();
    let independent = 6.0 * (steps as f64).sqrt() * u * last.value[[0, 0]];
    println!(
        "{:.2} of six root-sum-squares, {:.2} of the envelope",
        error / independent,
        error / last.envelope[[0, 0]]
    );
    assert!(error > 2.0 * independent);
    assert!(error <= last.envelope[[0, 0]]);
}

fn assert_inside(problem: &Problem, context: &str) {
    let plan = RoundingPlan::f32();
    let truth = solve(problem, &plan);
    let seen = simulate(&problem.clone().into(), &Staging::new(plan));
    for (quantity, bounded) in truth.iter() {
        let ratio = ratio(seen.get(quantity).unwrap(), bounded);
        assert!(ratio <= 1.0, "{context}: {} at {ratio}", quantity.name());
    }
}
