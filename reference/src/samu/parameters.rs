//! From the gradients of the controls to those of inputs and parameters, and the ends of all sums; the adjoint that makes
//! them is left to [`super::backward`].
//!
//! ```text
//! dp_phase = ddelta tanh(phase_amplitude) / sqrt(M) (1 - s_phase^2)
//! dp_radial = deta tanh(radial_amplitude) / sqrt(M) ((1 - q^2) / (1 + q^2))^2
//! dx_total = dx + dp_phase d^_phase[:W] + dp_radial d^_radial[:W]
//! dd^[:W] = sum of dp x     dd^[W] = sum of dp     dd = (dd^ - d^ (d^ . dd^)) / ||d||
//! dphase_amplitude = (1 - tanh^2(phase_amplitude)) / sqrt(M) sum of ddelta s_phase, and likewise for the radius
//! ```
//!
//! Where the norm of a direction is below its floor, `d^` is `d` over a constant and `dd = dd^ / floor`. A reset token's
//! controls are used for nothing: its `dp` is zero by selection, and not multiplied with what may be NaN.

use rayon::prelude::*;

use super::backward::{ModeTotals, Spread, TokenShare, without};
use super::envelope::{Curve, DirectionBound, ModeBound};
use super::forward::{Direction, Mode, NORM_FLOOR};
use super::reach::{NU, PHASE, RADIAL, THETA};
use super::trace::{Mixer, Token};
use crate::near::{Near, product};
use crate::plan::{Reduction, RoundingPlan};
use crate::sheet::Sheet;
use crate::sums::{Total, projected, reachable, summed};

/// Columns whose sums are collected together.
const COLUMNS: usize = 16;
/// Rounding of a division: the hardware's approximation may be off by a unit in the last place.
const K_DIVISION: f64 = 2.0;
/// Terms that the two controls add to the direct gradient of `x`.
const CONTROLS: usize = 2;

/// The gradients of one control at every token, `[B, L]`.
pub(crate) struct Side<'a> {
    direction: &'a Direction<f64>,
    bound: &'a DirectionBound,
    gain: Curve,
    /// The projections `p`.
    p: Vec<f64>,
    /// `dp`, zero on a reset.
    dp: Vec<Near>,
    /// `ddelta s` or `deta s`, zero on a reset, without the errors that are spread over many of them.
    terms: Vec<Near>,
    /// What those do to the sum of all.
    spread: f64,
}

/// Which control.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Phase,
    Radial,
}

impl Which {
    fn index(self) -> usize {
        usize::from(self == Self::Radial)
    }

    fn curve(self, token: &Token) -> Curve {
        if self == Self::Phase { token.bound.phase } else { token.bound.radial }
    }
}

/// What the sums over modes left for the sum over tokens that ends in an amplitude.
pub(crate) struct Shares<'a> {
    /// `[B, L]`.
    pub(crate) tokens: &'a [TokenShare],
    /// `[M]`.
    pub(crate) modes: &'a [ModeTotals],
    pub(crate) spread: Spread,
}

impl Shares<'_> {
    /// What spread errors do to the sum: those of single steps, of each token's controls, and of the modes' parameters.
    fn whole(&self, which: Which, mixer: &Mixer<'_>) -> f64 {
        let (i, j) = (which.index(), [PHASE, RADIAL][which.index()]);
        let of_token = |(share, token): (&TokenShare, &Token)| {
            share.effects[i].of(token.bound.delta.error, token.bound.eta.error)
        };
        let of_mode = |(totals, (_, bound)): (&ModeTotals, &(Mode<f64>, ModeBound))| {
            totals.effects[j].of(bound.theta.error, bound.relative())
        };
        self.spread[i]
            + self.tokens.iter().zip(&mixer.tokens).map(of_token).sum::<f64>()
            + self.modes.iter().zip(&mixer.modes).map(of_mode).sum::<f64>()
    }
}

impl<'a> Side<'a> {
    /// From the gradients of the control, `ddelta` or `deta`, `[B, L]`.
    pub(crate) fn new(
        mixer: &'a Mixer<'_>,
        which: Which,
        gradients: &[Near],
        inherited: &[f64],
        shares: &Shares<'_>,
    ) -> Self {
        let (controller, bound) = (&mixer.controller, &mixer.bound);
        let (direction, own, gain) = match which {
            Which::Phase => (&controller.phase, &bound.phase, bound.phase_gain),
            Which::Radial => (&controller.radial, &bound.radial, bound.radial_gain),
        };
        let p = mixer.tokens.iter().map(|token| match which {
            Which::Phase => token.control.p_phase,
            Which::Radial => token.control.p_radial,
        });
        let (mut dp, mut terms) = (Vec::new(), Vec::new());
        for (row, &reset) in mixer.problem.reset().iter().enumerate() {
            if reset {
                dp.push(Near::exact(0.0));
                terms.push(Near::exact(0.0));
                continue;
            }
            let (gradient, curve) = (gradients[row], which.curve(&mixer.tokens[row]));
            let factors = [gradient, gain.value, mixer.bound.scale, curve.slope];
            dp.push(product(factors, mixer.plan.products));
            let spread = inherited[row] - shares.tokens[row].left[which.index()];
            let term = product([gradient, curve.value], mixer.plan.products);
            terms.push(without(term, curve.value.value.abs() * spread));
        }
        let spread = shares.whole(which, mixer);
        Self { direction, bound: own, gain, p: p.collect(), dp, terms, spread }
    }

