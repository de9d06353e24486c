//! The records of a run as one JSON file.

use std::collections::BTreeMap;
use std::path::Path;

use plumbline_fixtures::{FixtureError, write_atomic};
use serde::Serialize;

use super::Counters;
use crate::examine::Record;

/// Everything that a reader needs to run it again.
#[derive(Debug, Serialize)]
pub struct Run<'a> {
    /// Version of this layout.
    pub schema_version: u32,
    /// Version of plumbline.
    pub plumbline: &'static str,
    /// Seed of the generated cases.
    pub seed: u64,
    /// Generated cases a kernel.
    pub cases: usize,
    /// SHA-256 of each kernel's PTX.
    pub ptx_sha256: BTreeMap<&'static str, String>,
    /// Devices that were asked for and did not run, with the reason.
    pub not_run: Vec<String>,
    /// Counts over all records.
    pub counters: Counters,
    /// One record an examination.
    pub records: &'a [Record],
}

/// Writes the run, whole or not at all.
///
/// # Errors
/// If the file cannot be written.
pub fn write_json(path: &Path, run: &Run) -> Result<(), FixtureError> {
    // Maps with text keys and figures that are finite or words always serialize.
    let text = serde_json::to_string_pretty(run).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"));
    write_atomic(path, text.as_bytes())
}
