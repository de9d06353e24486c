//! A whole problem, channel by channel: reading the merged layout, the gradients with their envelopes, and the forward pass
//! over any number; the recurrence itself is left to [`super::channel`].

use ndarray::{ArrayD, IxDyn};
use rayon::prelude::*;

use super::cell::{Cell, product_error};
use super::channel::{Carrying, Channel};
use super::problem::{Field, Problem};
use crate::carry::Size;
use crate::near::Near;
use crate::number::{Number, Outputs};
use crate::pair::Pair;
use crate::plan::{Rounding, RoundingPlan};
use crate::sheet::Sheet;
use crate::truth::{Bound, Quantity, Tensors, Truth};

/// Channels that are computed together: as many as fill a cache line.
const BLOCK: usize = 8;

/// An input that an output depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// Decays `A`, `[B, L, W]`.
    A,
    /// Writes `w`, `[B, L, W]`.
    W,
    /// Initial state, `[B, W]`.
    H0,
}

/// The true value of every output and gradient, with the envelope of a kernel that rounds as `plan` says.
///
/// The inputs are exact. `dA_t = lambda_t conj(h_{t-1})` also where `A_t = 0`: there the product has a derivative although
/// its value does not depend on the state. It is the one gradient that a reset does not shield: a NaN or an infinity that
/// is discarded at `t` is in `da_t`, and nowhere behind it. Complex numbers are multiplied by components, so what is not
/// finite in one component is, a step later, in both.
#[must_use]
pub fn solve(problem: &Problem, plan: &RoundingPlan) -> Truth {
    let sheets: [(Quantity, Sheet); 5] = match problem.inputs().field {
        Field::Real => filled::<f64, _>(problem, Some(plan)),
        Field::Complex => filled::<Pair<f64>, _>(problem, Some(plan)),
    };
    Truth::new(sheets.map(|(quantity, sheet)| (quantity, sheet.finish(Bound::Rigorous))).into())
}

/// The same values without envelopes.
#[must_use]
pub fn evaluate(problem: &Problem) -> Tensors {
    let values: [(Quantity, ArrayD<f64>); 5] = match problem.inputs().field {
        Field::Real => filled::<f64, _>(problem, None),
        Field::Complex => filled::<Pair<f64>, _>(problem, None),
    };
    Tensors::new(values.into())
}

/// The forward pass over any number; `lift` says which number stands for an element of an input (row-major; see
/// [`Problem::number`] for its value).
#[must_use]
pub fn run<N: Number>(problem: &Problem, lift: impl Fn(Input, usize) -> N) -> Outputs<N> {
    match problem.inputs().field {
        Field::Real => outputs::<N, N>(problem, lift),
        Field::Complex => outputs::<N, Pair<N>>(problem, lift),
    }
}

/// Where the parts of the numbers of one channel of one sequence stand.
#[derive(Clone, Copy)]
struct Place {
    row: usize,
    channel: usize,
    length: usize,
    /// Real numbers in a row of tokens.
    width: usize,
    /// From one part of a number to the next.
    stride: usize,
}

impl Place {
    fn all<N: Number, C: Cell<N>>(problem: &Problem) -> Vec<Self> {
        let shape = problem.shape();
        let (length, width, stride) = (shape.length, shape.width, shape.width / C::PARTS);
        let place = |row| (0..stride).map(move |channel| Self { row, channel, length, width, stride });
        (0..shape.batch).flat_map(place).collect()
    }

    fn token(self, t: usize, part: usize) -> usize {
        (self.row * self.length + t) * self.width + part * self.stride + self.channel
    }

    fn state(self, part: usize) -> usize {
        self.row * self.width + part * self.stride + self.channel
    }

    fn tokens<N: Number, C: Cell<N>>(self, number: impl Fn(usize) -> N) -> Vec<C> {
        (0..self.length).map(|t| C::new(|part| number(self.token(t, part)))).collect()
    }

    fn channel<N: Number, C: Cell<N>>(self, lift: &impl Fn(Input, usize) -> N) -> Channel<C> {
        Channel {
            a: self.tokens(|at| lift(Input::A, at)),
            w: self.tokens(|at| lift(Input::W, at)),
            h0: C::new(|part| lift(Input::H0, self.state(part))),
        }
    }
}

fn outputs<N: Number, C: Cell<N>>(problem: &Problem, lift: impl Fn(Input, usize) -> N) -> Outputs<N> {
    let shape = problem.shape();
    let (mut y, mut last) = (vec![N::zero(); shape.elements()], vec![N::zero(); shape.batch * shape.width]);
    for place in Place::all::<N, C>(problem) {
        let states = place.channel::<N, C>(&lift).states();
        for part in 0..C::PARTS {
            for t in 0..place.length {
                y[place.token(t, part)] = states[t + 1].part(part);
            }
            last[place.state(part)] = states[place.length].part(part);
        }
    }
    Outputs { y, last }
}

/// Everything about one channel.
struct Solved<C> {
    states: Vec<Carrying<C>>,
    cotangents: Vec<Carrying<C>>,
    da: Vec<Carrying<C>>,
    dh0: Carrying<C>,
}

/// A tensor in the making, with envelopes or without.
trait Sink {
    fn new(shape: &[usize]) -> Self;
    fn put(&mut self, at: usize, near: Near);
}

impl Sink for Sheet {
    fn new(shape: &[usize]) -> Self {
        Self::new(shape)
    }
    fn put(&mut self, at: usize, near: Near) {
        self.put(at, near);
    }
}

