//! How far a long sum may be off: the bound on chains of additions, and the terms collected on the way; which terms are
//! added is left to the families.

use crate::near::{Near, overflowing};
use crate::number::Number;
use crate::plan::{Chain, Reduction, Rounding};
use crate::truth::Bound;

/// Standard deviations in the bound for a long chain of additions (Higham and Mary 2019, their lambda): one
/// failure in about 10^8 under their model.
const LAMBDA: f64 = 6.0;

/// The error of a sum of terms whose errors are `inherited` and whose magnitudes are `size`, both summed.
///
/// What the terms bring along is added in full: with constant inputs every token makes the same error, so
/// nothing about it is independent. Only the roundings of the additions are counted as independent, and
/// only if the chain is longer than `LAMBDA^2`.
///
/// `repeats` is the number of terms that repeat the one before, by [`repeats`]: their additions round alike, not
/// independently, and count in full.
pub(crate) fn summed(inherited: f64, size: f64, additions: usize, repeats: f64, rounding: Rounding) -> f64 {
    let chain = chain_units(additions, repeats);
    let error = inherited * (1.0 + chain * rounding.unit) + chain * rounding.unit * size;
    overflowing(error, size + error, rounding)
}

/// 1 if a term repeats the one before it, else 0.
///
/// What an addition rounds away depends on the term in units of the last place of the sum so far. Terms that
/// agree to that place leave the same remainder every time: a thousand equal terms err a thousand times the same way.
/// `count` terms of their size make up the sum; a term of 0 rounds nothing.
#[inline(always)]
pub(crate) fn repeats<N: Number>(before: N, term: N, count: usize, rounding: Rounding) -> N {
    let (zero, size) = (N::zero(), term.abs());
    let place = size.times(2.0 * rounding.unit * count as f64);
    let near = N::pick(place.less((term - before).abs()), zero, N::one());
    // Also where the term is NaN.
    N::pick(zero.less(size), near, zero)
}

/// The largest sum that some of the terms can have, of which all have the sum `value` and magnitudes that add up to
/// `size`: every partial sum lies between that of the negative terms and that of the positive ones, in any order of
/// additions. It may stand for `size` where each addition of a chain is counted by itself; of a shorter chain, all
/// additions at one depth are counted as one, and together they may reach `size`.
pub(crate) fn reachable(value: f64, size: f64, chain: Chain) -> f64 {
    if chain == Chain::Terms { (value.abs() + size) / 2.0 } else { size }
}

/// The error of a dot product of `terms` terms and a bias, as [`summed`]; one more unit for the product.
pub(crate) fn projected(inherited: f64, size: f64, terms: usize, plan: Reduction) -> f64 {
    let chain = plan.chain.additions(1, terms + 1) + 1;
    summed(inherited, size, chain, 0.0, plan.rounding) + (terms + 1) as f64 * plan.rounding.underflow
}

/// `min(n, 6 sqrt(n) + repeats)`.
fn chain_units(additions: usize, repeats: f64) -> f64 {
    let n = additions as f64;
    n.min(LAMBDA * n.sqrt() + repeats)
}

/// Whether the bound for a chain of this length rests on independence.
pub(crate) fn bound_of(additions: usize) -> Bound {
    if additions as f64 > LAMBDA * LAMBDA { Bound::Probabilistic } else { Bound::Rigorous }
}

/// A sum in the making: the terms, their magnitudes and their errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Total<N> {
    pub(crate) value: N,
    pub(crate) size: N,
    pub(crate) error: N,
    /// Terms that repeat the one before.
    pub(crate) repeats: N,
    first: N,
    last: N,
    start: usize,
    count: usize,
}

impl<N: Number> Default for Total<N> {
    fn default() -> Self {
        Self::after(0)
    }
}

impl<N: Number> Total<N> {
    /// A part of a longer sum, before which `count` terms stand.
    #[inline(always)]
    pub(crate) fn after(count: usize) -> Self {
        let zero = N::zero();
        let (value, size, error, repeats, first, last) = (zero, zero, zero, zero, zero, zero);
        Self { value, size, error, repeats, first, last, start: count, count }
    }

    /// The same sum of other numbers.
    pub(crate) fn map<M>(&self, f: impl Fn(N) -> M) -> Total<M> {
        Total {
            value: f(self.value),
            size: f(self.size),
            error: f(self.error),
            repeats: f(self.repeats),
            first: f(self.first),
            last: f(self.last),
            start: self.start,
            count: self.count,
        }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, term: Near<N>, rounding: Rounding) {
        if self.count == self.start {
            self.first = term.value;
        }
        self.count += 1;
        self.repeats = self.repeats + repeats(self.last, term.value, self.count, rounding);
        self.last = term.value;
        self.value = self.value + term.value;
        self.size = self.size + term.value.abs();
        self.error = self.error + term.error;
    }

    /// The sum with a part that comes after it.
    pub(crate) fn then(mut self, later: Self, rounding: Rounding) -> Self {
        if later.count > later.start {
            self.repeats = self.repeats + repeats(self.last, later.first, later.start + 1, rounding);
            self.last = later.last;
        }
        self.repeats = self.repeats + later.repeats;
        self.value = self.value + later.value;
        self.size = self.size + later.size;
        self.error = self.error + later.error;
        self.count = later.count;
        self
    }
}
