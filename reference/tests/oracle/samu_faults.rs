//! Every deliberate fault of the mixer leaves the envelope in some ordinary problem: the envelope has power, and the
//! catalogue has no idle entry.

use crate::samu_support::{REGIMES, problem};
use crate::support::ratio;
use plumbline_reference::RoundingPlan;
use plumbline_reference::samu::{Problem, solve};
use plumbline_reference::staged::{Staging, Twist, simulate};

/// A problem, also with an infinity ahead of its last reset: only a discard keeps that away.
fn problems(seed: u64) -> impl Iterator<Item = Problem> {
    REGIMES.into_iter().flat_map(move |regime| {
        let plain = problem(regime, seed, (2, 20, 4));
        let mut inputs = plain.inputs().clone();
        inputs.x[[0, 0, 0]] = f64::INFINITY;
        [plain, Problem::new(inputs).unwrap()]
    })
}

fn worst(problem: &Problem, twist: Twist) -> f64 {
    let plan = RoundingPlan::f32();
    let truth = solve(problem, &plan);
    let outcome = simulate(&problem.clone().into(), &Staging { twist: Some(twist), ..Staging::new(plan) });
    truth.iter().map(|(q, bounded)| ratio(outcome.get(q).unwrap(), bounded)).fold(0.0, f64::max)
}

#[test]
fn every_twist_is_caught() {
    for twist in Twist::SAMU {
        let caught = (0..10).any(|seed| problems(seed).any(|problem| worst(&problem, twist) > 2.0));
        assert!(caught, "{twist:?} stays inside the envelope everywhere");
    }
}

/// A factor of one part in a hundred thousand on an input of the controls is far above rounding and must show.
#[test]
fn a_small_relative_fault_is_caught() {
    let caught = (0..10).filter(|&seed| {
        let plain = problem(crate::samu_support::Regime::Init, seed, (1, 16, 8));
        let mut inputs = plain.inputs().clone();
        inputs.phase_amplitude *= 1.0 + 1e-5;
        let moved = solve(&Problem::new(inputs).unwrap(), &RoundingPlan::exact());
        let truth = solve(&plain, &RoundingPlan::f32());
        truth.iter().any(|(q, bounded)| ratio(&moved.get(q).unwrap().value, bounded) > 1.0)
    });
    assert_eq!(caught.count(), 10);
}
