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
            Order::Chunked(size) => self.grouped(steps, initial, size.max(1), 1),
            Order::Grouped(size, group) => self.grouped(steps, initial, size.max(1), group.max(1)),
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

    /// A state enters a group of chunks, and reaches each chunk through the summary of those before it.
    fn grouped<V: Value>(&self, steps: &[Step<V>], mut state: V, size: usize, group: usize) -> Vec<V> {
        let mut states = Vec::with_capacity(steps.len());
        for part in steps.chunks(size * group) {
            let mut before: Option<Step<V>> = None;
            for chunk in part.chunks(size) {
                let forgets = self.twist == Some(Twist::ChunkBorderForgotten) && !states.is_empty();
                let arriving = before.map_or(state, |before| self.apply(before, state));
                let entering = if forgets { V::default() } else { arriving };
                before = self.chunk(chunk, before, entering, &mut states);
            }
            // A group of one chunk needs no summary: its last state is at hand.
            let last = states.last().copied().unwrap_or_default();
            state = if group == 1 { last } else { before.map_or(state, |before| self.apply(before, state)) };
        }
        states
    }

    /// The states of one chunk, from summaries since its start, and the summary of it and of what came `before`.
    fn chunk<V: Value>(
        &self,
        chunk: &[Step<V>],
        before: Option<Step<V>>,
        entering: V,
        states: &mut Vec<V>,
    ) -> Option<Step<V>> {
        let mut summary: Option<Step<V>> = None;
        for &step in chunk {
            let whole = summary.map_or(step, |earlier| self.join(earlier, step));
            states.push(self.apply(whole, entering));
            summary = Some(whole);
        }
        match (before, summary) {
            (Some(before), Some(summary)) => Some(self.join(before, summary)),
            (before, summary) => summary.or(before),
        }
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
            Order::Chunked(size) => self.sum_serially(&self.sums(terms, size)),
            Order::Grouped(size, group) => self.sum_serially(&self.sums(&self.sums(terms, size), group)),
            Order::Tree => match terms.len() {
                0 | 1 => self.sum_serially(terms),
                n => self.sum(&terms[..n / 2]).plus(self.sum(&terms[n / 2..]), self),
            },
        }
    }

    /// The sums of parts of this size.
    fn sums(&self, terms: &[Number], size: usize) -> Vec<Number> {
        terms.chunks(size.max(1)).map(|part| self.sum_serially(part)).collect()
    }

    fn sum_serially(&self, terms: &[Number]) -> Number {
        // The first term is stored, not added to zero: that would round nothing.
        terms.iter().copied().reduce(|sum, term| sum.plus(term, self)).unwrap_or_default()
    }
}
