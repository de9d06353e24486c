//! Rounded scans and sums in several orders of association, real and complex; what is scanned is left to the
//! simulation.

use super::machine::{Machine, Number};
use super::{Order, Twist};
use crate::pair::Pair;
use crate::plan::Rounding;

/// What a simulated scan carries: a real number, or a complex one by components.
pub(crate) trait Value: Copy + Default {
    /// How many real numbers make one.
    const PARTS: usize;

    /// From its parts: part 0 is the real one.
    fn new(part: impl Fn(usize) -> Number) -> Self;
    fn part(self, part: usize) -> Number;
    fn conj(self) -> Self;
    /// The product, every operation rounded.
    fn times(self, other: Self, by: &Carrier<'_>) -> Self;
    /// The sum.
    fn plus(self, other: Self, by: &Carrier<'_>) -> Self;
    /// `self * state + write` with multiply and add fused.
    fn fused(self, state: Self, write: Self, by: &Carrier<'_>) -> Self;
}

impl Value for Number {
    const PARTS: usize = 1;

    fn new(part: impl Fn(usize) -> Number) -> Self {
        part(0)
    }
    fn part(self, _part: usize) -> Number {
        self
    }
    fn conj(self) -> Self {
        self
    }

    fn times(self, other: Self, by: &Carrier<'_>) -> Self {
        by.machine.round(self.zip(other, |one, two| one * two), by.carry, 1.0)
    }

    fn plus(self, other: Self, by: &Carrier<'_>) -> Self {
        by.machine.add(self, other, by.carry)
    }

    fn fused(self, state: Self, write: Self, by: &Carrier<'_>) -> Self {
        let product = self.zip(state, |a, h| a * h);
        let sum = product.zip(write, |carried, w| carried + w);
        by.machine.limited(sum, by.carry, product.seen.abs())
    }
}

impl Value for Pair<Number> {
    const PARTS: usize = 2;

    fn new(part: impl Fn(usize) -> Number) -> Self {
        Self::new(part(0), part(1))
    }
    fn part(self, part: usize) -> Number {
        if part == 0 { self.re } else { self.im }
    }
    fn conj(self) -> Self {
        Self { im: self.im.map(|im| -im), ..self }
    }

    fn times(self, other: Self, by: &Carrier<'_>) -> Self {
        let cross = by.cross(self.im);
        let re = self.re.times(other.re, by).plus(cross.times(other.im, by), by);
        let im = self.re.times(other.im, by).plus(self.im.times(other.re, by), by);
        Self { re, im }
    }

    fn plus(self, other: Self, by: &Carrier<'_>) -> Self {
        Self { re: self.re.plus(other.re, by), im: self.im.plus(other.im, by) }
    }

    /// Two fused operations for each component: the write goes through two roundings.
    fn fused(self, state: Self, write: Self, by: &Carrier<'_>) -> Self {
        let cross = by.cross(self.im);
        let re = self.re.fused(state.re, cross.fused(state.im, write.re, by), by);
        let im = self.re.fused(state.im, self.im.fused(state.re, write.im, by), by);
        Self { re, im }
    }
}

/// One step of a scan; without a decay the state is discarded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<V = Number> {
    pub(crate) decay: Option<V>,
    pub(crate) write: V,
}

/// A machine that carries in one precision.
pub(crate) struct Carrier<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) carry: Rounding,
    pub(crate) order: Order,
    /// Some faults are faults of the scan itself.
    pub(crate) twist: Option<Twist>,
}

impl Carrier<'_> {
    /// What the imaginary part of a factor is multiplied by to give its share of a real part: `-im`.
    fn cross(&self, im: Number) -> Number {
        if self.twist == Some(Twist::CrossTermAdded) { im } else { im.map(|im| -im) }
    }

    /// All states.
    pub(crate) fn scan<V: Value>(&self, steps: &[Step<V>], initial: V) -> Vec<V> {
        match self.order {
            Order::Serial => self.serial(steps, initial),
            Order::Chunked(size) => self.chunked(steps, initial, size.max(1)),
            Order::Tree => self.tree(steps, initial),
        }
    }

    fn serial<V: Value>(&self, steps: &[Step<V>], mut state: V) -> Vec<V> {
        let next = |step: &Step<V>| {
            state = self.apply(*step, state);
            state
        };
        steps.iter().map(next).collect()
    }

    /// Summaries from the start of each chunk, applied to the state that enters it.
    fn chunked<V: Value>(&self, steps: &[Step<V>], mut state: V, size: usize) -> Vec<V> {
        let mut states = Vec::with_capacity(steps.len());
        for chunk in steps.chunks(size) {
            let forgets = self.twist == Some(Twist::ChunkBorderForgotten) && !states.is_empty();
            let entering = if forgets { V::default() } else { state };
            let mut summary: Option<Step<V>> = None;
            for &step in chunk {
                let whole = summary.map_or(step, |before| self.join(before, step));
                state = self.apply(whole, entering);
                states.push(state);
                summary = Some(whole);
            }
        }
        states
    }

    /// All prefixes by doubling: each pass joins every prefix with the one that ends where it starts.
    fn tree<V: Value>(&self, steps: &[Step<V>], initial: V) -> Vec<V> {
        let mut prefixes = steps.to_vec();
        let mut reach = 1;
        while reach < prefixes.len() {
            for i in (reach..prefixes.len()).rev() {
                prefixes[i] = self.join(prefixes[i - reach], prefixes[i]);
            }
            reach *= 2;
        }
        prefixes.into_iter().map(|prefix| self.apply(prefix, initial)).collect()
    }

    fn apply<V: Value>(&self, step: Step<V>, state: V) -> V {
        let Some(decay) = step.decay else {
            return step.write;
        };
        // A serial kernel fuses; a chunked one may not.
        if self.order == Order::Serial {
            return decay.fused(state, step.write, self);
        }
        decay.times(state, self).plus(step.write, self)
    }

    fn join<V: Value>(&self, first: Step<V>, later: Step<V>) -> Step<V> {
        if self.twist == Some(Twist::CompositionSwapped) {
            return self.then(later, first);
        }
        self.then(first, later)
    }

    fn then<V: Value>(&self, first: Step<V>, later: Step<V>) -> Step<V> {
        let both = first.decay.zip(later.decay);
        let decay = both.map(|(one, two)| one.times(two, self));
        Step { decay, write: self.apply(later, first.write) }
    }

    /// The sum of all terms, arranged like the scan.
    pub(crate) fn sum(&self, terms: &[Number]) -> Number {
        match self.order {
            Order::Serial => self.sum_serially(terms),
            Order::Chunked(size) => {
                let parts: Vec<_> = terms.chunks(size.max(1)).map(|part| self.sum_serially(part)).collect();
                self.sum_serially(&parts)
            }
            Order::Tree => match terms.len() {
                0 | 1 => self.sum_serially(terms),
                n => self.sum(&terms[..n / 2]).plus(self.sum(&terms[n / 2..]), self),
            },
        }
    }

    fn sum_serially(&self, terms: &[Number]) -> Number {
        // The first term is stored, not added to zero: that would round nothing.
        terms.iter().copied().reduce(|sum, term| sum.plus(term, self)).unwrap_or_default()
    }
}
