//! Which kernels on which device: the arguments that several verbs share.

use std::fmt;
use std::str::FromStr;

use plumbline_gpu::catalog::{self, Kernel};
use plumbline_gpu::cuda::CudaError;

use super::CliError;
use crate::executor::{CudaExecutor, Executor, VirtualExecutor, open_device};

/// Where kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The PTX machine.
    Virtual,
    /// A CUDA device; its absence is an error.
    Cuda(usize),
    /// The PTX machine, and the first CUDA device where there is one.
    Auto,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected virtual, cuda, cuda:INDEX or auto, found `{text}`");
        match text {
            "virtual" => Ok(Self::Virtual),
            "auto" => Ok(Self::Auto),
            "cuda" => Ok(Self::Cuda(0)),
            _ => {
                let index = text.strip_prefix("cuda:").ok_or_else(wrong)?;
                index.parse().map(Self::Cuda).map_err(|_| wrong())
            }
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Virtual => f.write_str("virtual"),
            Self::Auto => f.write_str("auto"),
            Self::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

/// Executors, and what was wished for and is not there.
pub(super) struct Selection {
    pub(super) executors: Vec<Box<dyn Executor>>,
    pub(super) not_run: Vec<String>,
}

/// The kernels of these names, all if none is named.
pub(super) fn kernels(names: &[String]) -> Result<Vec<&'static Kernel>, CliError> {
    if names.is_empty() {
        return Ok(catalog::KERNELS.to_vec());
    }
    let unknown = |name: &String| CliError::Kernel {
        found: name.clone(),
        known: catalog::KERNELS.map(|k| k.name).join(", "),
    };
    names.iter().map(|name| catalog::find(name).ok_or_else(|| unknown(name))).collect()
}

/// Executors of the kernels at a place.
pub(super) fn executors(kernels: &[&'static Kernel], place: Place) -> Result<Selection, CliError> {
    let mut selection = Selection { executors: Vec::new(), not_run: Vec::new() };
    if place != Place::Virtual {
        let ordinal = if let Place::Cuda(ordinal) = place { ordinal } else { 0 };
        match open_device(ordinal) {
            Ok(device) => selection.executors.extend(
                kernels.iter().map(|k| Box::new(CudaExecutor::new(k, device.clone())) as Box<dyn Executor>),
            ),
            Err(error) => absent(place, ordinal, error, &mut selection)?,
        }
    }
    if matches!(place, Place::Virtual | Place::Auto) {
        for kernel in kernels {
            selection.executors.push(Box::new(VirtualExecutor::new(kernel)?));
        }
    }
    Ok(selection)
}

/// What was asked for by name must be there; what `auto` looked for is listed as not run.
fn absent(place: Place, ordinal: usize, error: CudaError, selection: &mut Selection) -> Result<(), CliError> {
    if place != Place::Auto {
        return Err(error.into());
    }
    selection.not_run.push(format!("cuda:{ordinal}: {error}"));
    Ok(())
}
