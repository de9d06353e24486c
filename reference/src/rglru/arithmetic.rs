//! What the recurrence asks of its numbers, so that both passes are written once: over plain values of any type, or over
//! values with error bounds (in [`super::envelope`]).

use std::marker::PhantomData;

use super::token::{Decay, Token};
use crate::number::Number;
use crate::scalar;

/// The arithmetic of the recurrence.
pub(crate) trait Arithmetic: Copy + Send + Sync {
    /// Values, of one channel or of several side by side.
    type Value: Number;
    /// A number of the recurrence: a value, and what is known of its error.
    type Term: Copy + Send;
    /// A carried state.
    type State: Copy + Send;
    /// The effect of a change, carried on; see [`Arithmetic::add`].
    type Reach: Copy + Send;
    /// The sum `r dl` in the making.
    type Sum: Copy + Send;

    /// Whether terms have envelopes.
    const BOUNDED: bool;

    /// A number without error.
    fn exact(self, value: Self::Value) -> Self::Term;
    /// A number with an error.
    fn near(self, value: Self::Value, error: Self::Value) -> Self::Term;
    /// Its value.
    fn value(self, term: Self::Term) -> Self::Value;
    /// Its envelope, if the arithmetic has any.
    fn envelope(self, term: Self::Term) -> Option<Self::Value>;

    /// A product, in any order.
    fn product<const K: usize>(self, factors: [Self::Term; K]) -> Self::Term;
    /// `one - two`.
    fn minus(self, one: Self::Term, two: Self::Term) -> Self::Term;
    /// The product with a power of two and a sign.
    fn scaled(self, term: Self::Term, power_of_two: f64) -> Self::Term;
    /// The number as it is after the boundary between gates and scan, if there is one.
    fn at_boundary(self, term: Self::Term) -> Self::Term;

    /// `sigmoid(t)` and `sigmoid(t) (1 - sigmoid(t))`.
    fn gate(self, logit: Self::Term) -> (Self::Term, Self::Term);
    /// `softplus(p)` of a parameter.
    fn softplus(self, p: Self::Value) -> Self::Term;
    /// Everything that follows from the recurrence gate: the decay and `m = sqrt(1 - a^2)`.
    fn decay(self, r: Self::Term, r_slope: Self::Term, sp: Self::Term) -> (Decay<Self::Term>, Self::Term);

    /// A state that is an input.
    fn initial(self, value: Self::Value) -> Self::State;
    /// The state after a reset.
    fn written(self, write: Self::Term) -> Self::State;
    /// `A state + w`.
    fn step(self, state: Self::State, decay: Self::Term, write: Self::Term) -> Self::State;
    /// The state as a number.
    fn read(self, state: Self::State) -> Self::Term;
    /// The state as the backward pass reads it.
    fn saved(self, state: Self::State) -> Self::Term;
    /// `A_0 lambda_0`.
    fn first(self, lambda: Self::State, decay: Self::Term) -> Self::Term;

    /// Nothing is reached.
    fn nowhere(self) -> Self::Reach;
    /// What a change of `lambda_t`, carried on to all earlier tokens, does to `sum r dl`.
    fn reach_back(
        self,
        earlier: Self::Reach,
        before: Self::State,
        x: Self::Value,
        token: &Token<Self::Term>,
    ) -> Self::Reach;
    /// What a change of `h_{t-1}`, carried on to this and all later tokens, does to `sum r dl`.
    fn reach_on(self, later: Self::Reach, lambda: Self::State, decay: &Decay<Self::Term>) -> Self::Reach;
    /// An empty sum, after `count` terms of earlier sequences.
    fn sum(self, count: usize) -> Self::Sum;
    /// Adds one token to `sum r dl`.
    fn add(self, sum: &mut Self::Sum, at: &Moment<'_, Self>);
}

/// What one token of the backward pass gives to the gradient of the decay parameter.
pub(crate) struct Moment<'a, A: Arithmetic> {
    pub(crate) x: A::Value,
    pub(crate) token: &'a Token<A::Term>,
    /// Absent on a reset.
    pub(crate) dl: Option<A::Term>,
    pub(crate) lambda: A::State,
    /// `h_{t-1}`.
    pub(crate) before: A::State,
    /// `h_t`.
    pub(crate) after: A::State,
    /// Of `lambda_t`, back.
    pub(crate) back: A::Reach,
    /// Of `h_t`, on.
    pub(crate) on: A::Reach,
}

/// Plain values: no bounds, nothing rounded but by the number type itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain<N>(PhantomData<N>);

impl<N> Plain<N> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<N: Number> Arithmetic for Plain<N> {
    type Value = N;
    type Term = N;
    type State = N;
    type Reach = ();
    type Sum = N;
    const BOUNDED: bool = false;

    #[inline(always)]
    fn exact(self, value: N) -> N {
        value
    }
    #[inline(always)]
    fn near(self, value: N, _: N) -> N {
        value
    }
    #[inline(always)]
    fn value(self, term: N) -> N {
        term
    }
    #[inline(always)]
    fn envelope(self, _: N) -> Option<N> {
        None
    }
    #[inline(always)]
    fn product<const K: usize>(self, factors: [N; K]) -> N {
        let mut product = factors[0];
        for &factor in &factors[1..] {
            product = product * factor;
        }
        product
    }
    #[inline(always)]
    fn minus(self, one: N, two: N) -> N {
        one - two
    }
    #[inline(always)]
    fn scaled(self, term: N, power_of_two: f64) -> N {
        term.times(power_of_two)
    }
    #[inline(always)]
    fn at_boundary(self, term: N) -> N {
        term
    }
    #[inline(always)]
    fn gate(self, logit: N) -> (N, N) {
        let (g, rest) = scalar::sigmoid_pair(logit);
        (g, g * rest)
    }
    #[inline(always)]
    fn softplus(self, p: N) -> N {
        scalar::softplus(p)
    }
    #[inline(always)]
    fn decay(self, r: N, r_slope: N, sp: N) -> (Decay<N>, N) {
        let (a, z) = scalar::log_decay(r, sp).decay();
        (Decay { r, r_slope, a, q: a * a, root_slope: scalar::sqrt_slope(z) }, z.clipped_sqrt())
    }
    #[inline(always)]
    fn initial(self, value: N) -> N {
        value
    }
    #[inline(always)]
    fn written(self, write: N) -> N {
        write
    }
    #[inline(always)]
    fn step(self, state: N, decay: N, write: N) -> N {
        decay * state + write
    }
    #[inline(always)]
    fn read(self, state: N) -> N {
        state
    }
    #[inline(always)]
    fn saved(self, state: N) -> N {
        state
    }
    #[inline(always)]
    fn first(self, lambda: N, decay: N) -> N {
        lambda * decay
    }
    #[inline(always)]
    fn nowhere(self) {}
    #[inline(always)]
    fn reach_back(self, (): (), _: N, _: N, _: &Token<N>) {}
    #[inline(always)]
    fn reach_on(self, (): (), _: N, _: &Decay<N>) {}
    #[inline(always)]
    fn sum(self, _: usize) -> N {
        N::zero()
    }
    #[inline(always)]
    fn add(self, sum: &mut N, at: &Moment<'_, Self>) {
        if let (Some(decay), Some(dl)) = (&at.token.decay, at.dl) {
            *sum = *sum + decay.r * dl;
        }
    }
}
