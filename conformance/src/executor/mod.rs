//! Who computes the numbers: the rounded oracle, saboteurs, the PTX machine, a CUDA device, a file; what they are worth is left to `judge`.

mod cuda;
mod file;
mod kernel;
mod oracle;
mod saboteur;
mod virtual_device;

pub use cuda::{CudaExecutor, SharedDevice, open_device};
pub use file::FileExecutor;
pub(crate) use file::storage_of;
pub use oracle::RoundedOracle;
pub use saboteur::{Saboteur, saboteurs};
pub use virtual_device::{VirtualError, VirtualExecutor};

use plumbline_fixtures::{Kind, Names};
use plumbline_gpu::catalog::{Family, Kernel, Pass};
use plumbline_reference::{Quantity, RoundingPlan};

use crate::budget;
use crate::case::Case;
use crate::measure::Computed;
use crate::storage::Storage;

/// One tensor as it came out of an execution.
#[derive(Clone, Debug)]
pub struct Output {
    /// Which one.
    pub quantity: Quantity,
    /// Its numbers.
    pub computed: Computed,
    /// First element that was never written, if any.
    pub unwritten: Option<usize>,
    /// How it is called in the file that it comes from; the symbol of the mathematics names any other.
    pub names: Option<Names>,
}

impl Output {
    /// What people call it.
    #[must_use]
    pub fn name(&self) -> String {
        let of_file = |names: Names| names.iter().collect::<Vec<_>>().join("/");
        self.names.map_or_else(|| self.quantity.name().to_owned(), of_file)
    }

    /// A shape of it as people see it: each half of a complex tensor has half the last axis.
    #[must_use]
    pub fn shape(&self, whole: &[usize]) -> Vec<usize> {
        let mut shape = whole.to_vec();
        if let (Some(Names::Planes(..)), Some(last)) = (self.names, shape.last_mut()) {
            *last /= 2;
        }
        shape
    }

    /// What people call one element of it: half a complex tensor has its own name, and its own last index.
    #[must_use]
    pub fn element(&self, index: &[usize]) -> String {
        let Some(Names::Planes(re, im)) = self.names else { return format!("{}{index:?}", self.name()) };
        let half = self.computed.shape.last().map_or(0, |width| width / 2);
        let mut index = index.to_vec();
        let name = match index.last_mut() {
            Some(last) if *last >= half => {
                *last -= half;
                im
            }
            _ => re,
        };
        format!("{name}{index:?}")
    }
}

/// How an execution ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It ran to its end.
    Finished(Vec<Output>),
    /// It did something that a kernel must not do.
    Trapped(String),
    /// The executor cannot run it.
    Unsupported(String),
    /// The executor is not there.
    Unavailable(String),
}

/// What is being judged, independent of where it runs.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Kernel name.
    pub name: String,
    /// Kind of the cases that it takes.
    pub kind: Kind,
    /// Type of the large tensors.
    pub storage: Storage,
    /// How it says that it rounds.
    pub plan: RoundingPlan,
    /// What it produces.
    pub quantities: Vec<Quantity>,
}

impl Subject {
    /// The subject that a kernel of the catalogue is.
    #[must_use]
    pub fn of_kernel(kernel: &Kernel) -> Self {
        Self {
            name: kernel.name.to_owned(),
            kind: match kernel.family {
                Family::Rglru => Kind::RglruLogits,
            },
            storage: kernel::storage(kernel.storage),
            plan: budget::declared_plan(&kernel.declaration),
            quantities: match kernel.pass {
                Pass::Forward => FORWARD.to_vec(),
                Pass::Backward => BACKWARD.to_vec(),
            },
        }
    }
}

/// Outputs of a forward pass.
pub const FORWARD: [Quantity; 2] = [Quantity::Y, Quantity::Last];
/// Outputs of a backward pass whose logits are inputs.
pub const BACKWARD: [Quantity; 5] =
    [Quantity::Dx, Quantity::Du, Quantity::Dv, Quantity::DaParam, Quantity::Dh0];

/// Something that turns a case into numbers.
pub trait Executor: Sync {
    /// Where it runs, as in reports.
    fn place(&self) -> String;
    /// What it runs.
    fn subject(&self) -> &Subject;
    /// Runs one case.
    fn run(&self, case: &Case) -> Outcome;
    /// The command line that runs a case again.
    fn again(&self, origin: &str) -> String {
        format!("plumbline replay {} --kernel {}", quoted(origin), self.subject().name)
    }
}

/// An argument as a POSIX shell reads it back.
fn quoted(argument: &str) -> String {
    format!("'{}'", argument.replace('\'', r"'\''"))
}

/// Whether a quantity has one element for every token and channel.
#[must_use]
pub fn is_elementwise(quantity: Quantity) -> bool {
    use Quantity::{Da, Du, Dv, Dw, Dx, DxTotal, H, U, V, Y};
    matches!(quantity, Y | U | V | Dx | DxTotal | Du | Dv | H | Da | Dw)
}

/// Whether a quantity has elements for every token, so that its error has a course.
#[must_use]
pub fn runs_along_time(quantity: Quantity) -> bool {
    use Quantity::{Ddelta, Delta, Deta, Eta};
    is_elementwise(quantity) || matches!(quantity, Eta | Delta | Deta | Ddelta)
}

/// Where a quantity is stored: elementwise ones in the storage type; states, controls and parameters' gradients in f32.
#[must_use]
pub fn stored_as(quantity: Quantity, storage: Storage) -> Storage {
    if is_elementwise(quantity) || storage == Storage::F64 { storage } else { Storage::F32 }
}
