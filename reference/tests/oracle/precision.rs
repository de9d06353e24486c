//! The oracle's own error, measured in octuple precision: far below every envelope by which a kernel is judged. Derivatives
//! are those of dual numbers over the forward pass, so that no formula of the gradients is shared.

use plumbline_reference::{Bounded, Problem, Quantity, RoundingPlan, solve};
use rayon::prelude::*;

use crate::lifted::Lifted;
use crate::numbers::Octuple;
use crate::sample::{FAMILIES, Family, Size};

/// How far the oracle's version of a tensor is from the true one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Error {
    /// Relative to the largest element of the tensor.
    pub(crate) relative: f64,
    /// The largest share of the f32 envelope of an element.
    pub(crate) share: f64,
}

impl Error {
    fn new(exact: &[Octuple], oracle: &Bounded) -> Self {
        assert_eq!(exact.len(), oracle.value.len());
        let largest = exact.iter().fold(0.0, |max: f64, number| max.max(number.to_f64().abs()));
        let elements = exact.iter().zip(&oracle.value).zip(&oracle.envelope);
        let none = Self { relative: 0.0, share: 0.0 };
        elements.fold(none, |worst, ((exact, &value), &envelope)| {
            assert!(value.is_finite(), "only finite cases are measured");
            let error = exact.minus(value).abs();
            let over = |scale: f64| if error == 0.0 { 0.0 } else { error / scale };
            worst.and(Self { relative: over(largest), share: over(envelope) })
        })
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self { relative: self.relative.max(other.relative), share: self.share.max(other.share) }
    }
}

/// The error of every output, and of the gradient of every input.
pub(crate) fn errors(problem: &Problem) -> Vec<(Quantity, Error)> {
    let (lifted, truth) = (Lifted::new(problem), solve(problem, &RoundingPlan::f32()));
    let gradients = lifted.gradients();
    let gradients = gradients.into_iter().map(|(name, quantity)| (quantity, lifted.derivatives(name)));
    let exact = lifted.values::<Octuple>().into_iter().chain(gradients);
    exact.map(|(quantity, numbers)| (quantity, Error::new(&numbers, truth.get(quantity).unwrap()))).collect()
}

/// The errors of a few problems of each regime, by its name.
pub(crate) fn survey(
    family: Family,
    seeds: std::ops::Range<u64>,
    sizes: &[Size],
) -> Vec<(String, Vec<(Quantity, Error)>)> {
    let problems = family.problems(seeds, sizes);
    problems.into_par_iter().map(|(regime, problem)| (regime, errors(&problem))).collect()
}

#[test]
fn the_oracle_errs_by_less_than_a_thousandth_of_every_envelope() {
    for family in FAMILIES {
        for (regime, errors) in survey(family, 0..2, &[(1, 5, 1), (2, 2, 2), (1, 1, 1)]) {
            for (quantity, error) in errors {
                assert!(error.share < 1e-3, "{} {regime} {}: {error:?}", family.name(), quantity.name());
            }
        }
    }
}
