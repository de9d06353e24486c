//! The ways to ask give the same bits: with envelopes, without, forward alone, over one number at a time, on any number
//! of threads.

use crate::support::{REGIMES, Regime, problem};
use ndarray::{Array, Dimension};
use plumbline_reference::rglru::{Gates, Input, Problem, evaluate, forward, outputs, solve};
use plumbline_reference::{Quantity, RoundingPlan, Tensors};

/// Widths and lengths on and beside the borders of lanes, tiles, blocks and segments.
const SHAPES: [(usize, usize, usize); 7] =
    [(1, 1, 1), (2, 16, 8), (1, 17, 33), (3, 63, 7), (2, 65, 32), (1, 130, 41), (2, 0, 9)];

fn problems() -> impl Iterator<Item = Problem> {
    let all = REGIMES.into_iter().flat_map(|regime| SHAPES.map(|shape| (regime, shape)));
    all.enumerate().map(|(seed, (regime, shape))| problem(regime, seed as u64, shape, seed % 4 == 3))
}

fn bits(values: &Tensors) -> Vec<(Quantity, Vec<u64>)> {
    values.iter().map(|(quantity, array)| (quantity, array.iter().map(|v| v.to_bits()).collect())).collect()
}

fn same<D: Dimension>(a: &Array<f64, D>, b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

#[test]
fn envelopes_change_no_value() {
    for problem in problems() {
        let values = solve(&problem, &RoundingPlan::f32()).into_values();
        assert_eq!(bits(&values), bits(&evaluate(&problem)), "{:?}", problem.shape());
    }
}

#[test]
fn forward_alone_is_the_same_forward() {
    for problem in problems() {
        let (values, (y, last)) = (evaluate(&problem), outputs(&problem));
        let flat = |quantity| values.get(quantity).unwrap().iter().copied().collect::<Vec<_>>();
        assert!(same(&y, &flat(Quantity::Y)) && same(&last, &flat(Quantity::Last)), "{:?}", problem.shape());
    }
}

/// The library's exponential is not the one of the lanes: the same formulas, a few units in the last place apart.
#[test]
fn one_number_at_a_time_agrees() {
    for problem in problems().filter(|problem| !problem.is_projected()) {
        let inputs = problem.inputs();
        let Gates::Logits { u, v } = &inputs.gates else { unreachable!("filtered") };
        let element = |input, i: usize| {
            let array = match input {
                Input::X => inputs.x.as_slice(),
                Input::U => u.as_slice(),
                Input::V => v.as_slice(),
                Input::AParam => inputs.a_param.as_slice(),
                _ => inputs.h0.as_ref().and_then(|h0| h0.as_slice()),
            };
            array.unwrap()[i]
        };
        let alone = forward(&problem, element);
        let truth = solve(&problem, &RoundingPlan::f64());
        let y = truth.get(Quantity::Y).unwrap();
        for ((one, many), envelope) in alone.y.iter().zip(&y.value).zip(&y.envelope) {
            assert!((one - many).abs() <= *envelope, "{one} {many} {envelope}");
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let problem = problem(Regime::Mixed, 3, (5, 70, 77), false);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let truth = solve(&problem, &RoundingPlan::f32());
            let envelopes =
                truth.iter().flat_map(|(_, b)| b.envelope.iter().map(|e| e.to_bits()).collect::<Vec<_>>());
            (envelopes.collect::<Vec<_>>(), bits(&truth.into_values()))
        })
    };
    let alone = run(1);
    assert!([2, 3, 8].into_iter().all(|threads| run(threads) == alone));
}
