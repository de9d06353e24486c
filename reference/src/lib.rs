//! The FP64 oracle of the normalized-write gated recurrence: the true value of every output and gradient,
//! each with the largest error that honest rounding may leave; comparing and judging is left to others.
//!
//! # The promise
//!
//! [`solve`] takes a checked [`Problem`] and the [`RoundingPlan`] that a kernel declares, and returns a
//! [`Truth`]: for every tensor the value in double precision and, element by element, an envelope. A kernel
//! that follows its plan, in any association order, stays inside; the envelope grows with the conditioning
//! of the very inputs at hand, so one verdict (`distance / envelope <= 1`) is valid for `x = 1e4`,
//! `x = 1e-20`, one token or a hundred thousand.
//!
//! # The map
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@shape`], [`problem`] | the inputs, checked once so that solving cannot fail |
//! | [`plan`] | what a kernel rounds, and how |
//! | [`truth`] | values and envelopes by [`Quantity`] |
//! | [`scalar`] | sigmoid, softplus, `1 - exp(2l)`, the clipped derivative of the square root |
//! | [`mod@number`], [`pair`] | what a recurrence computes with, real and complex |
//! | [`near`] | a number with an error bound: the arithmetic of the envelope |
//! | [`scan`] | the primitive `h_t = A_t h_{t-1} + w_t`, real or complex |
//! | [`rglru`] | the recurrence of the Griffin paper (arXiv 2402.19427): forward, backward, projections |
//! | [`rglru_complex`] | the same with a complex decay and state |
//! | [`witness`] | a second, independent derivation in double-double arithmetic, for short problems |
//! | [`staged`] | the same recurrence really rounded, and the wrong oracles that a gate must catch |
//!
//! # Example
//!
//! ```
//! use ndarray::{Array1, Array2, Array3};
//! use plumbline_reference::rglru::{Gates, Inputs, Problem, solve};
//! use plumbline_reference::{Quantity, RoundingPlan};
//!
//! let problem = Problem::new(Inputs {
//!     x: Array3::from_elem((1, 4, 2), 0.5),
//!     gates: Gates::Logits { u: Array3::zeros((1, 4, 2)), v: Array3::zeros((1, 4, 2)) },
//!     a_param: Array1::from_elem(2, -4.0),
//!     reset: Array2::from_elem((1, 4), false),
//!     h0: None,
//!     dy: Array3::ones((1, 4, 2)),
//!     dlast: Array2::zeros((1, 2)),
//! })?;
//! let truth = solve(&problem, &RoundingPlan::f32());
//! let y = truth.get(Quantity::Y).expect("every problem has a y");
//! assert!(y.value[[0, 3, 0]] > y.value[[0, 0, 0]]);
//! assert!(y.envelope[[0, 3, 0]] < 1e-6);
//! # Ok::<(), plumbline_reference::ProblemError>(())
//! ```
#![forbid(unsafe_code)]

mod carry;
mod lanes;
pub mod near;
pub mod number;
pub mod pair;
pub mod plan;
pub mod problem;
pub mod rglru;
pub mod rglru_complex;
pub mod samu;
pub mod scalar;
pub mod scan;
pub mod shape;
mod sheet;
pub mod staged;
mod sums;
pub mod truth;
pub mod witness;

pub use plan::{Chain, Complement, NormForm, Reduction, Rounding, RoundingPlan};
pub use problem::{Problem, ProblemError, Role, Tensor, TensorMut, evaluate, solve};
pub use shape::Shape;
pub use truth::{Bound, Bounded, Quantity, Tensors, Truth};
