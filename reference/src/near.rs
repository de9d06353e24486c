//! A number together with a bound on the error of the kernel's version of it: the arithmetic in which the
//! envelopes are written; which operations a kernel performs is left to the families.

use crate::number::Number;
use crate::plan::Rounding;

/// A true value and the largest error of the rounded one.
///
/// All errors are absolute: a saturated gate has a relative error without meaning, and underflow has no
/// relative error at all. Products keep the terms of second order, so nothing is lost to "first order".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near<N = f64> {
    /// The true value.
    pub value: N,
    /// Largest distance of the kernel's value from it; NaN where the value is not finite.
    pub error: N,
}

/// Slack for what the bounds leave out: products of underflows with roundings, some f32 roundings compounded, and the f64
/// error of value and bound themselves. 0.1 % is far above all of them and far below any use.
pub const SLACK: f64 = 1.0 + 1.0 / 1024.0;

impl<N: Number> Near<N> {
    /// A number that is known without error.
    #[must_use]
    #[inline(always)]
    pub fn exact(value: N) -> Self {
        Self { value, error: N::zero() }
    }

    /// The same value with one more rounding.
    #[must_use]
    #[inline(always)]
    pub fn rounded(self, rounding: Rounding) -> Self {
        let magnitude = self.value.abs() + self.error;
        let error = self.error + magnitude.times(rounding.unit) + N::from_f64(rounding.underflow);
        Self { value: self.value, error: overflowing(error, magnitude, rounding) }
    }

    /// The product with a power of two, which rounds nothing.
    #[must_use]
    #[inline(always)]
    pub fn scaled(self, power_of_two: f64) -> Self {
        Self { value: self.value.times(power_of_two), error: self.error.times(power_of_two.abs()) }
    }

    /// `self - other`, rounded once. The rounding is charged on the magnitudes added: the two terms may be
    /// formed and joined in other ways (fused, or term by term into a sum).
    #[must_use]
    #[inline(always)]
    pub fn minus(self, other: Self, rounding: Rounding) -> Self {
        let inherited = self.error + other.error;
        let magnitude = self.value.abs() + other.value.abs() + inherited;
        let error = inherited + magnitude.times(rounding.unit);
        Self { value: self.value - other.value, error: overflowing(error, magnitude, rounding) }
    }

    /// The envelope as handed out: with slack, and infinite where no bound exists.
    #[must_use]
    #[inline(always)]
    pub fn envelope(self) -> N {
        let infinity = N::from_f64(f64::INFINITY);
        // False for NaN.
        N::pick(self.error.less(infinity), self.error.times(SLACK), infinity)
    }
}

/// The product of `K` factors in whatever order a kernel multiplies them.
///
/// `K - 1` roundings relative to the result. Underflow and overflow depend on the order: a partial product
/// that underflows is multiplied by the remaining factors, and a partial product may overflow although the
/// result does not. Both are bounded by the product of all factors above 1.
#[must_use]
#[inline(always)]
pub fn product<N: Number, const K: usize>(factors: [Near<N>; K], rounding: Rounding) -> Near<N> {
    product_of(factors, K, rounding)
}

/// The same for factors that do not stand in one array, `count` of them.
#[inline(always)]
pub(crate) fn product_of<N: Number>(
    factors: impl IntoIterator<Item = Near<N>>,
    count: usize,
    rounding: Rounding,
) -> Near<N> {
    let one = N::one();
    // A NaN counts as 1 here; it is in the error.
    let at_least_one = |magnitude: N| one.if_less(magnitude, magnitude, one);
    let mut factors = factors.into_iter();
    let Near { mut value, mut error } = factors.next().unwrap_or(Near::exact(one));
    let mut large = at_least_one(value.abs() + error);
    for factor in factors {
        let magnitude = factor.value.abs() + factor.error;
        error = error * magnitude + value.abs() * factor.error;
        value = value * factor.value;
        large = large * at_least_one(magnitude);
    }
    let roundings = (count - 1) as f64;
    let error = error
        + (value.abs() + error).times(compounded(roundings * rounding.unit))
        + large.times(roundings * rounding.underflow);
    Near { value, error: overflowing(error, large, rounding) }
}

/// `(1 + u)^k - 1` for `k u <= 1`, from above: what `k` roundings one after the other can do. `exp(t) - 1 <= t + t^2` there.
#[inline(always)]
pub(crate) fn compounded(units: f64) -> f64 {
    units * (1.0 + units)
}

/// Roundings, at most, by which what has the magnitude of a bound may still grow: the factors of a product.
const LAST_ROUNDINGS: f64 = 8.0;

/// `error`, or infinity where `magnitude` may overflow: it need not be beyond the largest number, if a rounding can take it
/// there.
#[inline(always)]
pub(crate) fn overflowing<N: Number>(error: N, magnitude: N, rounding: Rounding) -> N {
    let largest = rounding.overflow * (1.0 - LAST_ROUNDINGS * rounding.unit);
    N::pick(N::from_f64(largest).less(magnitude), N::from_f64(f64::INFINITY), error)
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "powers of two, and sums of them that are exact")]
mod tests {
    use super::{Near, product};
    use crate::plan::Rounding;

    #[test]
    fn a_product_keeps_the_second_order() {
        let a = Near { value: 2.0, error: 0.5 };
        let b = Near { value: -4.0, error: 1.0 };
        let p = product([a, b], Rounding::EXACT);
        assert_eq!((p.value, p.error), (-8.0, 2.5 * 5.0 - 8.0));
    }

    #[test]
    fn a_partial_product_may_underflow_before_it_grows() {
        let p = product([Near::exact(1e-30), Near::exact(1e-20), Near::exact(1e30)], Rounding::F32);
        assert!(p.error > 1e30 * f64::from(f32::MIN_POSITIVE));
    }

    #[test]
    fn a_partial_product_may_overflow_before_it_shrinks() {
        let p = product([Near::exact(1e30), Near::exact(1e20), Near::exact(1e-30)], Rounding::F32);
        assert_eq!(p.envelope(), f64::INFINITY);
    }

    #[test]
    fn a_rounding_may_take_a_number_over_the_edge() {
        assert_eq!(Near::exact(65500.0).rounded(Rounding::F16).envelope(), f64::INFINITY);
        assert!(Near::exact(65000.0).rounded(Rounding::F16).envelope() < 40.0);
    }

    #[test]
    fn no_bound_is_an_infinite_envelope() {
        assert_eq!(Near { value: 1.0, error: f64::NAN }.envelope(), f64::INFINITY);
    }
}
