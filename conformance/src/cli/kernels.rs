//! `plumbline kernels`: lists the catalogue, regenerates PTX, checks that it is fresh.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use plumbline_gpu::artifact;
use plumbline_gpu::catalog::{Complement, Contract, Dimensions, KERNELS, Kernel, Norm};

use super::{CliError, Ending};

/// Lists the kernels, or regenerates their PTX.
///
/// `compile` and `check` need libnvrtc: pip install nvidia-cuda-nvrtc-cu12==12.6.85, and its folder
/// nvidia/cuda_nvrtc/lib on LD_LIBRARY_PATH.
#[derive(Debug, Args)]
#[command(after_help = "Example: plumbline kernels check")]
pub(super) struct Kernels {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List every kernel with its contract and rounding plan (the default).
    List,
    /// Compile gpu/kernels to gpu/ptx.
    Compile(Root),
    /// Compile again and fail if gpu/ptx differs; changes nothing.
    Check(Root),
}

#[derive(Debug, Args)]
struct Root {
    /// Folder that holds kernels/ and ptx/.
    #[arg(long, default_value = "gpu")]
    root: PathBuf,
}

impl Kernels {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ending, CliError> {
        match &self.verb {
            None | Some(Verb::List) => KERNELS.iter().try_for_each(|kernel| list(kernel, out))?,
            Some(Verb::Compile(Root { root })) => {
                for path in artifact::compile_all(root)? {
                    writeln!(out, "wrote {}", path.display())?;
                }
                writeln!(
                    out,
                    "this binary still holds the PTX it was built with: build it again to run the new one"
                )?;
            }
            Some(Verb::Check(Root { root })) => {
                for path in artifact::check(root)? {
                    writeln!(out, "{} is what {} gives", path.display(), artifact::COMPILER)?;
                }
            }
        }
        Ok(Ending::Conforms)
    }
}

fn list(kernel: &Kernel, out: &mut dyn Write) -> std::io::Result<()> {
    let contract = match kernel.contract {
        Contract::Canonical => {
            "canonical: resets anywhere, initial state, cotangent of the final state, any B, L, W"
        }
    };
    let norm = match kernel.declaration.norm {
        Norm::Expm1 => "norm by expm1",
        Norm::Naive => "norm by subtraction",
    };
    let complement = match kernel.declaration.complement {
        Complement::Quotient => "1 - g as a quotient",
        Complement::Difference => "1 - g as a difference",
    };
    let unit = Dimensions { batch: 1, length: 1024, width: 1024 };
    let per = |bytes: usize| bytes as f64 / f64::from(1 << 20);
    writeln!(out, "{}", kernel.name)?;
    writeln!(out, "  {contract}")?;
    writeln!(out, "  {} carry, {norm}, {complement}", kernel.declaration.carry.name())?;
    writeln!(
        out,
        "  {:.2} bytes of traffic and {:.2} of scratch an element; {}; PTX sha256 {}",
        per(kernel.traffic_bytes(unit)),
        per(kernel.scratch_bytes(unit)),
        if kernel.deterministic { "the same bits in every run" } else { "bits may differ between runs" },
        &kernel.artifact.ptx_hash()[..12],
    )
}
