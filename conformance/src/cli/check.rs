//! `plumbline check`: judges a file of outputs that somebody else's program computed.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use plumbline_fixtures::{Kind, Tensor, TensorFile, same_shape, unravel};
use plumbline_reference::Quantity;

use super::gate::ending;
use super::input::{self, Plan};
use super::{CliError, Ending};
use crate::examine::examine;
use crate::executor::{Executor, FileExecutor, storage_of};
use crate::ledger::Ledger;
use crate::report::{failure_text, verdict_table};

/// Judges a file of outputs that your own program computed from a case file.
///
/// The outputs have the golden names (y, last_h, dx_direct, dx_total, dinput_gate_logits, da_gate_logits, da_param,
/// dh0, ...; of complex states last_re, last_im, ...) and are judged in the type in which they are stored; those that are missing are
/// listed, and with --all they make the exit code 4.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: plumbline check --case case.safetensors --actual out.safetensors --plan bf16"
)]
pub(super) struct Check {
    /// Safetensors file with the inputs and cotangents.
    #[arg(long, value_name = "FILE")]
    case: PathBuf,
    /// Safetensors file with the outputs to judge.
    #[arg(long, value_name = "FILE")]
    actual: PathBuf,
    /// What your program rounds: f32 everywhere, or bf16 inputs and outputs with f32 between; -fast allows
    /// exponentials by the hardware's ex2.
    #[arg(long, value_enum, default_value = "f32")]
    plan: Plan,
    /// Kind of the case, where its metadata and its names leave a choice: rglru_projected, rglru_logits,
    /// rglru_complex, rglru_complex_logits, samu, scan or scan_complex.
    #[arg(long)]
    kind: Option<Kind>,
    /// Demand every output: one that is missing is not judged, and the exit code 4.
    #[arg(long)]
    all: bool,
}

impl Check {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ending, CliError> {
        let (kind, problem) = input::read(&self.case, self.kind)?;
        let actual = TensorFile::read(&self.actual)?;
        self.demand_same_inputs(kind, &actual)?;
        let (storage, rounding) = (self.plan.storage(), self.plan.rounding());
        let executor = FileExecutor::new(&actual, kind, storage, rounding, self.options(kind))?;
        let case = input::case(&self.case, &problem, self.plan, out)?;
        // Nobody has to have the gradient of an initial state that is not there.
        let asked = |quantity: Quantity| quantity != Quantity::Dh0 || case.has_initial_state();
        let names = kind.outputs().iter().filter(|(quantity, _)| asked(*quantity));
        let names = names.flat_map(|(_, names)| names.iter());
        let missing: Vec<&str> = names.filter(|name| !actual.contains(name)).collect();
        if !missing.is_empty() {
            writeln!(out, "not in {}, not judged: {}", self.actual.display(), missing.join(", "))?;
        }
        let record = examine(&case, &executor, &Ledger::default());
        write!(out, "{}", verdict_table(std::slice::from_ref(&record)))?;
        if record.deviates() {
            write!(out, "\n{}", failure_text(&record, &case, executor.subject()))?;
        }
        match ending(&[record]) {
            Ending::Conforms if self.all && !missing.is_empty() => Ok(Ending::NotJudged(format!(
                "expected every output, {} of them missing: {}",
                missing.len(),
                missing.join(", ")
            ))),
            ending => Ok(ending),
        }
    }

    /// Inputs that stand beside the outputs are those of the case, or the outputs belong to another one.
    fn demand_same_inputs(&self, kind: Kind, actual: &TensorFile) -> Result<(), CliError> {
        let mut names = [kind.required(), kind.optional()].concat();
        names.retain(|name| actual.contains(name));
        if names.is_empty() {
            return Ok(());
        }
        let case = TensorFile::read(&self.case)?;
        for name in names {
            let (Some(given), Some(found)) = (case.get(name), actual.get(name)) else { continue };
            if let Some(message) = difference(given, found) {
                let message = format!("tensor `{name}`: {message}; are these outputs of another case?");
                return Err(CliError::File { file: self.actual.clone(), message });
            }
        }
        Ok(())
    }

    /// What the verdict depends on besides the files.
    fn options(&self, kind: Kind) -> String {
        let all = if self.all { " --all" } else { "" };
        format!(" --plan {} --kind {}{all}", self.plan.name(), kind.name())
    }
}

/// Where a tensor first differs from the case's, whose numbers may have been rounded to the type in which it is stored.
fn difference(given: &Tensor, found: &Tensor) -> Option<String> {
    if !same_shape(found.shape(), given.shape()) && !same_shape(given.shape(), found.shape()) {
        return Some(format!("expected the case's shape {:?}, found {:?}", given.shape(), found.shape()));
    }
    let (storage, shape) = (storage_of(found.dtype()), found.shape());
    let (given, found) = (given.values(), found.values());
    let alike = |one: f64, two: f64| one == two || one.is_nan() && two.is_nan();
    let differs = |i: &usize| !alike(storage.nearest(given[*i]), found[*i]);
    let first = (0..found.len()).find(differs)?;
    let (index, given, found) = (unravel(first, shape), given[first], found[first]);
    Some(format!("expected {given:e} at {index:?} as in the case, found {found:e}"))
}
