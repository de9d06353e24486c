//! How far a carried state may be from the true one, after any number of steps and in any order of association; real
//! and complex alike, by magnitudes; values come from the callers.

use crate::near::{Near, overflowing};
use crate::number::Number;
use crate::plan::Rounding;

/// Rounding of a real product, in unit roundoffs.
const K_PRODUCT: f64 = 1.0;
/// Rounding of a complex product, in unit roundoffs of its modulus: `sqrt(5)` is the sharp bound for the product of two
/// sums of two products (Brent, Percival and Zimmermann, Math. Comp. 76, 2007).
const K_COMPLEX_PRODUCT: f64 = 2.236_067_977_499_79;
/// Rounding of a sum, real or, by components, complex.
const K_SUM: f64 = 1.0;

/// The arithmetic of a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carry {
    pub(crate) rounding: Rounding,
    /// Roundings for each step that a term is carried: a chunk summary multiplies decays that a serial scan never
    /// multiplies, and adds states that it never adds.
    step: f64,
    /// Sums that a term can go through beyond one per step: in a tree the newest term of all goes through one
    /// addition per level, and one more where the initial state comes in. Charged once in a term's life.
    levels: f64,
}

impl Carry {
    pub(crate) fn real(rounding: Rounding, length: usize) -> Self {
        Self::new(rounding, length, K_PRODUCT)
    }

    pub(crate) fn complex(rounding: Rounding, length: usize) -> Self {
        Self::new(rounding, length, K_COMPLEX_PRODUCT)
    }

    fn new(rounding: Rounding, length: usize, product: f64) -> Self {
        let levels = f64::from(length.max(1).next_power_of_two().ilog2());
        Self { rounding, step: product + K_SUM, levels }
    }
}

/// The magnitude of a rounded factor or term, and how far it may be off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size<N> {
    pub(crate) size: N,
    pub(crate) error: N,
}

/// What is known of a state that is carried, in either direction, besides its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried<N> {
    /// `S`: the recurrence of magnitudes, those of the rounded `A` and `w`. It, not `|h|`, scales the
    /// roundings of the scan, so that the bound holds for every order of association.
    pub(crate) size: N,
    /// `E`.
    pub(crate) error: N,
    /// The part of `E` that the errors of `A` and `w` make, without the roundings of the scan. An exact
    /// recurrence carries it, whatever the order: what one step adds reaches all later states alike.
    pub(crate) given: N,
    /// What this step adds to that: `given_t <= |A_t| given_{t-1} + local`, with the true decay.
    pub(crate) local: N,
    /// The largest `size` since the last reset: a chunk's product of decays may underflow, and what it
    /// loses is relative to the state at the start of the chunk.
    peak: N,
}

impl<N: Number> Carried<N> {
    /// A state that is an input, of this magnitude.
    #[inline(always)]
    pub(crate) fn exact(size: N) -> Self {
        let zero = N::zero();
        Self { size, error: zero, given: zero, local: zero, peak: size }
    }

    /// The state after a reset: only what is written, nothing carried.
    #[inline(always)]
    pub(crate) fn written(write: Size<N>, carry: Carry) -> Self {
        let Size { size, error: given } = write;
        let error = given + size.times(carry.levels * carry.rounding.unit);
        let error = overflowing(error, size, carry.rounding);
        Self { size, error, given, local: given, peak: size }
    }

    /// `A state + w`, for a true state of magnitude `state`.
    #[inline(always)]
    pub(crate) fn step(self, state: N, decay: Size<N>, write: Size<N>, carry: Carry) -> Self {
        let Carry { rounding, step, levels } = carry;
        let rate = decay.size + decay.error;
        let kept = rate * self.size;
        let size = kept + write.size + write.error;
        let peak = N::pick(self.peak.less(size), size, self.peak);
        // What the errors of `A` and `w` do does not depend on the order, so the state itself scales it; what
        // the scan rounds does, so the magnitudes scale it. `grown` counts roundings of what is already in
        // error: they matter if the carry is bf16.
        let grown = 1.0 + step * rounding.unit;
        let passed_on = decay.error * state + write.error;
        let local = passed_on + decay.error * self.given;
        let inherited = (rate * self.error + passed_on).times(grown);
        let once = (size + inherited).times(K_SUM) + write.size.times(levels * grown);
        let error = inherited
            + (kept.times(step) + once).times(rounding.unit)
            + (N::one() + peak).times(step * rounding.underflow);
        let error = overflowing(error, size, rounding);
        Self { size, error, given: decay.size * self.given + local, local, peak }
    }
}

/// A real state that is carried, in either direction: its value and what bounds its error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State<N> {
    /// `h` or `lambda`.
    pub(crate) value: N,
    pub(crate) bound: Carried<N>,
}

impl<N: Number> State<N> {
    /// A state that is an input.
    #[inline(always)]
    pub(crate) fn exact(value: N) -> Self {
        Self { value, bound: Carried::exact(value.abs()) }
    }

    /// The state after a reset.
    #[inline(always)]
    pub(crate) fn written(write: Near<N>, carry: Carry) -> Self {
        Self { value: write.value, bound: Carried::written(size(write), carry) }
    }

    /// `A state + w`.
    #[inline(always)]
    pub(crate) fn step(self, decay: Near<N>, write: Near<N>, carry: Carry) -> Self {
        let bound = self.bound.step(self.value.abs(), size(decay), size(write), carry);
        Self { value: decay.value * self.value + write.value, bound }
    }

    /// The state as a number with an error.
    #[inline(always)]
    pub(crate) fn near(self) -> Near<N> {
        Near { value: self.value, error: self.bound.error }
    }
}

#[inline(always)]
fn size<N: Number>(near: Near<N>) -> Size<N> {
    Size { size: near.value.abs(), error: near.error }
}
