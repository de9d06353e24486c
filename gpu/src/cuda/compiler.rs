//! CUDA C++ to PTX through libnvrtc; what is compiled and where it is kept is left to `artifact`.

use cudarc::nvrtc::{CompileError as NvrtcError, CompileOptions, compile_ptx_with_opts};

/// Why a source was not compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// libnvrtc was not found by the dynamic loader.
    #[error(
        "libnvrtc was not found on the library path; get it with `pip install nvidia-cuda-nvrtc-cu12==12.6.85` \
         and add its folder nvidia/cuda_nvrtc/lib to LD_LIBRARY_PATH"
    )]
    Absent,
    /// The source holds a NUL byte, which C strings cannot carry.
    #[error("{name}: the source holds a NUL byte at offset {offset}")]
    Nul {
        /// Name of the source.
        name: String,
        /// Offset of the byte.
        offset: usize,
    },
    /// The compiler refused the source.
    #[error("{name}: nvrtc refused the source:\n{log}")]
    Refused {
        /// Name of the source.
        name: String,
        /// The compiler's own words.
        log: String,
    },
}

/// Whether libnvrtc can be loaded.
#[must_use]
pub fn compiler_present() -> bool {
    // SAFETY: reason 1.
    unsafe { cudarc::nvrtc::sys::is_culib_present() }
}

/// Compiles one source to PTX text with exactly these flags.
///
/// # Errors
/// If libnvrtc is absent or refuses the source.
pub fn compile(name: &str, source: &str, flags: &[String]) -> Result<String, CompileError> {
    if !compiler_present() {
        return Err(CompileError::Absent);
    }
    if let Some(offset) = source.find('\0') {
        return Err(CompileError::Nul { name: name.to_owned(), offset });
    }
    let options =
        CompileOptions { name: Some(name.to_owned()), options: flags.to_vec(), ..Default::default() };
    compile_ptx_with_opts(source, options).map(|ptx| ptx.to_src()).map_err(|error| CompileError::Refused {
        name: name.to_owned(),
        log: match error {
            NvrtcError::CompileError { log, .. } => log.to_string_lossy().into_owned(),
            other => other.to_string(),
        },
    })
}
