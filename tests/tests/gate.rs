//! The gate itself: every kernel of the catalogue, on the PTX machine, on golden and generated cases, within the ledger.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use plumbline_conformance::campaign::{Campaign, golden_names};
use plumbline_conformance::examine::Record;
use plumbline_conformance::executor::{Executor, VirtualExecutor};
use plumbline_conformance::ledger::Ledger;
use plumbline_conformance::report::{Counters, verdict_table};
use plumbline_conformance::strategy::Regime;
use plumbline_gpu::catalog::KERNELS;
use plumbline_tests::cases;

fn virtual_executors() -> Vec<Box<dyn Executor>> {
    KERNELS.iter().map(|k| Box::new(VirtualExecutor::new(k).unwrap()) as Box<dyn Executor>).collect()
}

fn run(campaign: &Campaign) -> Vec<Record> {
    campaign.run(&virtual_executors(), &Ledger::virtual_device().unwrap(), &|_| {}).unwrap()
}

fn assert_conforms(records: &[Record]) {
    println!("{}", verdict_table(records));
    for record in records {
        assert!(!record.deviates(), "{} {}: {:?}", record.kernel, record.origin, record.verdict);
    }
    let counters = Counters::of(records);
    assert_eq!(counters.conform, counters.cases, "not judged: {}", counters.not_judged);
    assert!(counters.elements > 0);
}

#[test]
fn every_kernel_conforms_on_every_golden_case() {
    let campaign = Campaign { cases: 0, seed: 0, regimes: Vec::new(), golden: true };
    let records = run(&campaign);
    assert_eq!(records.len(), KERNELS.len() * golden_names().unwrap().len());
    assert_conforms(&records);
}

#[test]
fn every_kernel_conforms_on_generated_cases() {
    let campaign = Campaign { cases: cases(156), seed: 2, regimes: Vec::new(), golden: false };
    assert_conforms(&run(&campaign));
}

#[test]
fn the_same_seed_gives_the_same_records() {
    let campaign = Campaign { cases: 13, seed: 3, regimes: Vec::new(), golden: false };
    let figures = |records: &[Record]| serde_json::to_string(records).unwrap();
    assert_eq!(figures(&run(&campaign)), figures(&run(&campaign)));
}

/// The full error summary of every kernel: the machine is deterministic, so every figure is pinned.
#[test]
fn error_summaries_are_as_reviewed() {
    let campaign = Campaign { cases: 2 * Regime::ALL.len(), seed: 1, regimes: Vec::new(), golden: true };
    let records = run(&campaign);
    for kernel in KERNELS {
        let own: Vec<Record> = records.iter().filter(|r| r.kernel == kernel.name).cloned().collect();
        insta::assert_snapshot!(kernel.name, verdict_table(&own));
    }
}
