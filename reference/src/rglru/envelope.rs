//! How far each rounded quantity of one token, and of the carried state, may be from the true one: the
//! constants and the formulas of the envelope; the true values come from the callers.

use crate::near::{Near, overflowing, product};
use crate::plan::{Complement, NormForm, Reduction, Rounding, RoundingPlan};
use crate::scalar::{self, CLIP};

/// Roundings of a sigmoid besides its exponential: `1 + e` once, and a division that may be off by a unit in
/// the last place (two unit roundoffs).
const K_SIGMOID: f64 = 3.0;
/// Roundings of softplus besides its two functions: the sum of ramp and logarithm.
const K_SOFTPLUS: f64 = 1.0;
/// Roundings of `l = -8 r sp`: one product; the factor 8 is exact.
const K_LOG_DECAY: f64 = 1.0;
/// Rounding of a square root: correctly rounded it is one; the hardware's approximation may take two.
const K_SQRT: f64 = 2.0;
/// Roundings of `S(z)`: the root, its reciprocal (one unit in the last place each) and the stored `1e-6`.
const K_SQRT_SLOPE: f64 = 5.0;
/// Roundings of a product and of a sum for each step that a term is carried: a chunk summary multiplies
/// decays that a serial scan never multiplies, and adds states that it never adds.
const K_STEP: f64 = 2.0;
/// Rounding of the sum in which a state is formed, relative to the magnitudes in it.
const K_STATE: f64 = 1.0;
/// Standard deviations in the bound for a long chain of additions (Higham and Mary 2019, their lambda): one
/// failure in about 10^8 under their model.
const LAMBDA: f64 = 6.0;

/// `exp(t) - 1` for `t >= 0`, from above and cheap where `t` is small.
fn growth(t: f64) -> f64 {
    if t < 1.0 { t * (1.0 + t) } else { t.exp() }
}

/// `g = sigmoid(u)` and `g (1 - g)`, the latter in the declared form. In the form `1 - g` the difference
/// carries the error of `g` itself: absolute, not relative to what is left of it.
pub(crate) fn gate(u: Near, plan: &RoundingPlan) -> (Near, Near) {
    let (g, rest) = scalar::sigmoid_pair(u.value);
    let near = sigmoid(g, rest, u, plan);
    let error = match plan.complement {
        Complement::OneMinus => near.error + plan.gates.unit * (rest + near.error),
        Complement::Sigmoid => sigmoid(rest, g, u, plan).error,
    };
    (near, product([near, Near { value: rest, error }], plan.products))
}

/// Unit roundoffs in `exp(t)`. The exponential of an infinity is exact, so that a saturated gate of an infinite
/// logit has an envelope like any other.
fn function_units(t: f64, plan: &RoundingPlan) -> f64 {
    if t.is_infinite() { plan.function } else { plan.function + plan.depth * t.abs() }
}

/// The sigmoid of a logit `t` whose value is `g`; `rest` is `1 - g`. An error of the logit changes it by at
/// most `g rest (exp(error) - 1)`, as the logarithm of the slope has a derivative between -1 and 1.
fn sigmoid(g: f64, rest: f64, t: Near, plan: &RoundingPlan) -> Near {
    let exponential = function_units(t.value, plan) * rest;
    let rounding = g * plan.gates.unit * (exponential + K_SIGMOID) + plan.gates.underflow;
    let error = rounding + g * rest * growth(t.error);
    // Not `f64::min`: an unbounded error of an infinite or NaN logit must stay one.
    Near { value: g, error: if error > 1.0 { 1.0 } else { error } }
}

/// `softplus(p) = max(p, 0) + log1p(exp(-|p|))`.
pub(crate) fn softplus(p: f64, plan: &RoundingPlan) -> Near {
    let value = scalar::softplus(p);
    let e = (-p.abs()).exp();
    let logarithm = e.ln_1p();
    let inner = function_units(p, plan) * e / (1.0 + e);
    let units = plan.function * logarithm + inner + K_SOFTPLUS * value;
    Near { value, error: units * plan.gates.unit + plan.gates.underflow }
}

/// `l = -c r sp`.
pub(crate) fn log_decay(r: Near, sp: Near, plan: &RoundingPlan) -> Near {
    let (size_r, size_sp) = (r.value, sp.value);
    let value = scalar::log_decay(size_r, size_sp);
    let inherited = size_r * sp.error + size_sp * r.error + r.error * sp.error;
    let underflow = plan.decay.underflow * (1.0 + size_sp);
    let error = scalar::C * (inherited + underflow) + K_LOG_DECAY * plan.decay.unit * value.abs();
    Near { value, error }
}

