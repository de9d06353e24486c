//! The simulated gate projections and the gradients back through them; the recurrence between the two is
//! left to the channel.

use ndarray::{Array2, Array3, ArrayD};

use super::shaped;
use super::token::Unit;
use crate::rglru::{Gates, Problem};
use crate::staged::machine::Number;
use crate::staged::scan::Carrier;
use crate::truth::Quantity;

fn adder<'a>(unit: &'a Unit<'_>) -> Carrier<'a> {
    let carry = unit.staging.plan.projection.rounding;
    Carrier { machine: unit.machine, carry, order: unit.staging.order, twist: unit.staging.twist }
}

fn stored(unit: &Unit<'_>, number: Number) -> Number {
    unit.machine.round(number, unit.staging.plan.logits, 1.0)
}

/// Input and recurrence logits, row-major.
pub(crate) fn logits(problem: &Problem, unit: &Unit<'_>) -> [Vec<Number>; 2] {
    match problem.gates() {
        Gates::Logits { u, v } => [u, v].map(|logits| logits.iter().copied().map(Number::exactly).collect()),
        Gates::Projected { wi, bi, wr, br } => {
            [(wi, bi), (wr, br)].map(|(weight, bias)| project(problem.x(), weight, bias, unit))
        }
    }
}

fn project(x: &Array3<f64>, weight: &Array3<f64>, bias: &Array2<f64>, unit: &Unit<'_>) -> Vec<Number> {
    let block = weight.dim().1;
    let logit = |((b, t, w), _): ((usize, usize, usize), &f64)| {
        let (h, j) = (w / block, w % block);
        let term = |k: usize| Number::exactly(x[[b, t, h * block + k]] * weight[[h, k, j]]);
        let terms: Vec<_> = (0..block).map(term).chain([Number::exactly(bias[[h, j]])]).collect();
        stored(unit, adder(unit).sum(&terms))
    };
    x.indexed_iter().map(logit).collect()
}

/// Logits, `dx_total`, and the gradients of weights and biases. `sides` are the gradients of the logits with
/// the weights that made them.
pub(crate) fn gradients(
    problem: &Problem,
    unit: &Unit<'_>,
    [u, v]: &[Vec<Number>; 2],
    dx: &[Number],
    sides: [(&Vec<Number>, &Array3<f64>); 2],
) -> Vec<(Quantity, ArrayD<f64>)> {
    let tokens = problem.shape().tokens();
    let sides = sides.map(|(side, weight)| {
        let side: Vec<_> = side.iter().map(|&number| stored(unit, number)).collect();
        (side, weight)
    });
    let [(dwi, dbi), (dwr, dbr)] =
        [&sides[0], &sides[1]].map(|(side, weight)| parameters(problem, unit, side, weight.dim().1));
    vec![
        (Quantity::U, shaped(&tokens, u)),
        (Quantity::V, shaped(&tokens, v)),
        (Quantity::DxTotal, total(problem, unit, dx, &sides)),
        (Quantity::Dwi, dwi),
        (Quantity::Dbi, dbi),
        (Quantity::Dwr, dwr),
        (Quantity::Dbr, dbr),
    ]
}

fn total(
    problem: &Problem,
    unit: &Unit<'_>,
    dx: &[Number],
    sides: &[(Vec<Number>, &Array3<f64>); 2],
) -> ArrayD<f64> {
    let width = problem.shape().width;
    let block = sides[0].1.dim().1;
    let element = |(i, &direct): (usize, &Number)| {
        let (row, h, k) = (i / width * width, i % width / block, i % width % block);
        let mut terms = vec![direct];
        for (side, weight) in sides {
            let term = |j: usize| side[row + h * block + j].map(|d| d * weight[[h, k, j]]);
            terms.extend((0..block).map(term));
        }
        adder(unit).sum(&terms)
    };
    let numbers: Vec<_> = dx.iter().enumerate().map(element).collect();
    shaped(&problem.shape().tokens(), &numbers)
}

fn parameters(
    problem: &Problem,
    unit: &Unit<'_>,
    side: &[Number],
    block: usize,
) -> (ArrayD<f64>, ArrayD<f64>) {
    let shape = problem.shape();
    let (rows, blocks) = (shape.batch * shape.length, shape.width / block);
    let x: Vec<f64> = problem.x().iter().copied().collect();
    let staging = unit.staging;
    let adder = Carrier {
        machine: unit.machine,
        carry: staging.plan.reduce.rounding,
        order: staging.order,
        twist: staging.twist,
    };
    let weight = (0..blocks * block * block).map(|i| {
        let (h, k, j) = (i / block / block, i / block % block, i % block);
        let term = |row: usize| {
            let base = row * shape.width + h * block;
            side[base + j].map(|d| d * x[base + k])
        };
        adder.sum(&(0..rows).map(term).collect::<Vec<_>>())
    });
    let bias = (0..shape.width)
        .map(|w| adder.sum(&(0..rows).map(|row| side[row * shape.width + w]).collect::<Vec<_>>()));
    let (weight, bias): (Vec<_>, Vec<_>) = (weight.collect(), bias.collect());
    (shaped(&[blocks, block, block], &weight), shaped(&[blocks, block], &bias))
}
