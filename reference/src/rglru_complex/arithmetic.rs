//! What the complex recurrence asks of its numbers beyond the arithmetic of its real gates, so that both passes are written
//! once: over plain values of any type, or over values with error bounds (in [`super::envelope`]).

use crate::number::Number;
use crate::pair::Pair;
use crate::rglru::arithmetic::{Arithmetic, Plain};

/// The values of an arithmetic.
pub(crate) type Value<A> = <<A as Complex>::Real as Arithmetic>::Value;
/// The real numbers of an arithmetic.
pub(crate) type Term<A> = <<A as Complex>::Real as Arithmetic>::Term;

/// The arithmetic of the complex recurrence.
pub(crate) trait Complex: Copy + Send + Sync {
    /// The arithmetic of the gates, without a boundary: what passes one here is complex.
    type Real: Arithmetic;
    /// A complex number: a value, and what is known of its error.
    type Plane: Copy + Send;
    /// A carried state.
    type State: Copy + Send;
    /// A sum over batch and length in the making.
    type Sum: Copy + Send;

    fn real(self) -> Self::Real;

    /// A number without error.
    fn exact(self, value: Pair<Value<Self>>) -> Self::Plane;
    /// Real and imaginary part.
    fn parts(self, plane: Self::Plane) -> [Term<Self>; 2];
    /// The complex conjugate.
    fn conj(self, plane: Self::Plane) -> Self::Plane;
    /// The decay: `radius exp(i a_imag r)`.
    fn turned(self, radius: Term<Self>, r: Term<Self>, a_imag: Value<Self>) -> Self::Plane;
    /// The product with real numbers, in any order.
    fn weighted<const K: usize>(self, value: Pair<Value<Self>>, factors: [Term<Self>; K]) -> Self::Plane;
    /// The product of two complex numbers.
    fn times(self, one: Self::Plane, two: Self::Plane) -> Self::Plane;
    /// `Re(conj(one) two)` times real numbers, in any order.
    fn dot<const K: usize>(
        self,
        one: Self::Plane,
        two: Pair<Value<Self>>,
        factors: [Term<Self>; K],
    ) -> Term<Self>;
    /// The number as it is after the boundary between gates and scan, if there is one.
    fn at_boundary(self, plane: Self::Plane) -> Self::Plane;

    /// A state that is an input.
    fn initial(self, value: Pair<Value<Self>>) -> Self::State;
    /// The state after a reset.
    fn written(self, write: Self::Plane) -> Self::State;
    /// `A state + w`.
    fn step(self, state: Self::State, decay: Self::Plane, write: Self::Plane) -> Self::State;
    /// `state + w`. Not a step with a decay of 1: the product with a complex 1 would carry what is not finite from one
    /// part to the other.
    fn joined(self, state: Self::State, write: Self::Plane) -> Self::State;
    /// The state as a number.
    fn read(self, state: Self::State) -> Self::Plane;
    /// The state as the backward pass reads it.
    fn saved(self, state: Self::State) -> Self::Plane;
    /// `conj(A_0) lambda_0`.
    fn first(self, lambda: Self::State, decay: Self::Plane) -> Self::Plane;

    /// An empty sum, after `count` terms of earlier sequences.
    fn sum(self, count: usize) -> Self::Sum;
    /// Adds the product of two numbers.
    fn add(self, sum: &mut Self::Sum, one: Term<Self>, two: Term<Self>);
}

impl<N: Number> Complex for Plain<N> {
    type Real = Self;
    type Plane = Pair<N>;
    type State = Pair<N>;
    type Sum = N;

    #[inline(always)]
    fn real(self) -> Self {
        self
    }
    #[inline(always)]
    fn exact(self, value: Pair<N>) -> Pair<N> {
        value
    }
    #[inline(always)]
    fn parts(self, plane: Pair<N>) -> [N; 2] {
        [plane.re, plane.im]
    }
    #[inline(always)]
    fn conj(self, plane: Pair<N>) -> Pair<N> {
        plane.conj()
    }
    #[inline(always)]
    fn turned(self, radius: N, r: N, a_imag: N) -> Pair<N> {
        Pair::polar(radius, a_imag * r)
    }
    #[inline(always)]
    fn weighted<const K: usize>(self, value: Pair<N>, factors: [N; K]) -> Pair<N> {
        factors.into_iter().fold(value, Pair::scaled)
    }
    #[inline(always)]
    fn times(self, one: Pair<N>, two: Pair<N>) -> Pair<N> {
        one * two
    }
    #[inline(always)]
    fn dot<const K: usize>(self, one: Pair<N>, two: Pair<N>, factors: [N; K]) -> N {
        factors.into_iter().fold(one.dot(two), |product, factor| product * factor)
    }
    #[inline(always)]
    fn at_boundary(self, plane: Pair<N>) -> Pair<N> {
        plane
    }
    #[inline(always)]
    fn initial(self, value: Pair<N>) -> Pair<N> {
        value
    }
    #[inline(always)]
    fn written(self, write: Pair<N>) -> Pair<N> {
        write
    }
    #[inline(always)]
    fn step(self, state: Pair<N>, decay: Pair<N>, write: Pair<N>) -> Pair<N> {
        decay * state + write
    }
    #[inline(always)]
    fn joined(self, state: Pair<N>, write: Pair<N>) -> Pair<N> {
        state + write
    }
    #[inline(always)]
    fn read(self, state: Pair<N>) -> Pair<N> {
        state
    }
    #[inline(always)]
    fn saved(self, state: Pair<N>) -> Pair<N> {
        state
    }
    #[inline(always)]
    fn first(self, lambda: Pair<N>, decay: Pair<N>) -> Pair<N> {
        decay.conj() * lambda
    }
    #[inline(always)]
    fn sum(self, _count: usize) -> N {
        N::zero()
    }
    #[inline(always)]
    fn add(self, sum: &mut N, one: N, two: N) {
        *sum = *sum + one * two;
    }
}
