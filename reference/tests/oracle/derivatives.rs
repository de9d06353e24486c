//! Gradients written by hand against derivatives of the forward pass itself, element by element and along random
//! directions; the oracle's error in units of the envelope is left to [`crate::precision`].

use plumbline_reference::{Problem, Quantity, Tensors, evaluate};

use crate::lifted::{Lifted, cotangent};
use crate::sample::{FAMILIES, Family};
use crate::support::Random;

/// The largest difference of a gradient from the derivatives, relative to the largest of them.
fn apart(gradient: impl Iterator<Item = f64>, derivatives: &[f64]) -> f64 {
    let largest = derivatives.iter().fold(0.0, |max: f64, d| max.max(d.abs()));
    let worst = gradient.zip(derivatives).map(|(g, d)| (g - d).abs()).fold(0.0, f64::max);
    if worst == 0.0 { 0.0 } else { worst / largest }
}

fn gradients_agree(family: Family, tolerance: f64) {
    for (regime, problem) in family.problems(0..6, &[(2, 5, 2), (1, 8, 1), (1, 1, 2), (2, 7, 1)]) {
        let (lifted, values) = (Lifted::new(&problem), evaluate(&problem));
        for (input, quantity) in lifted.gradients() {
            let derivatives = lifted.derivatives::<f64>(input);
            let worst = apart(values.get(quantity).unwrap().iter().copied(), &derivatives);
            if worst > tolerance { println!("{} {regime} {}: {worst:e}", family.name(), quantity.name()); }
        }
    }
}

#[test]
fn explore() {
    for family in FAMILIES { gradients_agree(family, 1e-13); }
}
