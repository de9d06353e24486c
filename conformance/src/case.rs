//! One problem as a kernel gets it: rounded once to what it is stored in, identified by its content; how it came about is told by its origin.

use std::fmt;

use ndarray::Array2;
use plumbline_fixtures::{Kind, sha256_hex};
use plumbline_reference::{Problem, ProblemError, Quantity, Role, evaluate, rglru};

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
    /// Type of the tensors with a number for each token and channel.
    pub storage: Storage,
    /// The inputs, rounded.
    pub problem: Problem,
    /// `segment_pos[B, L]`: 0 at a reset, anything else elsewhere; in a scan, which has no resets, 0 nowhere.
    pub segment_pos: Array2<i32>,
}

impl Case {
    /// Builds the case of a spec.
    ///
    /// # Errors
    /// Never for a spec that was parsed or generated; a batch or width of 0 does not make a problem.
    pub fn generated(spec: Spec, storage: Storage) -> Result<Self, ProblemError> {
        let draft = spec.draft()?;
        Ok(Self::build(Origin::Generated(spec), draft.problem, draft.segment_pos, storage))
    }

    /// Builds a case of given inputs, rounding them to where they are stored.
    #[must_use]
    pub fn of_problem(origin: Origin, problem: Problem, storage: Storage) -> Self {
        let shape = problem.shape();
        let everywhere = Array2::ones((shape.batch, shape.length));
        let segment_pos = problem.reset().map_or(everywhere, |reset| reset.mapv(|reset| i32::from(!reset)));
        Self::build(origin, problem, segment_pos, storage)
    }

    /// Replaces the gate projections of an RG-LRU problem by the logits that they give, for kernels that take logits.
    /// Any other problem stays as it is.
    ///
    /// # Errors
    /// Never for a problem that was checked.
    pub fn with_given_logits(problem: Problem) -> Result<Problem, ProblemError> {
        let Problem::Rglru(layer) = &problem else { return Ok(problem) };
        let mut inputs = layer.inputs().clone();
        let values = evaluate(&problem);
        let logits = |q| values.get(q).and_then(|value| value.clone().into_dimensionality().ok());
        let (Some(u), Some(v)) = (logits(Quantity::U), logits(Quantity::V)) else { return Ok(problem) };
        inputs.gates = rglru::Gates::Logits { u, v };
        Ok(rglru::Problem::new(inputs)?.into())
    }

    /// Whether rounding changed the inputs of this problem.
    #[must_use]
    pub fn changes(&self, problem: &Problem) -> bool {
        content_hash(problem, self.storage) != self.id
    }

    /// `B`, `L` and `W` as whoever made the case counts channels: the word of a generated complex scan has both parts in
    /// its `W`, a file has `W` of each.
    #[must_use]
    pub fn extents(&self) -> [usize; 3] {
        let shape = self.problem.shape();
        match self.origin {
            Origin::File(_) => Kind::of(&self.problem).extents(shape),
            Origin::Generated(_) | Origin::Golden(_) => shape.tokens(),
        }
    }

    /// Whether the initial state is given, rather than zero because it is absent.
    #[must_use]
    pub fn has_initial_state(&self) -> bool {
        self.problem.tensors().iter().any(|tensor| tensor.name == "h0")
    }

    /// Whether channel `channel` discards its state at a token: at a reset, or where the decay of a scan is 0.
    #[must_use]
    pub fn discards(&self, batch: usize, token: usize, channel: usize) -> bool {
        let Problem::Scan(scan) = &self.problem else {
            return self.segment_pos.get((batch, token)) == Some(&0);
        };
        let width = self.problem.shape().width;
        let half = if Kind::of(&self.problem).is_complex() { width / 2 } else { width };
        let parts = (channel % half..width).step_by(half);
        parts.into_iter().all(|part| scan.inputs().a.get((batch, token, part)) == Some(&0.0))
    }

