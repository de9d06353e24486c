//! Neighbouring channels of one sequence side by side: reading the inputs, writing the outputs; no mathematics of the
//! recurrence here.

use std::ops::Range;

use ndarray::{
    Array, Array2, ArrayViewMut, ArrayViewMut1, Axis, Dimension, Ix1, Ix2, RemoveAxis, ShapeBuilder,
};

use super::arithmetic::Arithmetic;
use super::backward::Cotangents;
use super::forward::Source;
use super::problem::Problem;
use crate::lanes::{LANES, Lanes};
use crate::sheet::Sheet;

/// The logits of all tokens: inputs, or projections with their errors.
pub(crate) enum Logits<'a> {
    Inputs { u: &'a [f64], v: &'a [f64] },
    Projected { u: &'a Sheet, v: &'a Sheet },
}

/// The inputs of a problem as slices.
pub(crate) struct Reader<'a> {
    problem: &'a Problem,
    logits: &'a Logits<'a>,
    x: &'a [f64],
    dy: &'a [f64],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(problem: &'a Problem, logits: &'a Logits<'a>) -> Self {
        let (Some(x), Some(dy)) = (problem.x().as_slice(), problem.dy().as_slice()) else {
            unreachable!("a problem's arrays are row-major");
        };
        Self { problem, logits, x, dy }
    }
}

/// Channels of a tile. A token of a tile is four cache lines: a narrower one would fetch most lines twice.
pub(crate) const TILE: usize = 4 * LANES;
/// Tokens of a tile that are read, and written, at once: many loads in flight hide the latency of memory, since
/// neighbouring tokens lie too far apart for the hardware to fetch ahead.
pub(crate) const BLOCK: usize = 16;

/// Up to [`TILE`] neighbouring channels of one sequence.
pub(crate) struct Tile<'a> {
    reader: &'a Reader<'a>,
    row: usize,
    first: usize,
    count: usize,
}

impl<'a> Tile<'a> {
    /// The tile at an index, sequence by sequence.
    pub(crate) fn new(reader: &'a Reader<'a>, index: usize) -> Self {
        let width = reader.problem.shape().width;
        let tiles = width.div_ceil(TILE);
        let first = index % tiles * TILE;
        Self { reader, row: index / tiles, first, count: TILE.min(width - first) }
    }

    /// Groups of [`LANES`] channels.
    pub(crate) fn groups(&self) -> Range<usize> {
        0..self.count.div_ceil(LANES)
    }

    /// Tokens of the sequence.
    pub(crate) fn length(&self) -> usize {
        self.reader.problem.shape().length
    }

    /// Tokens of the sequences before this one.
    pub(crate) fn tokens_before(&self) -> usize {
        self.row * self.reader.problem.shape().length
    }

    /// The channels of a group from a `[W]` array.
    fn of_channels(&self, group: usize, values: Option<&[f64]>) -> Lanes {
        let from = group * LANES;
        let count = LANES.min(self.count - from);
        values.map_or(Lanes::ZERO, |values| load(&values[self.first + from..][..count]))
    }

    /// The channels of a group from a `[B, W]` array.
    fn of_states(&self, group: usize, values: Option<&Array2<f64>>) -> Lanes {
        let start = self.row * self.reader.problem.shape().width;
        self.of_channels(group, values.and_then(|values| values.as_slice()).map(|values| &values[start..]))
    }

    pub(crate) fn a_param(&self, group: usize) -> Lanes {
        self.of_channels(group, self.reader.problem.a_param().as_slice())
    }

    /// Zero where there is no initial state.
    pub(crate) fn h0(&self, group: usize) -> Lanes {
        self.of_states(group, self.reader.problem.h0())
    }

    pub(crate) fn dlast(&self, group: usize) -> Lanes {
        self.of_states(group, Some(self.reader.problem.dlast()))
    }

