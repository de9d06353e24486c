//! The simulated gate projections and the gradients back through them; the recurrence between the two is
//! left to the channel.

use ndarray::{Array2, Array3, ArrayD};

use super::shaped;
use super::token::Unit;
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

/// Logits as a problem gives them.
pub(crate) fn given(logits: &Array3<f64>) -> Vec<Number> {
    logits.iter().copied().map(Number::exactly).collect()
}

/// `x[h,:] W[h] + b[h]` for every token, row-major.
pub(crate) fn project(
    x: &Array3<f64>,
    weight: &Array3<f64>,
    bias: &Array2<f64>,
    unit: &Unit<'_>,
) -> Vec<Number> {
    let (batch, length, _) = x.dim();
    let (blocks, inner, outer) = weight.dim();
    let logit = |i: usize| {
        let (row, h, j) = (i / (blocks * outer), i / outer % blocks, i % outer);
        let (b, t) = (row / length, row % length);
        let term = |k: usize| Number::exactly(x[[b, t, h * inner + k]] * weight[[h, k, j]]);
        let terms: Vec<_> = (0..inner).map(term).chain([Number::exactly(bias[[h, j]])]).collect();
        stored(unit, adder(unit).sum(&terms))
    };
    (0..batch * length * blocks * outer).map(logit).collect()
}

/// Logits, `dx_total`, and the gradients of weights and biases. `sides` are the gradients of the logits with
/// the weights that made them.
pub(crate) fn gradients(
    x: &Array3<f64>,
    unit: &Unit<'_>,
    [u, v]: &[Vec<Number>; 2],
    dx: &[Number],
    sides: [(&Vec<Number>, &Array3<f64>); 2],
) -> Vec<(Quantity, ArrayD<f64>)> {
    let (batch, length, _) = x.dim();
    let (blocks, _, outer) = sides[0].1.dim();
    let logits = [batch, length, blocks * outer];
    let sides = sides.map(|(side, weight)| {
        let side: Vec<_> = side.iter().map(|&number| stored(unit, number)).collect();
        (side, weight)
    });
    let [(dwi, dbi), (dwr, dbr)] =
        [&sides[0], &sides[1]].map(|(side, weight)| parameters(x, unit, side, weight.dim()));
    vec![
        (Quantity::U, shaped(&logits, u)),
        (Quantity::V, shaped(&logits, v)),
        (Quantity::DxTotal, total(x.shape(), unit, dx, &sides)),
        (Quantity::Dwi, dwi),
        (Quantity::Dbi, dbi),
        (Quantity::Dwr, dwr),
        (Quantity::Dbr, dbr),
    ]
}

fn total(
    shape: &[usize],
    unit: &Unit<'_>,
    dx: &[Number],
    sides: &[(Vec<Number>, &Array3<f64>); 2],
) -> ArrayD<f64> {
    let (blocks, inner, outer) = sides[0].1.dim();
    let element = |(i, &direct): (usize, &Number)| {
        let (row, h, k) = (i / (blocks * inner), i / inner % blocks, i % inner);
        let mut terms = vec![direct];
        for (side, weight) in sides {
            let term = |j: usize| side[(row * blocks + h) * outer + j].map(|d| d * weight[[h, k, j]]);
            terms.extend((0..outer).map(term));
        }
        adder(unit).sum(&terms)
    };
    let numbers: Vec<_> = dx.iter().enumerate().map(element).collect();
    shaped(shape, &numbers)
}

fn parameters(
    x: &Array3<f64>,
    unit: &Unit<'_>,
    side: &[Number],
    (blocks, inner, outer): (usize, usize, usize),
) -> (ArrayD<f64>, ArrayD<f64>) {
    let (batch, length, width) = x.dim();
    let rows = batch * length;
    let x: Vec<f64> = x.iter().copied().collect();
    let staging = unit.staging;
    let adder = Carrier {
        machine: unit.machine,
        carry: staging.plan.reduce.rounding,
        order: staging.order,
        twist: staging.twist,
    };
    let weight = (0..blocks * inner * outer).map(|i| {
        let (h, k, j) = (i / inner / outer, i / outer % inner, i % outer);
        let term =
            |row: usize| side[(row * blocks + h) * outer + j].map(|d| d * x[row * width + h * inner + k]);
        adder.sum(&(0..rows).map(term).collect::<Vec<_>>())
    });
    let logits = blocks * outer;
    let bias =
        (0..logits).map(|i| adder.sum(&(0..rows).map(|row| side[row * logits + i]).collect::<Vec<_>>()));
    let (weight, bias): (Vec<_>, Vec<_>) = (weight.collect(), bias.collect());
    (shaped(&[blocks, inner, outer], &weight), shaped(&[blocks, outer], &bias))
}
