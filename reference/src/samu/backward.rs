//! The adjoint from right to left, for a few modes of one sequence; sums over modes, batch and length end in
//! [`super::parameters`], where the gradients of the controls go on to their parameters.
//!
//! With the real inner product on complex numbers and `lambda_t = dh_t + conj(A_{t+1}) lambda_{t+1}`, the gradient of
//! the loss with respect to `h_t`, a change of the logarithm of `a_t` by `dlnrho + i dphi` changes the loss by
//! `Re(k_t) dlnrho - Im(k_t) dphi`:
//!
//! ```text
//! dh = [Re h > 0] Re dy + i [Im h > 0] Im dy         k_t = reset ? 0 : conj(lambda_t) a_t h_{t-1}
//! dx = gamma lambda           dgamma = sum of Re(conj(lambda) x)          dh0 = conj(A_0) lambda_0
//! deta = sum over modes of -nu exp(eta) Re(k)        ddelta = sum over modes of -Im(k)
//! dnu_log = nu (sum of -exp(eta) Re(k) + dgamma exp(-2 nu) / sqrt(1 - exp(-2 nu)))
//! dtheta_log = theta sum of -Im(k)
//! ```
//!
//! On a reset `k` is absent: nothing that a token computes for its decay is used, so neither a NaN there nor one in the
//! discarded state reaches a gradient.
//!
//! The derivative of the ReLU jumps. Where the state is nearer to the kink than its error, an honest kernel may take
//! either side, and the cotangent is as uncertain as it is large. A NaN there lets the cotangent pass.

use super::disc::Disc;
use super::envelope::DecayBound;
use super::reach::{Effect, NOWHERE, NU, PHASE, RADIAL, Reach, SUMS, THETA, charge, on};
use super::trace::{Block, State, Trace, open};
use crate::near::{Near, product};
use crate::pair::Pair;
use crate::plan::RoundingPlan;
use crate::sums::Total;

/// What a block gives.
pub(crate) struct Gradients {
    /// `[L, count]`.
    pub(crate) dx: Vec<Disc>,
    /// `[count]`.
    pub(crate) dh0: Vec<Disc>,
    /// Parts of the sums over modes, `[L]`.
    pub(crate) deta: Vec<Total<f64>>,
    pub(crate) ddelta: Vec<Total<f64>>,
    /// What the sums over tokens of `deta s_radial` and `ddelta s_phase` need of each token, `[L]`.
    pub(crate) tokens: Vec<TokenShare>,
    /// What errors that belong to one step of one mode do to those two sums.
    pub(crate) spread: Spread,
    /// Parts of the sums over batch and length, `[count]`.
    pub(crate) modes: Vec<ModeTotals>,
    /// Components of the state on whose side of the kink nothing is promised.
    pub(crate) undecided: usize,
}

/// Of the two sums for the amplitudes: first phase, then radius.
pub(crate) type Spread = [f64; 2];

/// What a token's controls do to the sums for the amplitudes, all modes together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TokenShare {
    /// The errors of its terms without those that are spread over many tokens.
    pub(crate) left: Spread,
    /// Of its own `delta` and `eta`.
    pub(crate) effects: [Effect; 2],
}

impl TokenShare {
    pub(crate) fn plus(self, other: Self) -> Self {
        let left = [self.left[0] + other.left[0], self.left[1] + other.left[1]];
        let [phase, radial] = self.effects;
        Self { left, effects: [phase.plus(other.effects[0]), radial.plus(other.effects[1])] }
    }
}

/// What a mode sums over tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ModeTotals {
    /// `-exp(eta) Re(k)`.
    pub(crate) nu: Total<f64>,
    /// `Re(conj(lambda) x)`.
    pub(crate) gamma: Total<f64>,
    /// `-Im(k)`.
    pub(crate) theta: Total<f64>,
    /// Of `theta` and `nu` themselves, on every sum.
    pub(crate) effects: [Effect; SUMS],
}

impl ModeTotals {
    /// After this many tokens of other sequences.
    pub(crate) fn after(count: usize) -> Self {
        let total = Total::after(count);
        Self { nu: total, gamma: total, theta: total, effects: [Effect::default(); SUMS] }
    }

