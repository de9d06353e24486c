//! The gradients, from right to left over a few channels of one sequence; sums over the batch and the
//! gradients of the projections are left to [`super::solve`] and [`super::projection`].
//!
//! With `lambda_t = dy_t + A_{t+1} lambda_{t+1}`, the gradient of the loss with respect to `h_t`:
//!
//! ```text
//! dx = lambda g n                    du = lambda x n g (1 - g)
//! dl = lambda h_{t-1} a - 2 exp(2l) S(z) lambda x g
//! dv = -c sp dl r (1 - r)            da_param = sigmoid(a_param) sum of -c r dl
//! dh0 = A_0 lambda_0
//! ```
//!
//! On a reset `dl` and `dv` are zero by selection: nothing the token computes from `v` is used, so neither a
//! NaN there nor one in the discarded state reaches them. The factor `sigmoid(a_param)` is applied to the
//! whole sum, as kernels do; a NaN `a_param` therefore makes its own gradient NaN even if every token is a
//! reset.

use super::arithmetic::{Arithmetic, Moment};
use super::forward::{Passed, Source};
use super::token::{Decay, Token};
use crate::number::Number;
use crate::scalar::C;

/// What the backward pass needs of the forward one.
pub(crate) struct Trace<A: Arithmetic> {
    pub(crate) tokens: Vec<Token<A::Term>>,
    /// The state before each token, then the final one.
    pub(crate) states: Vec<A::State>,
    /// What a change of `lambda_t`, carried on to all earlier tokens, does to `sum r dl`.
    reach: Vec<A::Reach>,
}

impl<A: Arithmetic> Trace<A> {
    pub(crate) fn new() -> Self {
        Self { tokens: Vec::new(), states: Vec::new(), reach: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.tokens.clear();
        self.states.clear();
        self.reach.clear();
    }

    #[inline(always)]
    pub(crate) fn keep(&mut self, passed: &Passed<A>, arithmetic: A) {
        let earlier = self.reach.last().copied().unwrap_or(arithmetic.nowhere());
        self.reach.push(arithmetic.reach_back(earlier, passed.before, passed.x, &passed.token));
        self.tokens.push(passed.token);
        self.states.push(passed.before);
    }
}

/// The cotangents beside a [`Source`].
pub(crate) trait Cotangents<A: Arithmetic>: Source<A> {
    /// Cotangent of `y`.
    fn dy(&self, t: usize) -> A::Value;
    /// Cotangent of the final state.
    fn dlast(&self) -> A::Value;
}

/// The gradients of one token.
pub(crate) struct Gradient<T> {
    pub(crate) dx: T,
    pub(crate) du: T,
    pub(crate) dv: T,
}

/// Runs the adjoint, shows the gradients of every token on the way, adds to `sum r dl`, and returns `dh0`.
#[inline(always)]
pub(crate) fn run<A: Arithmetic>(
    source: &impl Cotangents<A>,
    sp: A::Term,
    arithmetic: A,
    trace: &Trace<A>,
    sum: &mut A::Sum,
    mut show: impl FnMut(usize, Gradient<A::Term>),
) -> A::Term {
    // The decay that the cotangent passes on its way to an earlier token; none where there is a reset.
    let (mut arriving, mut on) = (None, arithmetic.nowhere());
    for t in (0..source.length()).rev() {
        let (token, before, x) = (&trace.tokens[t], trace.states[t], source.x(t));
        let lambda = cotangent(source, t, arriving, arithmetic);
        let dl =
            token.decay.as_ref().map(|decay| log_decay_gradient(lambda, before, x, token, decay, arithmetic));
        show(t, gradient(lambda, dl, x, token, sp, arithmetic));
        let (after, back) = (trace.states[t + 1], trace.reach[t]);
        arithmetic.add(sum, &Moment { x, token, dl, lambda, before, after, back, on });
        on = token.decay.as_ref().map_or(arithmetic.nowhere(), |d| arithmetic.reach_on(on, lambda, d));
        arriving = token.decay.as_ref().map(|decay| (decay.a, lambda));
    }
    match arriving {
        _ if source.length() == 0 => arithmetic.exact(source.dlast()),
        None => arithmetic.exact(A::Value::zero()),
        Some((a, lambda)) => arithmetic.first(lambda, a),
    }
}

/// `lambda_t`: what the output and the final state ask for, and what comes back from the next token.
#[inline(always)]
fn cotangent<A: Arithmetic>(
    source: &impl Cotangents<A>,
    t: usize,
    arriving: Option<(A::Term, A::State)>,
    arithmetic: A,
) -> A::State {
    let dy = arithmetic.exact(source.dy(t));
    if t + 1 == source.length() {
        let one = arithmetic.exact(A::Value::one());
        return arithmetic.step(arithmetic.initial(source.dlast()), one, dy);
    }
    match arriving {
        None => arithmetic.written(dy),
        Some((a, lambda)) => arithmetic.step(lambda, a, dy),
    }
}

#[inline(always)]
fn gradient<A: Arithmetic>(
    lambda: A::State,
    dl: Option<A::Term>,
    x: A::Value,
    token: &Token<A::Term>,
    sp: A::Term,
    arithmetic: A,
) -> Gradient<A::Term> {
    let (dw, x) = (arithmetic.at_boundary(arithmetic.read(lambda)), arithmetic.exact(x));
    let dv = match (dl, &token.decay) {
        (Some(dl), Some(decay)) => arithmetic.scaled(arithmetic.product([dl, sp, decay.r_slope]), -C),
        _ => arithmetic.exact(A::Value::zero()),
    };
    Gradient {
        dx: arithmetic.product([dw, token.g, token.n]),
        du: arithmetic.product([dw, x, token.n, token.g_slope]),
        dv,
    }
}

/// `dl`, of a token that is no reset.
#[inline(always)]
fn log_decay_gradient<A: Arithmetic>(
    lambda: A::State,
    before: A::State,
    x: A::Value,
    token: &Token<A::Term>,
    decay: &Decay<A::Term>,
    arithmetic: A,
) -> A::Term {
    let read = arithmetic.read(lambda);
    let da = arithmetic.at_boundary(arithmetic.product([read, arithmetic.saved(before)]));
    let through_decay = arithmetic.product([da, decay.a]);
    let dw = arithmetic.at_boundary(read);
    let x = arithmetic.exact(x);
    let through_norm = arithmetic.product([dw, x, token.g, decay.q, decay.root_slope]);
    arithmetic.minus(through_decay, arithmetic.scaled(through_norm, 2.0))
}
