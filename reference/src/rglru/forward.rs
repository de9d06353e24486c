//! The recurrence from left to right, written once for every kind of number; gradients are left to
//! [`super::backward`].

use std::ops::Range;

use super::arithmetic::{Arithmetic, Plain};
use super::problem::{Gates, Problem};
use super::token::{self, Token};
use crate::number::{Number, Outputs};
use crate::shape::Shape;

/// One channel, or several side by side, of one sequence.
pub(crate) trait Source<A: Arithmetic> {
    /// Whether a token is the first of its document.
    fn is_reset(&self, t: usize) -> bool;
    /// Input `x`.
    fn x(&self, t: usize) -> A::Value;
    /// Logits `u` and `v`.
    fn logits(&self, t: usize) -> (A::Term, A::Term);
}

/// What is seen of a token on the way.
pub(crate) struct Passed<'a, A: Arithmetic> {
    pub(crate) x: A::Value,
    pub(crate) token: &'a Token<A::Term>,
    /// `h_{t-1}`.
    pub(crate) before: A::State,
    /// `h_t`.
    pub(crate) after: A::State,
}

/// Some tokens in a row, without their states.
pub(crate) struct Stretch<A: Arithmetic> {
    start: usize,
    gates: Vec<token::Gates<A::Term>>,
    tokens: Vec<Token<A::Term>>,
}

impl<A: Arithmetic> Stretch<A> {
    pub(crate) fn new() -> Self {
        Self { start: 0, gates: Vec::new(), tokens: Vec::new() }
    }

    /// Everything that does not depend on the state. First all gates, then all decays: each loop is a row of short
    /// independent chains, many of which a processor has in flight at once; one loop over both would be bound by its latency.
    #[inline(always)]
    pub(crate) fn fill(&mut self, source: &impl Source<A>, range: Range<usize>, sp: A::Term, arithmetic: A) {
        self.start = range.start;
        self.gates.clear();
        for t in range {
            let (u, v) = source.logits(t);
            self.gates.push(token::Gates::new(u, v, source.is_reset(t), arithmetic));
        }
        self.tokens.clear();
        for gates in &self.gates {
            self.tokens.push(gates.token(sp, arithmetic));
        }
    }

    /// Runs `h_t = A_t h_{t-1} + w_t`, shows every token on the way, and returns the state after the last.
    #[inline(always)]
    pub(crate) fn run(
        &self,
        source: &impl Source<A>,
        mut state: A::State,
        arithmetic: A,
        mut pass: impl FnMut(usize, Passed<'_, A>),
    ) -> A::State {
        for (t, token) in (self.start..).zip(&self.tokens) {
            let (x, before) = (source.x(t), state);
            state = token.step(before, x, arithmetic);
            pass(t, Passed { x, token, before, after: state });
        }
        state
    }

    /// A token by its index from the first of the sequence.
    #[inline(always)]
    pub(crate) fn at(&self, t: usize) -> &Token<A::Term> {
        &self.tokens[t - self.start]
    }
}

/// Names an input tensor of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Input `x`, `[B, L, W]`.
    X,
    /// Input-gate logits, `[B, L, W]`.
    U,
    /// Recurrence-gate logits, `[B, L, W]`.
    V,
    /// Input-gate weights, `[H, K, K]`.
    Wi,
    /// Input-gate bias, `[H, K]`.
    Bi,
    /// Recurrence-gate weights, `[H, K, K]`.
    Wr,
    /// Recurrence-gate bias, `[H, K]`.
    Br,
    /// Decay parameter, `[W]`.
    AParam,
    /// Initial state, `[B, W]`; not asked for if there is none.
    H0,
}

/// The forward pass over any numbers. `lift` makes the number for an element of an input tensor, by its row-major index:
/// the value itself, or with a derivative, or in another precision.
///
/// ```
/// use ndarray::{Array1, Array2, Array3};
/// use plumbline_reference::rglru::{Gates, Input, Inputs, Problem, forward};
///
/// let tokens = Array3::from_elem((1, 3, 1), 0.5);
/// let problem = Problem::new(Inputs {
///     x: tokens.clone(),
///     gates: Gates::Logits { u: tokens.clone(), v: tokens.clone() },
///     a_param: Array1::from_elem(1, -4.0),
///     reset: Array2::from_elem((1, 3), false),
///     h0: None,
///     dy: tokens,
///     dlast: Array2::zeros((1, 1)),
/// })?;
/// let doubled = forward(&problem, |input, _| match input {
///     Input::AParam => -4.0,
///     Input::X => 1.0,
///     _ => 0.5,
/// });
/// let once = forward(&problem, |input, _| if input == Input::AParam { -4.0 } else { 0.5 });
/// assert_eq!(doubled.y[2], 2.0 * once.y[2]); // The map is linear in x.
/// # Ok::<(), plumbline_reference::ProblemError>(())
/// ```
pub fn forward<N: Number>(problem: &Problem, lift: impl Fn(Input, usize) -> N) -> Outputs<N> {
    let Shape { batch, length, width } = problem.shape();
    let mut outputs = Outputs { y: vec![N::zero(); batch * length * width], last: Vec::new() };
    let (mut tokens, plain) = (Stretch::new(), Plain::new());
    for row in 0..batch {
        for w in 0..width {
            let column = Column { problem, lift: &lift, row, w };
            tokens.fill(&column, 0..length, plain.softplus(lift(Input::AParam, w)), plain);
            let last = tokens.run(&column, column.h0(), plain, |t, passed| {
                outputs.y[column.at(t)] = passed.after;
            });
            outputs.last.push(last);
        }
    }
    outputs
}

/// One channel of one sequence, lifted.
struct Column<'a, F> {
    problem: &'a Problem,
    lift: &'a F,
    row: usize,
    w: usize,
}

impl<F> Column<'_, F> {
    fn at(&self, t: usize) -> usize {
        let shape = self.problem.shape();
        (self.row * shape.length + t) * shape.width + self.w
    }

    fn h0<N: Number>(&self) -> N
    where
        F: Fn(Input, usize) -> N,
    {
        let index = self.row * self.problem.shape().width + self.w;
        if self.problem.h0().is_some() { (self.lift)(Input::H0, index) } else { N::zero() }
    }

    /// `x[h,:] W[h] + b[h]`.
    fn projected<N: Number>(&self, t: usize, block: usize, [weight, bias]: [Input; 2]) -> N
    where
        F: Fn(Input, usize) -> N,
    {
        let (h, j, lift) = (self.w / block, self.w % block, self.lift);
        let start = self.at(t) - j;
        (0..block).fold(lift(bias, self.w), |sum, k| {
            sum + lift(Input::X, start + k) * lift(weight, (h * block + k) * block + j)
        })
    }
}

impl<N: Number, F: Fn(Input, usize) -> N> Source<Plain<N>> for Column<'_, F> {
    fn is_reset(&self, t: usize) -> bool {
        self.problem.reset()[[self.row, t]]
    }

    fn x(&self, t: usize) -> N {
        (self.lift)(Input::X, self.at(t))
    }

    fn logits(&self, t: usize) -> (N, N) {
        match self.problem.gates() {
            Gates::Logits { .. } => ((self.lift)(Input::U, self.at(t)), (self.lift)(Input::V, self.at(t))),
            Gates::Projected { wi, .. } => {
                let block = wi.dim().1;
                let [u, v] = [[Input::Wi, Input::Bi], [Input::Wr, Input::Br]];
                (self.projected(t, block, u), self.projected(t, block, v))
            }
        }
    }
}
