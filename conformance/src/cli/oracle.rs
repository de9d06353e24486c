//! `plumbline oracle`: every output and gradient of a case file, each with its envelope.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use plumbline_fixtures::{Kind, TensorFile};
use plumbline_reference::solve;

use super::input::{self, Plan};
use super::{CliError, Ending};

/// Runs the oracle on a case file.
///
/// Names of inputs and cotangents, h0 being optional:
///
/// rglru: x, segment_pos, a_param, dy, dlast, h0, and either input_gate_w, input_gate_b, a_gate_w, a_gate_b or
/// input_gate_logits, a_gate_logits;
///
/// rglru_complex: the same and a_imag_param, real parts in the first half of the last axis, imaginary in the second;
///
/// samu: x, segment_pos, nu_log, theta_log, phase_direction, radial_direction, phase_amplitude, radial_amplitude, dy,
/// dlast_re, dlast_im, h0_re, h0_im;
///
/// scan: a, w, dy, dlast, h0; complex: a_re, a_im and so on.
///
/// The outputs have the golden names (y, last_h, dx_direct, ...), each with an envelope.NAME beside it, all in float64.
#[derive(Debug, Args)]
#[command(after_help = "Example: plumbline oracle --case case.safetensors --out truth.safetensors")]
pub(super) struct Oracle {
    /// Safetensors file with the inputs and cotangents.
    #[arg(long, value_name = "FILE")]
    case: PathBuf,
    /// File to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Kind of the case, where its metadata and its names leave a choice: rglru_projected, rglru_logits,
    /// rglru_complex, rglru_complex_logits, samu, scan or scan_complex.
    #[arg(long)]
    kind: Option<Kind>,
    /// Take the case as a kernel of this plan does: inputs rounded to its storage type, its envelopes. Without it the
    /// inputs are taken as they stand, with the envelopes of f32.
    #[arg(long, value_enum)]
    plan: Option<Plan>,
}

impl Oracle {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ending, CliError> {
        let (kind, problem) = input::read(&self.case, self.kind)?;
        self.keep_the_case()?;
        let problem = match self.plan {
            None => problem,
            Some(plan) => input::case(&self.case, &problem, plan, out)?.problem,
        };
        let truth = solve(&problem, &self.plan.unwrap_or(Plan::F32).rounding());
        let mut file = TensorFile::new(self.out.display().to_string());
        file.set_metadata("kind", kind.name());
        file.set_metadata("source", format!("plumbline {} oracle, float64", env!("CARGO_PKG_VERSION")));
        for (quantity, bounded) in truth.iter() {
            let Some(names) = kind.names_of(quantity) else { continue };
            file.insert_as(names, "", &bounded.value.view());
            file.insert_as(names, "envelope.", &bounded.envelope.view());
        }
        file.write(&self.out)?;
        let [b, l, w] = kind.extents(problem.shape());
        let masks = match truth.undecided() {
            0 => String::new(),
            undecided => format!(", {undecided} undecided ReLU masks"),
        };
        let (tensors, path) = (truth.iter().count(), self.out.display());
        writeln!(out, "{kind}, B {b}, L {l}, W {w}: {tensors} tensors to {path}{masks}")?;
        Ok(Ending::Conforms)
    }

    /// The case file holds inputs that no run can give back.
    fn keep_the_case(&self) -> Result<(), CliError> {
        let same = match (self.case.canonicalize(), self.out.canonicalize()) {
            (Ok(case), Ok(out)) => case == out,
            _ => false,
        };
        if same {
            let message = "expected an output file other than the case, found the case itself".to_owned();
            return Err(CliError::File { file: self.out.clone(), message });
        }
        Ok(())
    }
}
