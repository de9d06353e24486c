//! One tile of channels, forward and backward: the order in which tokens are read, kept and written; the mathematics is
//! left to [`super::forward`] and [`super::backward`].
//!
//! The forward pass keeps a checkpoint for every segment of tokens; the backward pass computes the segment again from
//! there. What a segment needs stays in the cache whatever the length, and no `[B, L, W]` array is kept but the outputs.

use std::ops::Range;

use ndarray::{Ix1, Ix2};

use super::arithmetic::{Arithmetic, Plain};
use super::backward::{self, Arriving, Checkpoint, Gradient, Trace};
use super::forward::{self, Passed};
use super::tile::{BLOCK, Block, Slot, Tile, pieces};
use crate::lanes::Lanes;

/// Tokens between checkpoints.
const SEGMENT: usize = 4 * BLOCK;

/// What one tile writes.
pub(crate) struct Part<'a> {
    pub(crate) y: Slot<'a, Ix2>,
    pub(crate) last: Slot<'a, Ix1>,
    pub(crate) dx: Slot<'a, Ix2>,
    pub(crate) du: Slot<'a, Ix2>,
    pub(crate) dv: Slot<'a, Ix2>,
    pub(crate) dh0: Slot<'a, Ix1>,
}

/// Memory that a thread uses for one tile after the other.
pub(crate) struct Scratch<A: Arithmetic> {
    block: Block<A>,
    traces: Vec<Trace<A>>,
    /// Of every segment, group by group.
    checkpoints: Vec<Vec<Checkpoint<A>>>,
}

impl<A: Arithmetic<Value = Lanes>> Scratch<A> {
    pub(crate) fn new(arithmetic: A) -> Self {
        Self { block: Block::new(arithmetic), traces: Vec::new(), checkpoints: Vec::new() }
    }

    /// Forward and backward; the sum `r dl` of each group.
    #[inline(always)]
    pub(crate) fn solve(&mut self, tile: &Tile<'_>, mut part: Part<'_>, arithmetic: A) -> Vec<A::Sum> {
        self.start(tile, arithmetic);
        let segments = pieces(0..tile.length(), SEGMENT);
        for segment in segments.clone() {
            let last = segment.end == tile.length();
            self.checkpoint(segment.start);
            if last {
                self.forward(tile, segment, arithmetic, Some(&mut part.y));
            } else {
                self.advance(tile, segment, arithmetic, &mut part.y);
            }
        }
        for (group, trace) in self.traces.iter().enumerate() {
            part.last.put(group, arithmetic.read(trace.end().state), arithmetic);
        }
        let mut arriving: Vec<_> = tile.groups().map(|group| Arriving::Last(tile.dlast(group))).collect();
        let mut sums = vec![arithmetic.sum(tile.tokens_before()); self.traces.len()];
        for segment in segments.rev() {
            if segment.end < tile.length() {
                self.restart(segment.start);
                self.forward(tile, segment.clone(), arithmetic, None);
            }
            self.backward(tile, segment, arithmetic, &mut part, (&mut arriving, &mut sums));
        }
        for (group, arriving) in arriving.into_iter().enumerate() {
            part.dh0.put(group, backward::initial(arriving, arithmetic), arithmetic);
        }
        sums
    }

    fn start(&mut self, tile: &Tile<'_>, arithmetic: A) {
        let nothing = arithmetic.exact(Lanes::ZERO);
        self.traces.resize_with(tile.groups().end, || Trace::new(nothing));
        self.checkpoints.clear();
        for (group, trace) in self.traces.iter_mut().enumerate() {
            trace.sp = arithmetic.softplus(tile.a_param(group));
            let state = arithmetic.initial(tile.h0(group));
            trace.start(0, Checkpoint { state, reach: arithmetic.nowhere() });
        }
    }

    fn checkpoint(&mut self, token: usize) {
        let ends: Vec<_> = self.traces.iter().map(Trace::end).collect();
        self.checkpoints.push(ends);
        self.restart(token);
    }

    fn restart(&mut self, token: usize) {
        let checkpoints = &self.checkpoints[token / SEGMENT];
        for (trace, &checkpoint) in self.traces.iter_mut().zip(checkpoints) {
            trace.start(token, checkpoint);
        }
    }

