//! The numbers over which a forward pass is written once: double precision here, and in the tests dual numbers and
//! octuple precision; error bounds and roundings are left to [`crate::near`] and [`crate::staged`].

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A real number, or several side by side, with the functions that the recurrences need.
///
/// Branches are written with [`Number::less`] and [`Number::pick`], so that several numbers at once can take different
/// ones; both sides of a branch are computed.
pub trait Number:
    Copy
    + Debug
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// The answer to a comparison.
    type Mask: Copy;

    /// The number nearest to an f64; exact for every type of at least that precision.
    #[must_use]
    fn from_f64(value: f64) -> Self;
    /// `exp(self)`.
    #[must_use]
    fn exp(self) -> Self;
    /// `exp(self) - 1`, without cancellation near 0.
    #[must_use]
    fn exp_m1(self) -> Self;
    /// `exp(self)` and `1 - exp(2 self)`, the latter without cancellation near 0.
    #[must_use]
    fn decay(self) -> (Self, Self) {
        (self.exp(), -(self + self).exp_m1())
    }
    /// `log(1 + self)`, without cancellation near 0.
    #[must_use]
    fn ln_1p(self) -> Self;
    /// The square root.
    #[must_use]
    fn sqrt(self) -> Self;
    /// Sine and cosine.
    #[must_use]
    fn sin_cos(self) -> (Self, Self);
    /// The magnitude.
    #[must_use]
    fn abs(self) -> Self;
    /// Where `self < other`.
    #[must_use]
    fn less(self, other: Self) -> Self::Mask;
    /// `yes` where the mask is set, else `no`.
    #[must_use]
    fn pick(mask: Self::Mask, yes: Self, no: Self) -> Self;

    /// `yes` where `self < other`, else `no` (also where one of them is NaN).
    #[must_use]
    fn if_less(self, other: Self, yes: Self, no: Self) -> Self {
        Self::pick(self.less(other), yes, no)
    }

    /// Whether every one of the numbers is less than a limit.
    #[must_use]
    fn all_less(self, limit: f64) -> bool;

    /// The square root of `z` whose *derivative* is `1 / sqrt(max(4 z, 1e-6))` (official code of the Griffin paper,
    /// arXiv 2402.19427): only a number that carries a derivative tells it from [`Number::sqrt`].
    #[must_use]
    fn clipped_sqrt(self) -> Self {
        self.sqrt()
    }

    /// The hyperbolic tangent; the exponential is only taken of `-2 |self|`, so nothing overflows.
    #[must_use]
    fn tanh(self) -> Self {
        let size = self.abs();
        let less = (-(size + size)).exp_m1();
        let tanh = -less / (Self::from_f64(2.0) + less);
        Self::pick(self.less(Self::from_f64(0.0)), -tanh, tanh)
    }

    /// Zero.
    #[must_use]
    fn zero() -> Self {
        Self::from_f64(0.0)
    }

    /// One.
    #[must_use]
    fn one() -> Self {
        Self::from_f64(1.0)
    }

    /// The product with a constant.
    #[must_use]
    fn times(self, factor: f64) -> Self {
        self * Self::from_f64(factor)
    }
}

/// What a forward pass returns, in the numbers it was run with: both row-major, in the shapes that
/// [`crate::Quantity`] states.
#[derive(Clone, Debug)]
pub struct Outputs<N> {
    /// Output `y`, `[B, L, W]`.
    pub y: Vec<N>,
    /// Final state, `[B, W]`.
    pub last: Vec<N>,
}

impl Number for f64 {
    type Mask = bool;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn exp(self) -> Self {
        f64::exp(self)
    }
    #[inline(always)]
    fn exp_m1(self) -> Self {
        f64::exp_m1(self)
    }
    #[inline(always)]
    fn ln_1p(self) -> Self {
        f64::ln_1p(self)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        f64::sin_cos(self)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        f64::abs(self)
    }
    #[inline(always)]
    fn less(self, other: Self) -> bool {
        self < other
    }
    #[inline(always)]
    fn pick(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
    #[inline(always)]
    fn all_less(self, limit: f64) -> bool {
        self < limit
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        f64::tanh(self)
    }
}