    /// An element of `d^` with its error.
    fn unit(&self, w: usize, plan: &RoundingPlan) -> Near {
        let value = self.direction.unit[w];
        let relative = self.bound.common + self.bound.own * (1.0 + self.bound.common);
        Near { value, error: value.abs() * relative + plan.projection.rounding.underflow }
    }

    /// `damplitude`.
    pub(crate) fn amplitude(&self, mixer: &Mixer<'_>) -> Near {
        let mut total = Total::default();
        for &term in &self.terms {
            total.add(term, mixer.plan.reduce.rounding);
        }
        total.error += self.spread;
        let sum = over_tokens(&total, 0, mixer);
        product([sum, self.gain.slope, mixer.bound.scale], mixer.plan.products)
    }

    /// `dd`, `[W + 1]`.
    pub(crate) fn direction(&self, mixer: &Mixer<'_>) -> Vec<Near> {
        let width = mixer.problem.shape().width;
        let starts: Vec<_> = (0..=width).step_by(COLUMNS).collect();
        let sums: Vec<_> = starts
            .into_par_iter()
            .flat_map_iter(|start| self.columns(mixer, start, COLUMNS.min(width + 1 - start)))
            .collect();
        self.unnormalized(&sums, mixer.plan)
    }

    /// A few elements of `dd^`.
    fn columns(&self, mixer: &Mixer<'_>, start: usize, count: usize) -> Vec<Column> {
        let (width, rounding) = (mixer.problem.shape().width, mixer.plan.reduce.rounding);
        let x = mixer.problem.inputs().x.as_slice().unwrap_or(&[]);
        let mut columns = vec![Raw::default(); count];
        for (row, (dp, &reset)) in self.dp.iter().zip(mixer.problem.reset()).enumerate() {
            for (w, raw) in (start..).zip(&mut columns) {
                if reset {
                    raw.total.add(Near::exact(0.0), rounding);
                    continue;
                }
                let x = if w == width { 1.0 } else { x[row * width + w] };
                raw.total.add(Near::exact(dp.value * x), rounding);
                raw.inherited += dp.error * x.abs();
                raw.across += dp.error * (x - self.direction.unit[w] * self.p[row]).abs();
            }
        }
        columns.iter().map(|raw| raw.end(self.dp.len(), mixer)).collect()
    }

    /// Back through `d^ = d / max(||d||, floor)`.
    fn unnormalized(&self, sums: &[Column], plan: &RoundingPlan) -> Vec<Near> {
        let units: Vec<_> = (0..sums.len()).map(|w| self.unit(w, plan)).collect();
        let rounding = plan.projection.rounding;
        let norm = self.direction.norm;
        let divisor = if norm < NORM_FLOOR { NORM_FLOOR } else { norm };
        let along = along(&units, sums, plan);
        let inherited: f64 = units.iter().zip(sums).map(|(unit, sum)| unit.value.abs() * sum.inherited).sum();
        let inverse = 1.0 / divisor;
        let inverse =
            Near { value: inverse, error: inverse * (self.bound.common + K_DIVISION * rounding.unit) };
        let element = |(sum, &unit): (&Column, &Near)| {
            let shadow = product([unit, along], rounding);
            let whole = Near { error: sum.own.error + sum.inherited, ..sum.own };
            let projected = sum.own.minus(shadow, rounding);
            let projected =
                Near { error: projected.error + sum.across + unit.error * inherited, ..projected };
            let left = match self.bound.floored {
                Some(true) => whole,
                Some(false) => projected,
                // Either; the shadow joins the error.
                None => {
                    let value = if norm < NORM_FLOOR { whole.value } else { projected.value };
                    let either = unit.value.abs() * inherited + shadow.value.abs();
                    Near { value, error: projected.error + whole.error + either }
                }
            };
            product([left, inverse], rounding)
        };
        sums.iter().zip(&units).map(element).collect()
    }
}

