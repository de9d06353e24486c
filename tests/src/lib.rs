//! Nothing but what the test targets share: how many cases a property runs, and how to run a campaign.

use plumbline_conformance::campaign::Campaign;
use plumbline_conformance::examine::Record;
use plumbline_conformance::executor::Executor;
use plumbline_conformance::ledger::Ledger;

/// Cases of a property: `PLUMBLINE_CASES` if set, else the default.
#[must_use]
pub fn cases(default: usize) -> usize {
    std::env::var("PLUMBLINE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
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
