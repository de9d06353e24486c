//! The block-diagonal projections that make the logits, and the gradients that go back through them; the
//! recurrence between the two is left to [`super::forward`] and [`super::backward`].
//!
//! With `H` blocks, each from `K` numbers to `J` (here `J = K`; one logit for two numbers, `J = K / 2`, in the complex form):
//! `u[h,:] = x[h,:] Wi[h] + bi[h]`, and
//!
//! ```text
//! dWi[h,i,j] = sum of x[h,i] du[h,j]     dbi[h,j] = sum of du[h,j]     dx += du[h,:] Wi[h]^T
//! ```

use ndarray::{Array2, Array3, ArrayBase, ArrayView2, Axis, Data, Ix2, Slice};

use crate::near::Near;
use crate::plan::RoundingPlan;
use crate::sheet::Sheet;
use crate::sums::{WINDOW, Window, bound_of, projected, repeats, summed};
use crate::truth::{Bound, Bounded, Quantity};

/// The logits with the error of their dot products.
pub(crate) fn logits(
    x: &Array3<f64>,
    weight: &Array3<f64>,
    bias: &Array2<f64>,
    plan: &RoundingPlan,
) -> Sheet {
    let (batch, length, _) = x.dim();
    let (blocks, inner, outer) = weight.dim();
    let mut sheet = Sheet::new(&[batch, length, blocks * outer]);
    for row in 0..batch {
        for (h, weight) in weight.outer_iter().enumerate() {
            let x = x.index_axis(Axis(0), row);
            let x = columns(&x, h, inner);
            let value = x.dot(&weight);
            let size = x.mapv(f64::abs).dot(&weight.mapv(f64::abs));
            for ((t, j), &dot) in value.indexed_iter() {
                let b = bias[[h, j]];
                let error = projected(0.0, size[[t, j]] + b.abs(), inner, plan.projection);
                let near = stored(Near { value: dot + b, error }, plan);
                sheet.put(((row * length + t) * blocks + h) * outer + j, near);
            }
        }
    }
    sheet
}

/// A logit or its gradient, after being stored between projection and recurrence if the plan does that.
fn stored(near: Near, plan: &RoundingPlan) -> Near {
    if plan.logits.unit > 0.0 { near.rounded(plan.logits) } else { near }
}

/// What a dot product of so many terms promises.
pub(crate) fn bound(terms: usize, plan: &RoundingPlan) -> Bound {
    let additions = plan.projection.chain.additions(1, terms + 1) + 1;
    bound_of(additions)
}

/// `dx_total` and the gradients of all weights and biases.
pub(crate) fn gradients(
    x: &Array3<f64>,
    wi: &Array3<f64>,
    wr: &Array3<f64>,
    [dx, du, dv]: [&Sheet; 3],
    plan: &RoundingPlan,
) -> Vec<(Quantity, Bounded)> {
    let (du, dv) = (Side::new(du, x, wi, plan), Side::new(dv, x, wr, plan));
    let (dwi, dbi, reduced) = du.parameters(x, wi.dim(), plan);
    let (dwr, dbr, _) = dv.parameters(x, wr.dim(), plan);
    let own = bound(2 * wi.dim().2, plan);
    vec![
        (Quantity::DxTotal, total(dx, [(&du, wi), (&dv, wr)], plan).finish(own)),
        (Quantity::Dwi, dwi.finish(reduced)),
        (Quantity::Dbi, dbi.finish(reduced)),
        (Quantity::Dwr, dwr.finish(reduced)),
        (Quantity::Dbr, dbr.finish(reduced)),
    ]
}

/// The gradient of one gate's logits, as matrices `[B L, H J]` of values, magnitudes and errors.
struct Side {
    value: Array2<f64>,
    size: Array2<f64>,
    error: Array2<f64>,
    /// 1 where an element repeats the one of the token before.
    repeats: Array2<f64>,
}

impl Side {
    fn new(sheet: &Sheet, x: &Array3<f64>, weight: &Array3<f64>, plan: &RoundingPlan) -> Self {
        let ((batch, length, _), (blocks, _, outer)) = (x.dim(), weight.dim());
        let (rows, width) = (batch * length, blocks * outer);
        let at = |(row, w): (usize, usize)| stored(sheet.get(row * width + w), plan);
        let value = Array2::from_shape_fn((rows, width), |i| at(i).value);
        let error = Array2::from_shape_fn((rows, width), |i| at(i).error);
        let repeats = repeated(&value.view(), length, plan);
        Self { size: value.mapv(f64::abs), value, error, repeats }
    }

