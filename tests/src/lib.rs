//! Nothing but what the test targets share: how many cases a property runs, and how to run a campaign.

use plumbline_conformance::campaign::Campaign;
use plumbline_conformance::examine::Record;
use plumbline_conformance::executor::Executor;
use plumbline_conformance::ledger::Ledger;

/// Cases of a property: `PLUMBLINE_CASES` if set and not empty, else the default.
///
/// # Panics
/// If that is not a number: a misspelt one would run the default and look like a long run.
#[must_use]
pub fn cases(default: usize) -> usize {
    let text = std::env::var_os("PLUMBLINE_CASES").unwrap_or_default();
    let text = text.to_string_lossy();
    if text.is_empty() {
        return default;
    }
    text.parse().unwrap_or_else(|_| panic!("PLUMBLINE_CASES: expected a number, found `{text}`"))
}

/// Records of generated cases on one executor, judged by the envelope alone.
///
/// # Panics
/// If no case can be generated.
#[must_use]
pub fn generated(executor: Box<dyn Executor>, cases: usize, seed: u64) -> Vec<Record> {
    let campaign = Campaign { cases, seed, regimes: Vec::new(), golden: false };
    match campaign.run(&[executor], &Ledger::default(), &|_| {}) {
        Ok(records) => records,
        Err(error) => panic!("{error}"),
    }
}
