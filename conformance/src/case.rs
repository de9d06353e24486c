//! One problem as a kernel gets it: rounded once to what it is stored in, identified by its content; how it came about is told by its origin.

use std::fmt;

use ndarray::{Array, Array2, Dimension};
use plumbline_fixtures::sha256_hex;
use plumbline_reference::{Gates, Problem, ProblemError, Quantity, RoundingPlan, solve};

use crate::storage::Storage;
use crate::strategy::{Regime, Spec};

/// Where a case comes from: what to replay.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// Generated from a spec.
    Generated(Spec),
    /// An embedded golden case, by name.
    Golden(String),
    /// A file.
    File(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Generated(spec) => write!(f, "{spec}"),
            Self::Golden(name) => write!(f, "golden:{name}"),
            Self::File(path) => write!(f, "{path}"),
        }
    }
}

impl Origin {
    /// The regime, or `golden` or `file`: the ledger's key.
    #[must_use]
    pub fn regime_name(&self) -> &'static str {
        match self {
            Self::Generated(spec) => spec.regime.name(),
            Self::Golden(_) => "golden",
            Self::File(_) => "file",
        }
    }

    /// Whether every result is exactly representable, so that equality is demanded.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        matches!(self, Self::Generated(Spec { regime: Regime::Exact, .. }))
    }
}

/// A problem whose every number is representable where it is stored: oracle and kernel read the same.
#[derive(Clone, Debug)]
pub struct Case {
    /// First twelve hexadecimal digits of the SHA-256 of storage type and contents.
    pub id: String,
    /// What to replay.
    pub origin: Origin,
    /// Type of `x`, `u`, `v`, `dy` and of the outputs of their kind.
    pub storage: Storage,
    /// The inputs, rounded.
    pub problem: Problem,
    /// `segment_pos[B, L]`: 0 at a reset, anything else elsewhere.
    pub segment_pos: Array2<i32>,
}

impl Case {
    /// Builds the case of a spec.
    ///
    /// # Errors
    /// Never for a spec that was parsed or generated; a batch or width of 0 does not make a problem.
    pub fn generated(spec: Spec, storage: Storage) -> Result<Self, ProblemError> {
        let draft = spec.draft();
        let problem = Problem::new(draft.inputs)?;
        Self::build(Origin::Generated(spec), problem, draft.segment_pos, storage)
    }

    /// Builds a case of given inputs, rounding them to where they are stored.
    ///
    /// # Errors
    /// Never for a problem that was checked; rounding keeps its shapes.
    pub fn of_problem(origin: Origin, problem: Problem, storage: Storage) -> Result<Self, ProblemError> {
        let segment_pos = problem.inputs().reset.mapv(|reset| i32::from(!reset));
        Self::build(origin, problem, segment_pos, storage)
    }

    /// Replaces gate projections by the logits that they give, for kernels that take logits.
    ///
    /// # Errors
    /// Never for a problem that was checked.
    pub fn with_given_logits(problem: Problem) -> Result<Problem, ProblemError> {
        let truth = solve(&problem, &RoundingPlan::exact());
        let logits = |q| truth.get(q).and_then(|b| b.value.clone().into_dimensionality().ok());
        let (Some(u), Some(v)) = (logits(Quantity::U), logits(Quantity::V)) else { return Ok(problem) };
        let mut inputs = problem.into_inputs();
        inputs.gates = Gates::Logits { u, v };
        Problem::new(inputs)
    }

    /// Whether rounding changed the inputs of this problem.
    #[must_use]
    pub fn changes(&self, problem: &Problem) -> bool {
        content_hash(problem, self.storage) != self.id
    }

    fn build(
        origin: Origin,
        problem: Problem,
        segment_pos: Array2<i32>,
        storage: Storage,
    ) -> Result<Self, ProblemError> {
        let problem = rounded(problem, storage)?;
        let id = content_hash(&problem, storage);
        Ok(Self { id, origin, storage, problem, segment_pos })
    }
}

/// Large tensors in the storage type, states and parameters in f32.
fn rounded(problem: Problem, storage: Storage) -> Result<Problem, ProblemError> {
    let small = if storage == Storage::F64 { Storage::F64 } else { Storage::F32 };
    let mut inputs = problem.into_inputs();
    round(&mut inputs.x, storage);
    round(&mut inputs.dy, storage);
    match &mut inputs.gates {
        Gates::Logits { u, v } => {
            round(u, storage);
            round(v, storage);
        }
        Gates::Projected { wi, bi, wr, br } => {
            round(wi, small);
            round(wr, small);
            round(bi, small);
            round(br, small);
        }
    }
    round(&mut inputs.a_param, small);
    round(&mut inputs.dlast, small);
    if let Some(h0) = &mut inputs.h0 {
        round(h0, small);
    }
    Problem::new(inputs)
}

fn round<D: Dimension>(values: &mut Array<f64, D>, storage: Storage) {
    values.mapv_inplace(|value| storage.nearest(value));
}

fn content_hash(problem: &Problem, storage: Storage) -> String {
    let inputs = problem.inputs();
    let shape = problem.shape();
    let mut bytes = storage.name().as_bytes().to_vec();
    bytes.extend(
        [shape.batch, shape.length, shape.width].map(|n| n as u64).into_iter().flat_map(u64::to_le_bytes),
    );
    let mut add = |values: &mut dyn Iterator<Item = &f64>| {
        let start = bytes.len();
        bytes.extend(values.flat_map(|v| v.to_bits().to_le_bytes()));
        // The length keeps an absent tensor apart from its neighbours.
        bytes.extend(((bytes.len() - start) as u64).to_le_bytes());
    };
    add(&mut inputs.x.iter());
    match &inputs.gates {
        Gates::Logits { u, v } => {
            add(&mut u.iter());
            add(&mut v.iter());
        }
        Gates::Projected { wi, bi, wr, br } => {
            add(&mut wi.iter());
            add(&mut bi.iter());
            add(&mut wr.iter());
            add(&mut br.iter());
        }
    }
    add(&mut inputs.a_param.iter());
    add(&mut inputs.h0.iter().flatten());
    add(&mut inputs.dy.iter());
    add(&mut inputs.dlast.iter());
    bytes.extend(inputs.reset.iter().map(|&reset| u8::from(reset)));
    sha256_hex(&bytes)[..12].to_owned()
}
