//! The cudarc door: the only module with `unsafe`, so that the device and the compiler can be asked for, and used, safely elsewhere.
//!
//! Both libraries are loaded when first used. cudarc panics if it cannot find one, so every way in asks first.
//!
//! Reasons for `unsafe`, by number:
//! 1. Probing for a library loads it, which runs its initialisers; these are NVIDIA's own.
//! 2. Device memory is allocated unwritten; it is filled in the next statement, before any read.
//! 3. A launch hands raw addresses to code that cudarc cannot check. Arguments are matched with the entry's tensors
//!    by the catalogue, and fences around every allocation show what was written outside.

#![expect(unsafe_code, reason = "numbered in the module's documentation")]

mod compiler;
mod device;

pub use compiler::{CompileError, compile, compiler_present};
pub use device::{CudaError, Device, DeviceFacts, driver_present};
