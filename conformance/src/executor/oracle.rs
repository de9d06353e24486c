//! The oracle as an executor: its own values, rounded to where they are stored. It must pass everywhere.

use ndarray::ArrayD;
use plumbline_fixtures::Kind;
use plumbline_reference::{Quantity, RoundingPlan, evaluate};

use super::{Executor, Outcome, Output, Subject, stored_as};
use crate::case::Case;
use crate::measure::Computed;
use crate::storage::Storage;

/// A subject that computes everything that a kind of case has.
pub(super) fn subject(name: &str, kind: Kind, storage: Storage) -> Subject {
    Subject {
        name: format!("{kind}_{name}_{}", storage.name()),
        kind,
        storage,
        plan: RoundingPlan::f32(),
        quantities: kind.outputs().iter().map(|(quantity, _)| *quantity).collect(),
    }
}

/// Values as a kernel of a storage type would leave them.
pub(super) fn output(
    quantity: Quantity,
    values: &ArrayD<f64>,
    storage: Storage,
    store: fn(Storage, f64) -> f64,
) -> Output {
    let storage = stored_as(quantity, storage);
    let computed = Computed {
        storage,
        shape: values.shape().to_vec(),
        values: values.iter().map(|&v| store(storage, v)).collect(),
    };
    Output { quantity, computed, unwritten: None, names: None }
}

/// The oracle's own values, rounded to where they are stored: the best kernel there can be.
pub struct RoundedOracle {
    subject: Subject,
}

impl RoundedOracle {
    /// The rounded oracle of a kind of case and a storage type.
    #[must_use]
    pub fn new(kind: Kind, storage: Storage) -> Self {
        Self { subject: subject("oracle", kind, storage) }
    }
}

impl Executor for RoundedOracle {
    fn place(&self) -> String {
        "oracle".to_owned()
    }

    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn run(&self, case: &Case) -> Outcome {
        let values = evaluate(&case.problem);
        let rounded =
            |(q, values): (Quantity, &ArrayD<f64>)| output(q, values, case.storage, Storage::nearest);
        Outcome::Finished(values.iter().map(rounded).collect())
    }
}
