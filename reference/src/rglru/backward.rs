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

use std::ops::Range;

use super::arithmetic::{Arithmetic, Moment};
use super::forward::{Passed, Source, Stretch};
use super::token::{Decay, Token};
use crate::number::Number;
use crate::scalar::C;

/// Where a forward pass can start again.
#[derive(Clone, Copy)]
pub(crate) struct Checkpoint<A: Arithmetic> {
    pub(crate) state: A::State,
    /// As in [`Trace`].
    pub(crate) reach: A::Reach,
}

/// What the backward pass needs of the forward one, for some tokens in a row.
pub(crate) struct Trace<A: Arithmetic> {
    tokens: Stretch<A>,
    /// The state before each token, then the one after the last.
    states: Vec<A::State>,
    /// Before the first token and after each: what a change of `lambda_t`, carried on to all earlier tokens, does to
    /// `sum r dl`.
    reach: Vec<A::Reach>,
}

impl<A: Arithmetic> Trace<A> {
    pub(crate) fn new() -> Self {
        Self { tokens: Stretch::new(), states: Vec::new(), reach: Vec::new() }
    }

    /// Forgets everything and starts again.
    pub(crate) fn start(&mut self, from: Checkpoint<A>) {
        self.states.clear();
        self.reach.clear();
        self.states.push(from.state);
        self.reach.push(from.reach);
    }

    /// Where to go on after the last token.
    pub(crate) fn end(&self) -> Checkpoint<A> {
        let last = self.states.len() - 1;
        Checkpoint { state: self.states[last], reach: self.reach[last] }
    }

    /// Goes on over some tokens, and shows the state after each.
    #[inline(always)]
    pub(crate) fn run(
        &mut self,
        source: &impl Source<A>,
        range: Range<usize>,
        sp: A::Term,
        arithmetic: A,
        mut show: impl FnMut(usize, A::State),
    ) {
        let Checkpoint { state, mut reach } = self.end();
        let Self { tokens, states, reach: reaches } = self;
        tokens.fill(source, range, sp, arithmetic);
        tokens.run(
            source,
            state,
            arithmetic,
            #[inline(always)]
            |t, passed: Passed<'_, A>| {
                reach = arithmetic.reach_back(reach, passed.before, passed.x, passed.token);
                reaches.push(reach);
                states.push(passed.after);
                show(t, passed.after);
            },
        );
    }
}

/// The cotangents beside a [`Source`].
pub(crate) trait Cotangents<A: Arithmetic>: Source<A> {
    /// Cotangent of `y`.
    fn dy(&self, t: usize) -> A::Value;
}

/// What goes from one token to the one before it.
#[derive(Clone, Copy)]
pub(crate) enum Arriving<A: Arithmetic> {
    /// Nothing: the later token is a reset.
    Nothing,
    /// The cotangent of the final state.
    Last(A::Value),
    /// The decay of the later token, its `lambda`, and what a change of the state between the two does to `sum r dl`.
    Later(A::Term, A::State, A::Reach),
}

/// The gradients of one token.
pub(crate) struct Gradient<T> {
    pub(crate) dx: T,
    pub(crate) du: T,
    pub(crate) dv: T,
}

/// Runs the adjoint over the tokens of a trace from the right, `sp` being `softplus(a_param)`; shows the gradients of each on the way, and adds to `sum r dl`.
#[inline(always)]
pub(crate) fn run<A: Arithmetic>(
    source: &impl Cotangents<A>,
    tokens: Range<usize>,
    mut arriving: Arriving<A>,
    (trace, sp): (&Trace<A>, A::Term),
    sum: &mut A::Sum,
    arithmetic: A,
    mut show: impl FnMut(usize, Gradient<A::Term>),
) -> Arriving<A> {
    for (i, t) in tokens.enumerate().rev() {
        let x = source.x(t);
        let (token, before) = (trace.tokens.at(t), trace.states[i]);
        let lambda = cotangent(arriving, source.dy(t), arithmetic);
        let dl =
            token.decay.as_ref().map(|decay| log_decay_gradient(lambda, before, x, token, decay, arithmetic));
        show(t, gradient(lambda, dl, x, token, sp, arithmetic));
        let (after, back) = (trace.states[i + 1], trace.reach[i + 1]);
        let on = if let Arriving::Later(_, _, on) = arriving { on } else { arithmetic.nowhere() };
        arithmetic.add(sum, &Moment { x, token, dl, lambda, before, after, back, on });
        arriving = match &token.decay {
            None => Arriving::Nothing,
            Some(decay) => Arriving::Later(decay.a, lambda, arithmetic.reach_on(on, lambda, decay)),
        };
    }
    arriving
}

/// `lambda_t`: what the output and the final state ask for, and what comes back from the next token.
#[inline(always)]
fn cotangent<A: Arithmetic>(arriving: Arriving<A>, dy: A::Value, arithmetic: A) -> A::State {
    let dy = arithmetic.exact(dy);
    match arriving {
        Arriving::Nothing => arithmetic.written(dy),
        Arriving::Last(dlast) => {
            let one = arithmetic.exact(A::Value::one());
            arithmetic.step(arithmetic.initial(dlast), one, dy)
        }
        Arriving::Later(a, lambda, _) => arithmetic.step(lambda, a, dy),
    }
}

/// `dh0`: nothing if the first token is a reset, `dlast` itself if there is no token.
pub(crate) fn initial<A: Arithmetic>(arriving: Arriving<A>, arithmetic: A) -> A::Term {
    match arriving {
        Arriving::Nothing => arithmetic.exact(A::Value::zero()),
        Arriving::Last(dlast) => arithmetic.exact(dlast),
        Arriving::Later(a, lambda, _) => arithmetic.first(lambda, a),
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
