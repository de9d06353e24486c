//! The gate is tested before it is trusted: the rounded oracle passes, and every saboteur is caught.

use plumbline_conformance::examine::Record;
use plumbline_conformance::executor::{Executor, RoundedOracle, Saboteur, saboteurs};
use plumbline_conformance::storage::Storage;
use plumbline_tests::{cases, generated};

const STORAGES: [Storage; 2] = [Storage::F32, Storage::Bf16];

fn assert_passes(executor: Box<dyn Executor>) {
    for record in generated(executor, cases(390), 7) {
        assert!(!record.deviates(), "{} {}: {:?}", record.kernel, record.origin, record.verdict);
    }
}

#[test]
fn the_rounded_oracle_passes_everywhere() {
    for storage in STORAGES {
        assert_passes(Box::new(RoundedOracle::new(storage)));
    }
}

#[test]
fn the_simulated_honest_kernel_passes_everywhere() {
    for storage in STORAGES {
        assert_passes(Box::new(Saboteur::honest(storage)));
    }
}

#[test]
fn every_saboteur_is_caught() {
    for storage in STORAGES {
        let all = saboteurs(storage);
        assert!(all.len() >= 12, "{} saboteurs", all.len());
        for saboteur in all {
            let name = saboteur.subject().name.clone();
            let records = generated(Box::new(saboteur), cases(52), 7);
            let caught = records.iter().filter(|r| r.deviates()).count();
            let first = records.iter().position(Record::deviates);
            println!("{name}: caught by {caught} of {} cases, first by number {first:?}", records.len());
            assert!(caught > 0, "{name} slips through");
        }
    }
}