/// `exp(t)` of a `t <= 0` with an error.
fn exponential(value: f64, t: Near, plan: &RoundingPlan, rounding: Rounding) -> Near {
    let units = function_units(t.value, plan);
    let error = value * (growth(t.error) + units * rounding.unit) + rounding.underflow;
    Near { value, error: if error > 1.0 { 1.0 } else { error } }
}

/// `a = exp(l)`.
pub(crate) fn decay(value: f64, l: Near, plan: &RoundingPlan) -> Near {
    exponential(value, l, plan, plan.decay)
}

/// `exp(2 l)`, by its own exponential or as the square of `a`: the larger of both errors.
pub(crate) fn square(a: Near, plan: &RoundingPlan) -> Near {
    let value = a.value * a.value;
    let error =
        2.0 * a.value * a.error + a.error * a.error + plan.products.unit * value + plan.products.underflow;
    Near { value, error }
}

/// `z = 1 - exp(2 l)` in the declared form; `q` is `exp(2 l)`.
pub(crate) fn one_minus_square(z: f64, q: Near, l: Near, plan: &RoundingPlan) -> Near {
    let (unit, underflow) = (plan.norm.unit, plan.norm.underflow);
    let error = match plan.norm_form {
        NormForm::Expm1 => {
            let depth = plan.depth * 2.0 * l.value.abs() * q.value;
            q.value * growth(2.0 * l.error) + (plan.function * z + depth) * unit + underflow
        }
        // The unit of the exponential, absolute: it is near 1 exactly where this form hurts.
        NormForm::Naive => {
            let own = exponential(q.value, l.scaled(2.0), plan, plan.norm);
            (own.error + plan.norm.unit * q.value).max(q.error) + unit * z
        }
    };
    Near { value: z, error }
}

/// `m = sqrt(z)`. The error of a root is not first order near 0: it is at most the root of the error.
pub(crate) fn root(z: Near, plan: &RoundingPlan) -> Near {
    let value = z.value.sqrt();
    let low = (z.value - z.error).max(0.0).sqrt();
    let slope = z.error / (low + value);
    let whole = z.error.sqrt();
    let inherited = if slope < whole { slope } else { whole };
    Near { value, error: inherited + K_SQRT * plan.norm.unit * value + plan.norm.underflow }
}

/// `S(z)`, continuous with a kink at the clip: the steepest unclipped slope within the error of `z` bounds
/// the change on both sides of the kink.
pub(crate) fn sqrt_slope(z: Near, plan: &RoundingPlan) -> Near {
    let value = scalar::sqrt_slope(z.value);
    let low = z.value - z.error;
    let inherited = if z.value + z.error < CLIP / 4.0 {
        0.0
    } else {
        let steep = if low < CLIP / 4.0 { CLIP / 4.0 } else { low };
        let change = scalar::sqrt_slope(steep) * z.error / (2.0 * steep);
        if change > 1000.0 { 1000.0 } else { change }
    };
    Near { value, error: inherited + K_SQRT_SLOPE * plan.norm.unit * value }
}

/// The arithmetic of a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carry {
    rounding: Rounding,
    /// Sums that a term can go through beyond one per step: in a tree the newest term of all goes through one
    /// addition per level, and one more where the initial state comes in. Charged once in a term's life.
    levels: f64,
}

impl Carry {
    pub(crate) fn new(rounding: Rounding, length: usize) -> Self {
        let levels = length.max(1).next_power_of_two().ilog2();
        Self { rounding, levels: f64::from(levels) }
    }
}

/// A state that is carried, in either direction: its value, the same with all magnitudes added, and the
/// bound on its error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    /// `h` or `lambda`.
    pub value: f64,
    /// `S`: the recurrence of magnitudes, those of the rounded `A` and `w`. It, not `|h|`, scales the
    /// roundings of the scan, so that the bound holds for every order of association.
    pub size: f64,
    /// `E`.
    pub error: f64,
    /// The part of `E` that the errors of `A` and `w` make, without the roundings of the scan. An exact
    /// recurrence carries it, whatever the order: what one step adds reaches all later states alike.
    pub given: f64,
    /// What this step adds to that: `given_t <= A_t given_{t-1} + local`, with the true decay.
    pub local: f64,
    /// The largest `size` since the last reset: a chunk's product of decays may underflow, and what it
    /// loses is relative to the state at the start of the chunk.
    peak: f64,
}

