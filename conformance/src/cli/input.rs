//! Case files as problems, for the verbs that read one: the kind recognised or forced, the plan by name.

use std::io::Write;
use std::path::Path;

use clap::ValueEnum;
use plumbline_fixtures::{Kind, TensorFile, problem_from_file};
use plumbline_reference::{Problem, RoundingPlan};

use super::CliError;
use crate::case::{Case, Origin};
use crate::storage::Storage;

/// The rounding plans that can be asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Plan {
    /// f32 everywhere.
    F32,
    /// Inputs and outputs in bf16, everything between in f32.
    Bf16,
    /// f32 with hardware base-2 exponentials of a rounded product (`ex2.approx`).
    F32Fast,
    /// The same with inputs and outputs in bf16.
    Bf16Fast,
}

impl Plan {
    /// As the command line calls it.
    pub(super) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    pub(super) const fn storage(self) -> Storage {
        match self {
            Self::F32 | Self::F32Fast => Storage::F32,
            Self::Bf16 | Self::Bf16Fast => Storage::Bf16,
        }
    }

    pub(super) const fn rounding(self) -> RoundingPlan {
        match self {
            Self::F32 => RoundingPlan::f32(),
            Self::Bf16 => RoundingPlan::f32_io_bf16(),
            Self::F32Fast | Self::Bf16Fast => RoundingPlan::f32_fast(),
        }
    }
}

/// The problem of a file as a kernel of a plan reads it; says so on `out` where rounding changed an input.
pub(super) fn case(path: &Path, problem: &Problem, plan: Plan, out: &mut dyn Write) -> std::io::Result<Case> {
    let origin = Origin::File(path.display().to_string());
    let case = Case::of_problem(origin, problem.clone(), plan.storage());
    if case.changes(problem) {
        let name = plan.storage().name();
        writeln!(out, "note: not every input is a {name} number; the truth is that of the nearest ones")?;
    }
    Ok(case)
}

/// Reads a case file: its kind, and the problem it holds.
pub(super) fn read(path: &Path, asked: Option<Kind>) -> Result<(Kind, Problem), CliError> {
    let file = TensorFile::read(path)?;
    let kind = Kind::of_file(&file, asked)?;
    Ok((kind, problem_from_file(&file, kind)?))
}
