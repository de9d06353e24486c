//! How far each rounded quantity that does not depend on the state may be from the true one: modes, directions, controls
//! and decays; the scan and the gradients are left to [`super::trace`] and [`super::backward`].
//!
//! Which stage of a plan rounds what: `gates` the controls' functions (`tanh`, `exp(nu_log)`, `exp(theta_log)`) and
//! `q / (1 + q^2)`; `projection` the dot products of the controls and the norms of the directions; `decay` the angle
//! `theta + delta`, `exp(eta)`, the radius and `a`; `norm` gamma, in the declared form; `products` the elementwise
//! products, complex ones too; `boundary` `a` and `w` before the scan, their cotangents after it; `carry` the scan both
//! ways; `saved` the states that the backward pass reads; `reduce` the sums over modes, tokens and batch.
//!
//! `function` counts for `exp`, `expm1`, `tanh`, `sin` and `cos`; a plan promises functions that do not cancel: a `tanh`
//! near 0 is relatively accurate. `depth` is an error of the argument: `t` and `2 p` of an exponential, the angle of a
//! sine.

use super::disc::Disc;
use super::forward::{Control, Decay, Direction, GAMMA_FLOOR, Mode, NORM_FLOOR};
use crate::near::{Near, overflowing, product};
use crate::plan::{Complement, Rounding, RoundingPlan};
use crate::rglru::envelope::{decay as radius, function_units, growth, one_minus_square, root};
use crate::sums::{projected, reachable};

/// Rounding of a division, or of a reciprocal: the hardware's approximation may be off by a unit in the last place.
const K_DIVISION: f64 = 2.0;
/// Roundings of a direction's element besides those of the norm: the reciprocal of the norm, and a product with it.
const K_UNIT: f64 = K_DIVISION + 1.0;
/// Roundings of `1 / sqrt(M)`: a root and a division of a unit in the last place each, less the one that a product counts.
const K_SCALE: f64 = 3.0;
/// Roundings of `1 - s^2` relative to it, as written or as `(1 - s)(1 + s)`; the square's own is relative to `s^2`.
const K_COMPLEMENT: f64 = 3.0;
/// Roundings of `4 e / (1 + e)^2` or `2 e / (1 + e^2)` besides those of `e`: a sum, a square that doubles it, a division.
const K_SECANT: f64 = 5.0;
/// Roundings of `q / (1 + q^2)`: the square, which is at most half of the sum, the sum, and a division.
const K_FOLD: f64 = 3.5;
/// Roundings of `gamma`: the sum with its floor, and the floor as stored.
const K_GAMMA: f64 = 1.0;
/// Underflow of a product with a complex number of modulus 1, by components, in units.
const K_PARTS_UNDERFLOW: f64 = std::f64::consts::SQRT_2;

/// `exp(t)`.
fn exponential(t: Near, plan: &RoundingPlan, rounding: Rounding) -> Near {
    let value = t.value.exp();
    let units = function_units(t.value, plan) * rounding.unit;
    let error = value * (growth(t.error) + units) + rounding.underflow;
    Near { value, error: overflowing(error, value + error, rounding) }
}

/// The lesser of two errors; one that is NaN is no bound and must not hide the other's absence.
fn lesser(one: f64, two: f64) -> f64 {
    if one < two { one } else { two }
}

/// `limit` if a finite error exceeds it: a kernel whose argument is finite stays in the range of the function.
fn within(limit: f64, error: f64, argument: f64) -> f64 {
    if argument < f64::INFINITY { lesser(error, limit) } else { error }
}

/// A curve of a control and its derivative.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Curve {
    pub(crate) value: Near,
    pub(crate) slope: Near,
}

/// `tanh(p)` and `1 - tanh(p)^2`. The slope changes by a factor of at most `exp(2 e)` where the argument changes by `e`,
/// and is never more than 1.
pub(crate) fn hyperbolic(p: Near, plan: &RoundingPlan) -> Curve {
    let gates = plan.gates;
    let (tanh, e) = (p.value.tanh(), (-2.0 * p.value.abs()).exp());
    let slope = 4.0 * e / ((1.0 + e) * (1.0 + e));
    // From `e`: `|d tanh / d log e| = slope / 2`.
    let exponent = (function_units(2.0 * p.value, plan) - plan.function) * slope / 2.0;
    let rounding = gates.unit * (plan.function * tanh.abs() + exponent) + gates.underflow;
    let inherited = lesser(slope * growth(2.0 * p.error) / 2.0, p.error);
    let error = within(2.0, rounding + inherited, p.error);
    let value = Near { value: tanh, error };
    let rest = complement(value, slope, p, plan);
    Curve { value, slope: Near { value: slope, error: rest } }
}

/// The error of `1 - s^2` in the declared form.
fn complement(s: Near, rest: f64, p: Near, plan: &RoundingPlan) -> f64 {
    let unit = plan.gates.unit;
    let error = match plan.complement {
        Complement::OneMinus => {
            let inherited = s.error * (2.0 * s.value.abs() + s.error);
            inherited + unit * (s.value * s.value + inherited + K_COMPLEMENT * (rest + inherited))
        }
        Complement::Sigmoid => {
            let rounding = secant_units(p, plan) * unit * rest;
            rounding + lesser(rest * growth(2.0 * p.error), p.error)
        }
    };
    within(1.0, error, p.error) + plan.gates.underflow
}

