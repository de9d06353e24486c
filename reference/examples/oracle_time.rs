//! Prints how long the oracle takes, with envelopes, for one problem; `B L W` may be given as arguments.

use std::time::Instant;

use ndarray::{Array1, Array2, Array3};
use plumbline_reference::rglru::{Gates, Inputs, Problem, evaluate, outputs, solve};
use plumbline_reference::{ProblemError, RoundingPlan};

fn main() -> Result<(), ProblemError> {
    let given: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let (batch, length, width) = match given[..] {
        [batch, length, width] => (batch, length, width),
        _ => (4, 2048, 2048),
    };
    let tokens = (batch, length, width);
    // A cheap sequence without a pattern that the hardware could exploit.
    let noise = |seed: f64| {
        Array3::from_shape_fn(tokens, |(b, t, w)| {
            ((b * 31 + t * 977 + w * 7919) as f64 * 0.618_033_988 + seed).fract() * 4.0 - 2.0
        })
    };
    let problem = Problem::new(Inputs {
        x: noise(0.1),
        gates: Gates::Logits { u: noise(0.2), v: noise(0.3) },
        a_param: Array1::from_elem(width, -4.5),
        reset: Array2::from_shape_fn((batch, length), |(_, t)| t % 500 == 0),
        h0: None,
        dy: noise(0.4),
        dlast: Array2::ones((batch, width)),
    })?;
    let elements = problem.shape().elements() as f64;
    let print = |what: &str, start: Instant| {
        let seconds = start.elapsed().as_secs_f64();
        println!("{what}: {seconds:.3} s, {:.1} ns an element", seconds * 1e9 / elements);
    };
    println!("B={batch} L={length} W={width}");
    for _ in 0..3 {
        let start = Instant::now();
        let (y, _) = outputs(&problem);
        print("forward", start);
        drop(y);
        let start = Instant::now();
        let values = evaluate(&problem);
        print("forward and backward", start);
        drop(values);
        let start = Instant::now();
        let truth = solve(&problem, &RoundingPlan::f32());
        print("with envelopes", start);
        drop(truth);
    }
    Ok(())
}
