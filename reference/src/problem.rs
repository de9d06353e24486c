//! Problems of every family under one name, and what checking them shares; the inputs of a family are its own.

use std::fmt;

use ndarray::{Array, Array2, ArrayViewD, ArrayViewMutD, Dimension};

use crate::plan::RoundingPlan;
use crate::shape::Shape;
use crate::truth::{Tensors, Truth};
use crate::{rglru, rglru_complex, samu, scan};

/// A checked problem of any family: solving it cannot fail.
#[derive(Clone, Debug)]
pub enum Problem {
    /// The linear scan of given decays and writes, real or complex.
    Scan(scan::Problem),
    /// The normalized-write gated recurrence, with logits or with gate projections (then the whole layer).
    Rglru(rglru::Problem),
    /// The same with a complex decay and state.
    RglruComplex(rglru_complex::Problem),
    /// The complex recurrence under two shared controls: the whole mixer.
    Samu(samu::Problem),
}

macro_rules! each {
    ($self:expr, $problem:ident => $body:expr) => {
        match $self {
            Problem::Scan($problem) => $body,
            Problem::Rglru($problem) => $body,
            Problem::RglruComplex($problem) => $body,
            Problem::Samu($problem) => $body,
        }
    };
}

macro_rules! wrapped {
    ($family:ident, $variant:ident) => {
        impl From<$family::Problem> for Problem {
            fn from(problem: $family::Problem) -> Self {
                Self::$variant(problem)
            }
        }
    };
}

wrapped!(scan, Scan);
wrapped!(rglru, Rglru);
wrapped!(rglru_complex, RglruComplex);
wrapped!(samu, Samu);

impl Problem {
    /// The sizes of the problem: those of `x`, or of `w` in a scan.
    #[must_use]
    pub fn shape(&self) -> Shape {
        each!(self, problem => problem.shape())
    }

    /// Reset flags, `[B, L]`; none in a scan, which resets where a decay is 0.
    #[must_use]
    pub fn reset(&self) -> Option<&Array2<bool>> {
        match self {
            Self::Scan(_) => None,
            Self::Rglru(problem) => Some(problem.reset()),
            Self::RglruComplex(problem) => Some(problem.reset()),
            Self::Samu(problem) => Some(problem.reset()),
        }
    }

    /// Every input tensor by name, to read; the reset flags are not among them.
    #[must_use]
    pub fn tensors(&self) -> Vec<Tensor<'_>> {
        each!(self, problem => problem.tensors())
    }

    /// Every input tensor by name, to change its numbers; shapes stay.
    #[must_use]
    pub fn tensors_mut(&mut self) -> Vec<TensorMut<'_>> {
        each!(self, problem => problem.tensors_mut())
    }
}

/// The true value of every output and gradient, with the envelope of a kernel that rounds as `plan` says.
#[must_use]
pub fn solve(problem: &Problem, plan: &RoundingPlan) -> Truth {
    match problem {
        Problem::Scan(problem) => scan::solve(problem, plan),
        Problem::Rglru(problem) => rglru::solve(problem, plan),
        Problem::RglruComplex(problem) => rglru_complex::solve(problem, plan),
        Problem::Samu(problem) => samu::solve(problem, plan),
    }
}

/// The true value of every output and gradient, without envelopes: faster, and in half the memory.
#[must_use]
pub fn evaluate(problem: &Problem) -> Tensors {
    match problem {
        Problem::Scan(problem) => scan::evaluate(problem),
        Problem::Rglru(problem) => rglru::evaluate(problem),
        Problem::RglruComplex(problem) => rglru_complex::evaluate(problem),
        Problem::Samu(problem) => samu::evaluate(problem),
    }
}

/// What a tensor is to the recurrence; kernels store each kind in a type of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// One number for each token and channel.
    Token,
    /// A parameter, a state or a control: kept in f32 even beside bf16 tokens.
    Parameter,
}

/// An input tensor, to read.
#[derive(Clone, Debug)]
pub struct Tensor<'a> {
    /// Its symbol.
    pub name: &'static str,
    /// What it is.
    pub role: Role,
    /// Its numbers.
    pub values: ArrayViewD<'a, f64>,
}

/// An input tensor, to change.
#[derive(Debug)]
pub struct TensorMut<'a> {
    /// Its symbol.
    pub name: &'static str,
    /// What it is.
    pub role: Role,
    /// Its numbers.
    pub values: ArrayViewMutD<'a, f64>,
}

pub(crate) fn reading<'a, D: Dimension>(
    name: &'static str,
    role: Role,
    array: &'a Array<f64, D>,
) -> Tensor<'a> {
    Tensor { name, role, values: array.view().into_dyn() }
}

pub(crate) fn writing<'a, D: Dimension>(
    name: &'static str,
    role: Role,
    array: &'a mut Array<f64, D>,
) -> TensorMut<'a> {
    TensorMut { name, role, values: array.view_mut().into_dyn() }
}

/// Why inputs do not make a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemError {
    /// A tensor's shape does not agree with that of `x` (of a scan: `w`).
    Mismatch {
        /// Name of the tensor.
        tensor: &'static str,
        /// The shape that `x` (of a scan: `w`; for a projection: `wi`) asks for.
        expected: Vec<usize>,
        /// The shape that was given.
        found: Vec<usize>,
    },
    /// There is no sequence or no channel: a batch or width of 0. (A length of 0 is legal.)
    Empty {
        /// Name of the tensor that the sizes come from.
        tensor: &'static str,
        /// Its shape.
        found: Vec<usize>,
    },
    /// Complex numbers come in a real and an imaginary half, so the width is even.
    Odd {
        /// Name of the tensor that the sizes come from.
        tensor: &'static str,
        /// Its shape.
        found: Vec<usize>,
    },
    /// The blocks of the gate projections do not tile the width.
    Blocks {
        /// The width `W`, which `H * K` must equal.
        width: usize,
        /// The shape of `wi`.
        found: Vec<usize>,
    },
}

impl fmt::Display for ProblemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mismatch { tensor, expected, found } => write!(
                f,
                "tensor `{tensor}`: expected shape {expected:?}, found {found:?}; give it the shape that the others imply"
            ),
            Self::Empty { tensor, found } => write!(
                f,
                "tensor `{tensor}`: expected at least one sequence and one channel, found shape {found:?}; only the length may be 0"
            ),
            Self::Odd { tensor, found } => write!(
                f,
                "tensor `{tensor}`: expected an even width, real parts first and imaginary parts after, found shape {found:?}; pair up the channels"
            ),
            Self::Blocks { width, found } => write!(
                f,
                "tensor `wi`: expected [H, K, K] (complex: [H, K, K/2]) with H * K = {width}, found {found:?}; choose a block count that divides the width"
            ),
        }
    }
}

impl std::error::Error for ProblemError {}

pub(crate) fn expect<T, D: Dimension>(
    tensor: &'static str,
    expected: &[usize],
    found: &Array<T, D>,
) -> Result<(), ProblemError> {
    if found.shape() == expected {
        return Ok(());
    }
    Err(ProblemError::Mismatch { tensor, expected: expected.to_vec(), found: found.shape().to_vec() })
}

pub(crate) fn standard<T: Clone, D: Dimension>(array: Array<T, D>) -> Array<T, D> {
    if array.is_standard_layout() { array } else { array.as_standard_layout().into_owned() }
}
