//! How fast the oracle is, shape by shape: `cargo bench -p plumbline-reference`, with a filter after `--` if wanted. The
//! column of elements a second is the same for all lengths if the time is linear in them.

use divan::Bencher;
use divan::counter::ItemsCount;
use ndarray::{Array1, Array2, Array3};
use plumbline_reference::rglru::{Gates, Inputs, Problem, evaluate, outputs, solve};
use plumbline_reference::{RoundingPlan, Shape};

/// One long channel, twice as long and so on; then a few of common size.
const SHAPES: [Shape; 7] = [
    shape(1, 4096, 1),
    shape(1, 16384, 1),
    shape(1, 65536, 1),
    shape(1, 4096, 8),
    shape(1, 65536, 8),
    shape(2, 512, 256),
    shape(4, 512, 1024),
];

const fn shape(batch: usize, length: usize, width: usize) -> Shape {
    Shape { batch, length, width }
}

fn main() {
    divan::main();
}

fn problem(shape: Shape) -> Problem {
    let Shape { batch, length, width } = shape;
    let noise = |seed: f64| {
        Array3::from_shape_fn(shape.tokens(), |(b, t, w)| {
            ((b * 31 + t * 977 + w * 7919) as f64 * 0.618_033_988 + seed).fract() * 4.0 - 2.0
        })
    };
    let inputs = Inputs {
        x: noise(0.1),
        gates: Gates::Logits { u: noise(0.2), v: noise(0.3) },
        a_param: Array1::from_elem(width, -4.5),
        reset: Array2::from_shape_fn((batch, length), |(_, t)| t % 500 == 0),
        h0: None,
        dy: noise(0.4),
        dlast: Array2::ones((batch, width)),
    };
    Problem::new(inputs).unwrap_or_else(|error| unreachable!("{error}"))
}

fn run<T>(bencher: Bencher<'_, '_>, shape: Shape, way: impl Fn(&Problem) -> T + Sync) {
    let problem = problem(shape);
    bencher.counter(ItemsCount::new(shape.elements())).bench(|| way(&problem));
}

#[divan::bench(args = SHAPES)]
fn forward(bencher: Bencher<'_, '_>, shape: Shape) {
    run(bencher, shape, outputs);
}

#[divan::bench(args = SHAPES)]
fn forward_and_backward(bencher: Bencher<'_, '_>, shape: Shape) {
    run(bencher, shape, evaluate);
}

#[divan::bench(args = SHAPES)]
fn with_envelopes(bencher: Bencher<'_, '_>, shape: Shape) {
    let plan = RoundingPlan::f32();
    run(bencher, shape, |problem| solve(problem, &plan));
}
