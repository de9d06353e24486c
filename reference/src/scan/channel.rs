//! One channel of one sequence: its states, its cotangents, and the bounds of both; where its numbers come from and go to is
//! left to [`super::family`].

use super::cell::{Cell, step};
use crate::carry::{Carried, Size};
use crate::number::Number;
use crate::plan::Rounding;

/// The inputs of one channel.
#[derive(Clone, Debug)]
pub(crate) struct Channel<C> {
    pub(crate) a: Vec<C>,
    pub(crate) w: Vec<C>,
    pub(crate) h0: C,
}

/// Steps in the order in which they are taken, and where they start. A step without a decay adds to the state as it is: the
/// product with a complex 1 would carry what is not finite from one part to the other.
struct Chain<C> {
    steps: Vec<(Option<C>, C)>,
    start: C,
}

/// A number that was carried, with the error of the rounded one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carrying<C> {
    pub(crate) value: C,
    pub(crate) error: f64,
}

impl<C> Channel<C> {
    fn forward(&self) -> Chain<C>
    where
        C: Copy,
    {
        let decays = self.a.iter().copied().map(Some);
        Chain { steps: decays.zip(self.w.iter().copied()).collect(), start: self.h0 }
    }

    /// The adjoint is a scan from the right: `lambda_t = conj(A_{t+1}) lambda_{t+1} + dy_t`, without a decay where the
    /// cotangent of the final state comes in.
    fn backward<N: Number>(&self, dy: &[C], dlast: C) -> Chain<C>
    where
        C: Cell<N>,
    {
        let decays = std::iter::once(None).chain(self.a.iter().rev().map(|a| Some(a.conj())));
        Chain { steps: decays.zip(dy.iter().rev().copied()).collect(), start: dlast }
    }

    /// The initial state and all `h_t`.
    pub(crate) fn states<N: Number>(&self) -> Vec<C>
    where
        C: Cell<N>,
    {
        self.forward().values()
    }

    /// All `lambda_t`.
    pub(crate) fn cotangents<N: Number>(&self, dy: &[C], dlast: C) -> Vec<C>
    where
        C: Cell<N>,
    {
        in_time(self.backward(dy, dlast).values())
    }
}

impl<C: Cell<f64>> Channel<C> {
    /// As [`Channel::states`], with errors.
    pub(crate) fn bounded_states(&self, carry: Rounding) -> Vec<Carrying<C>> {
        self.forward().bounded(carry)
    }

    /// As [`Channel::cotangents`], with errors.
    pub(crate) fn bounded_cotangents(&self, dy: &[C], dlast: C, carry: Rounding) -> Vec<Carrying<C>> {
        in_time(self.backward(dy, dlast).bounded(carry))
    }
}

/// From right to left with the start first, to left to right without it.
fn in_time<T>(mut values: Vec<T>) -> Vec<T> {
    values.reverse();
    values.pop();
    values
}

impl<C> Chain<C> {
    fn values<N: Number>(&self) -> Vec<C>
    where
        C: Cell<N>,
    {
        let mut state = self.start;
        let next = |&(decay, write): &(Option<C>, C)| {
            state = decay.map_or(state + write, |decay| step(decay, state, write));
            state
        };
        std::iter::once(self.start).chain(self.steps.iter().map(next)).collect()
    }
}

impl<C: Cell<f64>> Chain<C> {
    fn bounded(&self, rounding: Rounding) -> Vec<Carrying<C>> {
        let carry = C::carry(rounding, self.steps.len());
        let values = self.values();
        let (mut bound, mut growth) = (Carried::exact(self.start.size()), 0.0);
        let next = |(&(decay, write), &before): (&(Option<C>, C), &C)| {
            // Kernels may take a step with a decay of 1 all the same.
            let (decay, write) = (decay.unwrap_or(C::one()), exact(write.size()));
            if decay.is_zero() {
                (bound, growth) = (Carried::written(write, carry), 0.0);
                return bound.error;
            }
            growth = grown(decay.size() * (1.0 + C::PRODUCT * rounding.unit), growth);
            bound = bound.step(before.size(), exact(decay.size()), write, carry);
            if growth > rounding.overflow {
                bound.error = f64::INFINITY;
            }
            bound.error
        };
        let errors = std::iter::once(0.0).chain(self.steps.iter().zip(&values).map(next));
        errors.zip(&values).map(|(error, &value)| Carrying { value, error }).collect()
    }
}

/// The largest rounded product of decays that ends here: the decays of a chunk are multiplied even where the state is small, and
/// may overflow there.
fn grown(decay: f64, before: f64) -> f64 {
    if before > 1.0 { decay * before } else { decay }
}

fn exact(size: f64) -> Size<f64> {
    Size { size, error: 0.0 }
}
