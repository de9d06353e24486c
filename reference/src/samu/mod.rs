//! Placeholder.

mod problem;

pub use problem::*;

use crate::plan::RoundingPlan;
use crate::truth::{Tensors, Truth};

/// Placeholder.
#[must_use]
pub fn solve(_problem: &Problem, _plan: &RoundingPlan) -> Truth {
    todo!()
}

/// Placeholder.
#[must_use]
pub fn evaluate(_problem: &Problem) -> Tensors {
    todo!()
}
