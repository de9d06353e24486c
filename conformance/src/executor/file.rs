//! Numbers that somebody else computed and wrote to a file of tensors under the golden names.

use plumbline_fixtures::{Dtype, FixtureError, Kind, Tensor, TensorFile, quantity_of};
use plumbline_reference::{Quantity, RoundingPlan};

use super::{Executor, Outcome, Output, Subject};
use crate::case::Case;
use crate::measure::Computed;
use crate::storage::Storage;

/// A file of outputs as an executor: it gives the same numbers whatever the case.
pub struct FileExecutor {
    subject: Subject,
    outputs: Vec<Output>,
}

impl FileExecutor {
    /// Takes the outputs of a kind of case from a file; inputs that stand beside them are left alone.
    ///
    /// # Errors
    /// If the file holds a tensor that no case of the kind has, or one of them is not of a float type.
    pub fn new(
        file: &TensorFile,
        kind: Kind,
        storage: Storage,
        plan: RoundingPlan,
    ) -> Result<Self, FixtureError> {
        demand_known(file, kind)?;
        let mut outputs = Vec::new();
        for name in kind.outputs() {
            let (Some(quantity), Some(tensor)) = (quantity_of(name), file.get(name)) else { continue };
            outputs.push(output(file, name, quantity, tensor)?);
        }
        let quantities = outputs.iter().map(|o| o.quantity).collect();
        Ok(Self { subject: Subject { name: file.name().to_owned(), storage, plan, quantities }, outputs })
    }
}

fn demand_known(file: &TensorFile, kind: Kind) -> Result<(), FixtureError> {
    let names = kind.required().iter().chain(kind.optional()).chain(kind.outputs()).copied();
    // What `oracle` writes beside its outputs.
    let envelopes: Vec<String> = kind.outputs().iter().map(|name| format!("envelope.{name}")).collect();
    let known: Vec<&str> = names.chain(envelopes.iter().map(String::as_str)).collect();
    file.demand_only(&known)
}

fn output(
    file: &TensorFile,
    name: &str,
    quantity: Quantity,
    tensor: &Tensor,
) -> Result<Output, FixtureError> {
    let storage = match tensor.dtype() {
        Dtype::F64 => Storage::F64,
        Dtype::F32 => Storage::F32,
        Dtype::Bf16 => Storage::Bf16,
        Dtype::F16 => Storage::F16,
        other => {
            return Err(FixtureError::Dtype {
                file: file.name().to_owned(),
                tensor: name.to_owned(),
                expected: "one of F64, F32, BF16, F16".to_owned(),
                found: other.name().to_owned(),
            });
        }
    };
    let computed = Computed { storage, shape: tensor.shape().to_vec(), values: tensor.values() };
    Ok(Output { quantity, computed, unwritten: None })
}

impl Executor for FileExecutor {
    fn place(&self) -> String {
        "file".to_owned()
    }

    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn run(&self, _case: &Case) -> Outcome {
        Outcome::Finished(self.outputs.clone())
    }
}
