//! CUDA kernels of gated linear recurrences, and the machines that run their PTX.

pub mod artifact;
pub mod buffer;
pub mod catalog;
pub mod cuda;
pub mod launch;
pub mod machine;
pub mod ptx;