    /// The tokens of a `[B, L, W]` array, in groups.
    #[inline(always)]
    fn fetch(&self, tokens: &Range<usize>, values: &[f64], out: &mut Grid<Lanes>) {
        let shape = self.reader.problem.shape();
        for t in tokens.clone() {
            let at = (self.row * shape.length + t) * shape.width + self.first;
            for (group, numbers) in values[at..at + self.count].chunks(LANES).enumerate() {
                out[group][t - tokens.start] = load(numbers);
            }
        }
    }
}

/// Some tokens in pieces of a size, from the left.
pub(crate) fn pieces(
    tokens: Range<usize>,
    size: usize,
) -> impl DoubleEndedIterator<Item = Range<usize>> + Clone {
    let Range { start, end } = tokens;
    (0..tokens.len().div_ceil(size)).map(move |i| start + i * size..end.min(start + (i + 1) * size))
}

/// A number for each group and token of a block.
type Grid<T> = [[T; BLOCK]; TILE / LANES];

/// A block of tokens on its way through a tile.
pub(crate) struct Block<A: Arithmetic> {
    start: usize,
    reset: [bool; BLOCK],
    x: Grid<Lanes>,
    dy: Grid<Lanes>,
    u: Grid<A::Term>,
    v: Grid<A::Term>,
}

impl<A: Arithmetic<Value = Lanes>> Block<A> {
    pub(crate) fn new(arithmetic: A) -> Self {
        let zero = arithmetic.exact(Lanes::ZERO);
        let (lanes, terms) = ([[Lanes::ZERO; BLOCK]; TILE / LANES], [[zero; BLOCK]; TILE / LANES]);
        Self { start: 0, reset: [false; BLOCK], x: lanes, dy: lanes, u: terms, v: terms }
    }

    /// Reads what the forward pass needs.
    #[inline(always)]
    pub(crate) fn fetch(&mut self, tile: &Tile<'_>, tokens: &Range<usize>, arithmetic: A) {
        self.start = tokens.start;
        for t in tokens.clone() {
            self.reset[t - tokens.start] = tile.reader.problem.reset()[[tile.row, t]];
        }
        tile.fetch(tokens, tile.reader.x, &mut self.x);
        let terms = |values: &[f64], errors: Option<&[f64]>, out: &mut Grid<A::Term>| {
            let zeros = [[Lanes::ZERO; BLOCK]; TILE / LANES];
            let (mut value, mut error) = (zeros, zeros);
            tile.fetch(tokens, values, &mut value);
            if let Some(errors) = errors {
                tile.fetch(tokens, errors, &mut error);
            }
            for group in tile.groups() {
                for i in 0..tokens.len() {
                    out[group][i] = arithmetic.near(value[group][i], error[group][i]);
                }
            }
        };
        match tile.reader.logits {
            Logits::Inputs { u, v } => {
                terms(u, None, &mut self.u);
                terms(v, None, &mut self.v);
            }
            Logits::Projected { u, v } => {
                terms(u.slices().0, Some(u.slices().1), &mut self.u);
                terms(v.slices().0, Some(v.slices().1), &mut self.v);
            }
        }
    }

    /// Reads what the backward pass needs.
    #[inline(always)]
    pub(crate) fn fetch_cotangents(&mut self, tile: &Tile<'_>, tokens: &Range<usize>) {
        self.start = tokens.start;
        tile.fetch(tokens, tile.reader.x, &mut self.x);
        tile.fetch(tokens, tile.reader.dy, &mut self.dy);
    }

    /// One group of the block.
    pub(crate) fn group(&self, group: usize) -> Group<'_, A> {
        Group { block: self, group }
    }
}

/// Eight channels of a block.
pub(crate) struct Group<'a, A: Arithmetic> {
    block: &'a Block<A>,
    group: usize,
}

impl<A: Arithmetic<Value = Lanes>> Source<A> for Group<'_, A> {
    #[inline(always)]
    fn is_reset(&self, t: usize) -> bool {
        self.block.reset[t - self.block.start]
    }

    #[inline(always)]
    fn x(&self, t: usize) -> Lanes {
        self.block.x[self.group][t - self.block.start]
    }

    #[inline(always)]
    fn logits(&self, t: usize) -> (A::Term, A::Term) {
        let (block, i) = (self.block, t - self.block.start);
        (block.u[self.group][i], block.v[self.group][i])
    }
}

