//! How far each rounded quantity of one token, and of the carried state, may be from the true one: the
//! constants and the formulas of the envelope; the true values come from the callers.

use crate::near::{Near, product};
use crate::plan::{Complement, NormForm, Rounding, RoundingPlan};
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
