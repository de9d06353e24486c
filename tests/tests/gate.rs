//! The gate itself: every kernel of the catalogue, on the PTX machine, on golden and generated cases, within the ledger.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use ndarray::{Array1, Array2, Array3};
use plumbline_conformance::campaign::{Campaign, golden_names};
use plumbline_conformance::case::{Case, Origin};
use plumbline_conformance::examine::{Record, examine};
use plumbline_conformance::executor::{Executor, VirtualExecutor};
use plumbline_conformance::judge::Verdict;
use plumbline_conformance::ledger::Ledger;
use plumbline_conformance::report::{Counters, verdict_table};
use plumbline_conformance::strategy::Regime;
use plumbline_fixtures::Kind;
use plumbline_gpu::catalog::KERNELS;
use plumbline_reference::rglru::{Gates, Inputs, Problem};
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
    assert_eq!(records.len(), KERNELS.len() * golden_names(Kind::RglruLogits).unwrap().len());
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

/// An infinity beside a gate or a decay that underflows in f32: 0 times infinity is NaN there, infinity in the truth.
#[test]
fn infinities_beside_underflow_fail_no_honest_kernel() {
    type Poison = fn(&mut Inputs);
    let poisons: [(&str, Poison); 4] = [
        ("x", |i| i.x[[0, 0, 0]] = f64::INFINITY),
        ("dy", |i| i.dy[[0, 1, 0]] = f64::INFINITY),
        ("h0", |i| i.h0 = Some(ndarray::array![[f64::NEG_INFINITY, 1.0]])),
        ("dlast", |i| i.dlast[[0, 0]] = f64::INFINITY),
    ];
    let shape = (1, 3, 2);
    for (name, poison) in poisons {
        for (u, v, a_param) in
            [(-200.0, 0.0, -4.0), (0.0, -200.0, -4.0), (0.0, 0.0, 40.0), (200.0, 200.0, 100.0)]
        {
            let mut inputs = Inputs {
                x: Array3::ones(shape),
                gates: Gates::Logits { u: Array3::from_elem(shape, u), v: Array3::from_elem(shape, v) },
                a_param: Array1::from_elem(2, a_param),
                reset: Array2::from_elem((1, 3), false),
                h0: None,
                dy: Array3::ones(shape),
                dlast: Array2::ones((1, 2)),
            };
            poison(&mut inputs);
            for executor in virtual_executors() {
                let problem = Problem::new(inputs.clone()).unwrap().into();
                let origin = Origin::File(format!("{name} infinite, u {u}, v {v}, a_param {a_param}"));
                let case = Case::of_problem(origin, problem, executor.subject().storage);
                let record = examine(&case, executor.as_ref(), &Ledger::default());
                assert_eq!(record.verdict, Verdict::Conforms, "{} {}", record.kernel, record.origin);
            }
        }
    }
}

/// The full error summary of every kernel: the machine is deterministic, so every figure is pinned.
#[test]
fn error_summaries_are_as_reviewed() {
    let regimes = Regime::of(Kind::RglruLogits);
    let campaign = Campaign { cases: 2 * regimes.len(), seed: 1, regimes: Vec::new(), golden: true };
    let records = run(&campaign);
    for kernel in KERNELS {
        let own: Vec<Record> = records.iter().filter(|r| r.kernel == kernel.name).cloned().collect();
        insta::assert_snapshot!(kernel.name, verdict_table(&own));
    }
}