impl<A: Arithmetic<Value = Lanes>> Cotangents<A> for Group<'_, A> {
    #[inline(always)]
    fn dy(&self, t: usize) -> Lanes {
        self.block.dy[self.group][t - self.block.start]
    }
}

#[inline(always)]
pub(crate) fn load(values: &[f64]) -> Lanes {
    if let Ok(whole) = values.try_into() {
        return Lanes::new(whole);
    }
    let mut lanes = [0.0; LANES];
    lanes[..values.len()].copy_from_slice(values);
    Lanes::new(lanes)
}

/// An output in the making; envelopes only if the arithmetic has them.
pub(crate) struct Output<D: Dimension> {
    pub(crate) value: Array<f64, D>,
    pub(crate) envelope: Option<Array<f64, D>>,
}

impl<D: Dimension + RemoveAxis> Output<D> {
    pub(crate) fn new(shape: impl ShapeBuilder<Dim = D> + Copy, bounded: bool) -> Self {
        Self { value: Array::zeros(shape), envelope: bounded.then(|| Array::zeros(shape)) }
    }

    /// The parts that the tiles write, sequence by sequence.
    pub(crate) fn slots(&mut self) -> Vec<Slot<'_, D::Smaller>> {
        let values = tiles(&mut self.value);
        let envelopes = match &mut self.envelope {
            Some(envelope) => tiles(envelope).into_iter().map(Some).collect(),
            None => values.iter().map(|_| None).collect::<Vec<_>>(),
        };
        values.into_iter().zip(envelopes).map(|(value, envelope)| Slot { value, envelope }).collect()
    }
}

/// The part of an output that a tile writes.
pub(crate) struct Slot<'a, D: Dimension> {
    value: ArrayViewMut<'a, f64, D>,
    envelope: Option<ArrayViewMut<'a, f64, D>>,
}

/// Cuts the last axis of every sequence into tiles.
fn tiles<D: Dimension + RemoveAxis>(array: &mut Array<f64, D>) -> Vec<ArrayViewMut<'_, f64, D::Smaller>> {
    let mut parts = Vec::new();
    for mut rest in array.outer_iter_mut() {
        let last = Axis(rest.ndim() - 1);
        while rest.len_of(last) > TILE {
            let (part, more) = rest.split_at(last, TILE);
            parts.push(part);
            rest = more;
        }
        parts.push(rest);
    }
    parts
}

impl Slot<'_, Ix2> {
    /// Writes a group of a token.
    #[inline(always)]
    pub(crate) fn put<A: Arithmetic<Value = Lanes>>(
        &mut self,
        t: usize,
        group: usize,
        term: A::Term,
        arithmetic: A,
    ) {
        store(self.value.row_mut(t), group, arithmetic.value(term));
        if let (Some(out), Some(envelope)) = (&mut self.envelope, arithmetic.envelope(term)) {
            store(out.row_mut(t), group, envelope);
        }
    }
}

impl Slot<'_, Ix1> {
    /// Writes a group of a state.
    pub(crate) fn put<A: Arithmetic<Value = Lanes>>(&mut self, group: usize, term: A::Term, arithmetic: A) {
        store(self.value.view_mut(), group, arithmetic.value(term));
        if let (Some(out), Some(envelope)) = (&mut self.envelope, arithmetic.envelope(term)) {
            store(out.view_mut(), group, envelope);
        }
    }
}

#[inline(always)]
fn store(out: ArrayViewMut1<'_, f64>, group: usize, lanes: Lanes) {
    let Some(out) = out.into_slice() else { return };
    let out = &mut out[group * LANES..];
    if let Some(whole) = out.first_chunk_mut() {
        *whole = *lanes.numbers();
    } else {
        let count = out.len();
        out.copy_from_slice(&lanes.numbers()[..count]);
    }
}
