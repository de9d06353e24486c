//! Executors that need no kernel: the rounded oracle, which must pass, and saboteurs, which must be caught.

use ndarray::ArrayD;
use plumbline_reference::staged::{Staging, Twist, simulate};
use plumbline_reference::{Quantity, RoundingPlan, solve};

use super::{BACKWARD, Executor, FORWARD, Outcome, Output, Subject, stored_as};
use crate::case::Case;
use crate::measure::Computed;
use crate::storage::Storage;

fn subject(name: &str, storage: Storage) -> Subject {
    Subject {
        name: format!("{name}_{}", storage.name()),
        storage,
        plan: RoundingPlan::f32(),
        quantities: FORWARD.into_iter().chain(BACKWARD).collect(),
    }
}

fn output(
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
    Output { quantity, computed, unwritten: None }
}

/// The oracle's own values, rounded to where they are stored: the best kernel there can be.
pub struct RoundedOracle {
    subject: Subject,
}

impl RoundedOracle {
    /// The rounded oracle of a storage type.
    #[must_use]
    pub fn new(storage: Storage) -> Self {
        Self { subject: subject("oracle", storage) }
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
        let truth = solve(&case.problem, &RoundingPlan::exact());
        let outputs = truth
            .iter()
            .filter(|(q, _)| self.subject.quantities.contains(q))
            .map(|(q, bounded)| output(q, &bounded.value, case.storage, Storage::nearest))
            .collect();
        Outcome::Finished(outputs)
    }
}

/// What a saboteur does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// A mistake inside the recurrence.
    Inside(Twist),
    /// Stores by dropping bits instead of rounding.
    Truncates,
    /// Leaves a NaN in the last element of every tensor.
    LastLaneNan,
    /// Stores the first row's results for every row.
    FirstRowEverywhere,
}

/// An f32 kernel, simulated, with one mistake or none.
pub struct Saboteur {
    subject: Subject,
    fault: Option<Fault>,
}

impl Saboteur {
    /// The simulated kernel without a mistake: it must pass.
    #[must_use]
    pub fn honest(storage: Storage) -> Self {
        Self { subject: subject("honest", storage), fault: None }
    }
}

/// Every saboteur of a storage type.
#[must_use]
pub fn saboteurs(storage: Storage) -> Vec<Saboteur> {
    let inside = Twist::ALL.into_iter().map(Fault::Inside);
    let outside = [Fault::Truncates, Fault::LastLaneNan, Fault::FirstRowEverywhere];
    inside
        .chain(outside)
        // Dropping bits of an f32 leaves one unit of 2^-23, which an envelope of several roundings cannot exclude.
        .filter(|fault| *fault != Fault::Truncates || storage == Storage::Bf16)
        .map(|fault| Saboteur { subject: subject(&name(fault), storage), fault: Some(fault) })
        .collect()
}

fn name(fault: Fault) -> String {
    match fault {
        Fault::Inside(twist) => snake_case(&format!("{twist:?}")),
        other => snake_case(&format!("{other:?}")),
    }
}

fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

fn truncate(storage: Storage, value: f64) -> f64 {
    let nearest = storage.nearest(value);
    if nearest.abs() <= value.abs() || !nearest.is_finite() {
        return nearest;
    }
    let step = storage.spacing(nearest);
    storage.nearest(nearest - step.copysign(nearest))
}

impl Executor for Saboteur {
    fn place(&self) -> String {
        "saboteur".to_owned()
    }

    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn run(&self, case: &Case) -> Outcome {
        let twist = if let Some(Fault::Inside(twist)) = self.fault { Some(twist) } else { None };
        let simulated = simulate(&case.problem, &Staging { twist, ..Staging::new(self.subject.plan) });
        let store = if self.fault == Some(Fault::Truncates) { truncate } else { Storage::nearest };
        let outputs = self
            .subject
            .quantities
            .iter()
            .filter_map(|&q| {
                let mut output = output(q, simulated.get(q)?, case.storage, store);
                self.spoil(&mut output.computed);
                Some(output)
            })
            .collect();
        Outcome::Finished(outputs)
    }
}

impl Saboteur {
    fn spoil(&self, computed: &mut Computed) {
        let len = computed.values.len();
        match self.fault {
            Some(Fault::LastLaneNan) => computed.values.iter_mut().rev().take(1).for_each(|v| *v = f64::NAN),
            Some(Fault::FirstRowEverywhere) if computed.shape.len() > 1 => {
                let row = len / computed.shape[0].max(1);
                for i in row..len {
                    computed.values[i] = computed.values[i % row];
                }
            }
            _ => {}
        }
    }
}
