//! The recurrence from left to right with its bounds, for a few modes of one sequence; gradients are left to
//! [`super::backward`].

use super::disc::Disc;
use super::envelope::{ControlBound, ControllerBound, DecayBound, ModeBound};
use super::forward::{Control, Controller, Mode, relu, step};
use super::problem::Problem;
use super::reach::{NOWHERE, Reach, back};
use crate::carry::{Carried, Carry, Size};
use crate::near::Near;
use crate::pair::Pair;
use crate::plan::RoundingPlan;

/// Modes that are computed together: real and imaginary halves are read by cache lines.
pub(crate) const BLOCK: usize = 8;

/// One token's controls, and their bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) control: Control<f64>,
    pub(crate) bound: ControlBound,
}

/// Everything that all blocks read.
pub(crate) struct Mixer<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) plan: &'a RoundingPlan,
    pub(crate) controller: Controller<f64>,
    pub(crate) bound: ControllerBound,
    pub(crate) modes: Vec<(Mode<f64>, ModeBound)>,
    /// `[B, L]`.
    pub(crate) tokens: Vec<Token>,
}

/// A few neighbouring modes of one sequence.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    pub(crate) mixer: &'a Mixer<'a>,
    pub(crate) row: usize,
    pub(crate) first: usize,
    pub(crate) count: usize,
}

/// A carried state, in either direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    /// `h` or `lambda`.
    pub(crate) value: Pair<f64>,
    pub(crate) bound: Carried<f64>,
    /// What this step adds to the error besides the roundings of the scan and the decay's given part.
    pub(crate) own: f64,
    /// Components, real and imaginary, that are zero in every kernel: nothing was ever written there.
    pub(crate) empty: [bool; 2],
}

impl State {
    /// A state that is an input.
    pub(crate) fn exact(value: Pair<f64>) -> Self {
        let empty = [value.re == 0.0, value.im == 0.0];
        Self { value, bound: Carried::exact(value.modulus()), own: 0.0, empty }
    }

    /// `decay state + write`; without a decay the state is discarded. The decay comes with the part of its error that is
    /// its own.
    pub(crate) fn step(self, decay: Option<(Disc, f64)>, write: Disc, carry: Carry) -> Self {
        let zero = [write.value.re == 0.0, write.value.im == 0.0].map(|zero| zero && write.error == 0.0);
        let value = step(self.value, decay.map(|(a, _)| a.value), write.value);
        let Size { size, error } = write.size();
        let Some((decay, own)) = decay else {
            // What the write may be off by is rounded too.
            let bound = Carried::written(Size { size: size + error, error }, carry);
            return Self { value, bound, own: error, empty: zero };
        };
        let before = self.value.modulus();
        let bound = self.bound.step(before, decay.size(), write.size(), carry);
        let empty = self.empty == [true; 2] && zero == [true; 2] && value == Pair::zero();
        let own = own * before + error + decay.error * self.bound.given;
        Self { value, bound, own, empty: [empty; 2] }
    }

    /// `state + write`. A product with 1 would be complex, and carry what is not finite into the other component.
    pub(crate) fn plus(self, write: Disc, carry: Carry) -> Self {
        let one = Size { size: 1.0, error: 0.0 };
        let bound = self.bound.step(self.value.modulus(), one, write.size(), carry);
        Self { value: self.value + write.value, bound, own: write.error, empty: [false; 2] }
    }

    pub(crate) fn disc(self) -> Disc {
        Disc { value: self.value, error: self.bound.error }
    }
}

/// What the backward pass needs of a block.
pub(crate) struct Trace {
    /// `[L, count]`; absent on a reset.
    pub(crate) decays: Vec<Option<DecayBound>>,
    /// `[L + 1, count]`: the initial state first.
    pub(crate) states: Vec<State>,
    /// `[L, count]`.
    pub(crate) reach: Vec<Reach>,
}

impl<'a> Block<'a> {
    pub(crate) fn length(&self) -> usize {
        self.mixer.problem.shape().length
    }