/// An element of `dd^`. What `dp` was off by is the same number in every element of a token, so it goes through the
/// projection as `dp` itself does: what counts is `x` across the direction, and magnitudes are added only over tokens.
#[derive(Clone, Copy)]
struct Column {
    /// With the roundings of the sum itself.
    own: Near,
    /// The part of the error that `dp` brings along.
    inherited: f64,
    /// What is left of that after the projection: `x - d^ p` in the place of `x`.
    across: f64,
}

/// An element of `dd^` in the making.
#[derive(Clone, Copy, Default)]
struct Raw {
    total: Total<f64>,
    inherited: f64,
    across: f64,
}

impl Raw {
    fn end(&self, tokens: usize, mixer: &Mixer<'_>) -> Column {
        // One more rounding, of the product in front of each addition.
        let sum = over_tokens(&self.total, 1, mixer);
        let rounding = mixer.plan.reduce.rounding;
        let underflow = tokens as f64 * rounding.underflow;
        // What is in error is rounded too.
        let mut of = self.total;
        of.error = self.inherited;
        let grown = over_tokens(&of, 1, mixer).error - self.inherited;
        let error = if grown < sum.error { sum.error } else { grown } + underflow;
        Column { own: Near { error, ..sum }, inherited: self.inherited, across: self.across }
    }
}

/// `d^ . dd^`, without what `dp` brings along.
fn along(units: &[Near], sums: &[Column], plan: &RoundingPlan) -> Near {
    let (mut value, mut size, mut inherited) = (0.0, 0.0, 0.0);
    for (unit, sum) in units.iter().zip(sums) {
        let term = product([*unit, sum.own], crate::Rounding::EXACT);
        value += term.value;
        size += term.value.abs() + unit.value.abs() * sum.inherited;
        inherited += term.error;
    }
    Near { value, error: projected(inherited, size, units.len() - 1, plan.projection) }
}

/// The end of a sum over batch and length; `more` roundings go before each addition.
fn over_tokens(total: &Total<f64>, more: usize, mixer: &Mixer<'_>) -> Near {
    let shape = mixer.problem.shape();
    ended(total, (shape.batch, shape.length), more, mixer.plan.reduce)
}

/// The end of a sum over modes.
pub(crate) fn over_modes(total: &Total<f64>, mixer: &Mixer<'_>) -> Near {
    ended(total, (1, mixer.problem.modes()), 0, mixer.plan.reduce)
}

fn ended(total: &Total<f64>, (batch, length): (usize, usize), more: usize, plan: Reduction) -> Near {
    let additions = plan.chain.additions(batch, length) + more;
    let reachable = reachable(total.value, total.size, plan.chain);
    // What goes before the additions is rounded term by term.
    let inherited = total.error + more as f64 * plan.rounding.unit * (total.size - reachable);
    let error = summed(inherited, reachable, additions, total.repeats(), plan.rounding);
    Near { value: total.value, error }
}

/// `dx_total`, from the direct gradient `[B, L, W]`.
pub(crate) fn total(mixer: &Mixer<'_>, dx: &Sheet, sides: &[Side<'_>; 2]) -> Sheet {
    let (shape, plan) = (mixer.problem.shape(), mixer.plan);
    let units: Vec<_> =
        sides.iter().map(|side| (0..shape.width).map(|w| side.unit(w, plan)).collect::<Vec<_>>()).collect();
    let mut sheet = Sheet::new(&shape.tokens());
    for index in 0..shape.elements() {
        let (row, w) = (index / shape.width, index % shape.width);
        let direct = dx.get(index);
        let (mut value, mut size, mut inherited) = (direct.value, direct.value.abs(), direct.error);
        for (side, units) in sides.iter().zip(&units) {
            let term = product([side.dp[row], units[w]], crate::Rounding::EXACT);
            value += term.value;
            size += term.value.abs();
            inherited += term.error;
        }
        sheet.put(index, Near { value, error: projected(inherited, size, CONTROLS, plan.projection) });
    }
    sheet
}

/// `dnu_log` and `dtheta_log` of one mode.
pub(crate) fn logarithms(mixer: &Mixer<'_>, m: usize, totals: &ModeTotals) -> [Near; 2] {
    let (products, bound) = (mixer.plan.products, &mixer.modes[m].1);
    let mut totals = *totals;
    totals.nu.error += totals.effects[NU].of(bound.theta.error, bound.relative());
    totals.theta.error += totals.effects[THETA].of(bound.theta.error, bound.relative());
    let [nu, gamma, theta] = [&totals.nu, &totals.gamma, &totals.theta].map(|sum| over_tokens(sum, 0, mixer));
    let through_gamma = product([gamma, bound.gamma_slope], products);
    let dnu = nu.minus(through_gamma.scaled(-1.0), products);
    [product([bound.nu, dnu], products), product([bound.theta, theta], products)]
}
