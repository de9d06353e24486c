//! How small an envelope of the mixer could be: no smaller than the error of the worst kernel that keeps to the plan, and, if
//! roundings were independent, no smaller than six root-sum-squares of what they do. The envelope in force is left to
//! [`crate::samu_tightness`].

use std::collections::BTreeMap;

use plumbline_reference::samu::{Problem, solve};
use plumbline_reference::staged::{Order, Rounder, Staging, simulate};
use plumbline_reference::{Bounded, Quantity, Rounding, RoundingPlan};
use rayon::prelude::*;

use crate::samu_support::{Regime, problem};
use crate::support::{median, ratio};
use crate::worst::{declared, worst};

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
    let plan = declared(&RoundingPlan::f32(), order);
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

/// Of one case: how much of its envelope the best kernel uses, how much of the worst kernel's error, and how much of the
/// envelope the worst kernel does.
fn shares(problem: &Problem, order: Order) -> Vec<(Quantity, [f64; 3])> {
    let plan = declared(&RoundingPlan::f32(), order);
    let seen = simulate(&problem.clone().into(), &Staging { order, ..Staging::new(plan) });
    let (truth, worst) = (solve(problem, &plan), worst(&problem.clone().into(), &plan, order));
    let of = |(quantity, truth): (Quantity, &Bounded)| {
        let seen = seen.get(quantity).unwrap();
        let least = Bounded { envelope: worst[&quantity].clone(), ..truth.clone() };
        let reached = &truth.value + &worst[&quantity];
        (quantity, [ratio(seen, truth), ratio(seen, &least), ratio(&reached, truth)])
    };
    truth.iter().map(of).collect()
}

#[test]
#[ignore = "prints what docs/src/envelope.md says on the worst kernel; minutes"]
fn what_the_worst_kernel_does() {
    let regimes = [Regime::Init, Regime::NearOne, Regime::Forgetful, Regime::Saturated];
    let drafts: Vec<_> = regimes
        .into_iter()
        .flat_map(|regime| [8, 24].map(|length| (regime, length)))
        .flat_map(|draft| (0..3).map(move |seed| (draft, seed)))
        .collect();
    let judge = |((regime, length), seed): ((Regime, usize), u64)| {
        let order = [Order::Serial, Order::Chunked(16), Order::Tree][usize::try_from(seed % 3).unwrap()];
        shares(&problem(regime, seed, (2, length, 32)), order)
    };
    let mut all: BTreeMap<_, [Vec<f64>; 3]> = BTreeMap::new();
    for (quantity, shares) in drafts.into_par_iter().flat_map_iter(judge).collect::<Vec<_>>() {
        let entry = all.entry(quantity).or_default();
        for (values, share) in entry.iter_mut().zip(shares) {
            values.push(share);
        }
    }
    for (quantity, mut values) in all {
        let [today, least, reached] = values.each_mut().map(|values| median(values));
        println!("{:17} today {today:.4}  least {least:.4}  worst/envelope {reached:.4}", quantity.name());
    }
}
