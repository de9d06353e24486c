//! `plumbline gate`: judges kernels on generated and golden cases.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use plumbline_fixtures::Kind;
use plumbline_gpu::catalog::Kernel;

use super::select::{self, Place, Selection};
use super::{CliError, Ending};
use crate::campaign::{Campaign, golden_names, golden_problem};
use crate::case::{Case, Origin};
use crate::examine::Record;
use crate::executor::Executor;
use crate::judge::Verdict;
use crate::ledger::Ledger;
use crate::report::{Counters, Run, agreements, failure_text, verdict_table, write_json};
use crate::strategy::Regime;

/// Not clap's to read: its errors do not name the variable, and an empty one counts as set.
const CASES: &str = "PLUMBLINE_CASES";

/// Judges kernels on generated and golden cases.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: plumbline gate rglru_forward_serial_bf16 --cases 500 --regime near_one --json run.json"
)]
pub(super) struct Gate {
    /// Kernels to judge; all if none is named. `plumbline kernels` lists them.
    kernels: Vec<String>,
    /// Where to run them: virtual, cuda, cuda:INDEX or auto (both, where there is a device).
    #[arg(long, default_value_t = Place::Virtual)]
    device: Place,
    /// Generated cases for each kernel. Without it the environment's PLUMBLINE_CASES, or 130 if that is unset or empty.
    #[arg(long, value_parser = |text: &str| cases(text, 0))]
    cases: Option<usize>,
    /// Seed of the generated cases.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Generate from this regime only; may be given several times.
    #[arg(long, value_parser = regime)]
    regime: Vec<Regime>,
    /// Leave out the golden cases.
    #[arg(long)]
    no_golden: bool,
    /// Write every record to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A number of cases whose records fit in memory.
pub(super) fn cases(text: &str, least: usize) -> Result<usize, String> {
    const MOST: usize = 1_000_000;
    let wrong = || format!("expected a number from {least} to {MOST}, found `{text}`");
    text.parse().ok().filter(|n| (least..=MOST).contains(n)).ok_or_else(wrong)
}

/// The number of cases where none is given. A CI that hands on a variable which nobody set hands on an empty one.
fn usual_cases() -> Result<usize, CliError> {
    match std::env::var_os(CASES).filter(|text| !text.is_empty()) {
        None => Ok(130),
        Some(text) => cases(&text.to_string_lossy(), 0)
            .map_err(|message| CliError::Environment { variable: CASES, message }),
    }
}

/// Before the run, whose records would be lost after it.
fn demand_folder(path: &Path) -> Result<(), CliError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if folder.is_dir() {
        return Ok(());
    }
    let message = format!("expected a folder `{}` to write it to, found none", folder.display());
    Err(CliError::File { file: path.to_owned(), message })
}

fn regime(text: &str) -> Result<Regime, String> {
    // Every kernel of the catalogue takes cases of this kind.
    let regimes = Regime::of(Kind::RglruLogits);
    let names: Vec<&str> = regimes.iter().map(|regime| regime.name()).collect();
    let place = names.iter().position(|name| *name == text);
    let wrong = || format!("expected one of {}, found `{text}`", names.join(", "));
    place.map(|place| regimes[place]).ok_or_else(wrong)
}

impl Gate {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ending, CliError> {
        self.json.as_deref().map_or(Ok(()), demand_folder)?;
        let campaign = Campaign {
            cases: self.cases.map_or_else(usual_cases, Ok)?,
            seed: self.seed,
            regimes: self.regime.clone(),
            golden: !self.no_golden,
        };
        let kernels = select::kernels(&self.kernels)?;
        let selection = select::executors(&kernels, self.device)?;
        let ledger = Ledger::virtual_device()?;
        let records = run_with_bar(&campaign, &selection, &ledger)?;
        for not_run in &selection.not_run {
            writeln!(out, "not run: {not_run}")?;
        }
        write!(out, "{}", verdict_table(&records))?;
        for agreement in agreements(&records) {
            writeln!(out, "{agreement}")?;
        }
        failures(out, &campaign, &selection, &ledger, &records)?;
        if let Some(path) = &self.json {
            write(path, &campaign, &kernels, &selection, &records)?;
        }
        Ok(ending(&records))
    }
}

