//! `plumbline doctor`: what this machine has, and whether the PTX inside the binary fits its sources.

use std::io::Write;

use clap::Args;
use plumbline_gpu::artifact;
use plumbline_gpu::catalog::KERNELS;
use plumbline_gpu::cuda::{Device, compiler_present};

use super::{CliError, Ending};
use crate::executor::VirtualExecutor;

/// Tells what this machine has: devices, driver, compiler, PTX freshness.
#[derive(Debug, Args)]
#[command(after_help = "Example: plumbline doctor")]
pub(super) struct Doctor {}

impl Doctor {
    #[expect(clippy::unused_self, reason = "every verb runs alike")]
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ending, CliError> {
        writeln!(out, "plumbline {}", env!("CARGO_PKG_VERSION"))?;
        writeln!(out, "virtual   ready; {} threads", rayon::current_num_threads())?;
        for ordinal in 0.. {
            match Device::open(ordinal) {
                Ok(device) => {
                    let facts = device.facts();
                    let (major, minor) = facts.capability;
                    writeln!(out, "cuda:{ordinal}    {}, compute capability {major}.{minor}", facts.name)?;
                }
                Err(_) if ordinal > 0 => break,
                Err(error) => {
                    writeln!(out, "cuda      not available: {error}")?;
                    break;
                }
            }
        }
        let nvrtc = if compiler_present() {
            "found"
        } else {
            "not found (only `kernels compile` and `check` need it)"
        };
        writeln!(out, "nvrtc     {nvrtc}")?;
        for artifact in artifact::ALL {
            let fresh = if artifact.is_fresh() { "fresh" } else { "STALE: run `plumbline kernels compile`" };
            writeln!(out, "ptx       {}: {fresh}, sha256 {}", artifact.name, &artifact.ptx_hash()[..12])?;
        }
        for kernel in KERNELS {
            VirtualExecutor::new(kernel)?;
        }
        writeln!(out, "kernels   {}, all load into the PTX machine", KERNELS.len())?;
        Ok(Ending::Conforms)
    }
}
