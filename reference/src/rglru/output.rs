//! Outputs in the making, cut into the parts that tiles write; reading inputs is left to [`super::tile`].

use std::ops::Range;

use ndarray::{Array, ArrayViewMut, ArrayViewMut1, Axis, Dimension, Ix1, Ix2, RemoveAxis, ShapeBuilder};

use super::arithmetic::Arithmetic;
use super::tile::Row;
use crate::lanes::{LANES, Lanes};

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
    pub(crate) fn slots(&mut self, tile: usize) -> Vec<Slot<'_, D::Smaller>> {
        let values = tiles(&mut self.value, tile);
        let envelopes = match &mut self.envelope {
            Some(envelope) => tiles(envelope, tile).into_iter().map(Some).collect(),
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
fn tiles<D: Dimension + RemoveAxis>(
    array: &mut Array<f64, D>,
    tile: usize,
) -> Vec<ArrayViewMut<'_, f64, D::Smaller>> {
    let mut parts = Vec::new();
    for mut rest in array.outer_iter_mut() {
        let last = Axis(rest.ndim() - 1);
        while rest.len_of(last) > tile {
            let (part, more) = rest.split_at(last, tile);
            parts.push(part);
            rest = more;
        }
        parts.push(rest);
    }
    parts
}

impl Slot<'_, Ix2> {
    /// Writes a block.
    #[inline(always)]
    pub(crate) fn put_block<A: Arithmetic<Value = Lanes>>(
        &mut self,
        tokens: Range<usize>,
        terms: &[Row<A::Term>],
        arithmetic: A,
    ) {
        store_rows(
            &mut self.value,
            tokens.clone(),
            terms,
            #[inline(always)]
            |term| arithmetic.value(term),
        );
        if let Some(envelope) = &mut self.envelope {
            store_rows(
                envelope,
                tokens,
                terms,
                #[inline(always)]
                |term| arithmetic.envelope(term).unwrap_or(Lanes::ZERO),
            );
        }
    }

    /// Writes a group of a token.
    #[inline(always)]
    pub(crate) fn put<A: Arithmetic<Value = Lanes>>(
        &mut self,
        t: usize,
        group: usize,
        term: A::Term,
        arithmetic: A,
    ) {
        store(group_of(self.value.row_mut(t), group), arithmetic.value(term));
        if let (Some(out), Some(envelope)) = (&mut self.envelope, arithmetic.envelope(term)) {
            store(group_of(out.row_mut(t), group), envelope);
        }
    }
}

impl Slot<'_, Ix1> {
    /// Writes a group of a state.
    pub(crate) fn put<A: Arithmetic<Value = Lanes>>(&mut self, group: usize, term: A::Term, arithmetic: A) {
        store(group_of(self.value.view_mut(), group), arithmetic.value(term));
        if let (Some(out), Some(envelope)) = (&mut self.envelope, arithmetic.envelope(term)) {
            store(group_of(out.view_mut(), group), envelope);
        }
    }
}

#[inline(always)]
fn store_rows<T: Copy>(
    out: &mut ArrayViewMut<'_, f64, Ix2>,
    tokens: Range<usize>,
    terms: &[Row<T>],
    read: impl Fn(T) -> Lanes,
) {
    for (i, t) in tokens.enumerate() {
        let Some(out) = out.row_mut(t).into_slice() else { return };
        for (out, row) in out.chunks_mut(LANES).zip(terms) {
            store(out, read(row[i]));
        }
    }
}

#[inline(always)]
fn store(out: &mut [f64], lanes: Lanes) {
    if let Ok(whole) = <&mut [f64; LANES]>::try_from(&mut *out) {
        *whole = *lanes.numbers();
    } else {
        let count = out.len();
        out.copy_from_slice(&lanes.numbers()[..count]);
    }
}

/// The part of a group in a row of channels.
#[inline(always)]
fn group_of(out: ArrayViewMut1<'_, f64>, group: usize) -> &mut [f64] {
    let out = out.into_slice().unwrap_or_default();
    let end = out.len().min((group + 1) * LANES);
    &mut out[group * LANES..end]
}
