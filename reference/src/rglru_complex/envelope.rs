//! How far each rounded complex quantity may be from the true one: discs around the true values, and the constants of their
//! radii; the real gates are bounded in [`crate::rglru`].

use std::f64::consts::SQRT_2;

use super::arithmetic::Complex;
use crate::carry::{Carried, Carry, Size};
use crate::near::{Near, overflowing, product_of};
use crate::number::Number;
use crate::pair::Pair;
use crate::plan::{Rounding, RoundingPlan};
use crate::rglru::arithmetic::Arithmetic;
use crate::rglru::envelope::Bounds;
use crate::scan::cell::product_error;
use crate::sums::{Told, Total};

/// Roundings of the phase `a_imag r`: one product.
const K_PHASE: f64 = 1.0;
/// Roundings of a decay besides its radius, sine and cosine: the product of radius and either.
const K_TURN: f64 = 1.0;
/// Roundings of an inner product, in units of the product of moduli: two products, and their sum.
const K_DOT: f64 = 2.0;
/// Underflows of an inner product: two products, and their sum.
const DOT_FLUSHES: f64 = 3.0;

/// A complex number and the largest distance, in the plane, of the rounded one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disc<N> {
    value: Pair<N>,
    error: N,
}

impl<N: Number> Disc<N> {
    #[inline(always)]
    fn size(self) -> Size<N> {
        Size { size: self.value.modulus(), error: self.error }
    }

    /// With one more rounding of each component.
    #[inline(always)]
    fn rounded(self, rounding: Rounding) -> Self {
        let modulus = Near { value: self.value.modulus(), error: self.error };
        Self { error: modulus.rounded(by_components(rounding)).error, ..self }
    }
}

/// The rounding of a modulus where both components are rounded: relative to each is relative to the modulus, but each may
/// underflow.
#[inline(always)]
fn by_components(rounding: Rounding) -> Rounding {
    Rounding { underflow: SQRT_2 * rounding.underflow, ..rounding }
}

/// A state that is carried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State<N> {
    value: Pair<N>,
    bound: Carried<N>,
}

/// Values with the error bounds of a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Discs<'a, N> {
    plan: &'a RoundingPlan,
    real: Bounds<'a, N>,
    carry: Carry,
}

impl<'a, N> Discs<'a, N> {
    /// For sequences of `length` tokens; `gates` is the plan without a boundary.
    pub(crate) fn new(plan: &'a RoundingPlan, gates: &'a RoundingPlan, length: usize) -> Self {
        Self { plan, real: Bounds::new(gates, length), carry: Carry::complex(plan.carry, length) }
    }
}

impl<'a, N: Told> Complex for Discs<'a, N> {
    type Real = Bounds<'a, N>;
    type Plane = Disc<N>;
    type State = State<N>;
    type Sum = Total<N>;