impl Carried {
    /// A state that is an input.
    pub(crate) fn exact(value: f64) -> Self {
        Self { value, size: value.abs(), error: 0.0, given: 0.0, local: 0.0, peak: value.abs() }
    }

    /// The state after a reset: only what is written, nothing carried.
    pub(crate) fn written(write: Near, carry: Carry) -> Self {
        let size = write.value.abs();
        let error = write.error + carry.levels * carry.rounding.unit * size;
        let error = overflowing(error, size, carry.rounding);
        Self { value: write.value, size, error, given: write.error, local: write.error, peak: size }
    }

    /// `A state + w`.
    pub(crate) fn step(self, decay: Near, write: Near, carry: Carry) -> Self {
        let Carry { rounding, levels } = carry;
        let rate = decay.value.abs();
        let value = decay.value * self.value + write.value;
        let kept = (rate + decay.error) * self.size;
        let size = kept + write.value.abs() + write.error;
        let peak = if size > self.peak { size } else { self.peak };
        // What the errors of `A` and `w` do does not depend on the order, so the state itself scales it; what
        // the scan rounds does, so the magnitudes scale it. `grown` counts roundings of what is already in
        // error: they matter if the carry is bf16.
        let grown = 1.0 + K_STEP * rounding.unit;
        let passed_on = decay.error * self.value.abs() + write.error;
        let local = passed_on + decay.error * self.given;
        let inherited = grown * ((rate + decay.error) * self.error + passed_on);
        let once = K_STATE * (size + inherited) + levels * grown * write.value.abs();
        let error =
            inherited + rounding.unit * (K_STEP * kept + once) + K_STEP * rounding.underflow * (1.0 + peak);
        let error = overflowing(error, size, rounding);
        Self { value, size, error, given: rate * self.given + local, local, peak }
    }

    /// The state as a number with an error.
    pub(crate) fn near(self) -> Near {
        Near { value: self.value, error: self.error }
    }
}

/// The error of a sum of terms whose errors are `inherited` and whose magnitudes are `size`, both summed.
///
/// What the terms bring along is added in full: with constant inputs every token makes the same error, so
/// nothing about it is independent. Only the roundings of the additions are counted as independent, and
/// only if the chain is longer than `LAMBDA^2`.
///
/// `repeats` is the number of terms that repeat the one before, by [`repeats`]: their additions round alike, not
/// independently, and count in full.
pub(crate) fn summed(inherited: f64, size: f64, additions: usize, repeats: f64, rounding: Rounding) -> f64 {
    let chain = chain_units(additions, repeats);
    let error = inherited * (1.0 + chain * rounding.unit) + chain * rounding.unit * size;
    overflowing(error, size + inherited, rounding)
}

/// 1 if a term repeats the one before it, else 0.
///
/// What an addition rounds away depends on the term in units of the last place of the sum so far. Terms that
/// agree to that place leave the same remainder every time: a thousand equal terms err a thousand times the same way.
/// `count` terms of their size make up the sum; a term of 0 rounds nothing.
pub(crate) fn repeats(before: f64, term: f64, count: usize, rounding: Rounding) -> f64 {
    let place = 2.0 * rounding.unit * count as f64 * term.abs();
    if term != 0.0 && (term - before).abs() <= place { 1.0 } else { 0.0 }
}

/// The error of a dot product of `terms` terms and a bias, as [`summed`]; one more unit for the product.
pub(crate) fn projected(inherited: f64, size: f64, terms: usize, plan: Reduction) -> f64 {
    let chain = plan.chain.additions(1, terms + 1) + 1;
    summed(inherited, size, chain, 0.0, plan.rounding) + (terms + 1) as f64 * plan.rounding.underflow
}

/// `min(n, 6 sqrt(n) + repeats)`.
fn chain_units(additions: usize, repeats: f64) -> f64 {
    let n = additions as f64;
    n.min(LAMBDA * n.sqrt() + repeats)
}

/// True if the bound for a chain of this length rests on independence.
pub(crate) fn is_probabilistic(additions: usize) -> bool {
    additions as f64 > LAMBDA * LAMBDA
}
