//! Neighbouring complex channels of one sequence side by side: reading the inputs from their two halves, and putting the
//! halves of outputs together; no mathematics of the recurrence here.

use ndarray::{Array, Axis, Dimension, RemoveAxis, concatenate};

use super::arithmetic::{Complex, Term};
use super::backward::Cotangents;
use super::forward::Source;
use super::problem::Problem;
use crate::lanes::{LANES, Lanes};
use crate::pair::Pair;
use crate::rglru::arithmetic::Arithmetic;
use crate::rglru::output::Output;
use crate::rglru::tile::{Logits, load};
use crate::sheet::Sheet;

/// Channels of a tile, cut into groups. A token of a tile is four cache lines: a narrower one would fetch most lines twice.
pub(crate) const TILE: usize = 4 * LANES;

/// Up to [`LANES`] neighbouring channels of one sequence; lanes beyond the last channel hold zeros.
pub(crate) struct Tile<'a> {
    problem: &'a Problem,
    logits: &'a Logits<'a>,
    row: usize,
    first: usize,
    count: usize,
}

impl<'a> Tile<'a> {
    /// Group by group, the channels of the block of [`TILE`] at an index, sequence by sequence.
    pub(crate) fn groups(
        problem: &'a Problem,
        logits: &'a Logits<'a>,
        index: usize,
    ) -> impl Iterator<Item = Self> {
        let channels = problem.shape().width / 2;
        let blocks = channels.div_ceil(TILE);
        let (row, start) = (index / blocks, index % blocks * TILE);
        let end = channels.min(start + TILE);
        let group = move |first| Self { problem, logits, row, first, count: LANES.min(end - first) };
        (start..end).step_by(LANES).map(group)
    }

    /// Tokens of the sequences before this one.
    pub(crate) fn tokens_before(&self) -> usize {
        self.row * self.problem.shape().length
    }

    #[inline(always)]
    pub(crate) fn a_param(&self) -> Lanes {
        self.read(self.problem.a_param().as_slice(), self.first)
    }

    #[inline(always)]
    fn read(&self, values: Option<&[f64]>, at: usize) -> Lanes {
        let Some(values) = values else { unreachable!("a problem's arrays are row-major") };
        load(&values[at..at + self.count])
    }

    /// Row `row` of a tensor that ends in `W`.
    #[inline(always)]
    fn pair(&self, values: Option<&[f64]>, row: usize) -> Pair<Lanes> {
        let width = self.problem.shape().width;
        let at = row * width + self.first;
        Pair::new(self.read(values, at), self.read(values, at + width / 2))
    }

    #[inline(always)]
    fn token(&self, t: usize) -> usize {
        self.row * self.problem.shape().length + t
    }
}

impl<A: Complex<Real: Arithmetic<Value = Lanes>>> Source<A> for Tile<'_> {
    #[inline(always)]
    fn length(&self) -> usize {
        self.problem.shape().length
    }

    #[inline(always)]
    fn is_reset(&self, t: usize) -> bool {
        self.problem.reset()[[self.row, t]]
    }

    #[inline(always)]
    fn x(&self, t: usize) -> Pair<Lanes> {
        self.pair(self.problem.x().as_slice(), self.token(t))
    }

    #[inline(always)]
    fn logits(&self, t: usize, arithmetic: A) -> (Term<A>, Term<A>) {
        let at = self.token(t) * (self.problem.shape().width / 2) + self.first;
        let real = arithmetic.real();
        match self.logits {
            Logits::Inputs { u, v } => {
                (real.exact(self.read(Some(*u), at)), real.exact(self.read(Some(*v), at)))
            }
            Logits::Projected { u, v } => {
                let near = |sheet: &Sheet| {
                    let (value, envelope) = sheet.slices();
                    real.near(self.read(Some(value), at), self.read(Some(envelope), at))
                };
                (near(u), near(v))
            }
        }
    }

    #[inline(always)]
    fn h0(&self) -> Pair<Lanes> {
        self.problem.h0().map_or(Pair::new(Lanes::ZERO, Lanes::ZERO), |h0| self.pair(h0.as_slice(), self.row))
    }

    #[inline(always)]
    fn a_imag(&self) -> Lanes {
        self.read(self.problem.a_imag().as_slice(), self.first)
    }
}

impl<A: Complex<Real: Arithmetic<Value = Lanes>>> Cotangents<A> for Tile<'_> {
    #[inline(always)]
    fn dy(&self, t: usize) -> Pair<Lanes> {
        self.pair(self.problem.dy().as_slice(), self.token(t))
    }

    #[inline(always)]
    fn dlast(&self) -> Pair<Lanes> {
        self.pair(self.problem.dlast().as_slice(), self.row)
    }
}

/// The two halves of an output, one after the other along the last axis.
pub(crate) fn merged<D: Dimension + RemoveAxis>([re, im]: [Output<D>; 2]) -> Sheet {
    let envelope = re.envelope.zip(im.envelope).map(|(re, im)| side_by_side(re, &im));
    Sheet::of(side_by_side(re.value, &im.value), envelope)
}

fn side_by_side<D: Dimension + RemoveAxis>(re: Array<f64, D>, im: &Array<f64, D>) -> Array<f64, D> {
    let last = Axis(re.ndim() - 1);
    let merged = concatenate(last, &[re.view(), im.view()]).unwrap_or(re);
    // An array without elements may come out in another order.
    if merged.is_standard_layout() { merged } else { merged.as_standard_layout().into_owned() }
}
