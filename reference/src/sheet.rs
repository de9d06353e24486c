//! Tensors in the making, values and envelopes side by side; what is put into them is left to the families.

use ndarray::{Array, ArrayD, Dimension, IxDyn};

use crate::near::Near;
use crate::truth::{Bound, Bounded};

/// A tensor in the making: values and envelopes, row-major.
#[derive(Clone, Debug)]
pub(crate) struct Sheet {
    shape: Vec<usize>,
    value: Vec<f64>,
    envelope: Vec<f64>,
}

impl Sheet {
    pub(crate) fn new(shape: &[usize]) -> Self {
        let elements = shape.iter().product();
        Self { shape: shape.to_vec(), value: vec![0.0; elements], envelope: vec![0.0; elements] }
    }

    pub(crate) fn put(&mut self, index: usize, near: Near) {
        self.value[index] = near.value;
        self.envelope[index] = near.envelope();
    }

    pub(crate) fn get(&self, index: usize) -> Near {
        Near { value: self.value[index], error: self.envelope[index] }
    }

    /// From values and, if there are any, envelopes; both row-major.
    pub(crate) fn of<D: Dimension>(value: Array<f64, D>, envelope: Option<Array<f64, D>>) -> Self {
        let shape = value.shape().to_vec();
        let value: Vec<f64> = value.into_raw_vec_and_offset().0;
        let envelope = envelope.map_or_else(|| vec![0.0; value.len()], |e| e.into_raw_vec_and_offset().0);
        Self { shape, value, envelope }
    }

    /// Values and envelopes.
    pub(crate) fn slices(&self) -> (&[f64], &[f64]) {
        (&self.value, &self.envelope)
    }

    pub(crate) fn finish(self, bound: Bound) -> Bounded {
        Bounded {
            value: shaped(&self.shape, self.value),
            envelope: shaped(&self.shape, self.envelope),
            bound,
        }
    }
}

fn shaped(shape: &[usize], data: Vec<f64>) -> ArrayD<f64> {
    ArrayD::from_shape_vec(IxDyn(shape), data).unwrap_or_else(|_| ArrayD::zeros(IxDyn(shape)))
}
