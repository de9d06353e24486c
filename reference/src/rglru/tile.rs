//! Neighbouring channels of one sequence side by side: reading the inputs; writing the outputs is left to [`super::output`].

use std::ops::Range;

use ndarray::Array2;

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
    /// Channels of a tile.
    pub(crate) tile: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(problem: &'a Problem, logits: &'a Logits<'a>) -> Self {
        let (Some(x), Some(dy)) = (problem.x().as_slice(), problem.dy().as_slice()) else {
            unreachable!("a problem's arrays are row-major");
        };
        // A few for every thread, so that none waits long for the last.
        let tiles = 4 * rayon::current_num_threads();
        let even = (problem.shape().batch * problem.shape().width / tiles).next_multiple_of(LANES);
        Self { problem, logits, x, dy, tile: even.clamp(4 * LANES, 64 * LANES) }
    }
}

/// Tokens of a tile that are read, and written, at once. Neighbouring tokens may lie a page apart or more, so that each is
/// an address to translate and a stream that begins anew: the wider a tile the less that matters, and the fewer
/// its tokens the more of what it keeps stays in the cache.
pub(crate) const BLOCK: usize = 16;

/// Some neighbouring channels of one sequence.
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
        let tiles = width.div_ceil(reader.tile);
        let first = index % tiles * reader.tile;
        Self { reader, row: index / tiles, first, count: reader.tile.min(width - first) }
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

    /// Values and errors of a `[B, L, W]` array.
    #[inline(always)]
    fn fetch_terms<A: Arithmetic<Value = Lanes>>(
        &self,
        tokens: &Range<usize>,
        (values, errors): (&[f64], Option<&[f64]>),
        out: &mut [Row<A::Term>],
        arithmetic: A,
    ) {
        self.fetch(
            tokens,
            values,
            out,
            #[inline(always)]
            |term, value| *term = arithmetic.exact(value),
        );
        if let Some(errors) = errors {
            self.fetch(
                tokens,
                errors,
                out,
                #[inline(always)]
                |term, error| *term = arithmetic.near(arithmetic.value(*term), error),
            );
        }
    }

    /// The tokens of a `[B, L, W]` array, in groups.
    #[inline(always)]
    fn fetch<T>(
        &self,
        tokens: &Range<usize>,
        values: &[f64],
        out: &mut [Row<T>],
        put: impl Fn(&mut T, Lanes),
    ) {
        let shape = self.reader.problem.shape();
        for (i, t) in tokens.clone().enumerate() {
            let at = (self.row * shape.length + t) * shape.width + self.first;
            for (group, numbers) in values[at..at + self.count].chunks(LANES).enumerate() {
                put(&mut out[group][i], load(numbers));
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

/// A number for each token of a block, of one group.
pub(crate) type Row<T> = [T; BLOCK];

#[inline(always)]
fn set(to: &mut Lanes, value: Lanes) {
    *to = value;
}

/// A row for every group of some channels.
pub(crate) fn rows<T: Copy>(channels: usize, number: T) -> Vec<Row<T>> {
    vec![[number; BLOCK]; channels.div_ceil(LANES)]
}

/// A block of tokens on its way through a tile.
pub(crate) struct Block<A: Arithmetic> {
    start: usize,
    reset: [bool; BLOCK],
    x: Vec<Row<Lanes>>,
    dy: Vec<Row<Lanes>>,
    u: Vec<Row<A::Term>>,
    v: Vec<Row<A::Term>>,
}

impl<A: Arithmetic<Value = Lanes>> Block<A> {
    /// For tiles of a number of channels.
    pub(crate) fn new(channels: usize, arithmetic: A) -> Self {
        let (lanes, terms) = (rows(channels, Lanes::ZERO), rows(channels, arithmetic.exact(Lanes::ZERO)));
        Self { start: 0, reset: [false; BLOCK], x: lanes.clone(), dy: lanes, u: terms.clone(), v: terms }
    }

    /// Reads what the forward pass needs.
    #[inline(always)]
    pub(crate) fn fetch(&mut self, tile: &Tile<'_>, tokens: &Range<usize>, arithmetic: A) {
        self.start = tokens.start;
        for t in tokens.clone() {
            self.reset[t - tokens.start] = tile.reader.problem.reset()[[tile.row, t]];
        }
        tile.fetch(tokens, tile.reader.x, &mut self.x, set);
        match tile.reader.logits {
            Logits::Inputs { u, v } => {
                tile.fetch_terms(tokens, (u, None), &mut self.u, arithmetic);
                tile.fetch_terms(tokens, (v, None), &mut self.v, arithmetic);
            }
            Logits::Projected { u, v } => {
                for (sheet, terms) in [(u, &mut self.u), (v, &mut self.v)] {
                    let (values, errors) = sheet.slices();
                    tile.fetch_terms(tokens, (values, Some(errors)), terms, arithmetic);
                }
            }
        }
    }

    /// Reads what the backward pass needs besides.
    #[inline(always)]
    pub(crate) fn fetch_cotangents(&mut self, tile: &Tile<'_>, tokens: &Range<usize>) {
        tile.fetch(tokens, tile.reader.dy, &mut self.dy, set);
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
