//! Complex numbers over any [`Number`]: the arithmetic that the complex families share; how such numbers are laid out
//! in tensors is left to the families.

use std::ops::{Add, Mul, Neg, Sub};

use crate::number::Number;

/// `re + i im`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pair<N> {
    /// The real part.
    pub re: N,
    /// The imaginary part.
    pub im: N,
}

impl<N> Pair<N> {
    /// `re + i im`.
    pub const fn new(re: N, im: N) -> Self {
        Self { re, im }
    }
}

impl<N: Number> Pair<N> {
    /// A real number.
    #[must_use]
    #[inline(always)]
    pub fn real(re: N) -> Self {
        Self { re, im: N::zero() }
    }

    /// Zero.
    #[must_use]
    #[inline(always)]
    pub fn zero() -> Self {
        Self::real(N::zero())
    }

    /// `radius exp(i phase)`, the phase in radians.
    #[must_use]
    #[inline(always)]
    pub fn polar(radius: N, phase: N) -> Self {
        let (sin, cos) = phase.sin_cos();
        Self { re: radius * cos, im: radius * sin }
    }

    /// The complex conjugate.
    #[must_use]
    #[inline(always)]
    pub fn conj(self) -> Self {
        Self { re: self.re, im: -self.im }
    }

    /// The product with a real number.
    #[must_use]
    #[inline(always)]
    pub fn scaled(self, factor: N) -> Self {
        Self { re: self.re * factor, im: self.im * factor }
    }

    /// The modulus; the squares of large and small numbers are avoided, as they leave the range.
    #[must_use]
    #[inline(always)]
    pub fn modulus(self) -> N {
        let (re, im, zero) = (self.re.abs(), self.im.abs(), N::zero());
        let swap = re.less(im);
        let (large, small) = (N::pick(swap, im, re), N::pick(swap, re, im));
        let ratio = small / large;
        let modulus = large * (N::one() + ratio * ratio).sqrt();
        // Also where `large` is NaN.
        N::pick(zero.less(large), modulus, re + im)
    }

    /// `Re(conj(self) other)`: the inner product of the plane.
    #[must_use]
    #[inline(always)]
    pub fn dot(self, other: Self) -> N {
        self.re * other.re + self.im * other.im
    }
}

impl<N: Number> Add for Pair<N> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}

impl<N: Number> Sub for Pair<N> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self { re: self.re - other.re, im: self.im - other.im }
    }
}

impl<N: Number> Mul for Pair<N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

impl<N: Number> Neg for Pair<N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self { re: -self.re, im: -self.im }
    }
}

#[cfg(test)]
mod tests {
    use super::Pair;

    #[test]
    fn the_square_of_i_is_minus_one() {
        let i = Pair::new(0.0, 1.0);
        assert_eq!(i * i, Pair::new(-1.0, 0.0));
        assert_eq!(i.conj(), -i);
    }

    #[test]
    fn a_modulus_neither_overflows_nor_underflows() {
        assert_eq!(Pair::new(3.0, -4.0).modulus(), 5.0);
        for scale in [1e200, 1e-200] {
            assert!((Pair::new(3.0 * scale, 4.0 * scale).modulus() / (5.0 * scale) - 1.0).abs() < 1e-15);
        }
        assert_eq!(Pair::<f64>::zero().modulus(), 0.0);
        assert!(Pair::new(0.0, f64::NAN).modulus().is_nan() && Pair::new(f64::NAN, 1.0).modulus().is_nan());
    }

    #[test]
    fn a_quarter_turn_is_i() {
        let turned = Pair::polar(2.0, std::f64::consts::FRAC_PI_2);
        assert!((turned - Pair::new(0.0, 2.0)).modulus() < 1e-15);
    }

    #[test]
    fn the_inner_product_is_the_real_part_of_a_product() {
        let (a, b) = (Pair::new(1.0, 2.0), Pair::new(-3.0, 5.0));
        assert_eq!(a.dot(b), (a.conj() * b).re);
    }
}