    #[inline(always)]
    fn real(self) -> Bounds<'a, N> {
        self.real
    }

    #[inline(always)]
    fn exact(self, value: Pair<N>) -> Disc<N> {
        Disc { value, error: N::zero() }
    }

    #[inline(always)]
    fn parts(self, plane: Disc<N>) -> [Near<N>; 2] {
        [plane.value.re, plane.value.im].map(|value| Near { value, error: plane.error })
    }

    #[inline(always)]
    fn conj(self, plane: Disc<N>) -> Disc<N> {
        Disc { value: plane.value.conj(), ..plane }
    }

    /// An error of the radius and one of the phase are at right angles, and the latter moves the decay by no more than the
    /// arc and no more than the diameter: `|p exp(i b) - q exp(i c)|^2 = (p - q)^2 + p q |exp(i b) - exp(i c)|^2`.
    ///
    /// Sine and cosine are relatively accurate library functions; what [`RoundingPlan::depth`] adds for each unit of the
    /// argument is absolute, and in both.
    #[inline(always)]
    fn turned(self, radius: Near<N>, r: Near<N>, a_imag: N) -> Disc<N> {
        let Rounding { unit, underflow, .. } = self.plan.decay;
        let (rate, phase) = (a_imag.abs(), a_imag * r.value);
        let off = rate * r.error + (phase.abs() + rate * r.error).times(K_PHASE * unit);
        let off = off + N::from_f64(underflow);
        let two = N::from_f64(2.0);
        let off = two.if_less(off, two, off);
        let functions =
            phase.abs().times(SQRT_2 * self.plan.depth) + N::from_f64(self.plan.function + K_TURN);
        let outer = radius.value + radius.error;
        let moved = Pair::new(radius.error, outer * off).modulus();
        // A function and then a product: roundings of roundings count too.
        let own = functions.times(unit);
        let own = outer * own * (N::one() + own) + (N::one() + outer).times(SQRT_2 * underflow);
        Disc { value: Pair::polar(radius.value, phase), error: moved + own }
    }

    #[inline(always)]
    fn weighted<const K: usize>(self, value: Pair<N>, factors: [Near<N>; K]) -> Disc<N> {
        let rounding = by_components(self.plan.products);
        let all = std::iter::once(Near::exact(value.modulus())).chain(factors);
        let near = product_of(all, K + 1, rounding);
        let weighted = factors.into_iter().fold(value, |value, factor| value.scaled(factor.value));
        Disc { value: weighted, error: near.error }
    }

    #[inline(always)]
    fn times(self, one: Disc<N>, two: Disc<N>) -> Disc<N> {
        let error = product_error::<N, Pair<N>>(one.size(), two.size(), self.plan.products);
        Disc { value: one.value * two.value, error }
    }

    /// The roundings are charged on the moduli: the two terms may be multiplied by the factors before they are added.
    #[inline(always)]
    fn dot<const K: usize>(self, one: Disc<N>, two: Pair<N>, factors: [Near<N>; K]) -> Near<N> {
        let (rounding, other) = (self.plan.products, two.modulus());
        let (size, inherited) = (one.value.modulus() * other, one.error * other);
        let own = (size + inherited).times(K_DOT * rounding.unit);
        let error = inherited + own + N::from_f64(DOT_FLUSHES * rounding.underflow);
        let moduli = Near { value: size, error: overflowing(error, size + inherited, rounding) };
        let twice = Rounding { underflow: 2.0 * rounding.underflow, ..rounding };
        let near = product_of(std::iter::once(moduli).chain(factors), K + 1, twice);
        let value = factors.into_iter().fold(one.value.dot(two), |value, factor| value * factor.value);
        Near { value, error: near.error }
    }

    #[inline(always)]
    fn at_boundary(self, plane: Disc<N>) -> Disc<N> {
        self.plan.boundary.map_or(plane, |rounding| plane.rounded(rounding))
    }

    #[inline(always)]
    fn initial(self, value: Pair<N>) -> State<N> {
        State { value, bound: Carried::exact(value.modulus()) }
    }

    #[inline(always)]
    fn written(self, write: Disc<N>) -> State<N> {
        State { value: write.value, bound: Carried::written(write.size(), self.carry) }
    }

    #[inline(always)]
    fn step(self, state: State<N>, decay: Disc<N>, write: Disc<N>) -> State<N> {
        let bound = state.bound.step(state.value.modulus(), decay.size(), write.size(), self.carry);
        State { value: decay.value * state.value + write.value, bound }
    }

    /// Kernels may take it as a step with a decay of 1 all the same.
    #[inline(always)]
    fn joined(self, state: State<N>, write: Disc<N>) -> State<N> {
        let one = self.exact(Pair::real(N::one()));
        State { value: state.value + write.value, ..self.step(state, one, write) }
    }

    #[inline(always)]
    fn read(self, state: State<N>) -> Disc<N> {
        Disc { value: state.value, error: state.bound.error }
    }

    #[inline(always)]
    fn saved(self, state: State<N>) -> Disc<N> {
        let (state, saved) = (self.read(state), self.plan.saved);
        if saved.unit > 0.0 { state.rounded(saved) } else { state }
    }

    #[inline(always)]
    fn first(self, lambda: State<N>, decay: Disc<N>) -> Disc<N> {
        let lambda = self.read(lambda);
        let error = product_error::<N, Pair<N>>(lambda.size(), decay.size(), self.plan.carry);
        Disc { value: decay.value.conj() * lambda.value, error }
    }

    #[inline(always)]
    fn sum(self, count: usize) -> Total<N> {
        Total::after(count)
    }

    #[inline(always)]
    fn add(self, sum: &mut Total<N>, one: Near<N>, two: Near<N>) {
        sum.add(self.real.product([one, two]), self.plan.reduce.rounding);
    }
}