fn write(
    path: &Path,
    campaign: &Campaign,
    kernels: &[&Kernel],
    selection: &Selection,
    records: &[Record],
) -> Result<(), CliError> {
    let ptx_sha256: BTreeMap<_, _> =
        kernels.iter().map(|k| (k.artifact.name, k.artifact.ptx_hash())).collect();
    let run = Run {
        schema_version: 1,
        plumbline: env!("CARGO_PKG_VERSION"),
        seed: campaign.seed,
        cases: campaign.cases,
        ptx_sha256,
        not_run: selection.not_run.clone(),
        counters: Counters::of(records),
        records,
    };
    Ok(write_json(path, &run)?)
}

/// One text a failing executor: its first failing case, made small.
fn failures(
    out: &mut dyn Write,
    campaign: &Campaign,
    selection: &Selection,
    ledger: &Ledger,
    records: &[Record],
) -> Result<(), CliError> {
    let mut rest = records;
    for executor in &selection.executors {
        let per = campaign.examinations(executor.subject().kind)?;
        let golden = per - campaign.cases;
        let (records, after) = rest.split_at(per.min(rest.len()));
        rest = after;
        let failing = records.iter().filter(|r| r.deviates()).count();
        let Some(first) = records.iter().position(Record::deviates) else { continue };
        let text = match first.checked_sub(golden) {
            Some(index) => shrunk(campaign, index, executor.as_ref(), ledger)?,
            None => golden_failure(first, executor.as_ref(), &records[first])?,
        };
        writeln!(out, "\n{}", text.unwrap_or_default())?;
        writeln!(out, "{failing} of {} cases of {} deviate", records.len(), executor.subject().name)?;
    }
    Ok(())
}

fn shrunk(
    campaign: &Campaign,
    index: usize,
    executor: &dyn Executor,
    ledger: &Ledger,
) -> Result<Option<String>, CliError> {
    let Some(shrunk) = campaign.shrink(index, executor, ledger)? else { return Ok(None) };
    let case = Case::generated(shrunk.spec, executor.subject().storage)?;
    Ok(Some(failure_text(&shrunk.record, &case, executor.subject())))
}

fn golden_failure(
    index: usize,
    executor: &dyn Executor,
    record: &Record,
) -> Result<Option<String>, CliError> {
    let kind = executor.subject().kind;
    let Some(name) = golden_names(kind)?.get(index).copied() else { return Ok(None) };
    let origin = Origin::Golden(name.to_owned());
    let case = Case::of_problem(origin, golden_problem(name, kind)?, executor.subject().storage);
    Ok(Some(failure_text(record, &case, executor.subject())))
}

/// A case that could not be judged is no success: what was asked for was not shown.
pub(super) fn ending(records: &[Record]) -> Ending {
    let not_judged = records.iter().find_map(|r| match &r.verdict {
        Verdict::NotJudged(why) => Some(format!("{} on {}: {why}", r.kernel, r.executor)),
        _ => None,
    });
    if records.iter().any(Record::deviates) {
        Ending::Deviates
    } else if let Some(why) = not_judged {
        Ending::NotJudged(why)
    } else if Counters::of(records).elements == 0 {
        Ending::NotJudged("no element was compared".to_owned())
    } else {
        Ending::Conforms
    }
}

/// The campaign on every executor, with a bar while it runs.
pub(super) fn run_with_bar(
    campaign: &Campaign,
    selection: &Selection,
    ledger: &Ledger,
) -> Result<Vec<Record>, CliError> {
    let examinations = selection.executors.iter().map(|e| campaign.examinations(e.subject().kind));
    let bar = progress(examinations.sum::<Result<usize, _>>()?);
    let records = campaign.run(&selection.executors, ledger, &|_| bar.inc(1))?;
    bar.finish_and_clear();
    Ok(records)
}

/// A bar on a terminal, nothing elsewhere.
fn progress(total: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} cases, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total as u64).with_style(style)
}
