//! The gate is tested before it is trusted: in every family the rounded oracle and an honest kernel pass, and every
//! saboteur is caught.

use std::collections::BTreeSet;

use plumbline_conformance::examine::Record;
use plumbline_conformance::executor::{Executor, RoundedOracle, Saboteur, saboteurs};
use plumbline_conformance::judge::Verdict;
use plumbline_conformance::storage::Storage;
use plumbline_fixtures::Kind;
use plumbline_tests::{cases, generated};

const STORAGES: [Storage; 2] = [Storage::F32, Storage::Bf16];

fn assert_passes(executor: Box<dyn Executor>) {
    let records = generated(executor, cases(130), 7);
    for record in &records {
        assert!(!record.deviates(), "{} {}: {:?}", record.kernel, record.origin, record.verdict);
    }
    let judged = records.iter().filter(|record| record.verdict == Verdict::Conforms).count();
    let elements: usize = records.iter().map(Record::elements).sum();
    println!("{}: {judged} of {} cases judged, {elements} elements", records[0].kernel, records.len());
    assert!(10 * judged >= 9 * records.len(), "{} hardly compared", records[0].kernel);
}

#[test]
fn the_rounded_oracle_passes_everywhere() {
    for kind in Kind::ALL {
        for storage in STORAGES {
            assert_passes(Box::new(RoundedOracle::new(kind, storage)));
        }
    }
}

#[test]
fn the_simulated_honest_kernel_passes_everywhere() {
    for kind in Kind::ALL {
        for storage in STORAGES {
            assert_passes(Box::new(Saboteur::honest(kind, storage)));
        }
    }
}

/// How often a saboteur was caught.
struct Row {
    name: String,
    cases: usize,
    caught: usize,
    first: Option<usize>,
}

fn row(saboteur: Saboteur) -> Row {
    let name = saboteur.subject().name.clone();
    let records = generated(Box::new(saboteur), cases(45), 7);
    let caught = records.iter().filter(|record| record.deviates()).count();
    Row { name, cases: records.len(), caught, first: records.iter().position(Record::deviates) }
}

/// All saboteurs of some kinds, in both storage types, with the ratio alone to catch them.
fn table(kinds: &[Kind]) -> Vec<Row> {
    let rows: Vec<Row> = kinds
        .iter()
        .flat_map(|&kind| STORAGES.map(|storage| saboteurs(kind, storage)))
        .flatten()
        .map(row)
        .collect();
    println!("{:<52} {:>6} {:>7} {:>9}", "saboteur", "cases", "caught", "first by");
    for Row { name, cases, caught, first } in &rows {
        let first = first.map_or_else(|| "never".to_owned(), |number| number.to_string());
        println!("{name:<52} {cases:>6} {caught:>7} {first:>9}");
    }
    let caught = rows.iter().filter(|row| row.caught > 0).count();
    println!("{caught} of {} caught", rows.len());
    rows
}

fn assert_caught(kinds: &[Kind], least: usize) {
    let rows = table(kinds);
    let free: Vec<&str> = rows.iter().filter(|row| row.caught == 0).map(|row| row.name.as_str()).collect();
    assert!(free.is_empty(), "slip through: {}", free.join(", "));
    assert!(rows.len() >= least, "{} saboteurs", rows.len());
}

#[test]
fn every_saboteur_of_rglru_is_caught() {
    assert_caught(&[Kind::RglruLogits, Kind::RglruProjected], 80);
}

#[test]
fn every_saboteur_of_complex_rglru_is_caught() {
    assert_caught(&[Kind::RglruComplexLogits, Kind::RglruComplexProjected], 80);
}

#[test]
fn every_saboteur_of_samu_is_caught() {
    assert_caught(&[Kind::Samu], 30);
}

#[test]
fn every_saboteur_of_the_scan_is_caught() {
    assert_caught(&[Kind::Scan, Kind::ScanComplex], 50);
}

/// Different mistakes, whatever the storage type: one in each of two families counts twice.
#[test]
fn there_are_enough_saboteurs() {
    let families = [Kind::RglruProjected, Kind::RglruComplexProjected, Kind::Samu, Kind::ScanComplex];
    let names: BTreeSet<String> = families
        .into_iter()
        .flat_map(|kind| saboteurs(kind, Storage::Bf16))
        .map(|saboteur| saboteur.subject().name.clone())
        .collect();
    println!("{} saboteurs in {} families", names.len(), families.len());
    assert!(names.len() >= 40, "{} saboteurs", names.len());
}
