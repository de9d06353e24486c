//! A complex number and how far the kernel's one may be off, by modulus: the arithmetic of the bounds; which operations
//! a kernel performs is left to [`super::envelope`] and [`super::backward`].

use crate::carry::{K_COMPLEX_PRODUCT, Size};
use crate::near::{Near, overflowing};
use crate::pair::Pair;
use crate::plan::{Rounding, RoundingPlan};

/// Underflow of a complex product, in units: each component loses up to one in each of two products and one in their
/// sum, and a modulus is `sqrt(2)` components.
const K_PRODUCT_UNDERFLOW: f64 = 3.0 * std::f64::consts::SQRT_2;
/// Underflow of a complex number that is scaled or stored by components.
const K_PARTS_UNDERFLOW: f64 = std::f64::consts::SQRT_2;
/// Roundings of each term of an inner product besides those of long sums: its product and one addition.
const K_DOT: f64 = 2.0;
/// Underflows of an inner product of the plane: two products.
const K_DOT_UNDERFLOW: f64 = 2.0;

/// A complex number and the largest distance of the kernel's one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disc {
    pub(crate) value: Pair<f64>,
    pub(crate) error: f64,
}

impl Disc {
    pub(crate) fn exact(value: Pair<f64>) -> Self {
        Self { value, error: 0.0 }
    }

    pub(crate) fn size(self) -> Size<f64> {
        Size { size: self.value.modulus(), error: self.error }
    }

    pub(crate) fn re(self) -> Near {
        Near { value: self.value.re, error: self.error }
    }

    pub(crate) fn im(self) -> Near {
        Near { value: self.value.im, error: self.error }
    }

    pub(crate) fn conj(self) -> Self {
        Self { value: self.value.conj(), ..self }
    }

    /// Both components stored in another format.
    pub(crate) fn rounded(self, rounding: Rounding) -> Self {
        let magnitude = self.value.modulus() + self.error;
        let error = self.error + magnitude * rounding.unit + K_PARTS_UNDERFLOW * rounding.underflow;
        Self { error: overflowing(error, magnitude, rounding), ..self }
    }

    /// The number as it is after the boundary between gates and scan, if the plan has one.
    pub(crate) fn at_boundary(self, plan: &RoundingPlan) -> Self {
        plan.boundary.map_or(self, |rounding| self.rounded(rounding))
    }

    /// The product with a real number, by components. A component that is exactly zero stays it.
    pub(crate) fn scaled(self, factor: Near, rounding: Rounding) -> Self {
        let value = self.value.scaled(factor.value);
        let size = self.value.modulus();
        if size == 0.0 && self.error == 0.0 && factor.error < f64::INFINITY {
            return Self { value, error: 0.0 };
        }
        let inherited = self.error * (factor.value.abs() + factor.error) + size * factor.error;
        Self { value, error: inherited }.rounded(rounding)
    }

    /// The product, rounded as one complex product.
    pub(crate) fn times(self, other: Self, rounding: Rounding) -> Self {
        let (one, two) = (self.size(), other.size());
        let inherited = one.error * (two.size + two.error) + one.size * two.error;
        let magnitude = (one.size + one.error) * (two.size + two.error);
        let rounded = K_COMPLEX_PRODUCT * rounding.unit * magnitude;
        let error = inherited + rounded + K_PRODUCT_UNDERFLOW * rounding.underflow;
        Self { value: self.value * other.value, error: overflowing(error, magnitude, rounding) }
    }

    /// The inner product with an exact number, `Re(conj(self) other)`; the error of a component is no more than that of
    /// the whole.
    pub(crate) fn dot(self, other: Pair<f64>, rounding: Rounding) -> Near {
        let (re, im) = (self.value.re * other.re, self.value.im * other.im);
        let inherited = self.error * other.modulus();
        let magnitude = re.abs() + im.abs() + inherited;
        let rounded = K_DOT * rounding.unit * magnitude + K_DOT_UNDERFLOW * rounding.underflow;
        Near { value: re + im, error: overflowing(inherited + rounded, magnitude, rounding) }
    }
}
