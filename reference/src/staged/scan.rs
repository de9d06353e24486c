//! Rounded scans and sums in several orders of association; what is scanned is left to the simulation.

use super::Order;
use super::machine::{Machine, Number};
use crate::plan::Rounding;

/// One step of a scan; without a decay the state is discarded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) decay: Option<Number>,
    pub(crate) write: Number,
}

/// A machine that carries in one precision.
pub(crate) struct Carrier<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) carry: Rounding,
    pub(crate) order: Order,
}

impl Carrier<'_> {
    /// All states.
    pub(crate) fn scan(&self, steps: &[Step], initial: Number) -> Vec<Number> {
        match self.order {
            Order::Serial => self.serial(steps, initial),
            Order::Chunked(size) => self.chunked(steps, initial, size.max(1)),
            Order::Tree => self.tree(steps, initial),
        }
    }

    fn serial(&self, steps: &[Step], mut state: Number) -> Vec<Number> {
        let next = |step: &Step| {
            state = self.apply(*step, state);
            state
        };
        steps.iter().map(next).collect()
    }

    /// Summaries from the start of each chunk, applied to the state that enters it.
    fn chunked(&self, steps: &[Step], mut state: Number, size: usize) -> Vec<Number> {
        let mut states = Vec::with_capacity(steps.len());
        for chunk in steps.chunks(size) {
            let entering = state;
            let mut summary: Option<Step> = None;
            for &step in chunk {
                let whole = summary.map_or(step, |before| self.then(before, step));
                state = self.apply(whole, entering);
                states.push(state);
                summary = Some(whole);
            }
        }
        states
    }

    /// All prefixes by doubling: each pass joins every prefix with the one that ends where it starts.
    fn tree(&self, steps: &[Step], initial: Number) -> Vec<Number> {
        let mut prefixes = steps.to_vec();
        let mut reach = 1;
        while reach < prefixes.len() {
            for i in (reach..prefixes.len()).rev() {
                prefixes[i] = self.then(prefixes[i - reach], prefixes[i]);
            }
            reach *= 2;
        }
        prefixes.into_iter().map(|prefix| self.apply(prefix, initial)).collect()
    }

    fn apply(&self, step: Step, state: Number) -> Number {
        let Some(decay) = step.decay else {
            return step.write;
        };
        let product = decay.zip(state, |a, h| a * h);
        // A serial kernel fuses; a chunked one may not.
        if self.order == Order::Serial {
            let sum = product.zip(step.write, |carried, w| carried + w);
            return self.machine.limited(sum, self.carry, product.seen.abs());
        }
        self.machine.add(self.round(product), step.write, self.carry)
    }

    fn then(&self, first: Step, later: Step) -> Step {
        let both = first.decay.zip(later.decay);
        let decay = both.map(|(one, two)| self.round(one.zip(two, |one, two| one * two)));
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
                n => self.add(self.sum(&terms[..n / 2]), self.sum(&terms[n / 2..])),
            },
        }
    }

    fn sum_serially(&self, terms: &[Number]) -> Number {
        // The first term is stored, not added to zero: that would round nothing.
        terms.iter().copied().reduce(|sum, term| self.add(sum, term)).unwrap_or_default()
    }

    fn add(&self, one: Number, two: Number) -> Number {
        self.machine.add(one, two, self.carry)
    }

    fn round(&self, result: Number) -> Number {
        self.machine.round(result, self.carry, 1.0)
    }
}
