//! The gates of one token in one channel, and what is shared by a channel: values and errors of everything
//! that does not depend on the state.

use super::envelope;
use crate::near::{Near, product};
use crate::plan::RoundingPlan;
use crate::scalar;

/// What depends on the decay parameter alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Channel {
    /// `sp = softplus(a_param)`.
    pub sp: Near,
    /// `sigmoid(a_param)`, the derivative of `sp`.
    pub slope: Near,
}

impl Channel {
    pub(crate) fn new(a_param: f64, plan: &RoundingPlan) -> Self {
        let (slope, _) = envelope::gate(Near::exact(a_param), plan);
        Self { sp: envelope::softplus(a_param, plan), slope }
    }
}

/// What the recurrence gate of a token that is no reset gives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decay {
    /// `r = sigmoid(v)`.
    pub r: Near,
    /// `r (1 - r)`.
    pub r_slope: Near,
    /// `a = exp(l)`, as it enters the scan.
    pub a: Near,
    /// `exp(2 l)`.
    pub q: Near,
    /// `S(z)`.
    pub root_slope: Near,
}

/// One token: input gate and write always, a decay unless the token is a reset.
///
/// On a reset there *is* no decay, rather than a decay of zero: that is what makes a reset discard whatever
/// was there (NaN and infinity too), and a NaN among the logits `v` of a reset token reach nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    /// Input `x`.
    pub x: Near,
    /// `g = sigmoid(u)`.
    pub g: Near,
    /// `g (1 - g)`.
    pub g_slope: Near,
    /// `n`: `m = sqrt(z)`, or 1 on a reset.
    pub n: Near,
    /// `w = x g n`, as it enters the scan.
    pub w: Near,
    /// Absent on a reset.
    pub decay: Option<Decay>,
}

impl Token {
    pub(crate) fn new(x: f64, u: Near, v: Near, reset: bool, channel: &Channel, plan: &RoundingPlan) -> Self {
        let (g, g_slope) = envelope::gate(u, plan);
        let (decay, n) = if reset {
            (None, Near::exact(1.0))
        } else {
            let (decay, n) = Decay::new(v, channel, plan);
            (Some(decay), n)
        };
        let x = Near::exact(x);
        let w = at_boundary(product([x, g, n], plan.products), plan);
        Self { x, g, g_slope, n, w, decay }
    }
}

impl Decay {
    fn new(v: Near, channel: &Channel, plan: &RoundingPlan) -> (Self, Near) {
        let (r, r_slope) = envelope::gate(v, plan);
        let l = envelope::log_decay(r, channel.sp, plan);
        let a = envelope::decay(l.value.exp(), l, plan);
        let q = envelope::square(a, plan);
        let z = envelope::one_minus_square(scalar::one_minus_square(l.value), q, l, plan);
        let root_slope = envelope::sqrt_slope(z, plan);
        let n = envelope::root(z, plan);
        (Self { r, r_slope, a: at_boundary(a, plan), q, root_slope }, n)
    }
}

/// The number as it is after the boundary between gates and scan, if the plan has one.
pub(crate) fn at_boundary(near: Near, plan: &RoundingPlan) -> Near {
    plan.boundary.map_or(near, |rounding| near.rounded(rounding))
}
