//! The mixer's envelope against really rounded kernels: no honest one may leave it, and it may not be idle.
//!
//! `PLUMBLINE_CASES` sets the number of cases of each suite.

use std::collections::BTreeMap;

use crate::samu_support::{REGIMES, Regime, problem};
use crate::support::{Random, cases, ratio};
use plumbline_reference::samu::{Problem, solve};
use plumbline_reference::staged::{Order, Rounder, Staging, simulate};
use plumbline_reference::{Bound, Chain, Complement, NormForm, Quantity, Reduction, Rounding, RoundingPlan};

fn plans() -> [RoundingPlan; 9] {
    let f32 = RoundingPlan::f32();
    [
        f32,
        f32,
        RoundingPlan::f32_fast(),
        RoundingPlan::bf16_boundary(),
        RoundingPlan { norm_form: NormForm::Naive, ..f32 },
        RoundingPlan { complement: Complement::Sigmoid, ..f32 },
        RoundingPlan { saved: Rounding::BF16, ..f32 },
        RoundingPlan { carry: Rounding::BF16, ..f32 },
        RoundingPlan {
            projection: Reduction { rounding: Rounding::F32_TRUNCATED, chain: Chain::Terms },
            reduce: Reduction { rounding: Rounding::F32_TRUNCATED, chain: Chain::Terms },
            ..f32
        },
    ]
}

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
    (1 + random.below(3), length, 2 + 2 * random.below(5))
}

/// What was seen over many cases.
#[derive(Default)]
struct Seen {
    worst: BTreeMap<(Quantity, String), f64>,
    undecided: usize,
}

/// One random case; the largest ratio of each tensor goes to `seen`.
fn case(seed: u64, longest: usize, seen: &mut Seen) {
    let mut random = Random(seed);
    let regime = REGIMES[random.below(REGIMES.len())];
    let problem = problem(regime, random.bits(), shape(&mut random, longest));
    let plans = plans();
    let plan = plans[random.below(plans.len())];
    let truth = solve(&problem, &plan);
    let staging = Staging { plan, rounder: rounder(&mut random), order: order(&mut random), twist: None };
    let outcome = simulate(&problem.clone().into(), &staging);
    let conspires = matches!(staging.rounder, Rounder::Up | Rounder::Away);
    seen.undecided += truth.undecided();
    for (quantity, bounded) in truth.iter() {
        // A probabilistic bound is no promise against roundings that all go one way.
        if conspires && bounded.bound == Bound::Probabilistic {
            continue;
        }
        let ratio = ratio(outcome.get(quantity).unwrap(), bounded);
        assert!(
            ratio <= 1.0,
            "seed {seed} {regime:?} {:?} {staging:?}: {} at {ratio}",
            problem.shape(),
            quantity.name()
        );
        let worst = seen.worst.entry((quantity, format!("{regime:?}"))).or_default();
        *worst = worst.max(ratio);
    }
}

fn sweep(first: u64, count: usize, longest: usize) -> Seen {
    let mut seen = Seen::default();
    for seed in 0..count as u64 {
        case(first + seed, longest, &mut seen);
    }
    for ((quantity, regime), worst) in &seen.worst {
        println!("{:17} {regime:10} worst {worst:.3}", quantity.name());
    }
    println!("{} components undecided", seen.undecided);
    seen
}

#[test]
fn no_honest_kernel_leaves_the_envelope() {
    let seen = sweep(1, cases(3000), 24);
    assert!(seen.undecided > 0, "no case stands on the kink of the ReLU");
}

#[test]
#[ignore = "long sweep: run with --ignored"]
fn no_honest_kernel_leaves_the_envelope_long() {
    sweep(1_000_000, cases(100_000), 24);
    sweep(9_000_000, cases(100_000) / 100, 500);
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

/// The plan of a kernel that sums in this order, and says so.
fn plan_of(order: Order) -> RoundingPlan {
    let plan = RoundingPlan::f32().with_chain(match order {
        Order::Serial | Order::Grouped(..) => Chain::Terms,
        Order::Chunked(size) => Chain::Blocked(size),
        Order::Tree => Chain::Tree,
    });
    RoundingPlan { projection: plan.reduce, ..plan }
}

fn ratios(problem: &Problem, order: Order) -> Vec<(Quantity, f64)> {
    let plan = plan_of(order);
    let outcome = simulate(&problem.clone().into(), &Staging { order, ..Staging::new(plan) });
    solve(problem, &plan)
        .iter()
        .map(|(quantity, bounded)| (quantity, ratio(outcome.get(quantity).unwrap(), bounded)))
        .collect()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
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

#[test]
#[ignore = "prints the table of medians by regime and length: run with --ignored --nocapture"]
fn table_of_medians() {
    for regime in REGIMES {
        for (length, width) in [(8, 8), (8, 32), (64, 8), (64, 32), (512, 32)] {
            let row = medians(&[regime], &[length], width, 6);
            let cells: Vec<_> =
                row.iter().map(|(quantity, m)| format!("{} {m:.3}", quantity.name())).collect();
            println!("{regime:?} L={length} W={width}: {}", cells.join("  "));
        }
    }
}
