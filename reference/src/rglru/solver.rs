//! One tile of channels, forward and backward: the order in which tokens are read, kept and written; the mathematics is
//! left to [`super::forward`] and [`super::backward`].
//!
//! The forward pass keeps a checkpoint for every block of tokens; the backward pass computes the block again from
//! there. What a block needs stays in the cache whatever the length, and no `[B, L, W]` array is kept but the outputs.

use std::ops::Range;

use ndarray::{Ix1, Ix2};

use super::arithmetic::{Arithmetic, Plain};
use super::backward::{self, Arriving, Checkpoint, Gradient, Trace};
use super::forward::{Passed, Stretch};
use super::output::Slot;
use super::tile::{BLOCK, Block, Row, Tile, pieces, rows};
use crate::lanes::{LANES, Lanes};

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
    results: [Vec<Row<A::Term>>; 3],
    trace: Trace<A>,
}

/// How far a group of channels has come.
struct Progress<A: Arithmetic> {
    sp: A::Term,
    /// Before every block, and after the last.
    checkpoints: Vec<Checkpoint<A>>,
    arriving: Arriving<A>,
    /// `sum r dl`.
    sum: A::Sum,
}

impl<A: Arithmetic<Value = Lanes>> Progress<A> {
    fn new(tile: &Tile<'_>, group: usize, arithmetic: A) -> Self {
        let start = Checkpoint { state: arithmetic.initial(tile.h0(group)), reach: arithmetic.nowhere() };
        Self {
            sp: arithmetic.softplus(tile.a_param(group)),
            checkpoints: vec![start],
            arriving: Arriving::Last(tile.dlast(group)),
            sum: arithmetic.sum(tile.tokens_before()),
        }
    }
}

impl<A: Arithmetic<Value = Lanes>> Scratch<A> {
    /// For tiles of a number of channels.
    pub(crate) fn new(channels: usize, arithmetic: A) -> Self {
        let zeros = || rows(channels, arithmetic.exact(Lanes::ZERO));
        Self {
            block: Block::new(channels, arithmetic),
            results: [zeros(), zeros(), zeros()],
            trace: Trace::new(),
        }
    }

    /// Forward and backward; the sum `r dl` of each group.
    #[inline(always)]
    pub(crate) fn solve(&mut self, tile: &Tile<'_>, mut part: Part<'_>, arithmetic: A) -> Vec<A::Sum> {
        let mut groups: Vec<_> = tile.groups().map(|group| Progress::new(tile, group, arithmetic)).collect();
        let blocks = pieces(0..tile.length(), BLOCK);
        for tokens in blocks.clone() {
            self.forward(tile, tokens, &mut groups, &mut part, arithmetic);
        }
        for (group, progress) in groups.iter().enumerate() {
            let end = &progress.checkpoints[progress.checkpoints.len() - 1];
            part.last.put(group, arithmetic.read(end.state), arithmetic);
        }
        for tokens in blocks.rev() {
            self.backward(tile, tokens, &mut groups, &mut part, arithmetic);
        }
        for (group, progress) in groups.iter().enumerate() {
            part.dh0.put(group, backward::initial(progress.arriving, arithmetic), arithmetic);
        }
        groups.into_iter().map(|progress| progress.sum).collect()
    }

    /// A block from left to right.
    #[inline(always)]
    fn forward(
        &mut self,
        tile: &Tile<'_>,
        tokens: Range<usize>,
        groups: &mut [Progress<A>],
        part: &mut Part<'_>,
        arithmetic: A,
    ) {
        let Self { block, results: [y, ..], trace } = self;
        block.fetch(tile, &tokens, arithmetic);
        for (group, progress) in groups.iter_mut().enumerate() {
            let (source, y) = (block.group(group), &mut y[group]);
            trace.start(progress.checkpoints[tokens.start / BLOCK]);
            trace.run(
                &source,
                tokens.clone(),
                progress.sp,
                arithmetic,
                #[inline(always)]
                |t, state| y[t % BLOCK] = arithmetic.read(state),
            );
            progress.checkpoints.push(trace.end());
        }
        part.y.put_block(tokens, y, arithmetic);
    }

    /// A block once more from left to right, then from right to left.
    #[inline(always)]
    fn backward(
        &mut self,
        tile: &Tile<'_>,
        tokens: Range<usize>,
        groups: &mut [Progress<A>],
        part: &mut Part<'_>,
        arithmetic: A,
    ) {
        let Self { block, results: [dx, du, dv], trace } = self;
        block.fetch(tile, &tokens, arithmetic);
        block.fetch_cotangents(tile, &tokens);
        for (group, progress) in groups.iter_mut().enumerate() {
            let (source, sp) = (block.group(group), progress.sp);
            let (dx, du, dv) = (&mut dx[group], &mut du[group], &mut dv[group]);
            trace.start(progress.checkpoints[tokens.start / BLOCK]);
            trace.run(
                &source,
                tokens.clone(),
                sp,
                arithmetic,
                #[inline(always)]
                |_, _| (),
            );
            progress.arriving = backward::run(
                &source,
                tokens.clone(),
                progress.arriving,
                (trace, sp),
                &mut progress.sum,
                arithmetic,
                #[inline(always)]
                |t, gradient: Gradient<A::Term>| {
                    dx[t % BLOCK] = gradient.dx;
                    du[t % BLOCK] = gradient.du;
                    dv[t % BLOCK] = gradient.dv;
                },
            );
        }
        part.dx.put_block(tokens.clone(), dx, arithmetic);
        part.du.put_block(tokens.clone(), du, arithmetic);
        part.dv.put_block(tokens, dv, arithmetic);
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
    let channels = tile.groups().end * LANES;
    let (mut block, mut work, mut out) =
        (Block::new(channels, plain), Stretch::new(), rows(channels, Lanes::ZERO));
    let mut states: Vec<_> = tile.groups().map(|g| (plain.softplus(tile.a_param(g)), tile.h0(g))).collect();
    for tokens in pieces(0..tile.length(), BLOCK) {
        block.fetch(tile, &tokens, plain);
        for (group, (sp, state)) in states.iter_mut().enumerate() {
            let source = block.group(group);
            work.fill(&source, tokens.clone(), *sp, plain);
            *state = work.run(
                &source,
                *state,
                plain,
                #[inline(always)]
                |t, passed: Passed<'_, _>| out[group][t % BLOCK] = passed.after,
            );
        }
        y.put_block(tokens, &out, plain);
    }
    for (group, (_, state)) in states.into_iter().enumerate() {
        last.put(group, state, plain);
    }
}