impl Sink for ArrayD<f64> {
    fn new(shape: &[usize]) -> Self {
        Self::zeros(IxDyn(shape))
    }
    fn put(&mut self, at: usize, near: Near) {
        if let Some(values) = self.as_slice_mut() {
            values[at] = near.value;
        }
    }
}

/// Without a plan nothing is off by anything.
fn filled<C: Cell<f64> + Send, S: Sink>(
    problem: &Problem,
    plan: Option<&RoundingPlan>,
) -> [(Quantity, S); 5] {
    let places = Place::all::<f64, C>(problem);
    let shape = problem.shape();
    let tokens = || S::new(&shape.tokens());
    let (mut y, mut da, mut dw) = (tokens(), tokens(), tokens());
    let (mut last, mut dh0) = (S::new(&shape.states()), S::new(&shape.states()));
    // A few blocks at a time: what is computed beside the tensors stays small.
    for some in places.chunks(BLOCK * 2 * rayon::current_num_threads()) {
        let blocks = some.par_chunks(BLOCK);
        let solved: Vec<Solved<C>> =
            blocks.flat_map_iter(|block| block.iter().map(|place| solved(problem, *place, plan))).collect();
        for (place, solved) in some.iter().zip(&solved) {
            for part in 0..C::PARTS {
                for t in 0..place.length {
                    let at = place.token(t, part);
                    y.put(at, near(solved.states[t + 1], part));
                    da.put(at, near(solved.da[t], part));
                    dw.put(at, near(solved.cotangents[t], part));
                }
                last.put(place.state(part), near(solved.states[place.length], part));
                dh0.put(place.state(part), near(solved.dh0, part));
            }
        }
    }
    [(Quantity::Y, y), (Quantity::Last, last), (Quantity::Da, da), (Quantity::Dw, dw), (Quantity::Dh0, dh0)]
}

fn solved<C: Cell<f64>>(problem: &Problem, place: Place, plan: Option<&RoundingPlan>) -> Solved<C> {
    let inputs = problem.inputs();
    let channel: Channel<C> = place.channel(&|input, at| problem.number(input, at));
    let dy: Vec<C> = place.tokens(|at| number(inputs.dy.as_slice(), at));
    let dlast = C::new(|part| number(inputs.dlast.as_slice(), place.state(part)));
    let (states, cotangents) = match plan {
        Some(plan) => {
            (channel.bounded_states(plan.carry), channel.bounded_cotangents(&dy, dlast, plan.carry))
        }
        None => (all_exact(channel.states()), all_exact(channel.cotangents(&dy, dlast))),
    };
    let exactly = &RoundingPlan::exact();
    let plan = plan.unwrap_or(exactly);
    let da = cotangents.iter().zip(&states).map(|(&lambda, &before)| {
        let before = saved(before, plan.saved);
        product(lambda, Carrying { value: before.value.conj(), ..before }, plan.products)
    });
    let dh0 = match (channel.a.first(), cotangents.first()) {
        (Some(decay), _) if decay.is_zero() => exact(C::new(|_| 0.0)),
        (Some(decay), Some(&lambda)) => product(exact(decay.conj()), lambda, plan.carry),
        _ => exact(dlast),
    };
    Solved { da: da.collect(), dh0, states, cotangents }
}

fn all_exact<C>(values: Vec<C>) -> Vec<Carrying<C>> {
    values.into_iter().map(exact).collect()
}

fn product<C: Cell<f64>>(one: Carrying<C>, two: Carrying<C>, rounding: Rounding) -> Carrying<C> {
    let error = product_error::<f64, C>(size(one), size(two), rounding);
    Carrying { value: one.value * two.value, error }
}

/// The state as the backward pass reads it again.
fn saved<C: Cell<f64>>(state: Carrying<C>, rounding: Rounding) -> Carrying<C> {
    if rounding.unit == 0.0 {
        return state;
    }
    // Each component is rounded, and may underflow, by itself.
    let flush = (C::PARTS as f64).sqrt() * rounding.underflow;
    let near = Near { value: state.value.size(), error: state.error };
    Carrying { error: near.rounded(Rounding { underflow: flush, ..rounding }).error, ..state }
}

fn size<C: Cell<f64>>(number: Carrying<C>) -> Size<f64> {
    Size { size: number.value.size(), error: number.error }
}

fn exact<C>(value: C) -> Carrying<C> {
    Carrying { value, error: 0.0 }
}

/// No component is further off than the modulus is.
fn near<C: Cell<f64>>(number: Carrying<C>, part: usize) -> Near {
    Near { value: number.value.part(part), error: number.error }
}

fn number(values: Option<&[f64]>, at: usize) -> f64 {
    let Some(values) = values else { unreachable!("a problem's arrays are row-major") };
    values[at]
}

impl Problem {
    /// The number in row-major place `at` of an input; 0 for an initial state that is absent.
    ///
    /// # Panics
    ///
    /// If there is no such place.
    #[must_use]
    pub fn number(&self, input: Input, at: usize) -> f64 {
        let inputs = self.inputs();
        match input {
            Input::A => number(inputs.a.as_slice(), at),
            Input::W => number(inputs.w.as_slice(), at),
            Input::H0 => inputs.h0.as_ref().map_or(0.0, |h0| number(h0.as_slice(), at)),
        }
    }
}
