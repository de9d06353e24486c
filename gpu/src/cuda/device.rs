//! One CUDA device: loads PTX, runs a pipeline of launches on fenced and poisoned buffers, brings the bytes back; what is launched is left to the catalogue.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::sys::CUevent_flags::CU_EVENT_DISABLE_TIMING;
use cudarc::driver::{
    CudaContext, CudaModule, CudaSlice, CudaStream, DevicePtr, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;

use crate::buffer::{Buffer, BufferSet, POISON, Role};
use crate::launch::{Argument, Launch};

/// Bytes of fence before and after every buffer: one full line of the widest access.
const FENCE: usize = 256;
const FENCE_LEN: i64 = 256;
/// Fill of the fences; differs from [`POISON`], so that a copied fence is not taken for an unwritten output.
const FENCE_BYTE: u8 = 0xA5;
/// How long a pipeline may run before it is taken for hung.
const PATIENCE: Duration = Duration::from_mins(1);

/// Why a device gave no result.
#[derive(Debug, thiserror::Error)]
pub enum CudaError {
    /// libcuda was not found: no driver on this machine.
    #[error("no CUDA driver: libcuda was not found on the library path")]
    NoDriver,
    /// The driver has no such device.
    #[error("no CUDA device {ordinal}: the driver has {count}")]
    NoDevice {
        /// The device asked for.
        ordinal: usize,
        /// How many the driver has.
        count: i32,
    },
    /// A driver call failed.
    #[error("{doing}: {source}")]
    Driver {
        /// What was being done.
        doing: String,
        /// The driver's answer.
        source: DriverError,
    },
    /// The pipeline did not end in time. The context cannot be used again.
    #[error("{entry} did not finish within {} s", PATIENCE.as_secs())]
    Hung {
        /// The pipeline's first entry.
        entry: String,
    },
    /// A byte outside a buffer was written.
    #[error("byte {offset} relative to buffer `{buffer}` of {size} bytes was written: outside it")]
    Fence {
        /// The buffer nearest to the byte.
        buffer: String,
        /// Offset of the byte from the buffer's start.
        offset: i64,
        /// The buffer's size.
        size: usize,
    },
    /// An input was changed.
    #[error("input buffer `{buffer}` was changed at byte {offset}")]
    InputChanged {
        /// The input.
        buffer: String,
        /// Offset of the first changed byte.
        offset: usize,
    },
}

impl CudaError {
    /// Whether the context is lost, so that the device must be opened again before another launch.
    #[must_use]
    pub const fn loses_context(&self) -> bool {
        matches!(self, Self::Driver { .. } | Self::Hung { .. })
    }
}

fn driver(doing: &str) -> impl FnOnce(DriverError) -> CudaError {
    let doing = doing.to_owned();
    move |source| CudaError::Driver { doing, source }
}

/// Whether libcuda can be loaded.
#[must_use]
pub fn driver_present() -> bool {
    // SAFETY: reason 1.
    unsafe { cudarc::driver::sys::is_culib_present() }
}

/// What a device says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// Index among the driver's devices.
    pub ordinal: usize,
    /// Product name.
    pub name: String,
    /// Compute capability, major and minor.
    pub capability: (i32, i32),
}

/// An open device with its own context.
pub struct Device {
    facts: DeviceFacts,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    modules: HashMap<u64, Arc<CudaModule>>,
}

impl Device {
    /// Opens device `ordinal` in a context of its own, so that a fault in a kernel can be left behind.
    ///
    /// # Errors
    /// If there is no driver, no such device, or the driver refuses.
    pub fn open(ordinal: usize) -> Result<Self, CudaError> {
        if !driver_present() {
            return Err(CudaError::NoDriver);
        }
        cudarc::driver::result::init().map_err(driver("starting the driver"))?;
        let count = CudaContext::device_count().map_err(driver("counting devices"))?;
        if usize::try_from(count).map_or(true, |count| ordinal >= count) {
            return Err(CudaError::NoDevice { ordinal, count });
        }
        let context = CudaContext::new_non_primary(ordinal, 0).map_err(driver("creating a context"))?;
        let name = context.name().map_err(driver("reading the device's name"))?;
        let capability = context.compute_capability().map_err(driver("reading the compute capability"))?;
        let stream = context.default_stream();
        Ok(Self {
            facts: DeviceFacts { ordinal, name, capability },
            context,
            stream,
            modules: HashMap::new(),
        })
    }

    /// What the device says of itself.
    #[must_use]
    pub const fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    /// Runs the launches in order on copies of the buffers, then brings outputs and scratch back.
    ///
    /// # Errors
    /// If the driver fails, the pipeline hangs, a fence is broken or an input is changed; `buffers` then keep
    /// their contents.
    pub fn run(&mut self, ptx: &str, launches: &[Launch], buffers: &mut BufferSet) -> Result<(), CudaError> {
        let module = self.module(ptx)?;
        let device =
            buffers.as_slice().iter().map(|buffer| self.upload(buffer)).collect::<Result<Vec<_>, _>>()?;
        for launch in launches {
            self.launch(&module, launch, &device)?;
        }
        self.wait(launches)?;
        let contents = buffers
            .as_slice()
            .iter()
            .zip(&device)
            .map(|(buffer, slice)| self.download(buffer, slice))
            .collect::<Result<Vec<_>, _>>()?;
        for (buffer, bytes) in buffers.as_mut_slice().iter_mut().zip(contents) {
            store(buffer, bytes);
        }
        Ok(())
    }

