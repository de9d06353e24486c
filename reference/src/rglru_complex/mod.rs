//! The gated recurrence with a complex decay and state, as the official layer has it beside the real form
//! (google-deepmind/recurrentgemma, commit 56dfbcfcebdc04724caaa19486a4f245a801de0b, `recurrentgemma/jax/layers.py` with
//! `only_real=False`): one call from a problem to the truth; the passes and the bounds are in the submodules.
//!
//! ```text
//! g = sigmoid(u)      r = sigmoid(v)      sp = softplus(a_param)      X = x[:M] + i x[M:]
//! l = -8 r sp         phi = a_imag r      a = exp(l) (cos phi + i sin phi)
//! z = 1 - exp(2 l)    m = sqrt(z)         A = reset ? 0 : a           n = reset ? 1 : m
//! w = X g n           h_t = A_t h_{t-1} + w_t                         y_t = (Re h_t, Im h_t)
//! ```
//!
//! The gates are real, one for each complex channel, and so is the norm: it is made from the modulus of the decay.
//! The work goes tile by tile as in [`crate::rglru`], whose gates, bounds and projections these are. Complex numbers are
//! multiplied by components: what is not finite in one component is, a step later, in both.

mod arithmetic;
mod backward;
mod envelope;
mod forward;
mod problem;
mod tile;

use ndarray::{Ix1, Ix2, Ix3};
use rayon::prelude::*;

use crate::lanes::{LANES, Lanes, widest};
use crate::near::{Near, product};
use crate::plan::RoundingPlan;
use crate::rglru::arithmetic::{Arithmetic, Plain};
use crate::rglru::output::{Output, Slot};
use crate::rglru::projection;
use crate::rglru::tile::Logits;
use crate::sheet::Sheet;
use crate::sums::{Total, bound_of, summed};
use crate::truth::{Bound, Bounded, Quantity, Tensors, Truth};
use arithmetic::Complex;
use backward::{Sums, Trace};
use envelope::Discs;
use tile::{TILE, Tile, merged};

pub use forward::{Input, forward};
pub use problem::{Gates, Inputs, Problem};

/// The true value of every output and gradient, with the envelope of a kernel that rounds as `plan` says.
///
/// Cannot fail: a [`Problem`] is checked when it is built.
#[must_use]
pub fn solve(problem: &Problem, plan: &RoundingPlan) -> Truth {
    let projected = Projected::new(problem, plan);
    let gates = RoundingPlan { boundary: None, ..*plan };
    let discs = Discs::<Lanes>::new(plan, &gates, problem.shape().length);
    let (sheets, sums) = Sheets::fill(problem, &projected.logits(problem), discs);
    let parameters = bounded_parameters(problem, &sums, plan);
    Truth::new(entries(problem, projected, sheets, parameters, plan))
}