/// Unit roundoffs in `1 / cosh(p)^2` or `1 / cosh(2 p)`, which may square an exponential.
fn secant_units(p: Near, plan: &RoundingPlan) -> f64 {
    2.0 * function_units(2.0 * p.value, plan) + K_SECANT
}

/// `q / (1 + q^2)` and its derivative with respect to `p`, `((1 - q^2) / (1 + q^2))^2`, of `q = tanh(p)`.
pub(crate) fn folded(q: Curve, p: Near, plan: &RoundingPlan) -> Curve {
    let (gates, t) = (plan.gates, q.value.value);
    let below = 1.0 + t * t;
    let value = t / below;
    // The derivative with respect to `q` is at most 1, and its own at most 2.
    let steep = lesser(q.slope.value / (below * below) + 2.0 * q.value.error, 1.0);
    let inherited = steep * q.value.error;
    let error = inherited + K_FOLD * gates.unit * (value.abs() + inherited) + gates.underflow;
    let secant = secant(q, below, p, plan);
    Curve { value: Near { value, error }, slope: product([secant, secant], plan.products) }
}

/// `(1 - q^2) / (1 + q^2)`, which is `1 / cosh(2 p)`.
fn secant(q: Curve, below: f64, p: Near, plan: &RoundingPlan) -> Near {
    let e = (-2.0 * p.value.abs()).exp();
    let value = 2.0 * e / (1.0 + e * e);
    let unit = plan.gates.unit;
    let error = match plan.complement {
        Complement::OneMinus => {
            let square = q.value.error * (2.0 * q.value.value.abs() + q.value.error);
            let sum = square + unit * (2.0 * below + square);
            // The sum is at least 1, rounded or not.
            q.slope.error + value * sum + K_DIVISION * unit * (value + q.slope.error)
        }
        Complement::Sigmoid => {
            let inherited = lesser(value * growth(2.0 * p.error), p.error);
            inherited + secant_units(p, plan) * unit * value
        }
    };
    Near { value, error: within(1.0, error, p.error) + plan.gates.underflow }
}

/// What depends on the parameters of a mode alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ModeBound {
    pub(crate) nu: Near,
    pub(crate) theta: Near,
    pub(crate) gamma: Near,
    /// `d gamma / d nu = exp(-2 nu) / sqrt(1 - exp(-2 nu))`.
    pub(crate) gamma_slope: Near,
}

impl ModeBound {
    pub(crate) fn new(nu_log: f64, theta_log: f64, mode: &Mode<f64>, plan: &RoundingPlan) -> Self {
        let parameter = |log| exponential(Near::exact(log), plan, plan.gates);
        let (nu, theta) = (parameter(nu_log), parameter(theta_log));
        let l = nu.scaled(-1.0);
        let q = exponential(l.scaled(2.0), plan, plan.norm);
        let z = one_minus_square(-(-2.0 * nu.value).exp_m1(), q, l, plan);
        let root = root(z, plan);
        let error = root.error + K_GAMMA * plan.norm.unit * (mode.gamma + root.error + GAMMA_FLOOR);
        let gamma_slope = product([q, reciprocal(root, plan.norm)], plan.norm);
        Self { nu, theta, gamma: Near { value: mode.gamma, error }, gamma_slope }
    }

    /// The decay of one token, as it enters the scan.
    pub(crate) fn decay(
        &self,
        decay: &Decay<f64>,
        control: &ControlBound,
        plan: &RoundingPlan,
    ) -> DecayBound {
        let rate = product([self.nu, control.swell], plan.decay);
        let radius = radius(decay.radius, rate.scaled(-1.0), plan);
        let angle = control.delta.minus(self.theta.scaled(-1.0), plan.decay);
        // The distance of two numbers of modulus 1 is at most that of their angles.
        let turn =
            within(2.0, angle.error, angle.error) + function_units(decay.phase, plan) * plan.decay.unit;
        let error = radius.error * (1.0 + turn) + decay.radius * turn;
        let magnitude = decay.radius + error;
        let error = error + plan.decay.unit * magnitude + K_PARTS_UNDERFLOW * plan.decay.underflow;
        let a = Disc { value: decay.a, error }.at_boundary(plan);
        let given = decay.radius
            * (self.theta.error + control.delta.error + rate.value * (self.relative() + control.eta.error));
        let left = a.error - given;
        // Not `f64::max`, which would swallow a NaN. The square is what is not linear in the angle; what is not linear in
        // the rate is in the growth of the exponential.
        let own = if left < 0.0 { 0.0 } else { left } + decay.radius * angle.error * angle.error;
        DecayBound { rate, a, own: if own < a.error { own } else { a.error } }
    }

    /// The relative error of `nu`.
    pub(crate) fn relative(&self) -> f64 {
        self.nu.error / self.nu.value
    }
}

