//! The mixer's envelope is not idle: the best kernel there can be uses a good part of it, and shorter chains of additions make
//! it tighter; that no honest kernel leaves it is left to [`crate::soundness`].

use std::collections::BTreeMap;

use crate::samu_support::{Regime, problem};
use crate::support::{median, ratio};
use crate::worst::declared;
use plumbline_reference::samu::{Problem, solve};
use plumbline_reference::staged::{Order, Rounder, Staging, simulate};
use plumbline_reference::{Bound, Chain, Quantity, RoundingPlan};

/// States on the kink of the ReLU are met, and counted.
#[test]
fn some_masks_are_undecided() {
    let undecided =
        |seed| solve(&problem(Regime::Sparse, seed, (2, 20, 6)), &RoundingPlan::f32()).undecided();
    assert!((0..20).map(undecided).sum::<usize>() > 0);
}

/// Blocked and tree sums within the shorter chains that they may declare.
#[test]
fn declared_chains_of_additions_hold() {
    for seed in 0..40 {
        let problem = problem(Regime::Init, seed, (3, 96, 4));
        for (chain, order) in [(Chain::Blocked(8), Order::Chunked(8)), (Chain::Tree, Order::Tree)] {
            let plan = RoundingPlan::f32().with_chain(chain);
            let truth = solve(&problem, &plan);
            let staging = Staging { order, rounder: Rounder::Away, ..Staging::new(plan) };
            let outcome = simulate(&problem.clone().into(), &staging);
            for quantity in Quantity::ALL.into_iter().filter(|quantity| quantity.is_reduced()) {
                let Some(bounded) = truth.get(quantity) else { continue };
                assert_eq!(bounded.bound, Bound::Rigorous);
                let ratio = ratio(outcome.get(quantity).unwrap(), bounded);
                assert!(ratio <= 1.0, "{}: {ratio}", quantity.name());
            }
        }
    }
}

fn ratios(problem: &Problem, order: Order) -> Vec<(Quantity, f64)> {
    let plan = declared(&RoundingPlan::f32(), order);
    let outcome = simulate(&problem.clone().into(), &Staging { order, ..Staging::new(plan) });
    solve(problem, &plan)
        .iter()
        .map(|(quantity, bounded)| (quantity, ratio(outcome.get(quantity).unwrap(), bounded)))
        .collect()
}

/// The median, over cases, of the largest ratio in a tensor, for the best f32 kernel that there can be.
fn medians(regimes: &[Regime], lengths: &[usize], width: usize, count: u64) -> BTreeMap<Quantity, f64> {
    let mut all: BTreeMap<Quantity, Vec<f64>> = BTreeMap::new();
    for (i, &regime) in regimes.iter().enumerate() {
        for (seed, &length) in (0..count).flat_map(|seed| lengths.iter().map(move |length| (seed, length))) {
            let problem = problem(regime, seed, (2, length, width));
            let order = [Order::Serial, Order::Chunked(8), Order::Tree][(problem.shape().length + i) % 3];
            for (quantity, ratio) in ratios(&problem, order) {
                all.entry(quantity).or_default().push(ratio);
            }
        }
    }
    all.into_iter().map(|(quantity, mut values)| (quantity, median(&mut values))).collect()
}

fn demanded(quantity: Quantity) -> f64 {
    match quantity {
        Quantity::Y | Quantity::H | Quantity::Last => 0.1,
        // Dot products over all channels, and sums over all modes.
        Quantity::Eta | Quantity::Delta | Quantity::Deta | Quantity::Ddelta
        // One mode's sums over tokens.
        | Quantity::DnuLog | Quantity::DthetaLog => 0.01,
        // Sums over tokens of sums over modes, hundreds of terms even here: roundings of the scan count in full.
        _ if quantity.is_reduced() => 0.002,
        _ => 0.05,
    }
}

/// An envelope that allows everything would be sound and useless.
#[test]
fn the_best_kernel_uses_a_good_part_of_the_envelope() {
    let regimes = [Regime::Init, Regime::NearOne, Regime::Mixed, Regime::Winding, Regime::Saturated];
    for (quantity, median) in medians(&regimes, &[1, 8, 24], 32, 6) {
        println!("{:17} median {median:.4}", quantity.name());
        assert!(median > demanded(quantity), "{}: median {median}", quantity.name());
    }
}
