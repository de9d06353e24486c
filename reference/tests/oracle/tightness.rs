//! The envelope of the gated recurrence is not idle: the best kernel there can be uses a good part of it, and shorter
//! chains of additions make it tighter; the other families have the same in their own suites.

use std::collections::BTreeMap;

use crate::support::{Regime, median, problem, ratio};
use plumbline_reference::rglru::{Problem, solve};
use plumbline_reference::staged::{Order, Rounder, Staging, simulate};
use plumbline_reference::{Chain, Quantity, RoundingPlan, Truth};

/// Blocked and tree sums within the shorter chains that they may declare.
#[test]
fn declared_chains_of_additions_hold() {
    for seed in 0..60 {
        let problem = problem(Regime::Init, seed, (3, 100, 2), false);
        for (chain, order) in [(Chain::Blocked(8), Order::Chunked(8)), (Chain::Tree, Order::Tree)] {
            // A chunk of the simulation runs on into the next sequence, as 100 is no multiple of 8: the chain
            // over the partial sums is as long.
            let plan = RoundingPlan::f32().with_chain(chain);
            let truth = solve(&problem, &plan);
            let staging = Staging { order, rounder: Rounder::Away, ..Staging::new(plan) };
            let outcome = simulate(&problem.clone().into(), &staging);
            let quantity = Quantity::DaParam;
            assert!(ratio(outcome.get(quantity).unwrap(), truth.get(quantity).unwrap()) <= 1.0);
        }
    }
}

fn ratios(problem: &Problem, truth: &Truth, order: Order) -> Vec<(Quantity, f64)> {
    let staging = Staging { order, ..Staging::new(RoundingPlan::f32()) };
    let outcome = simulate(&problem.clone().into(), &staging);
    truth
        .iter()
        .map(|(quantity, bounded)| (quantity, ratio(outcome.get(quantity).unwrap(), bounded)))
        .collect()
}

/// The median, over cases, of the largest ratio in a tensor, for the best f32 kernel that there can be.
fn medians(regimes: &[Regime], lengths: &[usize], count: u64) -> BTreeMap<Quantity, f64> {
    let mut all: BTreeMap<Quantity, Vec<f64>> = BTreeMap::new();
    for (i, &regime) in regimes.iter().enumerate() {
        for (seed, &length) in (0..count).flat_map(|seed| lengths.iter().map(move |length| (seed, length))) {
            let problem = problem(regime, seed, (2, length, 64), seed % 2 == 1);
            let truth = solve(&problem, &RoundingPlan::f32());
            let order = [Order::Serial, Order::Chunked(16), Order::Tree][(problem.shape().length + i) % 3];
            for (quantity, ratio) in ratios(&problem, &truth, order) {
                all.entry(quantity).or_default().push(ratio);
            }
        }
    }
    all.into_iter().map(|(quantity, mut values)| (quantity, median(&mut values))).collect()
}

fn demanded(quantity: Quantity) -> f64 {
    match quantity {
        Quantity::Y | Quantity::Last | Quantity::U | Quantity::V => 0.1,
        _ if quantity.is_reduced() => 0.01,
        _ => 0.05,
    }
}

/// An envelope that allows everything would be sound and useless.
#[test]
fn the_best_kernel_uses_a_good_part_of_the_envelope() {
    let regimes = [Regime::Init, Regime::NearOne, Regime::Mixed, Regime::Spiky, Regime::Saturated];
    for (quantity, median) in medians(&regimes, &[1, 8, 24], 6) {
        println!("{:9} median {median:.4}", quantity.name());
        assert!(median > demanded(quantity), "{}: median {median}", quantity.name());
    }
}