/// The reciprocal of a positive number.
fn reciprocal(number: Near, rounding: Rounding) -> Near {
    let value = 1.0 / number.value;
    let low = number.value - number.error;
    let inherited = if low > 0.0 { number.error / (number.value * low) } else { f64::INFINITY };
    Near { value, error: inherited + K_DIVISION * rounding.unit * (value + inherited) }
}

/// The decay of one token in one mode, with errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecayBound {
    /// `nu exp(eta)`.
    pub(crate) rate: Near,
    pub(crate) a: Disc,
    /// The part of the error of `a` that is not, to first order, due to those of `theta`, `nu`, `delta` and `eta`.
    pub(crate) own: f64,
}

/// Relative errors of a direction: one that all its elements share, and each element's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectionBound {
    /// Of the norm.
    pub(crate) common: f64,
    pub(crate) own: f64,
    /// Whether the norm is below its floor: then the derivative has no projection. `None`: it may be, in a kernel.
    pub(crate) floored: Option<bool>,
    /// By how much a product that underflowed may grow when it is divided by the norm afterwards.
    pub(crate) growth: f64,
}

impl DirectionBound {
    pub(crate) fn new(direction: &Direction<f64>, plan: &RoundingPlan) -> Self {
        let square = direction.norm * direction.norm;
        let width = direction.unit.len() - 1;
        let rounding = plan.projection.rounding;
        let square = Near { value: square, error: projected(0.0, square, width, plan.projection) };
        let norm = root(square, &RoundingPlan { norm: rounding, ..*plan });
        let floor = |norm: f64| if norm < NORM_FLOOR { NORM_FLOOR } else { norm };
        let (low, divisor, high) =
            (floor(norm.value - norm.error), floor(norm.value), floor(norm.value + norm.error));
        let common = f64::max(divisor / low - 1.0, 1.0 - divisor / high) + rounding.unit;
        let floored = (norm.value < NORM_FLOOR) == (norm.value - norm.error < NORM_FLOOR)
            && (norm.value < NORM_FLOOR) == (norm.value + norm.error < NORM_FLOOR);
        Self {
            common: overflowing(common, square.value + square.error, rounding),
            own: K_UNIT * rounding.unit,
            floored: floored.then_some(norm.value < NORM_FLOOR),
            growth: if low < 1.0 { 1.0 / low } else { 1.0 },
        }
    }

    /// `p = x . d^[:W] + d^[W]`. What the norm is off by scales the whole sum, not its terms.
    pub(crate) fn project(&self, p: f64, x: &[f64], unit: &[f64], plan: &RoundingPlan) -> Near {
        let (rounding, width) = (plan.projection.rounding, x.len());
        let (size, input) = x
            .iter()
            .zip(unit)
            .fold((unit[width].abs(), 1.0), |(size, input), (x, d)| (size + (x * d).abs(), input + x.abs()));
        let reachable = reachable(p, size, plan.projection.chain);
        // The products are rounded each for itself.
        let products = rounding.unit * (size - reachable);
        let terms = size * self.own * (1.0 + self.common) + input * rounding.underflow + products;
        let underflow = (width + 1) as f64 * rounding.underflow * self.growth;
        let inherited = p.abs() * self.common + terms + underflow;
        Near { value: p, error: projected(inherited, reachable, width, plan.projection) }
    }
}

/// What the parameters of the controls give: one each for phase and radius.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControllerBound {
    pub(crate) phase: DirectionBound,
    pub(crate) radial: DirectionBound,
    /// Of the amplitudes.
    pub(crate) phase_gain: Curve,
    pub(crate) radial_gain: Curve,
    /// `1 / sqrt(M)`.
    pub(crate) scale: Near,
}

/// `1 / sqrt(M)`.
pub(crate) fn scale(modes: usize, plan: &RoundingPlan) -> Near {
    let value = 1.0 / (modes as f64).sqrt();
    Near { value, error: K_SCALE * plan.products.unit * value }
}

/// The controls of one token, with errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControlBound {
    pub(crate) delta: Near,
    pub(crate) eta: Near,
    /// `exp(eta)`.
    pub(crate) swell: Near,
    pub(crate) phase: Curve,
    pub(crate) radial: Curve,
}

impl ControllerBound {
    /// `p` are the two projections with their errors.
    pub(crate) fn control(
        &self,
        control: &Control<f64>,
        [p_phase, p_radial]: [Near; 2],
        plan: &RoundingPlan,
    ) -> ControlBound {
        let phase = hyperbolic(p_phase, plan);
        let radial = folded(hyperbolic(p_radial, plan), p_radial, plan);
        let of = |value, gain: Curve, curve: Curve| Near {
            value,
            ..product([gain.value, curve.value, self.scale], plan.products)
        };
        let eta = of(control.eta, self.radial_gain, radial);
        ControlBound {
            delta: of(control.delta, self.phase_gain, phase),
            eta,
            swell: exponential(eta, plan, plan.decay),
            phase,
            radial,
        }
    }
}
