//! How far each rounded quantity of one token, and of the carried state, may be from the true one: the
//! constants and the formulas of the envelope; the order of the recurrence is left to the two passes.

use super::arithmetic::{Arithmetic, Moment};
use super::token::{Decay, Token};
use crate::carry::{Carry, State};
use crate::near::{Near, compounded, product};
use crate::number::Number;
use crate::plan::{Complement, NormForm, Rounding, RoundingPlan};
use crate::scalar::{self, CLIP};
use crate::sums::{Told, Total};

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
#[inline(always)]
pub(crate) fn growth<N: Number>(t: N) -> N {
    let small = t * (N::one() + t);
    // The exponential is rarely needed and dear.
    if t.all_less(1.0) { small } else { t.if_less(N::one(), small, t.exp()) }
}

/// `number`, or 1 if it is more; NaN stays.
#[inline(always)]
fn at_most_one<N: Number>(number: N) -> N {
    N::one().if_less(number, N::one(), number)
}

/// `g = sigmoid(u)` and `g (1 - g)`, the latter in the declared form. In the form `1 - g` the difference
/// carries the error of `g` itself: absolute, not relative to what is left of it.
#[inline(always)]
pub(crate) fn gate<N: Number>(u: Near<N>, plan: &RoundingPlan) -> (Near<N>, Near<N>) {
    let (g, rest) = scalar::sigmoid_pair(u.value);
    let near = sigmoid(g, rest, u, plan);
    let error = match plan.complement {
        Complement::OneMinus => near.error + (rest + near.error).times(plan.gates.unit),
        Complement::Sigmoid => sigmoid(rest, g, u, plan).error,
    };
    (near, product([near, Near { value: rest, error }], plan.products))
}

/// Unit roundoffs in `exp(t)`. The exponential of an infinity is exact, so that a saturated gate of an infinite
/// logit has an envelope like any other.
#[inline(always)]
pub(crate) fn function_units<N: Number>(t: N, plan: &RoundingPlan) -> N {
    let flat = N::from_f64(plan.function);
    if plan.depth == 0.0 {
        return flat;
    }
    let (size, infinity) = (t.abs(), N::from_f64(f64::INFINITY));
    size.if_less(infinity, flat + size.times(plan.depth), flat)
}

/// The sigmoid of a logit `t` whose value is `g`; `rest` is `1 - g`. An error of the logit changes it by at
/// most `g rest (exp(error) - 1)`, as the logarithm of the slope has a derivative between -1 and 1.
///
/// An exponential that is off by a factor `1 - d` is the right one of a logit that is off by `-log(1 - d) <= d + d^2`
/// (for `d` up to 2/3).
#[inline(always)]
fn sigmoid<N: Number>(g: N, rest: N, t: Near<N>, plan: &RoundingPlan) -> Near<N> {
    let off = function_units(t.value, plan).times(plan.gates.unit);
    let inherited = g * rest * growth(t.error + off * (N::one() + off));
    let own = compounded(K_SIGMOID * plan.gates.unit);
    let error = inherited + (g + inherited).times(own) + N::from_f64(plan.gates.underflow);
    Near { value: g, error: at_most_one(error) }
}

/// `softplus(p) = max(p, 0) + log1p(exp(-|p|))`. An exponential that is off by a factor `1 - d` changes the logarithm by at
/// most `d / (1 - d)` times its slope.
#[inline(always)]
pub(crate) fn softplus<N: Number>(p: N, plan: &RoundingPlan) -> Near<N> {
    let value = scalar::softplus(p);
    let e = (-p.abs()).exp();
    let unit = plan.gates.unit;
    let off = function_units(p, plan).times(unit);
    let inner = off * (N::one() + off + off) * e / (N::one() + e);
    let inherited = inner + (e.ln_1p() + inner).times(plan.function * unit);
    let error = inherited + (value + inherited).times(K_SOFTPLUS * unit);
    Near { value, error: error + N::from_f64(plan.gates.underflow) }
}

