//! Where truth and kernel meet: cases are generated, run, measured against the oracle and judged; the oracle and the kernels know nothing of it.

#![forbid(unsafe_code)]

pub mod budget;
pub mod campaign;
pub mod case;
pub mod cli;
pub mod examine;
pub mod executor;
pub mod judge;
pub mod ledger;
pub mod measure;
pub mod report;
pub mod storage;
pub mod strategy;
