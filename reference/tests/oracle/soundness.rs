//! The envelope against really rounded kernels: no honest one may leave it, and it may not be idle.
//!
//! `PLUMBLINE_CASES` sets the number of cases of each suite.

use std::collections::BTreeMap;

use crate::support::{REGIMES, Random, Regime, cases, median, problem, ratio};
use plumbline_reference::rglru::{Problem, solve};
use plumbline_reference::staged::{Order, Rounder, Staging, simulate};
use plumbline_reference::{
    Bound, Chain, Complement, NormForm, Quantity, Reduction, Rounding, RoundingPlan, Truth,
};

fn plans() -> [RoundingPlan; 10] {
    let f32 = RoundingPlan::f32();
    [
        f32,
        f32,
        RoundingPlan::f32_fast(),
        RoundingPlan::bf16_boundary(),
        RoundingPlan { norm_form: NormForm::Naive, ..f32 },
        RoundingPlan { complement: Complement::Sigmoid, ..f32 },
        RoundingPlan { saved: Rounding::BF16, logits: Rounding::BF16, ..f32 },
        RoundingPlan { carry: Rounding::BF16, ..f32 },
        RoundingPlan { logits: Rounding::F16, ..f32 },
        RoundingPlan {
            projection: Reduction { rounding: Rounding::F32_TRUNCATED, chain: Chain::Terms },
            ..f32
        },
    ]
}

/// Orders whose longest chain of additions is no longer than the plan's, which counts every term.
fn order(random: &mut Random) -> Order {
    match random.below(3) {
        0 => Order::Serial,
        1 => Order::Chunked(1 + random.below(9)),
        _ => Order::Tree,
    }
}

fn rounder(random: &mut Random) -> Rounder {
    match random.below(4) {
        0 => Rounder::Nearest,
        1 => Rounder::Random(random.bits()),
        2 => Rounder::Up,
        _ => Rounder::Away,
    }
}

fn shape(random: &mut Random, longest: usize) -> (usize, usize, usize) {
    let length = if random.chance(0.1) { random.below(3) } else { 1 + random.below(longest) };
    (1 + random.below(3), length, 1 + random.below(4))
}

/// One random case; the largest ratio of each tensor goes to `seen`.
fn case(seed: u64, longest: usize, seen: &mut BTreeMap<(Quantity, String), f64>) {
    let mut random = Random(seed);
    let regime = REGIMES[random.below(REGIMES.len())];
    let projected = random.chance(0.25);
    let problem = problem(regime, random.bits(), shape(&mut random, longest), projected);
    let plans = plans();
    let plan = plans[random.below(plans.len())];
    let truth = solve(&problem, &plan);
    let staging = Staging { plan, rounder: rounder(&mut random), order: order(&mut random), twist: None };
    let outcome = simulate(&problem.clone().into(), &staging);
    let conspires = matches!(staging.rounder, Rounder::Up | Rounder::Away);
    for (quantity, bounded) in truth.iter() {
        // A probabilistic bound is no promise against roundings that all go one way.
        if conspires && bounded.bound == Bound::Probabilistic {
            continue;
        }
        let ratio = ratio(outcome.get(quantity).unwrap(), bounded);
        assert!(
            ratio <= 1.0,
            "seed {seed} {regime:?} {:?} projected {projected} {staging:?}: {} at {ratio}",
            problem.shape(),
            quantity.name()
        );
        let worst = seen.entry((quantity, format!("{regime:?}"))).or_default();
        *worst = worst.max(ratio);
    }
}

fn sweep(first: u64, count: usize, longest: usize) {
    let mut seen = BTreeMap::new();
    for seed in 0..count as u64 {
        case(first + seed, longest, &mut seen);
    }
    for ((quantity, regime), worst) in seen {
        println!("{:9} {regime:10} worst {worst:.3}", quantity.name());
    }
}

#[test]
fn no_honest_kernel_leaves_the_envelope() {
    sweep(1, cases(4000), 24);
}

#[test]
#[ignore = "long sweep: run with --ignored"]
fn no_honest_kernel_leaves_the_envelope_long() {
    sweep(1_000_000, cases(200_000), 24);
    sweep(9_000_000, cases(200_000) / 100, 700);
}

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

#[test]
#[ignore = "prints the table of medians by regime and length: run with --ignored --nocapture"]
fn table_of_medians() {
    for regime in REGIMES {
        for length in [8, 64, 512] {
            let row = medians(&[regime], &[length], 6);
            let cells: Vec<_> =
                row.iter().map(|(quantity, m)| format!("{} {m:.3}", quantity.name())).collect();
            println!("{regime:?} L={length}: {}", cells.join("  "));
        }
    }
}