/// `l = -c r sp`.
#[inline(always)]
pub(crate) fn log_decay<N: Number>(r: Near<N>, sp: Near<N>, plan: &RoundingPlan) -> Near<N> {
    let value = scalar::log_decay(r.value, sp.value);
    let inherited = r.value * sp.error + sp.value * r.error + r.error * sp.error;
    let underflow = (N::one() + sp.value).times(plan.decay.underflow);
    let inherited = (inherited + underflow).times(scalar::C);
    Near { value, error: inherited + (value.abs() + inherited).times(K_LOG_DECAY * plan.decay.unit) }
}

/// `exp(t)` of a `t <= 0` with an error.
#[inline(always)]
fn exponential<N: Number>(value: N, t: Near<N>, plan: &RoundingPlan, rounding: Rounding) -> Near<N> {
    let (grown, own) = (growth(t.error), function_units(t.value, plan).times(rounding.unit));
    let error = value * (grown + own + grown * own) + N::from_f64(rounding.underflow);
    Near { value, error: at_most_one(error) }
}

/// `a = exp(l)`.
#[inline(always)]
pub(crate) fn decay<N: Number>(value: N, l: Near<N>, plan: &RoundingPlan) -> Near<N> {
    exponential(value, l, plan, plan.decay)
}

/// `exp(2 l)`, by its own exponential or as the square of `a`: the larger of both errors.
#[inline(always)]
pub(crate) fn square<N: Number>(a: Near<N>, plan: &RoundingPlan) -> Near<N> {
    let value = a.value * a.value;
    let inherited = a.error * (a.value.times(2.0) + a.error);
    let rounding = (value + inherited).times(plan.products.unit) + N::from_f64(plan.products.underflow);
    Near { value, error: inherited + rounding }
}

/// `z = 1 - exp(2 l)` in the declared form; `q` is `exp(2 l)`.
#[inline(always)]
pub(crate) fn one_minus_square<N: Number>(z: N, q: Near<N>, l: Near<N>, plan: &RoundingPlan) -> Near<N> {
    let unit = plan.norm.unit;
    let error = match plan.norm_form {
        NormForm::Expm1 => {
            let depth = (l.value.abs() * q.value).times(2.0 * plan.depth);
            let inherited = q.value * growth(l.error.times(2.0));
            let own = ((z + inherited).times(plan.function) + depth).times(unit);
            inherited + own + N::from_f64(plan.norm.underflow)
        }
        // The unit of the exponential, absolute: it is near 1 exactly where this form hurts.
        NormForm::Naive => {
            let own = exponential(q.value, l.scaled(2.0), plan, plan.norm);
            let own = own.error + (q.value + own.error).times(unit);
            let inherited = q.error.if_less(own, own, q.error);
            inherited + (z + inherited).times(unit)
        }
    };
    Near { value: z, error }
}

/// `m = sqrt(z)`. With a relative error `x <= 1/2` of `z` the root is off by at most `1 - sqrt(1 - x) <= x/2 (1 + x/2)` of
/// itself. Near 0 the error is not first order: it is at most the root of the error.
#[inline(always)]
pub(crate) fn root<N: Number>(z: Near<N>, plan: &RoundingPlan) -> Near<N> {
    let (value, x) = (z.value.sqrt(), z.error / z.value);
    // Roots and quotients are dear, and this is where most of them would be.
    let inherited = if x.all_less(0.5) {
        value * x.times(0.5) * (N::one() + x.times(0.5))
    } else {
        let low = z.value - z.error;
        let low = N::zero().if_less(low, low, N::zero()).sqrt();
        let (slope, whole) = (z.error / (low + value), z.error.sqrt());
        slope.if_less(whole, slope, whole)
    };
    let own = (value + inherited).times(K_SQRT * plan.norm.unit);
    Near { value, error: inherited + own + N::from_f64(plan.norm.underflow) }
}

