//! The oracle against numbers that others computed: the official code in float64, and sixty digits.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use ndarray::ArrayD;
use plumbline_fixtures::{CaseKind, Kind, golden, golden_name};
use plumbline_reference::{RoundingPlan, Truth, solve};

/// Largest difference over the largest reference value; the difference itself where the reference is all zero.
fn relative(got: &ArrayD<f64>, reference: &[f64]) -> f64 {
    assert_eq!(got.len(), reference.len());
    let error = got.iter().zip(reference).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let scale = reference.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    if scale == 0.0 { error } else { error / scale }
}

fn truth(name: &str) -> Truth {
    solve(&golden::problem(name, Kind::RglruProjected).unwrap(), &RoundingPlan::f32())
}

#[test]
fn the_oracle_agrees_with_every_official_case() {
    let mut compared = 0;
    for case in golden::cases().unwrap().iter().filter(|c| c.kind == CaseKind::Rglru) {
        let stored = golden::tensors(&case.name).unwrap();
        let floor = case.float64_floor_rel_max.unwrap();
        for (quantity, bounded) in truth(&case.name).iter() {
            let name = golden_name(quantity);
            let Some(tensor) = stored.get(name) else {
                assert_eq!((name, case.has_h0), ("dh0", false), "{}: {name} is missing", case.name);
                continue;
            };
            let error = relative(&bounded.value, &tensor.values());
            // The manifest rounds its figures to three digits.
            let allowed = (floor * 1.005).max(1e-14);
            assert!(error <= allowed, "{} {name}: {error:e} over {allowed:e}", case.name);
            compared += tensor.len();
        }
    }
    println!("{compared} elements compared");
    assert!(compared > 100_000);
}

#[test]
fn the_oracle_agrees_with_sixty_digits() {
    let mut compared = 0;
    for case in golden::cases().unwrap().iter().filter(|c| c.kind == CaseKind::RglruHighPrecision) {
        let precise = golden::high_precision(&case.name).unwrap();
        for (quantity, bounded) in truth(&case.name).iter() {
            let Some(output) = precise.outputs().get(golden_name(quantity)) else { continue };
            let scale = output.nearest().iter().fold(0.0f64, |m, v| m.max(v.abs()));
            let worst = output
                .values()
                .iter()
                .zip(&bounded.value)
                .map(|(p, &v)| p.error_of(v).abs())
                .fold(0.0, f64::max);
            let error = if scale == 0.0 { worst } else { worst / scale };
            assert!(error <= 1e-13, "{} {}: {error:e}", case.name, golden_name(quantity));
            compared += bounded.value.len();
        }
    }
    println!("{compared} elements compared");
    assert!(compared > 300);
}
