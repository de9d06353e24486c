//! The normalized-write gated recurrence of the Griffin paper (arXiv 2402.19427, RG-LRU): one call from a
//! problem to the truth; the passes and the bounds are in the submodules.
//!
//! ```text
//! g = sigmoid(u)      r = sigmoid(v)      sp = softplus(a_param)
//! l = -8 r sp         a = exp(l)          z = 1 - exp(2 l)          m = sqrt(z)
//! A = reset ? 0 : a   n = reset ? 1 : m   w = x g n                 h_t = A_t h_{t-1} + w_t
//! ```
//!
//! Both passes are written once, over an arithmetic: plain values of any number type, or values with
//! error bounds. Channels do not talk to each other, so the work goes tile by tile: neighbouring channels of one
//! sequence, forward then backward. Tiles go to all threads; each is computed by one, so the bits do not depend on how
//! many there are.

pub(crate) mod arithmetic;
mod backward;
pub(crate) mod envelope;
mod forward;
pub(crate) mod output;
mod problem;
pub(crate) mod projection;
mod solver;
pub(crate) mod tile;
pub(crate) mod token;

use ndarray::{Array1, Array2, Array3, Ix2, Ix3};
use rayon::prelude::*;

use crate::lanes::{LANES, Lanes, widest};
use crate::near::{Near, product};
use crate::plan::RoundingPlan;
use crate::sheet::Sheet;
use crate::sums::{Total, bound_of, summed};
use crate::truth::{Bound, Bounded, Quantity, Tensors, Truth};
use arithmetic::{Arithmetic, Plain};
use envelope::Bounds;
use output::Output;
use solver::{Part, Scratch, forward_tile};
use tile::{Logits, Reader, Tile};

pub use forward::{Input, forward};
pub use problem::{Gates, Inputs, Problem};

/// The true value of every output and gradient, with the envelope of a kernel that rounds as `plan` says.
///
/// Cannot fail: a [`Problem`] is checked when it is built. NaN and infinity among the inputs reach exactly
/// what depends on them.
#[must_use]
pub fn solve(problem: &Problem, plan: &RoundingPlan) -> Truth {
    let projected = Projected::new(problem, plan);
    let bounds = Bounds::new(plan, problem.shape().length);
    let (sheets, totals) = Sheets::fill(problem, &projected.logits(problem), bounds);
    let (da_param, reduced) = decay_parameter(problem, &totals, plan);
    Truth::new(entries(problem, projected, sheets, (da_param, reduced), plan))
}

/// The same values without envelopes.
#[must_use]
pub fn evaluate(problem: &Problem) -> Tensors {
    let plan = &RoundingPlan::exact();
    let projected = Projected::new(problem, plan);
    let (sheets, sums) = Sheets::fill(problem, &projected.logits(problem), Plain::new());
    let da_param = sums_of_channels(problem, &sums, |sum, later| sum + later);
    let slope =
        |(w, sum): (usize, f64)| -crate::scalar::C * sum * crate::scalar::sigmoid(problem.a_param()[w]);
    let da_param = Array1::from_iter(da_param.into_iter().enumerate().map(slope));
    if problem.is_projected() {
        let da_param = Sheet::of(da_param, None);
        return Truth::new(entries(problem, projected, sheets, (da_param, Bound::Rigorous), plan))
            .into_values();
    }
    let mut values = sheets.values();
    values.push((Quantity::DaParam, da_param.into_dyn()));
    Tensors::new(values)
}

/// The forward pass alone: `y`, `[B, L, W]`, and the final state, `[B, W]`.
#[must_use]
pub fn outputs(problem: &Problem) -> (Array3<f64>, Array2<f64>) {
    let projected = Projected::new(problem, &RoundingPlan::exact());
    let logits = projected.logits(problem);
    let (shape, plain) = (problem.shape(), Plain::<Lanes>::new());
    let reader = Reader::new(problem, &logits);
    let mut y = Output::<Ix3>::new(shape.tokens(), false);
    let mut last = Output::<Ix2>::new(shape.states(), false);
    let slots: Vec<_> = y.slots(reader.tile).into_iter().zip(last.slots(reader.tile)).collect();
    slots.into_par_iter().enumerate().for_each(|(index, (y, last))| {
        widest(
            #[inline(always)]
            || forward_tile(&Tile::new(&reader, index), y, last, plain),
        );
    });
    (y.value, last.value)
}

/// The logits that projections make, if there are any.
struct Projected(Option<[Sheet; 2]>);

impl Projected {
    fn new(problem: &Problem, plan: &RoundingPlan) -> Self {
        let Gates::Projected { wi, bi, wr, br } = problem.gates() else { return Self(None) };
        Self(Some([(wi, bi), (wr, br)].map(|(w, b)| projection::logits(problem.x(), w, b, plan))))
    }

    fn logits<'a>(&'a self, problem: &'a Problem) -> Logits<'a> {
        match (&self.0, problem.gates()) {
            (Some([u, v]), _) => Logits::Projected { u, v },
            (None, Gates::Logits { u, v }) => {
                let (Some(u), Some(v)) = (u.as_slice(), v.as_slice()) else {
                    unreachable!("a problem's arrays are row-major");
                };
                Logits::Inputs { u, v }
            }
            (None, Gates::Projected { .. }) => unreachable!("projections were made"),
        }
    }
}

/// The outputs of every tile.
struct Sheets {
    y: Output<Ix3>,
    last: Output<Ix2>,
    dx: Output<Ix3>,
    du: Output<Ix3>,
    dv: Output<Ix3>,
    dh0: Output<Ix2>,
}