    pub(crate) fn then(self, later: Self) -> Self {
        Self {
            nu: self.nu.then(later.nu),
            gamma: self.gamma.then(later.gamma),
            theta: self.theta.then(later.theta),
            effects: std::array::from_fn(|j| self.effects[j].plus(later.effects[j])),
        }
    }
}

/// What comes back from the next token, unless that is a reset.
#[derive(Clone, Copy)]
struct Arriving {
    decay: DecayBound,
    lambda: State,
    /// `G_t`.
    reach: Reach,
}

impl Block<'_> {
    /// Runs the adjoint over the block.
    pub(crate) fn backward(&self, trace: &Trace) -> Gradients {
        let (length, count) = (self.length(), self.count);
        let mut out = Gradients {
            dx: vec![Disc::exact(Pair::zero()); length * count],
            dh0: Vec::with_capacity(count),
            deta: vec![Total::after(self.first); length],
            ddelta: vec![Total::after(self.first); length],
            tokens: vec![TokenShare::default(); length],
            spread: [0.0; 2],
            modes: vec![ModeTotals::after(self.row * length); count],
            undecided: 0,
        };
        let mut arriving: Vec<Option<Arriving>> = vec![None; count];
        for t in (0..length).rev() {
            for (m, arriving) in arriving.iter_mut().enumerate() {
                let at = t * count + m;
                let (dh, undecided) = kink(trace.states[at + count], self.dy(t, m));
                out.undecided += undecided;
                let lambda = self.cotangent(t, m, *arriving, dh);
                let later = arriving.map_or(NOWHERE, |arriving| arriving.reach);
                charge_own(&trace.states[at + count], &later, m, &mut out);
                charge_own(&lambda, &trace.reach[at], m, &mut out);
                let reach = self.gradients(t, m, &lambda, &later, trace, &mut out);
                *arriving = trace.decays[at].map(|decay| Arriving { decay, lambda, reach });
            }
        }
        out.dh0.extend(arriving.into_iter().enumerate().map(|(m, arriving)| self.initial(m, arriving)));
        out
    }

    /// `lambda_t`: what the output and the final state ask for, and what comes back from the next token.
    fn cotangent(&self, t: usize, m: usize, arriving: Option<Arriving>, dh: Disc) -> State {
        let carry = self.carry();
        if t + 1 == self.length() {
            return State::exact(self.dlast(m)).plus(dh, carry);
        }
        match arriving {
            Some(Arriving { decay, lambda, .. }) => lambda.step(Some((decay.a.conj(), decay.own)), dh, carry),
            None => State::exact(Pair::zero()).step(None, dh, carry),
        }
    }

    /// The gradients of one token; gives `G_{t-1}`.
    fn gradients(
        &self,
        t: usize,
        m: usize,
        lambda: &State,
        later: &Reach,
        trace: &Trace,
        out: &mut Gradients,
    ) -> Reach {
        let (at, plan) = (t * self.count + m, self.mixer.plan);
        let rounding = plan.reduce.rounding;
        let dw = lambda.disc().at_boundary(plan);
        out.dx[at] = dw.scaled(self.mode(m).1.gamma, plan.products);
        let write = dw.dot(self.x(t, m), plan.products);
        out.modes[m].gamma.add(without(write, lambda.bound.given * self.x(t, m).modulus()), rounding);
        let Some(decay) = &trace.decays[at] else { return NOWHERE };
        let (before, token) = (&trace.states[at], self.token(t));
        let k = log_decay_gradient(*lambda, *before, decay, plan);
        let given = spread_part(lambda, before, decay);
        let minus = Near { value: -k.value.re, error: k.error };
        let ddelta = Near { value: -k.value.im, error: k.error };
        let deta = product([decay.rate, minus], plan.products);
        out.deta[t].add(deta, rounding);
        out.ddelta[t].add(ddelta, rounding);
        let swell = token.bound.swell;
        let nu = product([swell, minus], plan.products);
        out.modes[m].nu.add(without(nu, swell.value * given), rounding);
        out.modes[m].theta.add(without(ddelta, given), rounding);
        let left = [without(ddelta, given).error, without(deta, decay.rate.value * given).error];
        let earlier = if t == 0 { &NOWHERE } else { &trace.reach[at - self.count] };
        let (reach, effects) = on(later, earlier, (lambda, before), (decay, token));
        let share = TokenShare { left, effects: [effects[PHASE], effects[RADIAL]] };
        out.tokens[t] = out.tokens[t].plus(share);
        self.join(t, m, &effects, out);
        reach
    }

    /// What the errors of the parameters and of the token's controls do to the mode's own sums.
    fn join(&self, t: usize, m: usize, effects: &[Effect; SUMS], out: &mut Gradients) {
        let (bound, mode) = (&self.token(t).bound, &mut out.modes[m]);
        mode.effects = std::array::from_fn(|j| mode.effects[j].plus(effects[j]));
        mode.theta.error += effects[THETA].of(bound.delta.error, bound.eta.error);
        mode.nu.error += effects[NU].of(bound.delta.error, bound.eta.error);
    }

    /// `dh0`: nothing if the first token is a reset, `dlast` itself if there is no token.
    fn initial(&self, m: usize, arriving: Option<Arriving>) -> Disc {
        match arriving {
            _ if self.length() == 0 => Disc::exact(self.dlast(m)),
            None => Disc::exact(Pair::zero()),
            Some(Arriving { decay, lambda, .. }) => {
                decay.a.conj().times(lambda.disc(), self.mixer.plan.carry)
            }
        }
    }
}

