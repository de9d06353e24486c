//! Prints how long the oracle takes for one problem; `B L W` may be given as arguments, and one way alone by its name:
//! `forward`, `backward` (both passes) or `envelopes` (both passes with envelopes).

use std::time::Instant;

use ndarray::{Array1, Array2, Array3};
use plumbline_reference::rglru::{Gates, Inputs, Problem, evaluate, outputs, solve};
use plumbline_reference::{ProblemError, RoundingPlan};

fn problem((batch, length, width): (usize, usize, usize)) -> Result<Problem, ProblemError> {
    // A cheap sequence without a pattern that the hardware could exploit.
    let noise = |seed: f64| {
        Array3::from_shape_fn((batch, length, width), |(b, t, w)| {
            ((b * 31 + t * 977 + w * 7919) as f64 * 0.618_033_988 + seed).fract() * 4.0 - 2.0
        })
    };
    Problem::new(Inputs {
        x: noise(0.1),
        gates: Gates::Logits { u: noise(0.2), v: noise(0.3) },
        a_param: Array1::from_elem(width, -4.5),
        reset: Array2::from_shape_fn((batch, length), |(_, t)| t % 500 == 0),
        h0: None,
        dy: noise(0.4),
        dlast: Array2::ones((batch, width)),
    })
}

/// Runs one way and says how long it took; its results are dropped after the clock has stopped.
fn timed<T>(what: &str, problem: &Problem, way: impl Fn(&Problem) -> T) {
    let start = Instant::now();
    let results = way(problem);
    let seconds = start.elapsed().as_secs_f64();
    drop(results);
    println!(
        "{what}: {seconds:.3} s, {:.1} ns an element",
        seconds * 1e9 / problem.shape().elements() as f64
    );
}

fn main() -> Result<(), ProblemError> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let given: Vec<usize> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let shape = match given[..] {
        [batch, length, width] => (batch, length, width),
        _ => (4, 2048, 2048),
    };
    let alone = words.iter().find(|word| word.parse::<usize>().is_err());
    let asked = |what: &str| alone.is_none_or(|word| word == what);
    let problem = problem(shape)?;
    println!("B={} L={} W={}", shape.0, shape.1, shape.2);
    for _ in 0..3 {
        if asked("forward") {
            timed("forward", &problem, outputs);
        }
        if asked("backward") {
            timed("backward", &problem, evaluate);
        }
        if asked("envelopes") {
            timed("envelopes", &problem, |problem| solve(problem, &RoundingPlan::f32()));
        }
    }
    Ok(())
}