    fn build(origin: Origin, mut problem: Problem, segment_pos: Array2<i32>, storage: Storage) -> Self {
        round(&mut problem, storage);
        let id = content_hash(&problem, storage);
        Self { id, origin, storage, problem, segment_pos }
    }
}

/// Tokens in the storage type; states, parameters and controls in f32 beside anything narrower.
fn round(problem: &mut Problem, storage: Storage) {
    let small = if storage == Storage::F64 { Storage::F64 } else { Storage::F32 };
    for mut tensor in problem.tensors_mut() {
        let storage = match tensor.role {
            Role::Token => storage,
            Role::Parameter => small,
        };
        tensor.values.mapv_inplace(|value| storage.nearest(value));
    }
}

fn content_hash(problem: &Problem, storage: Storage) -> String {
    let mut bytes = storage.name().as_bytes().to_vec();
    bytes.extend(Kind::of(problem).name().as_bytes());
    let number = |bytes: &mut Vec<u8>, n: usize| bytes.extend((n as u64).to_le_bytes());
    for n in problem.shape().tokens() {
        number(&mut bytes, n);
    }
    for tensor in problem.tensors() {
        // Name and length keep an absent tensor apart from its neighbours.
        bytes.extend(tensor.name.as_bytes());
        number(&mut bytes, tensor.values.len());
        bytes.extend(tensor.values.iter().flat_map(|v| v.to_bits().to_le_bytes()));
    }
    bytes.extend(problem.reset().into_iter().flatten().map(|&reset| u8::from(reset)));
    sha256_hex(&bytes)[..12].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(word: &str, storage: Storage) -> Case {
        Case::generated(word.parse().unwrap(), storage).unwrap()
    }

    #[test]
    fn tokens_are_stored_narrow_and_parameters_in_f32() {
        for kind in Kind::ALL {
            let case = case(&format!("{kind}/init:packed:nonzero:2x5x4:9"), Storage::Bf16);
            assert!(!case.changes(&case.problem), "{kind}");
            for tensor in case.problem.tensors() {
                let fits = |storage: Storage| tensor.values.iter().all(|&v| storage.nearest(v) == v);
                let narrow = tensor.role == Role::Token;
                assert!(fits(Storage::F32) && fits(Storage::Bf16) == narrow, "{kind} {}", tensor.name);
            }
        }
    }

    #[test]
    fn an_id_depends_on_kind_storage_and_every_tensor() {
        for kind in Kind::ALL {
            let case = case(&format!("{kind}/init:packed:nonzero:2x5x4:9"), Storage::F32);
            let mut seen = vec![case.id.clone(), content_hash(&case.problem, Storage::Bf16)];
            for at in 0..case.problem.tensors().len() {
                let mut other = case.problem.clone();
                let mut tensors = other.tensors_mut();
                tensors[at].values.iter_mut().take(1).for_each(|v| *v += 1.0);
                seen.push(content_hash(&other, Storage::F32));
            }
            let distinct: std::collections::BTreeSet<&String> = seen.iter().collect();
            assert_eq!(distinct.len(), seen.len(), "{kind}");
        }
        let absent = case("init:packed:absent:2x5x4:9", Storage::F32);
        let zero = case("init:packed:zero:2x5x4:9", Storage::F32);
        assert_ne!(absent.id, zero.id);
    }

    #[test]
    fn a_complex_decay_discards_where_both_parts_are_zero() {
        let mut case = case("scan_complex/init:first:zero:1x3x4:1", Storage::F32);
        assert!((0..4).all(|channel| case.discards(0, 0, channel) && !case.discards(0, 1, channel)));
        let Problem::Scan(scan) = &mut case.problem else { panic!("not a scan") };
        for tensor in &mut scan.tensors_mut() {
            if tensor.name == "a" {
                tensor.values[[0, 2, 1]] = 0.0;
            }
        }
        assert!(!case.discards(0, 2, 1), "the imaginary part is not zero");
        let gated = self::case("samu/init:last:zero:1x3x4:1", Storage::F32);
        assert!(gated.discards(0, 2, 3) && !gated.discards(0, 1, 3));
    }
}
