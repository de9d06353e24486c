//! `plumbline ledger record`: the recorded tolerances, rewritten from a long run on the PTX machine.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use plumbline_fixtures::Kind;
use plumbline_gpu::buffer::Dtype;
use plumbline_gpu::catalog::{self, KERNELS, Kernel};

use super::gate::{cases, run_with_bar};
use super::select::{self, Place};
use super::{CliError, Ending};
use crate::campaign::Campaign;
use crate::examine::Record;
use crate::executor::{Subject, stored_as};
use crate::judge::TensorRecord;
use crate::ledger::{Ledger, Recording};
use crate::report::verdict_table;
use crate::storage::Storage;
use crate::strategy::Regime;

/// Records tolerances from a long run on the PTX machine.
#[derive(Debug, Args)]
pub(super) struct LedgerCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run many cases and write the largest ratio of each kernel, tensor and regime, rounded up to the grid.
    Record(Record_),
}

#[derive(Debug, Args)]
struct Record_ {
    /// Generated cases for each kernel; each regime needs at least one, or its limit would be lost.
    #[arg(long, default_value_t = 5200, value_parser = |text: &str| cases(text, Regime::of(Kind::RglruLogits).len()))]
    cases: usize,
    /// Seed of the generated cases.
    #[arg(long, default_value_t = 20)]
    seed: u64,
    /// File to write.
    #[arg(long, default_value = "conformance/ledger/virtual.toml")]
    out: PathBuf,
}

impl LedgerCommand {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ending, CliError> {
        let Verb::Record(record) = &self.verb;
        record.run(out)
    }
}

impl Record_ {
    fn run(&self, out: &mut dyn Write) -> Result<Ending, CliError> {
        let campaign = Campaign { cases: self.cases, seed: self.seed, regimes: Vec::new(), golden: true };
        let selection = select::executors(&KERNELS, Place::Virtual)?;
        // Nothing recorded limits the recording: the envelope alone does.
        let records = run_with_bar(&campaign, &selection, &Ledger::default())?;
        write!(out, "{}", verdict_table(&records))?;
        if records.iter().any(Record::deviates) {
            writeln!(out, "{} is left as it was: a kernel deviates", self.out.display())?;
            return Ok(Ending::Deviates);
        }
        self.note(&records).write(&self.out)?;
        writeln!(out, "wrote {}", self.out.display())?;
        Ok(Ending::Conforms)
    }

    fn note(&self, records: &[Record]) -> Ledger {
        let recording = Recording {
            device: "virtual".to_owned(),
            cases: self.cases,
            seed: self.seed,
            plan: "as each kernel declares".to_owned(),
        };
        let mut ledger = Ledger { recording, ..Ledger::default() };
        for record in records {
            for tensor in &record.tensors {
                ledger.note(&record.kernel, &tensor.tensor, record.regime, tensor.measure.ratio);
                for kernel in narrow_siblings(record, tensor) {
                    ledger.note(kernel, &tensor.tensor, record.regime, tensor.measure.ratio);
                }
            }
        }
        ledger
    }
}

/// Kernels that compute the same in f32 and store this tensor in a narrower type.
///
/// A narrow tensor is judged to the cell of reals that round to it, so its ratio is 0 but for the rare values whose
/// f32 error crosses a half-way point. Their largest is no estimate of what the next run may show; the f32 kernel,
/// whose every element shows its error, is.
fn narrow_siblings(record: &Record, tensor: &TensorRecord) -> Vec<&'static str> {
    let Some(wide) = catalog::find(&record.kernel).filter(|k| k.storage == Dtype::F32) else {
        return Vec::new();
    };
    let same = |k: &&Kernel| (k.family, k.pass, k.algorithm) == (wide.family, wide.pass, wide.algorithm);
    let stores_narrow = |k: &&Kernel| {
        let storage = Subject::of_kernel(k).storage;
        storage != Storage::F32 && stored_as(tensor.quantity, storage) == storage
    };
    KERNELS.into_iter().filter(same).filter(stores_narrow).map(|k| k.name).collect()
}
