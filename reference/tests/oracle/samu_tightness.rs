//! The mixer's envelope is not idle: the best kernel there can be uses a good part of it, and shorter chains of additions make
//! it tighter; that no honest kernel leaves it is left to [`crate::soundness`].

use std::collections::BTreeMap;

use crate::samu_support::{Regime, problem};
use crate::support::{median, ratio};
use plumbline_reference::samu::{Problem, solve};
use plumbline_reference::staged::{Order, Rounder, Staging, simulate};
use plumbline_reference::{Bound, Bounded, Chain, Quantity, Rounding, RoundingPlan};
use rayon::prelude::*;

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

/// Which stages count in full and which as independent; each is one plan, and the other stages are exact in it.
struct Split {
    name: &'static str,
    full: RoundingPlan,
    independent: RoundingPlan,
}

fn splits(plan: &RoundingPlan) -> [Split; 4] {
    let (exact, mut projections) = (Rounding::EXACT, plan.projection);
    projections.rounding = exact;
    let mut sums = plan.reduce;
    sums.rounding = exact;
    // The scan, the products and the long sums are exact here, and alone are not below.
    let stages = RoundingPlan { carry: exact, products: exact, reduce: sums, ..*plan };
    let without_projections = RoundingPlan { projection: projections, ..stages };
    let scans = RoundingPlan { gates: exact, decay: exact, norm: exact, projection: projections, ..*plan };
    [
        Split { name: "scans and sums", full: stages, independent: scans },
        Split {
            name: "projections too",
            full: without_projections,
            independent: RoundingPlan { projection: plan.projection, ..scans },
        },
        Split {
            name: "all but parameters",
            full: RoundingPlan { decay: exact, ..without_projections },
            independent: RoundingPlan { gates: exact, norm: exact, ..*plan },
        },
        Split { name: "everything", full: RoundingPlan::exact(), independent: *plan },
    ]
}

/// Kernels that err at random, from which the deviation of each element is taken.
const DRAWS: u64 = 24;

/// The largest ratio in a tensor under today's envelope, and under the best that independence could give: six root-sum-squares
/// of all allowances, each with what it really does in this very order (the random rounder is uniform, so its deviation is
/// `1 / sqrt(3)` of them), on top of what is counted in full.
fn ideal(problem: &Problem, order: Order, wanted: &[Quantity]) -> Vec<(Quantity, &'static str, f64)> {
    let plan = plan_of(order);
    let run =
        |plan, rounder| simulate(&problem.clone().into(), &Staging { order, rounder, ..Staging::new(plan) });
    let (truth, seen) = (solve(problem, &plan), run(plan, Rounder::Nearest));
    let mut ratios = Vec::new();
    for &quantity in wanted {
        ratios.push((quantity, "today", ratio(seen.get(quantity).unwrap(), truth.get(quantity).unwrap())));
    }
    for Split { name, full, independent } in splits(&plan) {
        let full = solve(problem, &full);
        let random: Vec<_> = (0..DRAWS).map(|draw| run(independent, Rounder::Random(draw))).collect();
        for &quantity in wanted {
            let (today, full) = (truth.get(quantity).unwrap(), full.get(quantity).unwrap());
            let mut square = &today.value * 0.0;
            for kernel in &random {
                square += &(kernel.get(quantity).unwrap() - &today.value).powi(2);
            }
            let root = square.mapv(|square| 6.0 * (3.0 * square / DRAWS as f64).sqrt());
            let mut envelope = root + &full.envelope;
            envelope.zip_mut_with(&today.envelope, |best, &today| *best = best.min(today));
            let best = Bounded { envelope, ..today.clone() };
            ratios.push((quantity, name, ratio(seen.get(quantity).unwrap(), &best)));
        }
    }
    ratios
}

#[test]
#[ignore = "prints what docs/src/envelope.md says on independence; a minute"]
fn what_independence_could_give() {
    let wanted = [
        Quantity::Delta,
        Quantity::DphaseDirection,
        Quantity::DradialDirection,
        Quantity::DphaseAmplitude,
        Quantity::DradialAmplitude,
    ];
    let regimes = [Regime::Init, Regime::NearOne, Regime::Forgetful, Regime::Saturated];
    let drafts: Vec<_> = regimes
        .into_iter()
        .flat_map(|regime| [8, 24, 100].map(|length| (regime, length)))
        .flat_map(|draft| (0..6).map(move |seed| (draft, seed)))
        .collect();
    let judge = |((regime, length), seed): ((Regime, usize), u64)| {
        let order = [Order::Serial, Order::Chunked(16), Order::Tree][usize::try_from(seed % 3).unwrap()];
        ideal(&problem(regime, seed, (2, length, 64)), order, &wanted)
    };
    let mut all: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for (quantity, name, ratio) in drafts.into_par_iter().flat_map_iter(judge).collect::<Vec<_>>() {
        all.entry((quantity, name)).or_default().push(ratio);
    }
    for ((quantity, name), mut values) in all {
        println!("{:17} {name:18} median {:.4}", quantity.name(), median(&mut values));
    }
}
