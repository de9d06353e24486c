//! The oracle against numbers that others computed: official code and equations in float64, and sixty digits.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use plumbline_fixtures::{CaseEntry, CaseKind, TensorFile, golden};
use plumbline_reference::{RoundingPlan, evaluate, solve};

/// Largest difference over the largest reference value; the difference itself where the reference is all zero.
fn relative(errors: impl Iterator<Item = f64>, reference: &[f64]) -> f64 {
    let error = errors.map(f64::abs).fold(0.0, f64::max);
    let scale = reference.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    if scale == 0.0 { error } else { error / scale }
}

/// Every output of the oracle under its names in files.
fn computed(case: &CaseEntry) -> TensorFile {
    let kind = case.kind.kind();
    let problem = golden::problem(&case.name, kind).unwrap();
    let truth = solve(&problem, &RoundingPlan::f32());
    let values = evaluate(&problem);
    let mut file = TensorFile::new(&case.name);
    for (quantity, bounded) in truth.iter() {
        let names = kind.names_of(quantity).unwrap();
        file.insert_as(names, "", &bounded.value.view());
        assert_eq!(values.get(quantity), Some(&bounded.value), "{} {}", case.name, quantity.name());
    }
    assert_eq!(file.names().count(), kind.output_names().len(), "{}: a quantity is missing", case.name);
    file
}

/// Every tensor of every file of a kind; the elements compared.
fn against_float64(kind: CaseKind) -> usize {
    let mut compared = 0;
    for case in golden::cases().unwrap().iter().filter(|c| c.kind == kind) {
        let stored = golden::tensors(&case.name).unwrap();
        let floor = case.float64_floor_rel_max.unwrap();
        for (name, got) in computed(case).iter() {
            let Some(tensor) = stored.get(name) else {
                assert!(name.starts_with("dh0") && !case.has_h0, "{}: {name} is missing", case.name);
                continue;
            };
            assert_eq!(got.shape(), tensor.shape(), "{} {name}", case.name);
            let (got, reference) = (got.values(), tensor.values());
            let error = relative(got.iter().zip(&reference).map(|(a, b)| a - b), &reference);
            // The manifest rounds its figures to three digits.
            let allowed = (floor * 1.005).max(1e-14);
            assert!(error <= allowed, "{} {name}: {error:e} over {allowed:e}", case.name);
            compared += tensor.len();
        }
    }
    println!("{}: {compared} elements compared", kind.name());
    compared
}

/// Every output of every file of a kind; the elements compared.
fn against_sixty_digits(kind: CaseKind) -> usize {
    let mut compared = 0;
    for case in golden::cases().unwrap().iter().filter(|c| c.kind == kind) {
        let computed = computed(case);
        for (name, output) in golden::high_precision(&case.name).unwrap().outputs() {
            let got = computed.require(name).unwrap();
            assert_eq!(got.shape(), output.shape(), "{} {name}", case.name);
            let errors = output.values().iter().zip(got.values()).map(|(p, v)| p.error_of(v));
            let error = relative(errors, &output.nearest());
            assert!(error <= 1e-13, "{} {name}: {error:e}", case.name);
            compared += got.len();
        }
    }
    println!("{}: {compared} elements compared", kind.name());
    compared
}

#[test]
fn the_oracle_agrees_with_every_official_case() {
    assert!(against_float64(CaseKind::Rglru) > 100_000);
}

#[test]
fn the_oracle_agrees_with_every_samu_case() {
    assert!(against_float64(CaseKind::Samu) > 50_000);
}

#[test]
fn the_oracle_agrees_with_sixty_digits() {
    assert!(against_sixty_digits(CaseKind::RglruHighPrecision) > 300);
}

#[test]
fn the_oracle_agrees_with_sixty_digits_of_samu() {
    assert!(against_sixty_digits(CaseKind::SamuHighPrecision) > 300);
}
