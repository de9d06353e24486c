//! The oracle's own tests, one module for each kind of promise; gates and kernels are tested elsewhere.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may end where something is missing")]

mod constant;
mod faults;
mod isolation;
mod numbers;
mod paths;
mod problem;
mod rglru_complex;
mod rglru_complex_contract;
mod samu_faults;
mod samu_gradients;
mod samu_isolation;
mod samu_soundness;
mod samu_support;
mod scan_contract;
mod scan_family;
mod soundness;
mod support;
mod witness;
