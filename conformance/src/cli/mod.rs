//! The command line: one verb, one file; here the verbs, the exit codes and how errors are shown.

#![expect(clippy::doc_markdown, reason = "these comments are the help text of a terminal")]

mod check;
mod doctor;
mod gate;
mod input;
mod kernels;
mod ledger;
mod oracle;
mod replay;
mod select;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use plumbline_fixtures::FixtureError;
use plumbline_gpu::artifact::ArtifactError;
use plumbline_gpu::cuda::CudaError;
use plumbline_reference::ProblemError;

use crate::campaign::CampaignError;
use crate::executor::VirtualError;
use crate::ledger::LedgerError;
use crate::strategy::SpecError;

/// Verification of GPU kernels for gated linear recurrences, against an FP64 oracle with an error envelope for
/// every element.
#[derive(Debug, Parser)]
#[command(
    name = "plumbline",
    version,
    after_help = "Exit codes: 0 conforms, 1 deviates, 2 usage or bad input, 3 a device that was asked for is \
                  absent, 4 nothing was compared, in all or in one of the cases."
)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Judge kernels on generated and golden cases.
    Gate(gate::Gate),
    /// Run the oracle on a case file: every output and gradient, each with its envelope.
    Oracle(oracle::Oracle),
    /// Judge a file of outputs that your own program computed.
    Check(check::Check),
    /// Run one case again and tell everything about it.
    Replay(replay::Replay),
    /// List the kernels, or regenerate their PTX.
    Kernels(kernels::Kernels),
    /// Record tolerances from a long run on the PTX machine.
    Ledger(ledger::LedgerCommand),
    /// Tell what this machine has: devices, driver, compiler, PTX freshness.
    Doctor(doctor::Doctor),
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Everything that was compared conforms, or there was nothing to judge in this verb.
    Conforms,
    /// Something deviates.
    Deviates,
    /// Nothing was compared, in all or in one of the cases, and why.
    NotJudged(String),
}

/// Why a command could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum CliError {
    /// A device was asked for by name and is absent.
    Device(#[from] CudaError),
    Fixture(#[from] FixtureError),
    Problem(#[from] ProblemError),
    Campaign(#[from] CampaignError),
    Ledger(#[from] LedgerError),
    Virtual(#[from] VirtualError),
    Spec(#[from] SpecError),
    Artifact(#[from] ArtifactError),
    #[error("kernel `{found}`: expected one of {known}")]
    Kernel {
        found: String,
        known: String,
    },
    #[error("{variable}: {message}")]
    Environment {
        variable: &'static str,
        message: String,
    },
    #[error("{file}: {message}")]
    File {
        file: PathBuf,
        message: String,
    },
    #[error("the output could not be written: {0}")]
    Output(#[from] std::io::Error),
}

impl CliError {
    fn code(&self) -> u8 {
        match self {
            Self::Device(_) => 3,
            _ => 2,
        }
    }
}

/// The process: arguments and streams of the system.
#[must_use]
pub fn main() -> ExitCode {
    let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr());
    ExitCode::from(run(std::env::args_os(), &mut out, &mut err))
}

/// Parses the arguments (the first is the program's name), runs the verb, and returns the exit code. Results go to
/// `out`, errors to `err`.
pub fn run<'a, A>(arguments: A, out: &'a mut dyn Write, err: &'a mut dyn Write) -> u8
where
    A: IntoIterator,
    A::Item: Into<OsString> + Clone,
{
    match Arguments::try_parse_from(arguments) {
        Ok(arguments) => conclude(arguments.verb.run(&mut Patient(out)), err),
        Err(error) => {
            let stream = if error.use_stderr() { err } else { out };
            // Nowhere is left to report that a message could not be written.
            let _ = write!(stream, "{}", error.render());
            u8::try_from(error.exit_code()).unwrap_or(2)
        }
    }
}

impl Verb {
    fn run(&self, out: &mut dyn Write) -> Result<Ending, CliError> {
        match self {
            Self::Gate(verb) => verb.run(out),
            Self::Oracle(verb) => verb.run(out),
            Self::Check(verb) => verb.run(out),
            Self::Replay(verb) => verb.run(out),
            Self::Kernels(verb) => verb.run(out),
            Self::Ledger(verb) => verb.run(out),
            Self::Doctor(verb) => verb.run(out),
        }
    }
}

/// A stream whose reader may leave: what it no longer wants is dropped, so that the verdict still reaches the exit code.
struct Patient<'a>(&'a mut dyn Write);

impl Write for Patient<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.0.write(bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(bytes.len()),
            other => other,
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self.0.flush() {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}

fn conclude(result: Result<Ending, CliError>, err: &mut dyn Write) -> u8 {
    match result {
        Ok(Ending::Conforms) => 0,
        Ok(Ending::Deviates) => 1,
        Ok(Ending::NotJudged(why)) => {
            let _ = writeln!(err, "error: not judged: {why}");
            4
        }
        Err(error) => {
            let _ = writeln!(err, "error: {error}");
            error.code()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Arguments::command().debug_assert();
    }
}
