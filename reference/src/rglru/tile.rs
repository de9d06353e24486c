//! Reading a few neighbouring channels of one sequence, and collecting outputs with their envelopes; no
//! mathematics of the recurrence here.

use std::ops::Range;

use ndarray::{ArrayD, IxDyn};

use super::envelope;
use super::token::Channel;
use crate::near::Near;
use crate::plan::Rounding;
use crate::problem::Problem;
use crate::truth::{Bound, Bounded};

/// A tensor in the making: values and envelopes, row-major.
#[derive(Clone, Debug)]
pub(crate) struct Sheet {
    shape: Vec<usize>,
    value: Vec<f64>,
    envelope: Vec<f64>,
}

impl Sheet {
    pub(crate) fn new(shape: &[usize]) -> Self {
        let elements = shape.iter().product();
        Self { shape: shape.to_vec(), value: vec![0.0; elements], envelope: vec![0.0; elements] }
    }

    pub(crate) fn put(&mut self, index: usize, near: Near) {
        self.value[index] = near.value;
        self.envelope[index] = near.envelope();
    }

    pub(crate) fn get(&self, index: usize) -> Near {
        Near { value: self.value[index], error: self.envelope[index] }
    }

    pub(crate) fn finish(self, bound: Bound) -> Bounded {
        Bounded {
            value: shaped(&self.shape, self.value),
            envelope: shaped(&self.shape, self.envelope),
            bound,
        }
    }
}

fn shaped(shape: &[usize], data: Vec<f64>) -> ArrayD<f64> {
    ArrayD::from_shape_vec(IxDyn(shape), data).unwrap_or_else(|_| ArrayD::zeros(IxDyn(shape)))
}

/// A sum in the making: the terms, their magnitudes and their errors.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Total {
    pub value: f64,
    pub size: f64,
    pub error: f64,
    /// Terms that repeat the one before.
    pub repeats: f64,
    last: f64,
    count: usize,
}

impl Total {
    pub(crate) fn add(&mut self, term: Near, rounding: Rounding) {
        self.count += 1;
        self.repeats += envelope::repeats(self.last, term.value, self.count, rounding);
        self.last = term.value;
        self.value += term.value;
        self.size += term.value.abs();
        self.error += term.error;
    }
}

/// The logits of all tokens with their errors, as sheets, if they were projected; else the inputs.
pub(crate) enum Logits<'a> {
    Inputs { u: &'a [f64], v: &'a [f64] },
    Projected { u: &'a Sheet, v: &'a Sheet },
}

/// A few neighbouring channels of one sequence.
pub(crate) struct Tile<'a> {
    problem: &'a Problem,
    logits: &'a Logits<'a>,
    channels: &'a [Channel],
    row: usize,
    columns: Range<usize>,
}

impl<'a> Tile<'a> {
    pub(crate) fn new(
        problem: &'a Problem,
        logits: &'a Logits<'a>,
        channels: &'a [Channel],
        row: usize,
        columns: Range<usize>,
    ) -> Self {
        Self { problem, logits, channels, row, columns }
    }

    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }

    pub(crate) fn length(&self) -> usize {
        self.problem.shape().length
    }

    pub(crate) fn channel(&self, w: usize) -> &Channel {
        &self.channels[self.columns.start + w]
    }

    pub(crate) fn token_index(&self, t: usize, w: usize) -> usize {
        let shape = self.problem.shape();
        (self.row * shape.length + t) * shape.width + self.columns.start + w
    }

    pub(crate) fn state_index(&self, w: usize) -> usize {
        self.row * self.problem.shape().width + self.columns.start + w
    }

    pub(crate) fn is_reset(&self, t: usize) -> bool {
        self.problem.reset()[[self.row, t]]
    }

    pub(crate) fn h0(&self, w: usize) -> f64 {
        self.problem.h0().map_or(0.0, |h0| h0[[self.row, self.columns.start + w]])
    }

    pub(crate) fn dlast(&self, w: usize) -> f64 {
        self.problem.dlast()[[self.row, self.columns.start + w]]
    }

    pub(crate) fn x(&self, t: usize, w: usize) -> f64 {
        self.problem.x()[[self.row, t, self.columns.start + w]]
    }

    pub(crate) fn dy(&self, t: usize, w: usize) -> f64 {
        self.problem.dy()[[self.row, t, self.columns.start + w]]
    }

    pub(crate) fn logits(&self, t: usize, w: usize) -> (Near, Near) {
        let index = self.token_index(t, w);
        match self.logits {
            Logits::Inputs { u, v } => (Near::exact(u[index]), Near::exact(v[index])),
            Logits::Projected { u, v } => (u.get(index), v.get(index)),
        }
    }
}