    pub(crate) fn mode(&self, m: usize) -> &'a (Mode<f64>, ModeBound) {
        &self.mixer.modes[self.first + m]
    }

    pub(crate) fn token(&self, t: usize) -> &'a Token {
        &self.mixer.tokens[self.row * self.length() + t]
    }

    /// The complex number of a merged tensor that begins at `base`.
    fn merged(&self, values: &[f64], base: usize, m: usize) -> Pair<f64> {
        let at = base + self.first + m;
        Pair::new(values[at], values[at + self.mixer.problem.modes()])
    }

    fn at_token(&self, values: Option<&[f64]>, t: usize, m: usize) -> Pair<f64> {
        let shape = self.mixer.problem.shape();
        self.merged(values.unwrap_or(&[]), (self.row * shape.length + t) * shape.width, m)
    }

    pub(crate) fn x(&self, t: usize, m: usize) -> Pair<f64> {
        self.at_token(self.mixer.problem.inputs().x.as_slice(), t, m)
    }

    pub(crate) fn dy(&self, t: usize, m: usize) -> Pair<f64> {
        self.at_token(self.mixer.problem.inputs().dy.as_slice(), t, m)
    }

    fn at_state(&self, values: Option<&[f64]>, m: usize) -> Pair<f64> {
        let width = self.mixer.problem.shape().width;
        values.map_or(Pair::zero(), |values| self.merged(values, self.row * width, m))
    }

    fn h0(&self, m: usize) -> Pair<f64> {
        self.at_state(self.mixer.problem.inputs().h0.as_ref().and_then(|h0| h0.as_slice()), m)
    }

    pub(crate) fn dlast(&self, m: usize) -> Pair<f64> {
        self.at_state(self.mixer.problem.inputs().dlast.as_slice(), m)
    }

    pub(crate) fn carry(&self) -> Carry {
        Carry::complex(self.mixer.plan.carry, self.length())
    }

    /// Runs `h_t = A_t h_{t-1} + w_t`.
    pub(crate) fn forward(&self) -> Trace {
        let (plan, carry) = (self.mixer.plan, self.carry());
        let mut trace = Trace {
            decays: Vec::with_capacity(self.length() * self.count),
            states: Vec::with_capacity((self.length() + 1) * self.count),
            reach: Vec::with_capacity(self.length() * self.count),
        };
        trace.states.extend((0..self.count).map(|m| State::exact(self.h0(m))));
        for t in 0..self.length() {
            let (token, reset) = (self.token(t), self.mixer.problem.reset()[[self.row, t]]);
            for m in 0..self.count {
                let (mode, bound) = self.mode(m);
                let decay = (!reset).then(|| bound.decay(&mode.decay(&token.control), &token.bound, plan));
                let write = Disc::exact(self.x(t, m)).scaled(bound.gamma, plan.products);
                let write = Disc { value: mode.write(self.x(t, m)), ..write };
                let write = if write.error == 0.0 { write } else { write.at_boundary(plan) };
                let before = trace.states[t * self.count + m];
                let earlier = if t == 0 { &NOWHERE } else { &trace.reach[(t - 1) * self.count + m] };
                let through_gamma = self.x(t, m).scaled(bound.gamma_slope.value);
                let passing = decay.as_ref().map(|decay| (decay, token));
                let reach = back(earlier, before.value, passing, through_gamma);
                trace.reach.push(reach);
                trace.states.push(before.step(decay.map(|decay| (decay.a, decay.own)), write, carry));
                trace.decays.push(decay);
            }
        }
        trace
    }
}

/// On which side of the kink of the ReLU a component of the state is, in every kernel; `None` if that is undecided.
pub(crate) fn open(h: f64, error: f64, empty: bool) -> Option<bool> {
    let certain = (empty && h == 0.0) || error == 0.0 && !h.is_nan() || h.abs() > error;
    certain.then_some(h > 0.0)
}

/// The output and its error: where the state is surely negative, nothing is left of it.
pub(crate) fn output(h: Near) -> Near {
    let above = h.value + h.error;
    let error = if above < 0.0 {
        0.0
    } else if h.value < 0.0 {
        above
    } else {
        h.error
    };
    Near { value: relu(h.value), error }
}
