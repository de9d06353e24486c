//! Kernels on the PTX machine: the very PTX that a GPU loads, executed on the CPU.

use plumbline_gpu::catalog::Kernel;
use plumbline_gpu::machine::{LoadError, Machine, Program, Statistics};
use plumbline_gpu::ptx::{self, PtxError};

use super::{Executor, Outcome, Subject, kernel};
use crate::case::Case;

/// Why a kernel cannot be loaded into the machine.
#[derive(Debug, thiserror::Error)]
pub enum VirtualError {
    /// The text is not PTX.
    #[error(transparent)]
    Parse(#[from] PtxError),
    /// The PTX asks for something that the machine does not do.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// One kernel on the PTX machine.
pub struct VirtualExecutor {
    kernel: &'static Kernel,
    subject: Subject,
    machine: Machine,
    programs: Vec<Program>,
}

impl VirtualExecutor {
    /// Parses and loads the kernel's own PTX.
    ///
    /// # Errors
    /// If the text is not PTX or holds an instruction that the machine does not know.
    pub fn new(kernel: &'static Kernel) -> Result<Self, VirtualError> {
        Self::with_ptx(kernel, kernel.artifact.name, kernel.artifact.ptx)
    }

    /// The same with other PTX for the same entries, as a changed source gives.
    ///
    /// # Errors
    /// As [`VirtualExecutor::new`].
    pub fn with_ptx(kernel: &'static Kernel, name: &str, text: &str) -> Result<Self, VirtualError> {
        let module = ptx::parse(name, text)?;
        let programs =
            kernel.entries.iter().map(|e| Program::load(&module, e.name)).collect::<Result<_, _>>()?;
        Ok(Self { kernel, subject: Subject::of_kernel(kernel), machine: Machine::default(), programs })
    }

    /// Runs one case and tells what the machine counted.
    ///
    /// # Errors
    /// The outcome, where it is not a result.
    pub fn count(&self, case: &Case) -> Result<Vec<Statistics>, Outcome> {
        self.execute(case).map(|(_, statistics)| statistics)
    }

    fn execute(&self, case: &Case) -> Result<(plumbline_gpu::buffer::BufferSet, Vec<Statistics>), Outcome> {
        let mut pipeline = kernel::assemble(self.kernel, case)?;
        let mut statistics = Vec::new();
        for (program, launch) in self.programs.iter().zip(&pipeline.launches) {
            let done = self.machine.run(program, launch, &mut pipeline.buffers);
            statistics.push(done.map_err(|trap| Outcome::Trapped(trap.to_string()))?);
        }
        Ok((pipeline.buffers, statistics))
    }
}

impl Executor for VirtualExecutor {
    fn place(&self) -> String {
        "virtual".to_owned()
    }

    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn run(&self, case: &Case) -> Outcome {
        match self.execute(case) {
            Ok((buffers, _)) => Outcome::Finished(kernel::outputs(&self.subject.quantities, case, &buffers)),
            Err(outcome) => outcome,
        }
    }
}