    fn module(&mut self, ptx: &str) -> Result<Arc<CudaModule>, CudaError> {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        ptx.hash(&mut hasher);
        let key = hasher.finish();
        if let Some(module) = self.modules.get(&key) {
            return Ok(Arc::clone(module));
        }
        let module = self.context.load_module(Ptx::from_src(ptx)).map_err(driver("loading PTX"))?;
        self.modules.insert(key, Arc::clone(&module));
        Ok(module)
    }

    fn upload(&self, buffer: &Buffer) -> Result<CudaSlice<u8>, CudaError> {
        let mut image = vec![FENCE_BYTE; FENCE];
        image.extend_from_slice(&buffer.bytes);
        image.resize(image.len() + FENCE, FENCE_BYTE);
        // SAFETY: reason 2.
        let mut slice = unsafe { self.stream.alloc::<u8>(image.len()) }
            .map_err(driver(&format!("allocating `{}`", buffer.name)))?;
        self.stream.memcpy_htod(&image, &mut slice).map_err(driver(&format!("filling `{}`", buffer.name)))?;
        Ok(slice)
    }

    fn launch(
        &self,
        module: &Arc<CudaModule>,
        launch: &Launch,
        device: &[CudaSlice<u8>],
    ) -> Result<(), CudaError> {
        let failed = |source| CudaError::Driver { doing: format!("launching {}", launch.entry), source };
        let function = module.load_function(&launch.entry).map_err(failed)?;
        let words: Vec<Word> = launch.arguments.iter().map(|a| self.word(a, device)).collect();
        let mut builder = self.stream.launch_builder(&function);
        for word in &words {
            match word {
                Word::Long(value) => builder.arg(value),
                Word::Int(value) => builder.arg(value),
                Word::Float(value) => builder.arg(value),
            };
        }
        let [gx, gy, gz] = launch.grid;
        let [bx, by, bz] = launch.block;
        let config = LaunchConfig {
            grid_dim: (gx, gy, gz),
            block_dim: (bx, by, bz),
            shared_mem_bytes: launch.shared_bytes,
        };
        // SAFETY: reason 3.
        unsafe { builder.launch(config) }.map(|_| ()).map_err(failed)
    }

    fn word(&self, argument: &Argument, device: &[CudaSlice<u8>]) -> Word {
        match *argument {
            // A buffer that the set does not hold becomes a null pointer, at which the kernel faults.
            Argument::Buffer(id) => Word::Long(device.get(id.0).map_or(0, |slice| {
                let (address, _guard) = slice.device_ptr(&self.stream);
                i64::from_ne_bytes(address.to_ne_bytes()) + FENCE_LEN
            })),
            Argument::Null => Word::Long(0),
            Argument::I32(value) => Word::Int(value),
            Argument::I64(value) => Word::Long(value),
            Argument::F32(value) => Word::Float(value),
        }
    }

    /// Polls instead of blocking: a hung kernel must not hang the gate.
    fn wait(&self, launches: &[Launch]) -> Result<(), CudaError> {
        let entry = launches.first().map_or_else(String::new, |launch| launch.entry.clone());
        let doing = format!("running {entry}");
        let event = self.stream.record_event(Some(CU_EVENT_DISABLE_TIMING)).map_err(driver(&doing))?;
        let start = Instant::now();
        while !event.try_is_complete().map_err(driver(&doing))? {
            if start.elapsed() > PATIENCE {
                return Err(CudaError::Hung { entry });
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    fn download(&self, buffer: &Buffer, slice: &CudaSlice<u8>) -> Result<Vec<u8>, CudaError> {
        let mut image =
            self.stream.clone_dtoh(slice).map_err(driver(&format!("reading `{}` back", buffer.name)))?;
        check_fences(buffer, &image)?;
        image.truncate(FENCE + buffer.bytes.len());
        image.drain(..FENCE);
        if buffer.role == Role::Input
            && let Some(offset) = image.iter().zip(&buffer.bytes).position(|(a, b)| a != b)
        {
            return Err(CudaError::InputChanged { buffer: buffer.name.clone(), offset });
        }
        Ok(image)
    }
}

/// A kernel argument as the bits that the driver copies.
enum Word {
    Long(i64),
    Int(i32),
    Float(f32),
}

fn check_fences(buffer: &Buffer, image: &[u8]) -> Result<(), CudaError> {
    let inside = FENCE..FENCE + buffer.bytes.len();
    match image.iter().enumerate().position(|(i, &byte)| !inside.contains(&i) && byte != FENCE_BYTE) {
        None => Ok(()),
        Some(at) => Err(CudaError::Fence {
            buffer: buffer.name.clone(),
            offset: i64::try_from(at).unwrap_or(i64::MAX) - FENCE_LEN,
            size: buffer.bytes.len(),
        }),
    }
}

/// An element counts as written unless all its bytes still hold the poison: a GPU keeps no record of its writes.
fn store(buffer: &mut Buffer, bytes: Vec<u8>) {
    let size = buffer.dtype.size();
    if buffer.role != Role::Input {
        for (flags, element) in buffer.written.chunks_exact_mut(size).zip(bytes.chunks_exact(size)) {
            flags.fill(element.iter().any(|&byte| byte != POISON));
        }
    }
    buffer.bytes = bytes;
}
