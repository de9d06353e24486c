//! Kernels on a CUDA device, through the cudarc door; a lost context is left behind and the device opened again.

use std::sync::{Arc, Mutex, PoisonError};

use plumbline_gpu::catalog::Kernel;
use plumbline_gpu::cuda::{CudaError, Device, DeviceFacts};

use super::{Executor, Outcome, Subject, kernel};
use crate::case::Case;

/// A device shared by the kernels that run on it, one case at a time.
pub struct SharedDevice {
    facts: DeviceFacts,
    open: Mutex<Option<Device>>,
}

/// Opens a device for several executors.
///
/// # Errors
/// If there is no driver, no such device, or it cannot be opened.
pub fn open_device(ordinal: usize) -> Result<Arc<SharedDevice>, CudaError> {
    let device = Device::open(ordinal)?;
    Ok(Arc::new(SharedDevice { facts: device.facts().clone(), open: Mutex::new(Some(device)) }))
}

impl SharedDevice {
    /// What the device says of itself.
    #[must_use]
    pub fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn run(&self, kernel: &Kernel, pipeline: &mut plumbline_gpu::catalog::Pipeline) -> Result<(), CudaError> {
        let mut slot = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let device = match slot.as_mut() {
            Some(device) => device,
            None => slot.insert(Device::open(self.facts.ordinal)?),
        };
        let result = device.run(kernel.artifact.ptx, &pipeline.launches, &mut pipeline.buffers);
        if let Err(error) = &result
            && error.loses_context()
        {
            let lost = slot.take();
            if matches!(error, CudaError::Hung { .. }) {
                // Destroying the context would wait for the kernel that does not end.
                std::mem::forget(lost);
            }
        }
        result
    }
}

/// One kernel on one CUDA device.
pub struct CudaExecutor {
    kernel: &'static Kernel,
    subject: Subject,
    device: Arc<SharedDevice>,
}

impl CudaExecutor {
    /// The executor of a kernel on a device.
    #[must_use]
    pub fn new(kernel: &'static Kernel, device: Arc<SharedDevice>) -> Self {
        Self { kernel, subject: Subject::of_kernel(kernel), device }
    }
}

impl Executor for CudaExecutor {
    fn place(&self) -> String {
        let facts = self.device.facts();
        format!("cuda:{} ({}, sm_{}{})", facts.ordinal, facts.name, facts.capability.0, facts.capability.1)
    }

    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn run(&self, case: &Case) -> Outcome {
        let mut pipeline = match kernel::assemble(self.kernel, case) {
            Ok(pipeline) => pipeline,
            Err(outcome) => return outcome,
        };
        match self.device.run(self.kernel, &mut pipeline) {
            Ok(()) => Outcome::Finished(kernel::outputs(&self.subject.quantities, case, &pipeline.buffers)),
            Err(CudaError::NoDriver | CudaError::NoDevice { .. }) => {
                Outcome::Unavailable("the device is gone".to_owned())
            }
            Err(error) => Outcome::Trapped(error.to_string()),
        }
    }
}
