//! `plumbline check`: judges a file of outputs that somebody else's program computed.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use plumbline_fixtures::{Kind, TensorFile};

use super::gate::ending;
use super::input::{self, Plan};
use super::{CliError, Ending};
use crate::examine::examine;
use crate::executor::{Executor, FileExecutor};
use crate::ledger::Ledger;
use crate::report::{failure_text, verdict_table};

/// Judges a file of outputs that your own program computed from a case file.
///
/// The outputs have the golden names (y, last_h, dx_direct, dx_total, dinput_gate_logits, da_gate_logits, da_param,
/// dh0, ...) and are judged in the type in which they are stored; those that are missing are listed.
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
    /// Kind of the case, where its names leave a choice: rglru_projected or rglru_logits.
    #[arg(long)]
    kind: Option<Kind>,
}

impl Check {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ending, CliError> {
        let (kind, problem) = input::read(&self.case, self.kind)?;
        let actual = TensorFile::read(&self.actual)?;
        let executor = FileExecutor::new(&actual, kind, self.plan.storage(), self.plan.rounding())?;
        let case = input::case(&self.case, &problem, self.plan, out)?;
        let names = kind.output_names().into_iter();
        let missing: Vec<&str> = names.filter(|name| !actual.contains(name)).collect();
        if !missing.is_empty() {
            writeln!(out, "not in {}, not judged: {}", self.actual.display(), missing.join(", "))?;
        }
        let record = examine(&case, &executor, &Ledger::default());
        write!(out, "{}", verdict_table(std::slice::from_ref(&record)))?;
        if record.deviates() {
            write!(out, "\n{}", failure_text(&record, &case, executor.subject()))?;
        }
        Ok(ending(&[record]))
    }
}