/// The same values without envelopes.
#[must_use]
pub fn evaluate(problem: &Problem) -> Tensors {
    let plan = &RoundingPlan::exact();
    let projected = Projected::new(problem, plan);
    let (sheets, sums) = Sheets::fill(problem, &projected.logits(problem), Plain::<Lanes>::new());
    let parameters = plain_parameters(problem, &sums);
    Truth::new(entries(problem, projected, sheets, parameters, plan)).into_values()
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

/// The outputs of every tile, real and imaginary halves apart.
struct Sheets {
    y: [Output<Ix3>; 2],
    last: [Output<Ix2>; 2],
    dx: [Output<Ix3>; 2],
    du: Output<Ix3>,
    dv: Output<Ix3>,
    dh0: [Output<Ix2>; 2],
}

/// What one tile writes.
struct Part<'a> {
    y: [Slot<'a, Ix2>; 2],
    last: [Slot<'a, Ix1>; 2],
    dx: [Slot<'a, Ix2>; 2],
    du: Slot<'a, Ix2>,
    dv: Slot<'a, Ix2>,
    dh0: [Slot<'a, Ix1>; 2],
}

impl Sheets {
    /// All outputs, and for each tile the sums of its groups of channels.
    fn fill<A>(problem: &Problem, logits: &Logits<'_>, arithmetic: A) -> (Self, Vec<Vec<Sums<A::Sum>>>)
    where
        A: Complex<Real: Arithmetic<Value = Lanes>>,
    {
        let (shape, bounded) = (problem.shape(), A::Real::BOUNDED);
        let half = shape.width / 2;
        let tokens = || Output::new([shape.batch, shape.length, half], bounded);
        let states = || [(); 2].map(|()| Output::new([shape.batch, half], bounded));
        let mut sheets = Self {
            y: [tokens(), tokens()],
            last: states(),
            dx: [tokens(), tokens()],
            du: tokens(),
            dv: tokens(),
            dh0: states(),
        };
        let solve = |(index, mut part): (usize, Part<'_>)| {
            widest(
                #[inline(always)]
                || {
                    let groups = Tile::groups(problem, logits, index).enumerate();
                    groups.map(|(group, tile)| solve_group(&tile, group, &mut part, arithmetic)).collect()
                },
            )
        };
        let sums = sheets.parts().into_par_iter().enumerate().map(solve).collect();
        (sheets, sums)
    }

    fn parts(&mut self) -> Vec<Part<'_>> {
        let tokens = pairs(&mut self.y).zip(pairs(&mut self.dx));
        let logits = self.du.slots(TILE).into_iter().zip(self.dv.slots(TILE));
        let states = pairs(&mut self.last).zip(pairs(&mut self.dh0));
        let parts = tokens.zip(logits).zip(states);
        parts.map(|(((y, dx), (du, dv)), (last, dh0))| Part { y, last, dx, du, dv, dh0 }).collect()
    }
}

fn pairs<D: ndarray::Dimension + ndarray::RemoveAxis>(
    [re, im]: &mut [Output<D>; 2],
) -> impl Iterator<Item = [Slot<'_, D::Smaller>; 2]> {
    re.slots(TILE).into_iter().zip(im.slots(TILE)).map(|(re, im)| [re, im])
}

/// Forward and backward over a group of channels, the `group`th of its tile.
#[inline(always)]
fn solve_group<A>(tile: &Tile<'_>, group: usize, part: &mut Part<'_>, arithmetic: A) -> Sums<A::Sum>
where
    A: Complex<Real: Arithmetic<Value = Lanes>>,
{
    let real = arithmetic.real();
    let sp = real.softplus(tile.a_param());
    let mut trace = Trace { tokens: Vec::new(), states: Vec::new() };
    let last = forward::run(tile, sp, arithmetic, |t, token, before, after| {
        for (slot, y) in part.y.iter_mut().zip(arithmetic.parts(arithmetic.read(after))) {
            slot.put(t, group, y, real);
        }
        trace.tokens.push(token);
        trace.states.push(before);
    });
    for (slot, last) in part.last.iter_mut().zip(arithmetic.parts(arithmetic.read(last))) {
        slot.put(group, last, real);
    }
    let empty = arithmetic.sum(tile.tokens_before());
    let mut sums = Sums { decay: empty, phase: empty };
    let dh0 = backward::run(tile, sp, arithmetic, &trace, &mut sums, |t, gradient| {
        for (slot, dx) in part.dx.iter_mut().zip(gradient.dx) {
            slot.put(t, group, dx, real);
        }
        part.du.put(t, group, gradient.du, real);
        part.dv.put(t, group, gradient.dv, real);
    });
    for (slot, dh0) in part.dh0.iter_mut().zip(arithmetic.parts(dh0)) {
        slot.put(group, dh0, real);
    }
    sums
}

/// The gradients of the parameters `[M]`, and what their sums promise.
struct Parameters {
    da_param: Sheet,
    da_imag: Sheet,
    bound: Bound,
}

/// One of the sums of a channel, over all sequences in their order; `sums` come sequence by sequence, in tiles.
fn over_batch<S: Copy, T>(
    problem: &Problem,
    sums: &[Vec<Sums<S>>],
    m: usize,
    of: impl Fn(&Sums<S>, usize) -> T,
    join: impl Fn(T, T) -> T,
) -> T {
    let tiles = (problem.shape().width / 2).div_ceil(TILE);
    let at = |row: usize| of(&sums[row * tiles + m / TILE][m % TILE / LANES], m % LANES);
    (1..problem.shape().batch).fold(at(0), |sum, row| join(sum, at(row)))
}

fn plain_parameters(problem: &Problem, sums: &[Vec<Sums<Lanes>>]) -> Parameters {
    let channels = problem.shape().width / 2;
    let (mut da_param, mut da_imag) = (Sheet::new(&[channels]), Sheet::new(&[channels]));
    for (m, &p) in problem.a_param().iter().enumerate() {
        let decay =
            over_batch(problem, sums, m, |sums, lane| sums.decay.numbers()[lane], |sum, later| sum + later);
        let phase =
            over_batch(problem, sums, m, |sums, lane| sums.phase.numbers()[lane], |sum, later| sum + later);
        da_param.put(m, Near::exact(-crate::scalar::C * decay * crate::scalar::sigmoid(p)));
        da_imag.put(m, Near::exact(phase));
    }
    Parameters { da_param, da_imag, bound: Bound::Rigorous }
}

fn bounded_parameters(
    problem: &Problem,
    sums: &[Vec<Sums<Total<Lanes>>>],
    plan: &RoundingPlan,
) -> Parameters {
    let (shape, rounding) = (problem.shape(), plan.reduce.rounding);
    let (channels, additions) = (shape.width / 2, plan.reduce.chain.additions(shape.batch, shape.length));
    let near = |m: usize, of: fn(&Sums<Total<Lanes>>) -> &Total<Lanes>| {
        let lane = |sums: &Sums<Total<Lanes>>, lane: usize| of(sums).lane(lane);
        let total = over_batch(problem, sums, m, lane, Total::then);
        let error = summed(total.error, total.size, additions, total.repeats(), rounding);
        Near { value: total.value, error }
    };
    let (mut da_param, mut da_imag) = (Sheet::new(&[channels]), Sheet::new(&[channels]));
    for (m, &p) in problem.a_param().iter().enumerate() {
        let (slope, _) = crate::rglru::envelope::gate(Near::exact(p), plan);
        let decay = near(m, |sums| &sums.decay);
        da_param.put(m, product([decay, slope], plan.products).scaled(-crate::scalar::C));
        da_imag.put(m, near(m, |sums| &sums.phase));
    }
    Parameters { da_param, da_imag, bound: bound_of(additions) }
}

/// Every quantity of a problem, those of the projections included.
fn entries(
    problem: &Problem,
    projected: Projected,
    sheets: Sheets,
    parameters: Parameters,
    plan: &RoundingPlan,
) -> Vec<(Quantity, Bounded)> {
    let dx = merged(sheets.dx);
    let [du, dv] = [sheets.du, sheets.dv].map(|out| Sheet::of(out.value, out.envelope));
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
    let reduced = if own == Bound::Probabilistic { own } else { parameters.bound };
    entries.extend([
        (Quantity::Y, merged(sheets.y).finish(own)),
        (Quantity::Last, merged(sheets.last).finish(own)),
        (Quantity::Dx, dx.finish(own)),
        (Quantity::Du, du.finish(own)),
        (Quantity::Dv, dv.finish(own)),
        (Quantity::Dh0, merged(sheets.dh0).finish(own)),
        (Quantity::DaParam, parameters.da_param.finish(reduced)),
        (Quantity::DaImag, parameters.da_imag.finish(reduced)),
    ]);
    entries
}
