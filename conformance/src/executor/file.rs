//! Numbers that somebody else computed and wrote to a file of tensors under the golden names.

use ndarray::ArrayD;
use plumbline_fixtures::{Dtype, FixtureError, Kind, Names, TensorFile};
use plumbline_reference::{Quantity, RoundingPlan};

use super::{Executor, Outcome, Output, Subject, quoted};
use crate::case::Case;
use crate::measure::Computed;
use crate::storage::Storage;

/// A file of outputs as an executor: it gives the same numbers whatever the case.
pub struct FileExecutor {
    subject: Subject,
    outputs: Vec<Output>,
    options: String,
}

impl FileExecutor {
    /// Takes the outputs of a kind of case from a file; inputs that stand beside them are left alone. `options` are those of
    /// the command line that judge it the same way.
    ///
    /// # Errors
    /// If the file holds a tensor that no case of the kind has, one of them is not of a float type, or half of a complex
    /// one is missing or does not fit the other.
    pub fn new(
        file: &TensorFile,
        kind: Kind,
        storage: Storage,
        plan: RoundingPlan,
        options: String,
    ) -> Result<Self, FixtureError> {
        demand_known(file, kind)?;
        let mut outputs = Vec::new();
        for &(quantity, names) in kind.outputs() {
            outputs
                .extend(file.get_as(names)?.map(|(dtype, values)| output(quantity, names, dtype, &values)));
        }
        let quantities = outputs.iter().map(|o| o.quantity).collect();
        let name = file.name().to_owned();
        Ok(Self { subject: Subject { name, kind, storage, plan, quantities }, outputs, options })
    }
}

fn demand_known(file: &TensorFile, kind: Kind) -> Result<(), FixtureError> {
    let outputs = kind.output_names();
    // What `oracle` writes beside its outputs.
    let envelopes: Vec<String> = outputs.iter().map(|name| format!("envelope.{name}")).collect();
    let mut known = [kind.required(), kind.optional(), outputs].concat();
    known.extend(envelopes.iter().map(String::as_str));
    file.demand_only(&known)
}

/// How the numbers of a type are rounded; integers are not.
pub(crate) fn storage_of(dtype: Dtype) -> Storage {
    match dtype {
        Dtype::F32 => Storage::F32,
        Dtype::Bf16 => Storage::Bf16,
        Dtype::F16 => Storage::F16,
        Dtype::F64 | Dtype::I32 | Dtype::I64 => Storage::F64,
    }
}

fn output(quantity: Quantity, names: Names, dtype: Dtype, values: &ArrayD<f64>) -> Output {
    let computed = Computed {
        storage: storage_of(dtype),
        shape: values.shape().to_vec(),
        values: values.iter().copied().collect(),
    };
    Output { quantity, computed, unwritten: None, names: Some(names) }
}

impl Executor for FileExecutor {
    fn place(&self) -> String {
        "file".to_owned()
    }

    fn again(&self, origin: &str) -> String {
        let [case, actual] = [origin, &self.subject.name].map(quoted);
        format!("plumbline check --case {case} --actual {actual}{}", self.options)
    }

    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn run(&self, _case: &Case) -> Outcome {
        Outcome::Finished(self.outputs.clone())
    }
}