/// `S(z)`, continuous with a kink at the clip: the steepest unclipped slope within the error of `z` bounds
/// the change on both sides of the kink. With a relative error `x <= 1/2` of `z` that is `S x/2 (1 - x)^(-3/2)`, and the power,
/// convex and less than 3 at `x = 1/2`, is at most `1 + 4 x`.
#[inline(always)]
pub(crate) fn sqrt_slope<N: Number>(z: Near<N>, plan: &RoundingPlan) -> Near<N> {
    let (value, clip) = (scalar::sqrt_slope(z.value), N::from_f64(CLIP / 4.0));
    let x = z.error / z.value;
    let change = if x.all_less(0.5) {
        value * x.times(0.5) * (N::one() + x.times(4.0))
    } else {
        let low = z.value - z.error;
        let steep = low.if_less(clip, clip, low);
        scalar::sqrt_slope(steep) * z.error / (steep + steep)
    };
    let most = N::from_f64(1.0 / CLIP.sqrt());
    let change = most.if_less(change, most, change);
    let inherited = (z.value + z.error).if_less(clip, N::zero(), change);
    let own = compounded(K_SQRT_SLOPE * plan.norm.unit);
    Near { value, error: inherited + (value + inherited).times(own) }
}

/// Values with the error bounds of a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds<'a, N> {
    plan: &'a RoundingPlan,
    carry: Carry,
    number: std::marker::PhantomData<N>,
}

impl<'a, N> Bounds<'a, N> {
    /// For sequences of `length` tokens.
    pub(crate) fn new(plan: &'a RoundingPlan, length: usize) -> Self {
        Self { plan, carry: Carry::real(plan.carry, length), number: std::marker::PhantomData }
    }
}

impl<N: Told> Arithmetic for Bounds<'_, N> {
    type Value = N;
    type Term = Near<N>;
    type State = State<N>;
    type Reach = N;
    type Sum = Total<N>;
    const BOUNDED: bool = true;

    #[inline(always)]
    fn exact(self, value: N) -> Near<N> {
        Near::exact(value)
    }
    #[inline(always)]
    fn near(self, value: N, error: N) -> Near<N> {
        Near { value, error }
    }
    #[inline(always)]
    fn value(self, term: Near<N>) -> N {
        term.value
    }
    #[inline(always)]
    fn envelope(self, term: Near<N>) -> Option<N> {
        Some(term.envelope())
    }
    #[inline(always)]
    fn product<const K: usize>(self, factors: [Near<N>; K]) -> Near<N> {
        product(factors, self.plan.products)
    }
    #[inline(always)]
    fn minus(self, one: Near<N>, two: Near<N>) -> Near<N> {
        one.minus(two, self.plan.products)
    }
    #[inline(always)]
    fn scaled(self, term: Near<N>, power_of_two: f64) -> Near<N> {
        term.scaled(power_of_two)
    }
    #[inline(always)]
    fn at_boundary(self, term: Near<N>) -> Near<N> {
        self.plan.boundary.map_or(term, |rounding| term.rounded(rounding))
    }
    #[inline(always)]
    fn gate(self, logit: Near<N>) -> (Near<N>, Near<N>) {
        gate(logit, self.plan)
    }
    #[inline(always)]
    fn softplus(self, p: N) -> Near<N> {
        softplus(p, self.plan)
    }
    #[inline(always)]
    fn decay(self, r: Near<N>, r_slope: Near<N>, sp: Near<N>) -> (Decay<Near<N>>, Near<N>) {
        let l = log_decay(r, sp, self.plan);
        let (a, z) = l.value.decay();
        let a = decay(a, l, self.plan);
        let q = square(a, self.plan);
        let z = one_minus_square(z, q, l, self.plan);
        let root_slope = sqrt_slope(z, self.plan);
        (Decay { r, r_slope, a: self.at_boundary(a), q, root_slope }, root(z, self.plan))
    }
    #[inline(always)]
    fn initial(self, value: N) -> State<N> {
        State::exact(value)
    }
    #[inline(always)]
    fn written(self, write: Near<N>) -> State<N> {
        State::written(write, self.carry)
    }
    #[inline(always)]
    fn step(self, state: State<N>, decay: Near<N>, write: Near<N>) -> State<N> {
        state.step(decay, write, self.carry)
    }
    #[inline(always)]
    fn read(self, state: State<N>) -> Near<N> {
        state.near()
    }
    #[inline(always)]
    fn saved(self, state: State<N>) -> Near<N> {
        let saved = self.plan.saved;
        if saved.unit > 0.0 { state.near().rounded(saved) } else { state.near() }
    }
    #[inline(always)]
    fn first(self, lambda: State<N>, decay: Near<N>) -> Near<N> {
        product([lambda.near(), decay], self.plan.carry)
    }
    #[inline(always)]
    fn nowhere(self) -> N {
        N::zero()
    }
    /// `F_t = r (h_{t-1} a - 2 exp(2l) S(z) x g) + A_t F_{t-1}`: the adjoint of the adjoint.
    #[inline(always)]
    fn reach_back(self, earlier: N, before: State<N>, x: N, token: &Token<Near<N>>) -> N {
        let Some(decay) = &token.decay else { return N::zero() };
        let own = before.value * decay.a.value - through_norm(x, token, decay);
        decay.r.value * own + decay.a.value * earlier
    }
    /// `G_{t-1} = A_t (r_t lambda_t + G_t)`.
    #[inline(always)]
    fn reach_on(self, later: N, lambda: State<N>, decay: &Decay<Near<N>>) -> N {
        decay.a.value * (decay.r.value * lambda.value + later)
    }
    #[inline(always)]
    fn sum(self, count: usize) -> Total<N> {
        Total::after(count)
    }
    #[inline(always)]
    fn add(self, sum: &mut Total<N>, at: &Moment<'_, Self>) {
        if let (Some(decay), Some(dl)) = (&at.token.decay, at.dl) {
            sum.add(sum_term(dl, at, decay, self.plan), self.plan.reduce.rounding);
        }
        sum.error = sum.error + charge(at.after.bound.local, at.on) + charge(at.lambda.bound.local, at.back);
    }
}

