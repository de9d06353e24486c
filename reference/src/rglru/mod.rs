//! The normalized-write gated recurrence of the Griffin paper (arXiv 2402.19427, RG-LRU): one call from a
//! problem to the truth; the passes and the bounds are in the submodules.
//!
//! ```text
//! g = sigmoid(u)      r = sigmoid(v)      sp = softplus(a_param)
//! l = -8 r sp         a = exp(l)          z = 1 - exp(2 l)          m = sqrt(z)
//! A = reset ? 0 : a   n = reset ? 1 : m   w = x g n                 h_t = A_t h_{t-1} + w_t
//! ```
//!
//! Channels do not talk to each other, so the work goes tile by tile: a few neighbouring channels of one
//! sequence, forward then backward, with everything the backward pass needs still in cache.

mod backward;
mod envelope;
mod forward;
mod problem;
mod projection;
mod tile;
mod token;

use crate::near::Near;
use crate::plan::RoundingPlan;
use crate::shape::Shape;
use crate::sheet::Sheet;
use crate::sums::Total;
use crate::sums::{bound_of, summed};
use crate::truth::{Bound, Quantity, Tensors, Truth};
use backward::Gradients;
use forward::Trace;
pub use problem::{Gates, Inputs, Problem};
use tile::{Logits, Tile};
use token::Channel;

/// Channels in a tile: wide enough to read whole cache lines, narrow enough to keep a trace small.
const TILE: usize = 16;

/// The true value of every output and gradient, with the envelope of a kernel that rounds as `plan` says.
///
/// Cannot fail: a [`Problem`] is checked when it is built. NaN and infinity among the inputs reach exactly
/// what depends on them.
#[must_use]
pub fn solve(problem: &Problem, plan: &RoundingPlan) -> Truth {
    let mut sheets = Sheets::new(problem.shape());
    match problem.gates() {
        Gates::Logits { u, v } => {
            let (Some(u), Some(v)) = (u.as_slice(), v.as_slice()) else {
                unreachable!("a problem's arrays are row-major");
            };
            sheets.fill(problem, &Logits::Inputs { u, v }, plan);
            Truth::new(sheets.finish(problem, plan))
        }
        Gates::Projected { wi, bi, wr, br } => {
            let u = projection::logits(problem.x(), wi, bi, plan);
            let v = projection::logits(problem.x(), wr, br, plan);
            sheets.fill(problem, &Logits::Projected { u: &u, v: &v }, plan);
            let mut entries = projection::gradients(problem, wi, wr, &sheets, plan);
            let bound = projection::bound(wi.dim().1, plan);
            entries.extend([(Quantity::U, u.finish(bound)), (Quantity::V, v.finish(bound))]);
            entries.extend(sheets.finish(problem, plan));
            Truth::new(entries)
        }
    }
}

/// The same values without envelopes.
#[must_use]
pub fn evaluate(problem: &Problem) -> Tensors {
    solve(problem, &RoundingPlan::exact()).into_values()
}

/// The outputs that every problem has.
pub(crate) struct Sheets {
    y: Sheet,
    last: Sheet,
    dx: Sheet,
    du: Sheet,
    dv: Sheet,
    dh0: Sheet,
    da_param: Vec<Total<f64>>,
}

impl Sheets {
    fn new(shape: Shape) -> Self {
        let (tokens, states) = (|| Sheet::new(&shape.tokens()), || Sheet::new(&shape.states()));
        Self {
            y: tokens(),
            last: states(),
            dx: tokens(),
            du: tokens(),
            dv: tokens(),
            dh0: states(),
            da_param: vec![Total::default(); shape.width],
        }
    }

    fn fill(&mut self, problem: &Problem, logits: &Logits<'_>, plan: &RoundingPlan) {
        let channels: Vec<_> = problem.a_param().iter().map(|&p| Channel::new(p, plan)).collect();
        let width = problem.shape().width;
        let mut trace = Trace::default();
        for row in 0..problem.shape().batch {
            for start in (0..width).step_by(TILE) {
                let columns = start..width.min(start + TILE);
                let tile = Tile::new(problem, logits, &channels, row, columns.clone());
                forward::run(&tile, plan, &mut trace, &mut self.y, &mut self.last);
                let mut out = Gradients {
                    dx: &mut self.dx,
                    du: &mut self.du,
                    dv: &mut self.dv,
                    dh0: &mut self.dh0,
                    decays: &mut self.da_param[columns],
                };
                backward::run(&tile, plan, &trace, &mut out);
            }
        }
    }

    fn finish(self, problem: &Problem, plan: &RoundingPlan) -> Vec<(Quantity, crate::truth::Bounded)> {
        let (da_param, reduced) = decay_parameter(problem, &self.da_param, plan);
        // Projected logits bring the bound of their dot products into everything.
        let own = match problem.gates() {
            Gates::Logits { .. } => Bound::Rigorous,
            Gates::Projected { wi, .. } => projection::bound(wi.dim().1, plan),
        };
        let reduced = if own == Bound::Probabilistic { own } else { reduced };
        vec![
            (Quantity::Y, self.y.finish(own)),
            (Quantity::Last, self.last.finish(own)),
            (Quantity::Dx, self.dx.finish(own)),
            (Quantity::Du, self.du.finish(own)),
            (Quantity::Dv, self.dv.finish(own)),
            (Quantity::Dh0, self.dh0.finish(own)),
            (Quantity::DaParam, da_param.finish(reduced)),
        ]
    }
}

/// `da_param = -c sigmoid(a_param) sum(r dl)`.
fn decay_parameter(problem: &Problem, totals: &[Total<f64>], plan: &RoundingPlan) -> (Sheet, Bound) {
    let shape = problem.shape();
    let additions = plan.reduce.chain.additions(shape.batch, shape.length);
    let mut sheet = Sheet::new(&[shape.width]);
    for (w, (total, &p)) in totals.iter().zip(problem.a_param()).enumerate() {
        let error = summed(total.error, total.size, additions, total.repeats, plan.reduce.rounding);
        let sum = Near { value: total.value, error };
        let slope = Channel::new(p, plan).slope;
        let product = crate::near::product([sum, slope], plan.products);
        sheet.put(w, product.scaled(-crate::scalar::C));
    }
    (sheet, bound_of(additions))
}
