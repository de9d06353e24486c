//! Recorded tolerances: the largest ratio that each kernel, tensor and regime has shown, on a fixed grid, in a file under review.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plumbline_fixtures::{FixtureError, write_atomic};
use serde::{Deserialize, Serialize};

/// The ledger of the PTX machine, inside the binary.
const VIRTUAL: &str = include_str!("../ledger/virtual.toml");

/// Grid of recorded ratios: powers of the square root of 2.
const STEP: f64 = std::f64::consts::SQRT_2;

/// Smallest recorded ratio: below it a limit would judge noise.
const FLOOR: f64 = 1.0 / 64.0;

/// A ledger file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// How the ratios were obtained.
    pub recording: Recording,
    /// `ratios[kernel][tensor][regime]`
    #[serde(default)]
    pub ratios: BTreeMap<String, BTreeMap<String, BTreeMap<String, f64>>>,
}

/// The run in which ratios were recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// Executor.
    pub device: String,
    /// Generated cases a kernel.
    pub cases: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Rounding plan of the envelopes.
    pub plan: String,
}

/// Why a ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The file cannot be written.
    #[error(transparent)]
    File(#[from] FixtureError),
    /// The text is not a ledger.
    #[error("ledger {path}: {message}")]
    Format {
        /// The file.
        path: PathBuf,
        /// What was expected, what was found, where.
        message: String,
    },
}

impl Ledger {
    /// The ledger of the PTX machine.
    ///
    /// # Errors
    /// If the embedded text is not a ledger, which a test excludes.
    pub fn virtual_device() -> Result<Self, LedgerError> {
        Self::parse(Path::new("conformance/ledger/virtual.toml"), VIRTUAL)
    }

    /// Reads a ledger from text; `path` is for messages.
    ///
    /// # Errors
    /// If the text is not a ledger, or a ratio is not in (0, 1].
    pub fn parse(path: &Path, text: &str) -> Result<Self, LedgerError> {
        let format = |message: String| LedgerError::Format { path: path.to_owned(), message };
        let ledger: Self = toml::from_str(text).map_err(|e| format(e.to_string()))?;
        for (kernel, tensor, regime, ratio) in ledger.rows() {
            if !(ratio > 0.0 && ratio <= 1.0) {
                return Err(format(format!(
                    "{kernel} {tensor} {regime}: expected a ratio in (0, 1], found {ratio}"
                )));
            }
        }
        Ok(ledger)
    }

    /// Every row.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &str, &str, f64)> {
        self.ratios.iter().flat_map(|(kernel, tensors)| {
            tensors.iter().flat_map(move |(tensor, regimes)| {
                regimes.iter().map(move |(regime, &r)| (kernel.as_str(), tensor.as_str(), regime.as_str(), r))
            })
        })
    }

    /// The recorded ratio, if there is one.
    #[must_use]
    pub fn recorded(&self, kernel: &str, tensor: &str, regime: &str) -> Option<f64> {
        self.ratios.get(kernel)?.get(tensor)?.get(regime).copied()
    }

    /// Largest ratio allowed: one grid step above the recorded one, never above 1; 1 where nothing is recorded.
    #[must_use]
    pub fn limit(&self, kernel: &str, tensor: &str, regime: &str) -> f64 {
        self.recorded(kernel, tensor, regime).map_or(1.0, |recorded| (recorded * STEP).min(1.0))
    }

    /// Notes a ratio that was seen; the largest stays.
    pub fn note(&mut self, kernel: &str, tensor: &str, regime: &str, ratio: f64) {
        let regimes = self.ratios.entry(kernel.to_owned()).or_default().entry(tensor.to_owned()).or_default();
        let recorded = regimes.entry(regime.to_owned()).or_insert(FLOOR);
        *recorded = recorded.max(on_grid(ratio));
    }

    /// Writes the ledger, whole or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), LedgerError> {
        let text = toml::to_string(self)
            .map_err(|e| LedgerError::Format { path: path.to_owned(), message: e.to_string() })?;
        let text = format!(
            "# Written by `plumbline ledger record`; reviewed as a diff, never edited by hand.\n{text}"
        );
        Ok(write_atomic(path, text.as_bytes())?)
    }
}

/// The ratio rounded up to the grid, at most 1, shortened to what the file holds.
fn on_grid(ratio: f64) -> f64 {
    let steps = (ratio.max(FLOOR).ln() / STEP.ln() - 1e-9).ceil();
    let exact = STEP.powf(steps).min(1.0);
    // Five digits, rounded up, so that a ratio on the grid stays inside.
    (exact * 1e5).ceil() / 1e5
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ledger() -> Ledger {
        let mut ledger = Ledger::default();
        ledger.note("k", "y", "init", 0.3);
        ledger
    }

    #[test]
    fn the_embedded_ledger_is_one() {
        Ledger::virtual_device().unwrap();
    }

    #[test]
    fn limits_are_one_step_above_and_never_above_one() {
        assert_eq!(ledger().recorded("k", "y", "init"), Some(0.35356));
        assert!((ledger().limit("k", "y", "init") - 0.5).abs() < 1e-4);
        assert_eq!(ledger().limit("k", "y", "zero"), 1.0);
        let mut high = ledger();
        high.note("k", "y", "init", 0.9);
        high.note("k", "y", "init", 0.1);
        assert_eq!(high.recorded("k", "y", "init"), Some(1.0));
        assert_eq!(high.limit("k", "y", "init"), 1.0);
    }

    #[test]
    fn ledgers_read_back() {
        let path = Path::new("x.toml");
        let text = toml::to_string(&ledger()).unwrap();
        assert_eq!(Ledger::parse(path, &text).unwrap(), ledger());
        let bad = text.replace("0.35356", "1.5");
        let message = Ledger::parse(path, &bad).unwrap_err().to_string();
        assert_eq!(message, "ledger x.toml: k y init: expected a ratio in (0, 1], found 1.5");
    }

    proptest! {
        #[test]
        fn the_grid_never_rounds_down(ratio in 0.0f64..1.0) {
            prop_assert!(on_grid(ratio) >= ratio);
            prop_assert!(on_grid(ratio) <= 1.0);
            prop_assert!(on_grid(on_grid(ratio)) <= on_grid(ratio) * STEP * 1.001);
        }

        #[test]
        fn damaged_ledgers_are_errors(cut in 0usize..200, byte in any::<u8>()) {
            let mut bytes = toml::to_string(&ledger()).unwrap().into_bytes();
            let at = cut % bytes.len();
            bytes[at] = byte;
            let Ok(text) = String::from_utf8(bytes) else { return Ok(()) };
            if let Err(error) = Ledger::parse(Path::new("x.toml"), &text) {
                prop_assert!(error.to_string().starts_with("ledger x.toml: "));
            }
        }
    }
}
