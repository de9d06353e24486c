//! How far a long sum may be off: the bound on chains of additions, and the terms collected on the way; which terms are
//! added is left to the families.

use std::fmt::Debug;

use crate::lanes::Lanes;
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
    if chain == Chain::Terms { f64::midpoint(value.abs(), size) } else { size }
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

/// Numbers that can be told apart, roughly and fast.
pub(crate) trait Told: Number {
    /// 64 marks for each number.
    type Marks: Copy + Debug + Default + Send + Sync;
    /// Sets one of the marks: the same for numbers that agree to 22 bits, any for others.
    fn mark(self, marks: &mut Self::Marks);
    /// How many marks are set.
    fn classes(marks: Self::Marks) -> Self;
}

/// Which of 64 marks a number sets: its 22 bits folded to six, by shifts alone, which every processor has for several numbers
/// at once.
#[inline(always)]
pub(crate) fn mark(number: f64) -> u64 {
    let bits = number.to_bits() >> 30;
    1 << ((bits ^ (bits >> 7) ^ (bits >> 13) ^ (bits >> 20)) & 63)
}

impl Told for f64 {
    type Marks = u64;

    #[inline(always)]
    fn mark(self, marks: &mut u64) {
        *marks |= mark(self);
    }

    fn classes(marks: u64) -> Self {
        f64::from(marks.count_ones())
    }
}

/// Terms in a window.
pub(crate) const WINDOW: usize = 256;
/// Fewer classes than this, or than half of the terms, are few: 256 terms that differ set 63 marks of 64, those of a
/// pattern that comes again after 60 or less set fewer than 40.
const FEW: f64 = 40.0;

/// Some terms in a row: do they come again?
///
/// A pattern of terms leaves a pattern of remainders, which add up like equal ones. The term before need not be the same:
/// windows with few different terms count in full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window<N: Told> {
    marks: N::Marks,
    /// Terms that are not 0.
    terms: N,
    /// Terms that repeat the one before.
    repeats: N,
}

impl<N: Told> Window<N> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { marks: N::Marks::default(), terms: N::zero(), repeats: N::zero() }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, term: N, repeats: N) {
        let zero = N::zero();
        term.mark(&mut self.marks);
        self.terms = self.terms + zero.if_less(term.abs(), N::one(), zero);
        self.repeats = self.repeats + repeats;
    }

    /// Terms that do not round independently.
    #[inline(always)]
    pub(crate) fn repeats(&self) -> N {
        let (half, few) = (self.terms.times(0.5), N::from_f64(FEW));
        N::classes(self.marks).if_less(half.if_less(few, half, few), self.terms, self.repeats)
    }
}

/// A sum in the making: the terms, their magnitudes and their errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Total<N: Told> {
    pub(crate) value: N,
    pub(crate) size: N,
    pub(crate) error: N,
    /// Terms of earlier windows that do not round independently.
    repeats: N,
    window: Window<N>,
    last: N,
    /// Magnitude of the part that was joined last.
    before: Option<N>,
    start: usize,
    count: usize,
}

impl<N: Told> Default for Total<N> {
    fn default() -> Self {
        Self::after(0)
    }
}

impl<N: Told> Total<N> {
    /// A part of a longer sum, before which `count` terms stand.
    #[inline(always)]
    pub(crate) fn after(count: usize) -> Self {
        let zero = N::zero();
        let (value, size, error, repeats, last) = (zero, zero, zero, zero, zero);
        Self { value, size, error, repeats, window: Window::new(), last, before: None, start: count, count }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, term: Near<N>, rounding: Rounding) {
        self.count += 1;
        self.window.add(term.value, repeats(self.last, term.value, self.count, rounding));
        if (self.count - self.start).is_multiple_of(WINDOW) {
            self.repeats = self.repeats();
            self.window = Window::new();
        }
        self.last = term.value;
        self.value = self.value + term.value;
        self.size = self.size + term.value.abs();
        self.error = self.error + term.error;
    }

    /// Terms that do not round independently.
    #[inline(always)]
    pub(crate) fn repeats(&self) -> N {
        self.repeats + self.window.repeats()
    }
}

/// Sums of the same terms have the same magnitude to this part of it.
const ALIKE: f64 = 1.0 / 1_048_576.0;

impl Total<f64> {
    /// The sum with a part that comes after it. A part like the one before it, as of sequences that are all alike, repeats
    /// in full.
    pub(crate) fn then(self, later: Self) -> Self {
        let before = self.before.unwrap_or(self.size);
        let alike = later.size > 0.0 && (later.size - before).abs() <= ALIKE * before;
        let repeats = if alike { (later.count - later.start) as f64 } else { later.repeats() };
        Self {
            value: self.value + later.value,
            size: self.size + later.size,
            error: self.error + later.error,
            repeats: self.repeats() + repeats,
            window: Window::new(),
            before: Some(later.size),
            count: later.count,
            ..self
        }
    }
}

impl Total<Lanes> {
    /// The sum of one lane.
    pub(crate) fn lane(&self, i: usize) -> Total<f64> {
        let of = |lanes: Lanes| lanes.numbers()[i];
        Total {
            value: of(self.value),
            size: of(self.size),
            error: of(self.error),
            repeats: of(self.repeats()),
            window: Window::new(),
            last: of(self.last),
            before: None,
            start: self.start,
            count: self.count,
        }
    }
}
