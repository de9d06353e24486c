//! The gates of one token: everything that does not depend on the state.

use super::arithmetic::Arithmetic;

/// What the recurrence gate of a token that is no reset gives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decay<T> {
    /// `r = sigmoid(v)`.
    pub(crate) r: T,
    /// `r (1 - r)`.
    pub(crate) r_slope: T,
    /// `a = exp(l)`, as it enters the scan.
    pub(crate) a: T,
    /// `exp(2 l)`.
    pub(crate) q: T,
    /// `S(z)`.
    pub(crate) root_slope: T,
}

/// The two gates of a token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gates<T> {
    /// `g` and `g (1 - g)`.
    input: (T, T),
    /// `r` and `r (1 - r)`; absent on a reset.
    recurrence: Option<(T, T)>,
}

impl<T: Copy> Gates<T> {
    /// From the logits `u` and `v`.
    #[inline(always)]
    pub(crate) fn new<A>(u: T, v: T, reset: bool, arithmetic: A) -> Self
    where
        A: Arithmetic<Term = T>,
    {
        let recurrence = if reset { None } else { Some(arithmetic.gate(v)) };
        Self { input: arithmetic.gate(u), recurrence }
    }

    /// With `sp = softplus(a_param)`.
    #[inline(always)]
    pub(crate) fn token<A>(self, sp: T, arithmetic: A) -> Token<T>
    where
        A: Arithmetic<Term = T>,
    {
        let (g, g_slope) = self.input;
        let Some((r, r_slope)) = self.recurrence else {
            let n = arithmetic.exact(crate::number::Number::one());
            return Token { g, g_slope, n, decay: None };
        };
        let (decay, n) = arithmetic.decay(r, r_slope, sp);
        Token { g, g_slope, n, decay: Some(decay) }
    }
}

/// One token: input gate and write always, a decay unless the token is a reset.
///
/// On a reset there *is* no decay, rather than a decay of zero: that is what makes a reset discard whatever
/// was there (NaN and infinity too), and a NaN among the logits `v` of a reset token reach nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<T> {
    /// `g = sigmoid(u)`.
    pub(crate) g: T,
    /// `g (1 - g)`.
    pub(crate) g_slope: T,
    /// `n`: `m = sqrt(z)`, or 1 on a reset.
    pub(crate) n: T,
    /// Absent on a reset.
    pub(crate) decay: Option<Decay<T>>,
}

impl<T: Copy> Token<T> {
    /// The state after this token, `A_t h_{t-1} + w_t` with `w = x g n`.
    #[inline(always)]
    pub(crate) fn step<A>(&self, before: A::State, x: A::Value, arithmetic: A) -> A::State
    where
        A: Arithmetic<Term = T>,
    {
        let w = arithmetic.at_boundary(arithmetic.product([arithmetic.exact(x), self.g, self.n]));
        match &self.decay {
            None => arithmetic.written(w),
            Some(decay) => arithmetic.step(before, decay.a, w),
        }
    }
}
