//! The recurrence as a kernel computes it: every operation rounded as a plan says, in a stated order, and,
//! if asked, with one deliberate fault. Judging what comes out is left to others.
//!
//! Two uses. With one stage rounded and all others exact it splits an error by its sources; with a [`Twist`]
//! it is a wrong oracle, which a gate must catch.
//!
//! ```
//! # use ndarray::{Array1, Array2, Array3};
//! # use plumbline_reference::rglru::{Gates, Inputs, Problem};
//! # use plumbline_reference::{Quantity, RoundingPlan};
//! use plumbline_reference::staged::{Staging, Twist, simulate};
//! # let zeros = Array3::<f64>::zeros((1, 3, 1));
//! # let problem = Problem::new(Inputs {
//! #     x: zeros.clone() + 1.0, gates: Gates::Logits { u: zeros.clone(), v: zeros.clone() },
//! #     a_param: Array1::zeros(1), reset: Array2::from_elem((1, 3), false), h0: None,
//! #     dy: zeros, dlast: Array2::ones((1, 1)),
//! # }).expect("shapes agree");
//! let honest = Staging::new(RoundingPlan::f32());
//! let wrong = Staging { twist: Some(Twist::LastIsPenultimate), ..honest };
//! let problem = problem.into();
//! let last = |staging| simulate(&problem, &staging).get(Quantity::Last).expect("always there")[[0, 0]];
//! assert_ne!(last(honest), last(wrong));
//! ```

mod machine;
mod rglru;
mod rglru_complex;
mod samu;
mod scan;
mod scan_family;
mod twist;

use ndarray::{ArrayD, IxDyn};

use crate::plan::{Rounding, RoundingPlan};
use crate::problem::Problem;
use crate::truth::Tensors;
use machine::Machine;

pub use twist::Twist;

/// How a result is moved within what its stage allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounder {
    /// Really rounded to the nearest number of the format: the best kernel there can be.
    Nearest,
    /// Moved by a random part of the allowance, reproducibly from the seed.
    Random(u64),
    /// Moved by the whole allowance towards plus infinity.
    Up,
    /// Moved by the whole allowance towards minus infinity.
    Down,
    /// Moved by the whole allowance away from what would stand there without any rounding.
    Away,
    /// Exact, but for the rounding of this number, counted from 0: moved by the whole allowance away from zero.
    Only(u64),
}

/// The order of association of scans and sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One step after the other, multiply and add fused.
    Serial,
    /// Summaries of chunks of this many tokens, then the state through the chunks.
    Chunked(usize),
    /// The same, but summaries of this many chunks (the second number) are joined first, and the state goes through such
    /// groups.
    Grouped(usize, usize),
    /// All prefixes by doubling.
    Tree,
}

/// Everything that makes one simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Staging {
    /// What is rounded.
    pub plan: RoundingPlan,
    /// How.
    pub rounder: Rounder,
    /// In which order.
    pub order: Order,
    /// The deliberate fault, if any.
    pub twist: Option<Twist>,
}

impl Staging {
    /// An honest serial kernel of this plan, rounding to nearest.
    #[must_use]
    pub const fn new(plan: RoundingPlan) -> Self {
        Self { plan, rounder: Rounder::Nearest, order: Order::Serial, twist: None }
    }

    /// The plan that is really followed: two faults are kernels that do not follow theirs.
    fn followed(&self) -> RoundingPlan {
        match self.twist {
            Some(Twist::CarryBf16EveryStep) => RoundingPlan { carry: Rounding::BF16, ..self.plan },
            Some(Twist::DecayNormCancellation) => {
                RoundingPlan { norm: Rounding::F32, norm_form: crate::NormForm::Naive, ..self.plan }
            }
            _ => self.plan,
        }
    }

    /// The order in which the scan really goes: a fault of chunks needs chunks.
    fn arranged(&self) -> Order {
        match self.twist {
            Some(Twist::CompositionSwapped | Twist::ChunkBorderForgotten) if self.order == Order::Serial => {
                Order::Chunked(4)
            }
            Some(Twist::ChunkBorderForgotten) if self.order == Order::Tree => Order::Chunked(4),
            _ => self.order,
        }
    }

    fn is(&self, twist: Twist) -> bool {
        self.twist == Some(twist)
    }
}

/// Runs the simulation: every output and gradient, as the kernel holds it before it is stored in any narrower format.
#[must_use]
pub fn simulate(problem: &Problem, staging: &Staging) -> Tensors {
    run(problem, staging, &Machine::new(staging.rounder))
}

/// How many roundings the simulation performs.
///
/// With [`Rounder::Only`] the effect of each of them can be told apart. Their magnitudes add up, to first order, to the
/// error of a kernel whose every rounding goes the worst way for one element, and no envelope that holds for every kernel
/// of the plan can be smaller.
#[must_use]
pub fn roundings(problem: &Problem, staging: &Staging) -> u64 {
    let machine = Machine::new(Rounder::Only(u64::MAX));
    run(problem, staging, &machine);
    machine.performed()
}

fn run(problem: &Problem, staging: &Staging, machine: &Machine) -> Tensors {
    let staging = &Staging { plan: staging.followed(), order: staging.arranged(), ..*staging };
    Tensors::new(match problem {
        Problem::Rglru(problem) => rglru::run(problem, staging, machine),
        Problem::Scan(problem) => scan_family::run(problem, staging, machine),
        Problem::RglruComplex(problem) => rglru_complex::run(problem, staging, machine),
        Problem::Samu(problem) => samu::run(problem, staging, machine),
    })
}

fn shaped(shape: &[usize], numbers: &[machine::Number]) -> ArrayD<f64> {
    let values = numbers.iter().map(|number| number.seen).collect();
    ArrayD::from_shape_vec(IxDyn(shape), values).unwrap_or_else(|_| ArrayD::zeros(IxDyn(shape)))
}
