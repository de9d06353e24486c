//! What one channel of a scan carries, a real number or a complex one: reading it, the step, and how far a rounded product
//! of two may be off; the order of the steps is left to [`super::channel`].

use std::ops::{Add, Mul};

use crate::carry::{Carry, K_COMPLEX_PRODUCT, Size};
use crate::near::overflowing;
use crate::number::Number;
use crate::pair::Pair;
use crate::plan::Rounding;

/// Underflows of a complex product: in each component two products and their difference.
pub(crate) const COMPLEX_PRODUCT_FLUSHES: f64 = 3.0 * std::f64::consts::SQRT_2;

/// A real number, or a complex one that stands in a tensor in two halves.
pub(crate) trait Cell<N: Number>: Copy + Add<Output = Self> + Mul<Output = Self> {
    /// How many real numbers make one.
    const PARTS: usize;
    /// Rounding of a product, in unit roundoffs of its modulus.
    const PRODUCT: f64;
    /// Underflows of a product.
    const FLUSHES: f64;

    /// From its parts: part 0 is the real one.
    fn new(part: impl Fn(usize) -> N) -> Self;
    fn part(self, part: usize) -> N;
    fn conj(self) -> Self;
    /// The modulus.
    fn size(self) -> N;
    /// Where it is zero; a NaN is not.
    fn is_zero(self) -> N::Mask;
    /// Itself where `mask` is not set; there, with 0 in the place of what is not finite.
    fn tamed(self, mask: N::Mask) -> Self;
    fn carry(rounding: Rounding, length: usize) -> Carry;

    fn one() -> Self {
        Self::new(|part| N::from_f64(if part == 0 { 1.0 } else { 0.0 }))
    }
}

#[inline(always)]
fn is_zero<N: Number>(size: N) -> N::Mask {
    // Nothing but 0 is below the smallest of all numbers; that no NaN is below anything is the point.
    size.less(N::from_f64(f64::from_bits(1)))
}

#[inline(always)]
fn tamed<N: Number>(number: N, mask: N::Mask) -> N {
    let finite = N::pick(number.abs().less(N::from_f64(f64::INFINITY)), number, N::zero());
    N::pick(mask, finite, number)
}

impl<N: Number> Cell<N> for N {
    const PARTS: usize = 1;
    const PRODUCT: f64 = 1.0;
    const FLUSHES: f64 = 1.0;

    #[inline(always)]
    fn new(part: impl Fn(usize) -> N) -> Self {
        part(0)
    }
    #[inline(always)]
    fn part(self, _part: usize) -> N {
        self
    }
    #[inline(always)]
    fn conj(self) -> Self {
        self
    }
    #[inline(always)]
    fn size(self) -> N {
        self.abs()
    }
    #[inline(always)]
    fn is_zero(self) -> N::Mask {
        is_zero(self.abs())
    }
    #[inline(always)]
    fn tamed(self, mask: N::Mask) -> Self {
        tamed(self, mask)
    }
    #[inline(always)]
    fn carry(rounding: Rounding, length: usize) -> Carry {
        Carry::real(rounding, length)
    }
}

impl<N: Number> Cell<N> for Pair<N> {
    const PARTS: usize = 2;
    const PRODUCT: f64 = K_COMPLEX_PRODUCT;
    const FLUSHES: f64 = COMPLEX_PRODUCT_FLUSHES;

    #[inline(always)]
    fn new(part: impl Fn(usize) -> N) -> Self {
        Pair::new(part(0), part(1))
    }
    #[inline(always)]
    fn part(self, part: usize) -> N {
        if part == 0 { self.re } else { self.im }
    }
    #[inline(always)]
    fn conj(self) -> Self {
        Pair::conj(self)
    }
    #[inline(always)]
    fn size(self) -> N {
        self.modulus()
    }
    #[inline(always)]
    fn is_zero(self) -> N::Mask {
        is_zero(self.re.abs() + self.im.abs())
    }
    #[inline(always)]
    fn tamed(self, mask: N::Mask) -> Self {
        Pair::new(tamed(self.re, mask), tamed(self.im, mask))
    }
    #[inline(always)]
    fn carry(rounding: Rounding, length: usize) -> Carry {
        Carry::complex(rounding, length)
    }
}

/// `A state + w`. A decay of 0 discards what is not finite; what is finite it multiplies, so that the derivative with
/// respect to `A` is there too.
#[inline(always)]
pub(crate) fn step<N: Number, C: Cell<N>>(decay: C, state: C, write: C) -> C {
    decay * state.tamed(decay.is_zero()) + write
}

/// How far a rounded product of two numbers may be off, by modulus.
#[inline(always)]
pub(crate) fn product_error<N: Number, C: Cell<N>>(one: Size<N>, two: Size<N>, rounding: Rounding) -> N {
    let inherited = one.size * two.error + two.size * one.error + one.error * two.error;
    let magnitude = (one.size + one.error) * (two.size + two.error);
    let own = magnitude.times(C::PRODUCT * rounding.unit) + N::from_f64(C::FLUSHES * rounding.underflow);
    overflowing(inherited + own, magnitude, rounding)
}

#[cfg(test)]
mod tests {
    use super::{Cell, step};
    use crate::pair::Pair;

    #[test]
    fn a_zero_decay_discards_by_components() {
        let state = Pair::new(f64::NAN, f64::INFINITY);
        assert_eq!(step(Pair::zero(), state, Pair::new(1.0, 2.0)), Pair::new(1.0, 2.0));
        assert_eq!(step(0.0, f64::NEG_INFINITY, 3.0), 3.0);
    }

    #[test]
    fn a_nan_decay_is_no_reset() {
        assert!(!f64::NAN.is_zero() && !Pair::new(0.0, f64::NAN).is_zero());
        assert!(step(f64::NAN, 1.0, 2.0).is_nan());
        assert!(Pair::<f64>::zero().is_zero() && !f64::from_bits(1).is_zero());
    }
}