    /// Gradients of weight and bias, and what their sums over batch and length promise.
    fn parameters(
        &self,
        x: &Array3<f64>,
        (blocks, inner, outer): (usize, usize, usize),
        plan: &RoundingPlan,
    ) -> (Sheet, Sheet, Bound) {
        let (batch, length, _) = x.dim();
        let additions = plan.reduce.chain.additions(batch, length);
        let mut weight = Sheet::new(&[blocks, inner, outer]);
        let mut bias = Sheet::new(&[blocks, outer]);
        let x = flat(x);
        for h in 0..blocks {
            let x = columns(&x, h, inner);
            let bound = |value: f64, size: f64, error: f64, repeats: f64| {
                // One more rounding, of the product in front of each addition.
                let error = summed(error, size, additions + 1, repeats, plan.reduce.rounding);
                let underflow = (batch * length) as f64 * plan.reduce.rounding.underflow;
                Near { value, error: error + underflow }
            };
            let [value, size, error] = products(&x, [&self.value, &self.size, &self.error], h, outer);
            let repeats = repeated(&x, length, plan).t().dot(&columns(&self.repeats, h, outer));
            for ((i, j), &value) in value.indexed_iter() {
                let at = [i, j];
                weight.put((h * inner + i) * outer + j, bound(value, size[at], error[at], repeats[at]));
            }
            for j in h * outer..(h + 1) * outer {
                let [value, size, error, repeats] = [&self.value, &self.size, &self.error, &self.repeats]
                    .map(|matrix| matrix.column(j).sum());
                bias.put(j, bound(value, size, error, repeats));
            }
        }
        (weight, bias, bound_of(additions + 1))
    }
}

/// `x^T d` of one block, for values, and with the magnitudes of `x` for magnitudes and errors.
fn products(x: &ArrayView2<'_, f64>, sides: [&Array2<f64>; 3], h: usize, block: usize) -> [Array2<f64>; 3] {
    let size = x.mapv(f64::abs);
    let [value, magnitude, error] = sides.map(|side| columns(side, h, block));
    [x.t().dot(&value), size.t().dot(&magnitude), size.t().dot(&error)]
}

/// Terms that do not round independently, column by column: 1, elsewhere 0. They repeat the row above or the same row of
/// the sequence before, or stand in a window of few different ones.
fn repeated(matrix: &ArrayView2<'_, f64>, length: usize, plan: &RoundingPlan) -> Array2<f64> {
    let rounding = plan.reduce.rounding;
    let again = |(row, w): (usize, usize)| {
        let like = |back: usize| {
            let before = row.checked_sub(back).map_or(0.0, |row| matrix[[row, w]]);
            repeats(before, matrix[[row, w]], row + 1, rounding)
        };
        like(1).max(if length > 1 { like(length) } else { 0.0 })
    };
    let mut flags = Array2::from_shape_fn(matrix.dim(), again);
    for (column, mut flags) in matrix.columns().into_iter().zip(flags.columns_mut()) {
        let windows = flags.axis_chunks_iter_mut(Axis(0), WINDOW);
        for (terms, mut flags) in column.axis_chunks_iter(Axis(0), WINDOW).zip(windows) {
            let mut window = Window::new();
            terms.iter().zip(&flags).for_each(|(&term, &flag)| window.add(term, flag));
            if window.repeats() > flags.sum() {
                flags.zip_mut_with(&terms, |flag, &term| *flag = if term == 0.0 { 0.0 } else { 1.0 });
            }
        }
    }
    flags
}

/// The columns of block `h`.
fn columns<S: Data<Elem = f64>>(matrix: &ArrayBase<S, Ix2>, h: usize, block: usize) -> ArrayView2<'_, f64> {
    matrix.slice_axis(Axis(1), Slice::from(h * block..(h + 1) * block))
}

fn flat(x: &Array3<f64>) -> ArrayView2<'_, f64> {
    let (batch, length, width) = x.dim();
    x.view().into_shape_with_order((batch * length, width)).unwrap_or_else(|_| x.index_axis(Axis(0), 0))
}

/// `dx + du Wi^T + dv Wr^T`.
fn total(dx: &Sheet, sides: [(&Side, &Array3<f64>); 2], plan: &RoundingPlan) -> Sheet {
    let rows = sides[0].0.value.nrows();
    let (blocks, inner, outer) = sides[0].1.dim();
    let mut sheet = dx.clone();
    for h in 0..blocks {
        let through =
            |side: &Array2<f64>, weight: ArrayView2<'_, f64>| columns(side, h, outer).dot(&weight.t());
        let [one, two] = sides.map(|(side, weight)| {
            let weight = weight.index_axis(Axis(0), h);
            let size = weight.mapv(f64::abs);
            [
                through(&side.value, weight),
                through(&side.size, size.view()),
                through(&side.error, size.view()),
            ]
        });
        for row in 0..rows {
            for j in 0..inner {
                let index = (row * blocks + h) * inner + j;
                let direct = dx.get(index);
                let at = |k: usize| one[k][[row, j]] + two[k][[row, j]];
                let size = direct.value.abs() + at(1);
                let error = projected(direct.error + at(2), size, 2 * outer, plan.projection);
                sheet.put(index, Near { value: direct.value + at(0), error });
            }
        }
    }
    sheet
}
