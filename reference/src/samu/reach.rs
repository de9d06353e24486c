//! What one error does to a whole sum over tokens: errors of decays and writes that spread over many terms are charged
//! once, with the signed sum of all that they reach; what they do to a single term is left to [`super::backward`].
//!
//! Four sums end in one number each, `dtheta_log` and `dnu_log` of a mode and the gradients of both amplitudes. With
//! `v_t = a_t h_{t-1}` their terms are `Re(conj(lambda_t) zeta_t v_t)`, for `zeta` of `i`, `-exp(eta)`, `i s_phase` and
//! `-nu exp(eta) s_radial`. A change of `lambda_t`, carried on to all earlier tokens, and one of `h_t`, carried on to all
//! later ones, change the sum by `Re(F_t conj(dlambda))` and `Re(conj(G_t) dh)`:
//!
//! ```text
//! F_t = zeta_t v_t + a_t F_{t-1}          G_t = conj(a_{t+1}) (G_{t+1} + conj(zeta_{t+1}) lambda_{t+1})
//! ```
//!
//! The bounds of single terms add magnitudes: an error of `theta`, the same in every token, would count as if each token
//! made it the worst way. Here it counts with the derivative of the sum. The forward and the backward pass may compute a
//! decay each in its own way, so their shares are signed each for itself.

use super::envelope::DecayBound;
use super::trace::{State, Token};
use crate::pair::Pair;

/// The sums, by index.
pub(crate) const THETA: usize = 0;
pub(crate) const NU: usize = 1;
pub(crate) const PHASE: usize = 2;
pub(crate) const RADIAL: usize = 3;
pub(crate) const SUMS: usize = 4;

/// `F` or `G` of every sum.
pub(crate) type Reach = [Pair<f64>; SUMS];

pub(crate) const NOWHERE: Reach = [Pair::new(0.0, 0.0); SUMS];

/// What a change of angle and of the logarithm of the rate of one decay does to a sum, through the forward pass and
/// through the backward pass; or such effects, added up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Effect {
    forward: [f64; 2],
    backward: [f64; 2],
}

impl Effect {
    pub(crate) fn plus(self, other: Self) -> Self {
        let sum = |one: [f64; 2], two: [f64; 2]| [one[0] + two[0], one[1] + two[1]];
        Self { forward: sum(self.forward, other.forward), backward: sum(self.backward, other.backward) }
    }

    /// The effect of errors of the angle and, relative, of the rate.
    pub(crate) fn of(self, angle: f64, rate: f64) -> f64 {
        charge(angle, self.forward[0].abs() + self.backward[0].abs())
            + charge(rate, self.forward[1].abs() + self.backward[1].abs())
    }
}

/// What an error does through its reach. An infinite one (of an infinite state) that reaches nothing does nothing.
pub(crate) fn charge(error: f64, reach: f64) -> f64 {
    if reach == 0.0 { 0.0 } else { error * reach }
}

/// `zeta` of every sum.
fn zetas(token: &Token, rate: f64) -> Reach {
    let (phase, radial) = (token.bound.phase.value.value, token.bound.radial.value.value);
    [
        Pair::new(0.0, 1.0),
        Pair::real(-token.bound.swell.value),
        Pair::new(0.0, phase),
        Pair::real(-rate * radial),
    ]
}

/// `F_t` from `F_{t-1}`; `through_gamma` is how `dnu` depends on `lambda_t` through the norm of the write.
pub(crate) fn back(
    earlier: &Reach,
    before: Pair<f64>,
    decay: Option<(&DecayBound, &Token)>,
    through_gamma: Pair<f64>,
) -> Reach {
    let mut reach = NOWHERE;
    if let Some((decay, token)) = decay {
        let (a, v) = (decay.a.value, decay.a.value * before);
        let zetas = zetas(token, decay.rate.value);
        for ((reach, zeta), earlier) in reach.iter_mut().zip(zetas).zip(earlier) {
            *reach = zeta * v + a * *earlier;
        }
    }
    reach[NU] = reach[NU] + through_gamma;
    reach
}

/// `G_{t-1}` from `G_t`, and what a change of the decay of token `t` does to each sum.
pub(crate) fn on(
    later: &Reach,
    earlier: &Reach,
    (lambda, before): (&State, &State),
    (decay, token): (&DecayBound, &Token),
) -> (Reach, [Effect; SUMS]) {
    let (a, lambda) = (decay.a.value, lambda.value);
    let (v, rate) = (a * before.value, decay.rate.value);
    let zetas = zetas(token, rate);
    let (mut reach, mut effects) = (NOWHERE, [Effect::default(); SUMS]);
    for j in 0..SUMS {
        reach[j] = a.conj() * (later[j] + zetas[j].conj() * lambda);
        // `da = a (i dangle - rate drate)`, so a product `P` with `da / a` gives `-Im P` and `-rate Re P`.
        let parts = |p: Pair<f64>| [-p.im, -rate * p.re];
        let backward = lambda.conj() * (zetas[j] * v + a * earlier[j]);
        effects[j] = Effect { forward: parts(later[j].conj() * v), backward: parts(backward) };
    }
    (reach, effects)
}
