//! The oracle's own tests, one module for each kind of promise; gates and kernels are tested elsewhere.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may end where something is missing")]

mod campaign;
mod constant;
mod derivatives;
mod faults;
mod figures;
mod isolation;
mod lifted;
mod numbers;
mod pages;
mod paths;
mod precision;
mod problem;
mod rglru_complex;
mod rglru_complex_contract;
mod sample;
mod samu_faults;
mod samu_gradients;
mod samu_isolation;
mod samu_limits;
mod samu_support;
mod samu_tightness;
mod scan_contract;
mod scan_family;
mod soundness;
mod support;
mod svg;
mod tightness;
mod witness;
mod worst;
