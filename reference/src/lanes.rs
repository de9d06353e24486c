//! Eight doubles side by side, so that neighbouring channels share one stream of instructions; what is computed with
//! them is left to the families.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::number::Number;

/// How many numbers stand side by side.
pub(crate) const LANES: usize = 8;

/// Eight numbers, each as if it were alone: the same bits as eight separate computations.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
pub(crate) struct Lanes(pub(crate) [f64; LANES]);

impl Lanes {
    #[inline(always)]
    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self(self.0.map(f))
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Self(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $op:tt) => {
        impl $trait for Lanes {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                self.zip(other, |a, b| a $op b)
            }
        }
    };
}

operator!(Add, add, +);
operator!(Sub, sub, -);
operator!(Mul, mul, *);
operator!(Div, div, /);

impl Neg for Lanes {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.map(|a| -a)
    }
}

impl Number for Lanes {
    type Mask = [bool; LANES];

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        Self([value; LANES])
    }
    #[inline(always)]
    fn exp(self) -> Self {
        self.map(f64::exp)
    }
    #[inline(always)]
    fn exp_m1(self) -> Self {
        self.map(f64::exp_m1)
    }
    #[inline(always)]
    fn ln_1p(self) -> Self {
        self.map(f64::ln_1p)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(f64::sqrt)
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        (self.map(f64::sin), self.map(f64::cos))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self.map(f64::abs)
    }
    #[inline(always)]
    fn less(self, other: Self) -> [bool; LANES] {
        std::array::from_fn(|i| self.0[i] < other.0[i])
    }
    #[inline(always)]
    fn pick(mask: [bool; LANES], yes: Self, no: Self) -> Self {
        Self(std::array::from_fn(|i| if mask[i] { yes.0[i] } else { no.0[i] }))
    }
    #[inline(always)]
    fn if_less(self, other: Self, yes: Self, no: Self) -> Self {
        Self(std::array::from_fn(|i| if self.0[i] < other.0[i] { yes.0[i] } else { no.0[i] }))
    }
    #[inline(always)]
    fn all_less(self, limit: f64) -> bool {
        self.0.iter().fold(true, |all, &number| all & (number < limit))
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        self.map(f64::tanh)
    }
}