/// What the errors that one step adds of its own do to all sums. The roundings of the scan stay with the terms: in a
/// chunked order one state's rounding need not be part of the next.
fn charge_own(state: &State, reach: &Reach, m: usize, out: &mut Gradients) {
    let effect = |j: usize| charge(state.own, reach[j].modulus());
    out.modes[m].theta.error += effect(THETA);
    out.modes[m].nu.error += effect(NU);
    out.spread[0] += effect(PHASE);
    out.spread[1] += effect(RADIAL);
}

/// The part of the error of `k`, to first order, that is charged by its reach.
fn spread_part(lambda: &State, before: &State, decay: &DecayBound) -> f64 {
    let (lambda_size, before_size) = (lambda.value.modulus(), before.value.modulus());
    let a = decay.a.value.modulus();
    let carried = lambda_size * before.bound.given + before_size * lambda.bound.given;
    a * carried + (decay.a.error - decay.own) * lambda_size * before_size
}

/// The term with its error less a part that is charged elsewhere.
pub(crate) fn without(term: Near, part: f64) -> Near {
    let error = term.error - part;
    // Not `f64::max`, which would swallow a NaN: no bound.
    Near { error: if error < 0.0 { 0.0 } else { error }, ..term }
}

/// The cotangent of the state through the ReLU, and how many components of it are undecided.
fn kink(state: State, dy: Pair<f64>) -> (Disc, usize) {
    let mut undecided = 0;
    let mut part = |h: f64, dy: f64, empty: bool| match open(h, state.bound.error, empty) {
        Some(true) => (dy, 0.0),
        Some(false) => (0.0, 0.0),
        None => {
            undecided += usize::from(h.is_finite());
            // False for NaN.
            (if h <= 0.0 { 0.0 } else { dy }, dy.abs())
        }
    };
    let (re, doubt_re) = part(state.value.re, dy.re, state.empty[0]);
    let (im, doubt_im) = part(state.value.im, dy.im, state.empty[1]);
    let error = Pair::new(doubt_re, doubt_im).modulus();
    (Disc { value: Pair::new(re, im), error }, undecided)
}

/// `k = conj(lambda_t) h_{t-1} a_t`; the cotangent of `a` may be stored before the last product.
fn log_decay_gradient(lambda: State, before: State, decay: &DecayBound, plan: &RoundingPlan) -> Disc {
    let saved = before.disc();
    let saved = if plan.saved.unit > 0.0 { saved.rounded(plan.saved) } else { saved };
    let da = lambda.disc().conj().times(saved, plan.products).at_boundary(plan);
    da.times(decay.a, plan.products)
}
