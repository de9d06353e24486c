//! Gradients written by hand against derivatives of the forward pass itself, element by element and along random
//! directions; the oracle's error in units of the envelope is left to [`crate::precision`].

use plumbline_reference::{Problem, evaluate};

use crate::lifted::{Lifted, cotangent};
use crate::sample::{FAMILIES, Family, Size};
use crate::support::Random;

/// The largest difference of a gradient from the derivatives, relative to the largest of them.
fn apart<'a>(gradient: impl Iterator<Item = &'a f64>, derivatives: &[f64]) -> f64 {
    let largest = derivatives.iter().fold(0.0, |max: f64, d| max.max(d.abs()));
    let worst = gradient.zip(derivatives).map(|(g, d)| (g - d).abs()).fold(0.0, f64::max);
    if worst == 0.0 { 0.0 } else { worst / largest }
}

/// Inside the clip of the square root too: there the derivative of a dual number is the one that is defined.
#[test]
fn gradients_are_the_derivatives_of_the_forward_pass() {
    for family in FAMILIES {
        for (regime, problem) in family.problems(0..6, &[(2, 5, 2), (1, 8, 1), (1, 1, 2), (2, 7, 1)]) {
            let (lifted, values) = (Lifted::new(&problem), evaluate(&problem));
            for (input, quantity) in lifted.gradients() {
                let derivatives = lifted.derivatives::<f64>(input);
                let apart = apart(values.get(quantity).unwrap().iter(), &derivatives);
                assert!(apart < 1e-13, "{} {regime} {}: {apart:e}", family.name(), quantity.name());
            }
        }
    }
}

/// `<dy, J v>` and `<J^T dy, v>`, and the sum of the magnitudes of what is added up for either.
struct Adjoint {
    forward: f64,
    backward: f64,
    size: f64,
}

/// One forward pass along a random direction `v` in all inputs at once, against all gradients.
fn adjoint(problem: &Problem, seed: u64) -> Adjoint {
    let (lifted, values) = (Lifted::new(problem), evaluate(problem));
    // Directions relative to the inputs, so that none drowns the others.
    let direction = |name: &str, at: usize| {
        let place = name.bytes().fold(at as u64, |place, letter| place.rotate_left(9) ^ u64::from(letter));
        lifted.value(name, at) * Random(seed ^ place.wrapping_mul(0x9e37_79b9)).normal()
    };
    let mut sides = Adjoint { forward: 0.0, backward: 0.0, size: 0.0 };
    for (quantity, numbers) in lifted.along::<f64>(direction) {
        let Some(cotangent) = cotangent(quantity) else { continue };
        for (at, number) in numbers.iter().enumerate() {
            let term = number.slope * lifted.value(cotangent, at);
            sides.forward += term;
            sides.size += term.abs();
        }
    }
    for (input, quantity) in lifted.gradients() {
        for (at, gradient) in values.get(quantity).unwrap().iter().enumerate() {
            let term = gradient * direction(input, at);
            sides.backward += term;
            sides.size += term.abs();
        }
    }
    sides
}

fn adjoint_holds(family: Family, sizes: &[Size]) {
    for (regime, problem) in family.problems(0..6, sizes) {
        let Adjoint { forward, backward, size } = adjoint(&problem, 11);
        let apart = (forward - backward).abs();
        assert!(apart <= 1e-12 * size, "{} {regime}: {forward:e} {backward:e} of {size:e}", family.name());
    }
}

#[test]
fn the_backward_pass_is_the_adjoint_of_the_forward_pass() {
    for family in FAMILIES {
        adjoint_holds(family, &[(2, 5, 2), (1, 24, 3), (3, 1, 1), (1, 60, 2)]);
    }
}

#[test]
fn the_backward_pass_is_the_adjoint_over_hundreds_of_tokens() {
    for family in FAMILIES {
        adjoint_holds(family, &[(1, 300, 2), (2, 200, 1)]);
    }
}