/// `2 exp(2l) S(z) x g`: how `dl` depends on `lambda` through the norm.
#[inline(always)]
fn through_norm<N: Number>(x: N, token: &Token<Near<N>>, decay: &Decay<Near<N>>) -> N {
    decay.q.value.times(2.0) * decay.root_slope.value * x * token.g.value
}

/// What an error does through its reach. An infinite one (of an infinite state) that reaches nothing does nothing.
#[inline(always)]
fn charge<N: Number>(error: N, reach: N) -> N {
    let size = reach.abs();
    N::zero().if_less(size, error * size, size)
}

/// `r dl`, with an error that leaves out what the errors of gates and decays, carried along in `h` and
/// `lambda`, do to first order.
///
/// That part is one error spread over many terms: [`Arithmetic::add`] charges each step's share once, with the *signed*
/// sum of all it reaches, where the terms' own bounds would add up magnitudes. The roundings of the scan stay
/// with the terms: in a chunked order one state's rounding need not be part of the next.
#[inline(always)]
fn sum_term<N: Told>(
    dl: Near<N>,
    at: &Moment<'_, Bounds<'_, N>>,
    decay: &Decay<Near<N>>,
    plan: &RoundingPlan,
) -> Near<N> {
    let term = product([decay.r, dl], plan.products);
    let (a, before, lambda) = (decay.a.value, at.before, at.lambda);
    let by_state = lambda.value.abs() * a * before.bound.given;
    let slope = (before.value * a).abs() + through_norm(at.x, at.token, decay).abs();
    let error = term.error - decay.r.value * (by_state + slope * lambda.bound.given);
    // Not a maximum, which would swallow a NaN: no bound.
    Near { value: term.value, error: error.if_less(N::zero(), N::zero(), error) }
}
