//! Simulated kernels: an honest one, which must pass, and saboteurs with one mistake each, which must be caught.

use plumbline_fixtures::Kind;
use plumbline_reference::Quantity;
use plumbline_reference::staged::{Staging, Twist, simulate};

use super::oracle::{output, subject};
use super::{Executor, Outcome, Output, Subject};
use crate::case::Case;
use crate::measure::Computed;
use crate::storage::Storage;

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
    /// Forgets what `x` does through the gates or controls: `dx_total` is `dx`.
    DxTotalIsDirect,
    /// Stores the gradients of square weights transposed.
    WeightGradientTransposed,
}

/// A kernel that rounds to f32, simulated, with one mistake or none.
pub struct Saboteur {
    subject: Subject,
    fault: Option<Fault>,
}

impl Saboteur {
    /// The simulated kernel without a mistake: it must pass.
    #[must_use]
    pub fn honest(kind: Kind, storage: Storage) -> Self {
        Self { subject: subject("honest", kind, storage), fault: None }
    }
}

/// Every saboteur of a kind of case and a storage type.
#[must_use]
pub fn saboteurs(kind: Kind, storage: Storage) -> Vec<Saboteur> {
    let inside = twists(kind).into_iter().map(Fault::Inside);
    let outside = [Fault::Truncates, Fault::LastLaneNan, Fault::FirstRowEverywhere];
    let total = kind.names_of(Quantity::DxTotal).map(|_| Fault::DxTotalIsDirect);
    let weights = (kind == Kind::RglruProjected).then_some(Fault::WeightGradientTransposed);
    inside
        .chain(outside)
        .chain(total)
        .chain(weights)
        // Dropping bits of an f32 leaves one unit of 2^-23, which an envelope of several roundings cannot exclude.
        .filter(|fault| *fault != Fault::Truncates || storage == Storage::Bf16)
        .map(|fault| Saboteur { subject: subject(&name(fault), kind, storage), fault: Some(fault) })
        .collect()
}

/// The mistakes that can be made in the recurrence of a kind.
fn twists(kind: Kind) -> Vec<Twist> {
    match kind {
        Kind::RglruProjected | Kind::RglruLogits => Twist::RGLRU.to_vec(),
        Kind::RglruComplexProjected | Kind::RglruComplexLogits => Twist::RGLRU_COMPLEX.to_vec(),
        Kind::Samu => Twist::SAMU.to_vec(),
        Kind::ScanComplex => Twist::SCAN.to_vec(),
        Kind::Scan => Twist::SCAN.into_iter().filter(|twist| !of_complex_numbers(*twist)).collect(),
    }
}

/// Mistakes that change nothing where numbers are real.
fn of_complex_numbers(twist: Twist) -> bool {
    use Twist::{ConjugateMissing, CrossTermAdded, DaConjugateMissing, HalvesInterleaved};
    matches!(twist, ConjugateMissing | DaConjugateMissing | CrossTermAdded | HalvesInterleaved)
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
        let stored = |&quantity: &Quantity| -> Option<Output> {
            let values = simulated.get(self.source(quantity))?;
            let mut output = output(quantity, values, case.storage, store);
            self.spoil(quantity, &mut output.computed);
            Some(output)
        };
        Outcome::Finished(self.subject.quantities.iter().filter_map(stored).collect())
    }
}

impl Saboteur {
    /// The quantity whose values are stored as `quantity`.
    fn source(&self, quantity: Quantity) -> Quantity {
        if self.fault == Some(Fault::DxTotalIsDirect) && quantity == Quantity::DxTotal {
            return Quantity::Dx;
        }
        quantity
    }

    fn spoil(&self, quantity: Quantity, computed: &mut Computed) {
        let len = computed.values.len();
        match self.fault {
            Some(Fault::LastLaneNan) => computed.values.iter_mut().rev().take(1).for_each(|v| *v = f64::NAN),
            Some(Fault::FirstRowEverywhere) if computed.shape.len() > 1 => {
                let row = len / computed.shape[0].max(1);
                for i in row..len {
                    computed.values[i] = computed.values[i % row];
                }
            }
            Some(Fault::WeightGradientTransposed) if matches!(quantity, Quantity::Dwi | Quantity::Dwr) => {
                transpose(computed);
            }
            _ => {}
        }
    }
}

/// `[H, K, K]` with the last two axes exchanged.
fn transpose(computed: &mut Computed) {
    let block = computed.shape.last().copied().unwrap_or(1).max(1);
    for matrix in computed.values.chunks_mut(block * block) {
        for i in 0..block {
            for j in 0..i {
                matrix.swap(i * block + j, j * block + i);
            }
        }
    }
}