    /// A segment from left to right, nothing kept but where it ends.
    #[inline(always)]
    fn advance(&mut self, tile: &Tile<'_>, segment: Range<usize>, arithmetic: A, y: &mut Slot<'_, Ix2>) {
        let Self { block, traces, .. } = self;
        let end = segment.end;
        let mut ends: Vec<_> = traces.iter().map(Trace::end).collect();
        for tokens in pieces(segment, BLOCK) {
            block.fetch(tile, &tokens, arithmetic);
            for (group, (Checkpoint { state, reach }, trace)) in
                ends.iter_mut().zip(traces.iter()).enumerate()
            {
                let pass = |t: usize, passed: Passed<A>| {
                    y.put(t, group, arithmetic.read(passed.after), arithmetic);
                    *reach = arithmetic.reach_back(*reach, passed.before, passed.x, &passed.token);
                };
                let source = block.group(group);
                *state = forward::run(&source, tokens.clone(), *state, trace.sp, arithmetic, pass);
            }
        }
        for (trace, checkpoint) in traces.iter_mut().zip(ends) {
            trace.start(end, checkpoint);
        }
    }

    /// A segment from left to right into the traces and, the first time, to `y`.
    #[inline(always)]
    fn forward(
        &mut self,
        tile: &Tile<'_>,
        segment: Range<usize>,
        arithmetic: A,
        mut y: Option<&mut Slot<'_, Ix2>>,
    ) {
        let Self { block, traces, .. } = self;
        for tokens in pieces(segment, BLOCK) {
            block.fetch(tile, &tokens, arithmetic);
            for (group, trace) in traces.iter_mut().enumerate() {
                let (source, state, sp) = (block.group(group), trace.end().state, trace.sp);
                let keep = |t: usize, passed: Passed<A>| {
                    if let Some(y) = &mut y {
                        y.put(t, group, arithmetic.read(passed.after), arithmetic);
                    }
                    trace.keep(&passed, arithmetic);
                };
                forward::run(&source, tokens.clone(), state, sp, arithmetic, keep);
            }
        }
    }

    /// A segment from right to left.
    #[inline(always)]
    fn backward(
        &mut self,
        tile: &Tile<'_>,
        segment: Range<usize>,
        arithmetic: A,
        part: &mut Part<'_>,
        (arriving, sums): (&mut [Arriving<A>], &mut [A::Sum]),
    ) {
        let Self { block, traces, .. } = self;
        for tokens in pieces(segment, BLOCK).rev() {
            block.fetch_cotangents(tile, &tokens);
            for (group, trace) in traces.iter().enumerate() {
                let (source, tokens, sum) = (block.group(group), tokens.clone(), &mut sums[group]);
                let put = |t: usize, gradient: Gradient<A::Term>| {
                    part.dx.put(t, group, gradient.dx, arithmetic);
                    part.du.put(t, group, gradient.du, arithmetic);
                    part.dv.put(t, group, gradient.dv, arithmetic);
                };
                let from = arriving[group];
                arriving[group] = backward::run(&source, tokens, from, trace, sum, arithmetic, put);
            }
        }
    }
}

/// The forward pass of a tile alone.
#[inline(always)]
pub(crate) fn forward_tile(
    tile: &Tile<'_>,
    mut y: Slot<'_, Ix2>,
    mut last: Slot<'_, Ix1>,
    plain: Plain<Lanes>,
) {
    let mut block = Block::new(plain);
    let mut states: Vec<_> = tile.groups().map(|g| (plain.softplus(tile.a_param(g)), tile.h0(g))).collect();
    for tokens in pieces(0..tile.length(), BLOCK) {
        block.fetch(tile, &tokens, plain);
        for (group, (sp, state)) in states.iter_mut().enumerate() {
            let source = block.group(group);
            let put = |t: usize, passed: Passed<_>| y.put(t, group, passed.after, plain);
            *state = forward::run(&source, tokens.clone(), *state, *sp, plain, put);
        }
    }
    for (group, (_, state)) in states.into_iter().enumerate() {
        last.put(group, state, plain);
    }
}
