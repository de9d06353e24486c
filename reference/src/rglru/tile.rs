//! Neighbouring channels of one sequence side by side: reading the inputs, writing the outputs; no mathematics of the
//! recurrence here.

use ndarray::{Array, ArrayViewMut, ArrayViewMut1, Axis, Dimension, Ix1, Ix2, RemoveAxis, ShapeBuilder};

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

    pub(crate) fn width(&self) -> usize {
        self.problem.shape().width
    }
}

/// Up to [`LANES`] neighbouring channels of one sequence; lanes beyond the width hold zeros.
pub(crate) struct Tile<'a> {
    reader: &'a Reader<'a>,
    row: usize,
    first: usize,
    count: usize,
}

impl<'a> Tile<'a> {
    pub(crate) fn new(reader: &'a Reader<'a>, row: usize, first: usize) -> Self {
        let count = LANES.min(reader.problem.shape().width - first);
        Self { reader, row, first, count }
    }

    #[inline(always)]
    fn at(&self, t: usize) -> usize {
        let shape = self.reader.problem.shape();
        (self.row * shape.length + t) * shape.width + self.first
    }

    #[inline(always)]
    fn state(&self) -> usize {
        self.row * self.reader.problem.shape().width + self.first
    }

    #[inline(always)]
    fn read(&self, values: &[f64], at: usize) -> Lanes {
        load(&values[at..at + self.count])
    }

    /// Tokens of the sequences before this one.
    pub(crate) fn tokens_before(&self) -> usize {
        self.row * self.reader.problem.shape().length
    }

    pub(crate) fn a_param(&self) -> Lanes {
        self.reader.problem.a_param().as_slice().map_or(Lanes([0.0; LANES]), |a| self.read(a, self.first))
    }
}

#[inline(always)]
pub(crate) fn load(values: &[f64]) -> Lanes {
    if let Ok(whole) = values.try_into() {
        return Lanes(whole);
    }
    let mut lanes = [0.0; LANES];
    lanes[..values.len()].copy_from_slice(values);
    Lanes(lanes)
}

impl<A: Arithmetic<Value = Lanes>> Source<A> for Tile<'_> {
    #[inline(always)]
    fn length(&self) -> usize {
        self.reader.problem.shape().length
    }

    #[inline(always)]
    fn is_reset(&self, t: usize) -> bool {
        self.reader.problem.reset()[[self.row, t]]
    }

    #[inline(always)]
    fn x(&self, t: usize) -> Lanes {
        self.read(self.reader.x, self.at(t))
    }

    #[inline(always)]
    fn logits(&self, t: usize, arithmetic: A) -> (A::Term, A::Term) {
        let at = self.at(t);
        match self.reader.logits {
            Logits::Inputs { u, v } => {
                (arithmetic.exact(self.read(u, at)), arithmetic.exact(self.read(v, at)))
            }
            Logits::Projected { u, v } => {
                let near = |sheet: &Sheet| {
                    let (value, envelope) = sheet.slices();
                    arithmetic.near(self.read(value, at), self.read(envelope, at))
                };
                (near(u), near(v))
            }
        }
    }

    fn h0(&self) -> Lanes {
        let h0 = self.reader.problem.h0().and_then(|h0| h0.as_slice());
        h0.map_or(Lanes([0.0; LANES]), |h0| self.read(h0, self.state()))
    }
}

impl<A: Arithmetic<Value = Lanes>> Cotangents<A> for Tile<'_> {
    #[inline(always)]
    fn dy(&self, t: usize) -> Lanes {
        self.read(self.reader.dy, self.at(t))
    }

    fn dlast(&self) -> Lanes {
        self.reader.problem.dlast().as_slice().map_or(Lanes([0.0; LANES]), |d| self.read(d, self.state()))
    }
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
        while rest.len_of(last) > LANES {
            let (part, more) = rest.split_at(last, LANES);
            parts.push(part);
            rest = more;
        }
        parts.push(rest);
    }
    parts
}

impl Slot<'_, Ix2> {
    #[inline(always)]
    pub(crate) fn put<A: Arithmetic<Value = Lanes>>(&mut self, t: usize, term: A::Term, arithmetic: A) {
        store(self.value.row_mut(t), arithmetic.value(term));
        if let (Some(out), Some(envelope)) = (&mut self.envelope, arithmetic.envelope(term)) {
            store(out.row_mut(t), envelope);
        }
    }
}

impl Slot<'_, Ix1> {
    pub(crate) fn put<A: Arithmetic<Value = Lanes>>(&mut self, term: A::Term, arithmetic: A) {
        store(self.value.view_mut(), arithmetic.value(term));
        if let (Some(out), Some(envelope)) = (&mut self.envelope, arithmetic.envelope(term)) {
            store(out.view_mut(), envelope);
        }
    }
}

#[inline(always)]
fn store(mut out: ArrayViewMut1<'_, f64>, lanes: Lanes) {
    let count = out.len();
    if let Some(out) = out.as_slice_mut() {
        if let Ok(whole) = <&mut [f64; LANES]>::try_from(&mut *out) {
            *whole = lanes.0;
        } else {
            out.copy_from_slice(&lanes.0[..count]);
        }
    }
}
