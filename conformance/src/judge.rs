//! From truth and outcome to a verdict: shape first, then what was not written, then what is not finite, then how far; what is allowed is left to `budget`.

use plumbline_fixtures::same_shape;
use plumbline_reference::{Bound, Quantity, Truth};
use serde::Serialize;

use crate::budget::Rule;
use crate::executor::{Outcome, Output, runs_along_time};
use crate::measure::{Expected, Measure, Profile, measure, profile};

/// What is thought of one execution.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "word", content = "why", rename_all = "kebab-case")]
pub enum Verdict {
    /// Every tensor is within its limit.
    Conforms,
    /// Something is wrong; the reasons, one a line.
    Deviates(Vec<String>),
    /// Nothing could be said, and why.
    NotJudged(String),
}

/// One tensor against the truth.
#[derive(Clone, Debug, Serialize)]
pub struct TensorRecord {
    /// Symbol of the mathematics, or its name in the file that it comes from.
    pub tensor: String,
    /// Type in which it was stored.
    pub storage: &'static str,
    /// Its figures.
    pub measure: Measure,
    /// Largest ratio allowed.
    pub limit: f64,
    /// Whether the envelope is probabilistic.
    pub probabilistic: bool,
    /// Digest of the stored bits: equal where two executors agree bit for bit.
    pub bits: String,
    /// How the error runs along time in the worst channel, where it is beyond the envelope.
    pub profile: Option<Profile>,
    /// Name and place of the worst element.
    #[serde(skip)]
    pub worst_element: String,
    /// Which quantity it is.
    #[serde(skip)]
    pub quantity: Quantity,
}

impl TensorRecord {
    /// Whether the tensor is within its limit.
    #[must_use]
    pub fn conforms(&self) -> bool {
        self.measure.ratio <= self.limit
    }
}

/// Verdict and figures.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Figures of every tensor that could be compared.
    pub tensors: Vec<TensorRecord>,
}

/// Judges an outcome against the truth by a rule.
#[must_use]
pub fn judge(truth: &Truth, outcome: &Outcome, rule: &Rule) -> Judgement {
    let outputs = match outcome {
        Outcome::Finished(outputs) => outputs,
        Outcome::Trapped(trap) => return without_tensors(Verdict::Deviates(vec![trap.clone()])),
        Outcome::Unsupported(why) | Outcome::Unavailable(why) => {
            return without_tensors(Verdict::NotJudged(why.clone()));
        }
    };
    let mut reasons = Vec::new();
    let mut tensors = Vec::new();
    for &quantity in rule.quantities() {
        match compare(quantity, outputs, truth, rule) {
            Ok(record) => {
                reasons.extend(beyond_limit(&record));
                tensors.push(record);
            }
            Err(reason) => reasons.push(reason),
        }
    }
    Judgement { verdict: verdict(reasons, &tensors), tensors }
}

fn without_tensors(verdict: Verdict) -> Judgement {
    Judgement { verdict, tensors: Vec::new() }
}

/// An element that cannot be judged is no success either.
fn verdict(reasons: Vec<String>, tensors: &[TensorRecord]) -> Verdict {
    if !reasons.is_empty() {
        return Verdict::Deviates(reasons);
    }
    let judged = |t: &TensorRecord| t.measure.elements - t.measure.unbounded;
    if tensors.iter().map(judged).sum::<usize>() == 0 {
        return Verdict::NotJudged("no element was compared".to_owned());
    }
    Verdict::Conforms
}

fn compare(
    quantity: Quantity,
    outputs: &[Output],
    truth: &Truth,
    rule: &Rule,
) -> Result<TensorRecord, String> {
    let symbol = quantity.name();
    let expected =
        truth.get(quantity).ok_or_else(|| format!("{symbol}: the oracle has no such tensor here"))?;
    let output = outputs.iter().find(|o| o.quantity == quantity).ok_or_else(|| {
        format!("{symbol}: expected a tensor of shape {:?}, found none", expected.value.shape())
    })?;
    let name = output.name();
    let computed = &output.computed;
    if !same_shape(&computed.shape, expected.value.shape()) || computed.values.len() != expected.value.len() {
        return Err(format!(
            "{name}: expected shape {:?}, found {:?}",
            output.shape(expected.value.shape()),
            output.shape(&computed.shape)
        ));
    }
    if let Some(element) = output.unwritten {
        return Err(format!("{name}: element {element} of {} was never written", computed.values.len()));
    }
    let value: Vec<f64> = expected.value.iter().copied().collect();
    let envelope: Vec<f64> = expected.envelope.iter().copied().collect();
    let held = Expected { truth: &value, envelope: &envelope, either_infinity: rule.either_infinity() };
    let measure = measure(computed, &held);
    let along_time = runs_along_time(quantity);
    let profile = measure.worst.as_ref().filter(|w| along_time && w.ratio > 1.0).and_then(|worst| {
        let channel = worst.index.get(2).copied().unwrap_or(0);
        profile(computed, &held, (*worst.index.first()?, channel), is_adjoint(quantity))
    });
    Ok(TensorRecord {
        worst_element: measure.worst.as_ref().map_or_else(String::new, |worst| output.element(&worst.index)),
        tensor: name,
        storage: computed.storage.name(),
        measure,
        limit: rule.limit(quantity),
        probabilistic: expected.bound == Bound::Probabilistic,
        bits: computed.digest(),
        profile,
        quantity,
    })
}

/// Whether a quantity is driven by the adjoint, which runs from the last step to the first.
fn is_adjoint(quantity: Quantity) -> bool {
    use Quantity::{Delta, Eta, H, Last, U, V, Y};
    !matches!(quantity, Y | Last | U | V | H | Eta | Delta)
}

/// A ratio as people read it: three digits after the point while they matter.
#[must_use]
pub fn ratio_text(ratio: f64) -> String {
    if ratio < 1e3 || ratio.is_infinite() { format!("{ratio:.3}") } else { format!("{ratio:.2e}") }
}

fn beyond_limit(record: &TensorRecord) -> Option<String> {
    let worst = record.measure.worst.as_ref().filter(|_| !record.conforms())?;
    Some(format!(
        "{}: got {:e}, truth {:e}, envelope {:.3e}: ratio {} over the limit {:.3}; {} of {} elements beyond their envelope",
        record.worst_element,
        worst.got,
        worst.truth,
        worst.envelope,
        ratio_text(worst.ratio),
        record.limit,
        record.measure.beyond,
        record.measure.elements,
    ))
}
