//! How far a carried state may be from the true one, after any number of steps and in any order of association; real
//! and complex alike, by magnitudes; values come from the callers.

use crate::near::{Near, overflowing};
use crate::number::Number;
use crate::plan::Rounding;

/// Rounding of a real product, in unit roundoffs.
const K_PRODUCT: f64 = 1.0;
/// Rounding of a complex product, in unit roundoffs of its modulus: `4 / sqrt(3)`. With `a = cos p + i sin p` and `c`
/// likewise, and every product and sum off by `u`, the worst case is `p = q` with
/// `|error|^2 = (2 u cos^2 p)^2 + (2 u sin 2p)^2`, largest at `cos^2 p = 2/3`. (If no operation errs the worst way twice, as
/// with rounding to nearest, it is `sqrt(5)`: Brent, Percival and Zimmermann, Math. Comp. 76, 2007.)
pub(crate) const K_COMPLEX_PRODUCT: f64 = 2.309_401_076_758_503;
/// Rounding of a sum, real or, by components, complex.
const K_SUM: f64 = 1.0;
/// Roundings that a term goes through when a product is added to it: fused, a complex product comes in two parts.
const K_COMPLEX_ENTRY: f64 = 2.0;
/// Underflows of a real step: the product and the sum.
const FLUSHES: f64 = 2.0;
/// Underflows of a complex step: in each component two products, their difference, and the sum with the write.
const COMPLEX_FLUSHES: f64 = 4.0 * std::f64::consts::SQRT_2;

/// The arithmetic of a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carry {
    pub(crate) rounding: Rounding,
    /// Roundings for each step that a term is carried: a chunk summary multiplies decays that a serial scan never
    /// multiplies, and adds states that it never adds.
    step: f64,
    /// Roundings that a term can go through beyond one per step: in a tree the newest term of all goes through one
    /// addition per level, and one more where the initial state comes in. Charged once in a term's life.
    levels: f64,
    /// Underflows in each step.
    flushes: f64,
}

impl Carry {
    pub(crate) fn real(rounding: Rounding, length: usize) -> Self {
        Self { rounding, step: K_PRODUCT + K_SUM, levels: levels(length), flushes: FLUSHES }
    }

    pub(crate) fn complex(rounding: Rounding, length: usize) -> Self {
        // A term is added once for each step that it is carried: that is charged with the size of the state.
        let levels = K_COMPLEX_ENTRY * (levels(length) + 1.0) - K_SUM;
        Self { rounding, step: K_COMPLEX_PRODUCT, levels, flushes: COMPLEX_FLUSHES }
    }
}

/// Levels of a tree over so many steps.
fn levels(length: usize) -> f64 {
    f64::from(length.max(1).next_power_of_two().ilog2())
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
        let Carry { rounding, step, levels, flushes } = carry;
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
            + (N::one() + peak).times(flushes * rounding.underflow);
        let error = overflowing(error, size + error, rounding);
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