impl Sheets {
    /// All outputs, and for each tile the sum that makes the gradient of the decay parameter.
    fn fill<A>(problem: &Problem, logits: &Logits<'_>, arithmetic: A) -> (Self, Vec<A::Sum>)
    where
        A: Arithmetic<Value = Lanes>,
    {
        let (shape, bounded) = (problem.shape(), A::BOUNDED);
        let (tokens, states) =
            (|| Output::new(shape.tokens(), bounded), || Output::new(shape.states(), bounded));
        let mut sheets =
            Self { y: tokens(), last: states(), dx: tokens(), du: tokens(), dv: tokens(), dh0: states() };
        let reader = &Reader::new(problem, logits);
        let parts = sheets.parts(reader.tile);
        let solve = |scratch: &mut Scratch<A>, (index, part): (usize, Part<'_>)| {
            widest(
                #[inline(always)]
                || scratch.solve(&Tile::new(reader, index), part, arithmetic),
            )
        };
        let scratch = || Scratch::new(reader.tile, arithmetic);
        let sums = parts.into_par_iter().enumerate().map_init(scratch, solve).collect::<Vec<_>>().concat();
        (sheets, sums)
    }

    fn parts(&mut self, tile: usize) -> Vec<Part<'_>> {
        let tokens = self.y.slots(tile).into_iter().zip(self.dx.slots(tile));
        let logits = self.du.slots(tile).into_iter().zip(self.dv.slots(tile));
        let states = self.last.slots(tile).into_iter().zip(self.dh0.slots(tile));
        let parts = tokens.zip(logits).zip(states);
        parts.map(|(((y, dx), (du, dv)), (last, dh0))| Part { y, last, dx, du, dv, dh0 }).collect()
    }

    fn values(self) -> Vec<(Quantity, ndarray::ArrayD<f64>)> {
        vec![
            (Quantity::Y, self.y.value.into_dyn()),
            (Quantity::Last, self.last.value.into_dyn()),
            (Quantity::Dx, self.dx.value.into_dyn()),
            (Quantity::Du, self.du.value.into_dyn()),
            (Quantity::Dv, self.dv.value.into_dyn()),
            (Quantity::Dh0, self.dh0.value.into_dyn()),
        ]
    }
}

/// The sums of all sequences, channel by channel; `sums` come sequence by sequence, in groups of lanes.
fn sums_of_channels<S: ByLane<T>, T>(problem: &Problem, sums: &[S], join: impl Fn(T, T) -> T) -> Vec<T> {
    let width = problem.shape().width;
    let groups = width.div_ceil(LANES);
    let of = |row: usize, w: usize| sums[row * groups + w / LANES].lane(w % LANES);
    let rows = 1..problem.shape().batch;
    (0..width).map(|w| rows.clone().fold(of(0, w), |sum, row| join(sum, of(row, w)))).collect()
}

/// One of several sums side by side.
trait ByLane<T> {
    fn lane(&self, i: usize) -> T;
}

impl ByLane<f64> for Lanes {
    fn lane(&self, i: usize) -> f64 {
        self.numbers()[i]
    }
}

impl ByLane<Total<f64>> for Total<Lanes> {
    fn lane(&self, i: usize) -> Total<f64> {
        Total::<Lanes>::lane(self, i)
    }
}

/// `da_param = -c sigmoid(a_param) sum(r dl)`.
fn decay_parameter(problem: &Problem, totals: &[Total<Lanes>], plan: &RoundingPlan) -> (Sheet, Bound) {
    let shape = problem.shape();
    let rounding = plan.reduce.rounding;
    let additions = plan.reduce.chain.additions(shape.batch, shape.length);
    let totals: Vec<Total<f64>> = sums_of_channels(problem, totals, Total::then);
    let mut sheet = Sheet::new(&[shape.width]);
    for (w, (total, &p)) in totals.iter().zip(problem.a_param()).enumerate() {
        let error = summed(total.error, total.size, additions, total.repeats(), rounding);
        let sum = Near { value: total.value, error };
        let (slope, _) = envelope::gate(Near::exact(p), plan);
        sheet.put(w, product([sum, slope], plan.products).scaled(-crate::scalar::C));
    }
    (sheet, bound_of(additions))
}

/// Every quantity of a problem, those of the projections included.
fn entries(
    problem: &Problem,
    projected: Projected,
    sheets: Sheets,
    (da_param, reduced): (Sheet, Bound),
    plan: &RoundingPlan,
) -> Vec<(Quantity, Bounded)> {
    let [dx, du, dv] = [sheets.dx, sheets.du, sheets.dv].map(|out| Sheet::of(out.value, out.envelope));
    let (mut entries, own) = match (problem.gates(), projected.0) {
        (Gates::Projected { wi, wr, .. }, Some([u, v])) => {
            let mut entries = projection::gradients(problem.x(), wi, wr, [&dx, &du, &dv], plan);
            let bound = projection::bound(wi.dim().1, plan);
            entries.extend([(Quantity::U, u.finish(bound)), (Quantity::V, v.finish(bound))]);
            (entries, bound)
        }
        _ => (Vec::new(), Bound::Rigorous),
    };
    // Projected logits bring the bound of their dot products into everything.
    let reduced = if own == Bound::Probabilistic { own } else { reduced };
    let states = [sheets.last, sheets.dh0].map(|out| Sheet::of(out.value, out.envelope));
    let [last, dh0] = states;
    entries.extend([
        (Quantity::Y, Sheet::of(sheets.y.value, sheets.y.envelope).finish(own)),
        (Quantity::Last, last.finish(own)),
        (Quantity::Dx, dx.finish(own)),
        (Quantity::Du, du.finish(own)),
        (Quantity::Dv, dv.finish(own)),
        (Quantity::Dh0, dh0.finish(own)),
        (Quantity::DaParam, da_param.finish(reduced)),
    ]);
    entries
}
