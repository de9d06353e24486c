//! Reading a few neighbouring channels of one sequence; no mathematics of the recurrence here.

use std::ops::Range;

use super::problem::Problem;
use super::token::Channel;
use crate::near::Near;
use crate::sheet::Sheet;

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
