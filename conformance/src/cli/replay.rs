//! `plumbline replay`: runs one case again and tells everything about it.

use std::io::Write;
use std::path::Path;

use clap::Args;
use plumbline_fixtures::{Kind, golden};
use plumbline_reference::Problem;

use super::gate::ending;
use super::select::{self, Place};
use super::{CliError, Ending, input};
use crate::campaign::golden_problem;
use crate::case::{Case, Origin};
use crate::examine::{Record, examine};
use crate::ledger::Ledger;
use crate::report::{failure_text, verdict_table};
use crate::storage::Storage;
use crate::strategy::Spec;

/// Runs one case again and tells everything about it.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: plumbline replay 'near_one:packed:nonzero:2x33x65:1a2b' --kernel rglru_backward_serial_f32"
)]
pub(super) struct Replay {
    /// The case as a failure names it: REGIME:LAYOUT:H0:BxLxW:SEED, golden:NAME, or a case file.
    case: String,
    /// Kernel to run; may be given several times; all if none is named.
    #[arg(long)]
    kernel: Vec<String>,
    /// Where to run it: virtual, cuda, cuda:INDEX or auto.
    #[arg(long, default_value_t = Place::Virtual)]
    device: Place,
}

/// A case before it is rounded to a kernel's storage type.
enum Source {
    Spec(Spec),
    Problem(Origin, Box<Problem>),
}

impl Source {
    fn parse(text: &str) -> Result<Self, CliError> {
        if let Some(name) = text.strip_prefix("golden:") {
            let stored = golden::manifest()?.case(name)?.kind.kind();
            // Every kernel of the catalogue takes logits.
            let kind = if stored == Kind::RglruProjected { Kind::RglruLogits } else { stored };
            let problem = golden_problem(name, kind)?;
            return Ok(Self::Problem(Origin::Golden(name.to_owned()), Box::new(problem)));
        }
        if Path::new(text).exists() || text.ends_with(".safetensors") {
            let (_, problem) = input::read(Path::new(text), None)?;
            let problem = Case::with_given_logits(problem)?;
            return Ok(Self::Problem(Origin::File(text.to_owned()), Box::new(problem)));
        }
        Ok(Self::Spec(text.parse()?))
    }

    fn case(&self, storage: Storage) -> Result<Case, CliError> {
        Ok(match self {
            Self::Spec(spec) => Case::generated(*spec, storage)?,
            Self::Problem(origin, problem) => {
                Case::of_problem(origin.clone(), problem.as_ref().clone(), storage)
            }
        })
    }
}

impl Replay {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ending, CliError> {
        let source = Source::parse(&self.case)?;
        let selection = select::executors(&select::kernels(&self.kernel)?, self.device)?;
        for not_run in &selection.not_run {
            writeln!(out, "not run: {not_run}")?;
        }
        let ledger = Ledger::virtual_device()?;
        let mut records: Vec<Record> = Vec::new();
        let mut failures = String::new();
        for executor in &selection.executors {
            let case = source.case(executor.subject().storage)?;
            let record = examine(&case, executor.as_ref(), &ledger);
            failures.push_str(&failure_text(&record, &case, executor.subject()));
            records.push(record);
        }
        write!(out, "{}", verdict_table(&records))?;
        if !failures.is_empty() {
            write!(out, "\n{failures}")?;
        }
        Ok(ending(&records))
    }
}
