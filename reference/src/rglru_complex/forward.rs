//! The recurrence from left to right, written once for every kind of number; gradients are left to [`super::backward`].

use super::arithmetic::{Complex, Term, Value};
use super::problem::{Gates, Problem};
use crate::number::{Number, Outputs};
use crate::pair::Pair;
use crate::rglru::arithmetic::{Arithmetic, Plain};
use crate::rglru::token;

/// One complex channel, or several side by side, of one sequence.
pub(crate) trait Source<A: Complex> {
    /// Number of tokens.
    fn length(&self) -> usize;
    /// Whether a token is the first of its document.
    fn is_reset(&self, t: usize) -> bool;
    /// Input `x`.
    fn x(&self, t: usize) -> Pair<Value<A>>;
    /// Logits `u` and `v`.
    fn logits(&self, t: usize, arithmetic: A) -> (Term<A>, Term<A>);
    /// Initial state, zero where none is given.
    fn h0(&self) -> Pair<Value<A>>;
    /// Phase parameter.
    fn a_imag(&self) -> Value<A>;
}

/// One token: its real gates, and the complex decay unless the token is a reset.
pub(crate) struct Token<A: Complex> {
    pub(crate) gates: token::Token<Term<A>>,
    pub(crate) a: Option<A::Plane>,
}

impl<A: Complex> Token<A> {
    #[inline(always)]
    fn new(source: &impl Source<A>, t: usize, sp: Term<A>, arithmetic: A) -> Self {
        let (u, v) = source.logits(t, arithmetic);
        let real = arithmetic.real();
        let gates = token::Gates::new(u, v, source.is_reset(t), real).token(sp, real);
        let turned = |d: &token::Decay<Term<A>>| arithmetic.turned(d.a, d.r, source.a_imag());
        let a = gates.decay.as_ref().map(|decay| arithmetic.at_boundary(turned(decay)));
        Self { gates, a }
    }

    #[inline(always)]
    fn step(&self, before: A::State, x: Pair<Value<A>>, arithmetic: A) -> A::State {
        let w = arithmetic.at_boundary(arithmetic.weighted(x, [self.gates.g, self.gates.n]));
        match self.a {
            None => arithmetic.written(w),
            Some(a) => arithmetic.step(before, a, w),
        }
    }
}

/// Runs `h_t = A_t h_{t-1} + w_t`, hands over every token with the states before and after it, and returns the last.
#[inline(always)]
pub(crate) fn run<A: Complex>(
    source: &impl Source<A>,
    sp: Term<A>,
    arithmetic: A,
    mut pass: impl FnMut(usize, Token<A>, A::State, A::State),
) -> A::State {
    let mut state = arithmetic.initial(source.h0());
    for t in 0..source.length() {
        let (token, before) = (Token::new(source, t, sp, arithmetic), state);
        state = token.step(before, source.x(t), arithmetic);
        pass(t, token, before, state);
    }
    state
}

/// Names an input tensor of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// Input `x`, `[B, L, W]`.
    X,
    /// Input-gate logits, `[B, L, M]`.
    U,
    /// Recurrence-gate logits, `[B, L, M]`.
    V,
    /// Input-gate weights, `[H, K, K/2]`.
    Wi,
    /// Input-gate bias, `[H, K/2]`.
    Bi,
    /// Recurrence-gate weights, `[H, K, K/2]`.
    Wr,
    /// Recurrence-gate bias, `[H, K/2]`.
    Br,
    /// Decay parameter, `[M]`.
    AParam,
    /// Phase parameter, `[M]`.
    AImag,
    /// Initial state, `[B, W]`; not asked for if there is none.
    H0,
}

/// The forward pass over any numbers. `lift` makes the number for an element of an input tensor, by its row-major index:
/// the value itself, or with a derivative, or in another precision.
pub fn forward<N: Number>(problem: &Problem, lift: impl Fn(Input, usize) -> N) -> Outputs<N> {
    let shape = problem.shape();
    let (mut y, mut last) = (vec![N::zero(); shape.elements()], vec![N::zero(); shape.batch * shape.width]);
    for row in 0..shape.batch {
        for m in 0..shape.width / 2 {
            let column = Column { problem, lift: &lift, row, m };
            let sp = Plain::new().softplus(lift(Input::AParam, m));
            let end = run(&column, sp, Plain::new(), |t, _, _, state| {
                [y[column.token(t, 0)], y[column.token(t, 1)]] = [state.re, state.im];
            });
            [last[column.state(0)], last[column.state(1)]] = [end.re, end.im];
        }
    }
    Outputs { y, last }
}

/// One channel of one sequence, lifted.
struct Column<'a, F> {
    problem: &'a Problem,
    lift: &'a F,
    row: usize,
    m: usize,
}

impl<F> Column<'_, F> {
    /// Place of a real (0) or imaginary (1) part.
    fn token(&self, t: usize, part: usize) -> usize {
        let shape = self.problem.shape();
        (self.row * shape.length + t) * shape.width + part * (shape.width / 2) + self.m
    }

    fn state(&self, part: usize) -> usize {
        let width = self.problem.shape().width;
        self.row * width + part * (width / 2) + self.m
    }

    fn logit(&self, t: usize) -> usize {
        let shape = self.problem.shape();
        (self.row * shape.length + t) * (shape.width / 2) + self.m
    }

    /// `x[h,:] W[h] + b[h]`.
    fn projected<N: Number>(&self, t: usize, (inner, outer): (usize, usize), [weight, bias]: [Input; 2]) -> N
    where
        F: Fn(Input, usize) -> N,
    {
        let (h, j, lift) = (self.m / outer, self.m % outer, self.lift);
        let start = self.token(t, 0) - self.m + h * inner;
        (0..inner).fold(lift(bias, self.m), |sum, k| {
            sum + lift(Input::X, start + k) * lift(weight, (h * inner + k) * outer + j)
        })
    }
}

impl<N: Number, F: Fn(Input, usize) -> N> Source<Plain<N>> for Column<'_, F> {
    fn length(&self) -> usize {
        self.problem.shape().length
    }

    fn is_reset(&self, t: usize) -> bool {
        self.problem.reset()[[self.row, t]]
    }

    fn x(&self, t: usize) -> Pair<N> {
        Pair::new((self.lift)(Input::X, self.token(t, 0)), (self.lift)(Input::X, self.token(t, 1)))
    }

    fn logits(&self, t: usize, _: Plain<N>) -> (N, N) {
        match self.problem.gates() {
            Gates::Logits { .. } => {
                ((self.lift)(Input::U, self.logit(t)), (self.lift)(Input::V, self.logit(t)))
            }
            Gates::Projected { wi, .. } => {
                let (_, inner, outer) = wi.dim();
                let [u, v] = [[Input::Wi, Input::Bi], [Input::Wr, Input::Br]];
                (self.projected(t, (inner, outer), u), self.projected(t, (inner, outer), v))
            }
        }
    }

    fn h0(&self) -> Pair<N> {
        if self.problem.h0().is_none() {
            return Pair::zero();
        }
        Pair::new((self.lift)(Input::H0, self.state(0)), (self.lift)(Input::H0, self.state(1)))
    }

    fn a_imag(&self) -> N {
        (self.lift)(Input::AImag, self.m)
    }
}
