//! The gradients, from right to left over a few channels of one sequence; sums over the batch and the gradients of the
//! projections are left to [`super::solve`].
//!
//! With `X = x[:M] + i x[M:]`, the real inner product on complex numbers, and
//! `lambda_t = dy_t + conj(A_{t+1}) lambda_{t+1}`, the gradient of the loss with respect to `h_t`:
//!
//! ```text
//! dx = lambda g n                         du = Re(conj(lambda) X) n g (1 - g)
//! k  = conj(lambda) a h_{t-1}             (a small relative change of a moves the loss by the real part of its product with k)
//! dl = Re k - 2 exp(2l) S(z) Re(conj(lambda) X) g
//! dphi = -Im k
//! dv = (-c sp dl + a_imag dphi) r (1 - r)
//! da_param = sigmoid(a_param) sum of -c r dl            da_imag = sum of r dphi
//! dh0 = conj(A_0) lambda_0
//! ```
//!
//! On a reset `dl`, `dphi` and `dv` are zero by selection, as in [`crate::rglru`].

use super::arithmetic::{Complex, Term, Value};
use super::forward::{Source, Token};
use crate::number::Number;
use crate::pair::Pair;
use crate::rglru::arithmetic::Arithmetic;
use crate::rglru::token::Decay;
use crate::scalar::C;

/// What the backward pass needs of the forward one.
pub(crate) struct Trace<A: Complex> {
    pub(crate) tokens: Vec<Token<A>>,
    /// The state before each token.
    pub(crate) states: Vec<A::State>,
}

/// The cotangents beside a [`Source`].
pub(crate) trait Cotangents<A: Complex>: Source<A> {
    /// Cotangent of `y`.
    fn dy(&self, t: usize) -> Pair<Value<A>>;
    /// Cotangent of the final state.
    fn dlast(&self) -> Pair<Value<A>>;
}

/// The gradients of one token.
pub(crate) struct Gradient<T> {
    /// Of real and imaginary part.
    pub(crate) dx: [T; 2],
    pub(crate) du: T,
    pub(crate) dv: T,
}

/// Sums over batch and length in the making.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums<S> {
    /// `sum r dl`.
    pub(crate) decay: S,
    /// `sum r dphi`.
    pub(crate) phase: S,
}

/// What a token does through its decay.
struct Through<'a, T> {
    dl: T,
    dphi: T,
    decay: &'a Decay<T>,
}

/// Runs the adjoint, shows the gradients of every token on the way, adds to the sums, and returns `dh0`.
#[inline(always)]
pub(crate) fn run<A: Complex>(
    source: &impl Cotangents<A>,
    sp: Term<A>,
    arithmetic: A,
    trace: &Trace<A>,
    sums: &mut Sums<A::Sum>,
    mut show: impl FnMut(usize, Gradient<Term<A>>),
) -> A::Plane {
    // The decay that the cotangent passes on its way to an earlier token; none where there is a reset.
    let mut arriving = None;
    for t in (0..source.length()).rev() {
        let (token, x) = (&trace.tokens[t], source.x(t));
        let lambda = cotangent(source, t, arriving, arithmetic);
        let through = token.gates.decay.as_ref().zip(token.a).map(|(decay, a)| {
            let through = through_decay(lambda, trace.states[t], x, token, decay, a, arithmetic);
            arithmetic.add(&mut sums.decay, decay.r, through.dl);
            arithmetic.add(&mut sums.phase, decay.r, through.dphi);
            through
        });
        show(t, gradient(source, t, lambda, through, sp, token, arithmetic));
        arriving = token.a.map(|a| (a, lambda));
    }
    match arriving {
        _ if source.length() == 0 => arithmetic.exact(source.dlast()),
        None => arithmetic.exact(Pair::zero()),
        Some((a, lambda)) => arithmetic.first(lambda, a),
    }
}

/// `lambda_t`: what the output and the final state ask for, and what comes back from the next token.
#[inline(always)]
fn cotangent<A: Complex>(
    source: &impl Cotangents<A>,
    t: usize,
    arriving: Option<(A::Plane, A::State)>,
    arithmetic: A,
) -> A::State {
    let dy = arithmetic.exact(source.dy(t));
    if t + 1 == source.length() {
        return arithmetic.joined(arithmetic.initial(source.dlast()), dy);
    }
    match arriving {
        None => arithmetic.written(dy),
        Some((a, lambda)) => arithmetic.step(lambda, arithmetic.conj(a), dy),
    }
}

#[inline(always)]
fn through_decay<'a, A: Complex>(
    lambda: A::State,
    before: A::State,
    x: Pair<Value<A>>,
    token: &Token<A>,
    decay: &'a Decay<Term<A>>,
    a: A::Plane,
    arithmetic: A,
) -> Through<'a, Term<A>> {
    let (read, real) = (arithmetic.read(lambda), arithmetic.real());
    let before = arithmetic.conj(arithmetic.saved(before));
    let da = arithmetic.at_boundary(arithmetic.times(read, before));
    let [re, im] = arithmetic.parts(arithmetic.times(arithmetic.conj(da), a));
    let dw = arithmetic.at_boundary(read);
    let through_norm = arithmetic.dot(dw, x, [token.gates.g, decay.q, decay.root_slope]);
    Through { dl: real.minus(re, real.scaled(through_norm, 2.0)), dphi: real.scaled(im, -1.0), decay }
}

#[inline(always)]
fn gradient<A: Complex>(
    source: &impl Cotangents<A>,
    t: usize,
    lambda: A::State,
    through: Option<Through<'_, Term<A>>>,
    sp: Term<A>,
    token: &Token<A>,
    arithmetic: A,
) -> Gradient<Term<A>> {
    let (real, gates) = (arithmetic.real(), &token.gates);
    let dw = arithmetic.at_boundary(arithmetic.read(lambda));
    let dv = through.map_or(real.exact(Value::<A>::zero()), |Through { dl, dphi, decay }| {
        let by_modulus = real.scaled(real.product([dl, sp, decay.r_slope]), -C);
        let by_phase = real.product([dphi, real.exact(source.a_imag()), decay.r_slope]);
        real.minus(by_modulus, real.scaled(by_phase, -1.0))
    });
    Gradient {
        dx: arithmetic.parts(dw).map(|part| real.product([part, gates.g, gates.n])),
        du: arithmetic.dot(dw, source.x(t), [gates.n, gates.g_slope]),
        dv,
    }
}
