//! The worst kernel that keeps to a plan, for each element by itself: the magnitudes of what every rounding does alone add up
//! to its error, to first order. No envelope that holds for all kernels of the plan can be smaller, and ours must hold it.

use std::collections::BTreeMap;

use ndarray::ArrayD;
use plumbline_reference::staged::{Order, Rounder, Staging, roundings, simulate};
use plumbline_reference::{Bounded, Chain, Problem, Quantity, Reduction, RoundingPlan, solve};
use rayon::prelude::*;

use crate::campaign::PLANS;
use crate::sample::{FAMILIES, Family};
use crate::support::{Random, cases, ratio};

/// The plan of a kernel that sums in this order, and says so: a rigorous bound on its sums.
pub(crate) fn declared(plan: &RoundingPlan, order: Order) -> RoundingPlan {
    let chained = plan.with_chain(match order {
        Order::Serial | Order::Grouped(..) => Chain::Terms,
        Order::Chunked(size) => Chain::Blocked(size),
        Order::Tree => Chain::Tree,
    });
    let projection = Reduction { chain: chained.reduce.chain, ..plan.projection };
    RoundingPlan { projection, ..chained }
}

/// The error of the worst kernel in each element of each tensor.
pub(crate) fn worst(problem: &Problem, plan: &RoundingPlan, order: Order) -> BTreeMap<Quantity, ArrayD<f64>> {
    let run = |only| {
        let rounder = Rounder::Only(only);
        simulate(problem, &Staging { order, rounder, ..Staging::new(*plan) })
    };
    let exact = run(u64::MAX);
    let mut sums: BTreeMap<_, _> = exact.iter().map(|(quantity, values)| (quantity, values * 0.0)).collect();
    for only in 0..roundings(problem, &Staging { order, ..Staging::new(*plan) }) {
        let disturbed = run(only);
        for (quantity, sum) in &mut sums {
            *sum += &(disturbed.get(*quantity).unwrap() - exact.get(*quantity).unwrap()).abs();
        }
    }
    sums
}

/// How much of its envelope the worst kernel uses in each tensor of a random case, which is short, as every rounding is a run of
/// its own.
fn ratios(family: Family, seed: u64) -> Vec<(String, f64)> {
    let random = &mut Random(seed ^ (family as u64) << 40);
    let regime = random.below(family.regimes());
    let problem = family.problem(regime, random.bits(), (1, 1 + random.below(5), 1 + random.below(2)));
    let order = [Order::Serial, Order::Chunked(2), Order::Tree][random.below(3)];
    let (name, plan) = PLANS[random.below(PLANS.len())];
    let plan = declared(&plan, order);
    let truth = solve(&problem, &plan);
    // A mask that several roundings can turn, each alone, would be counted once for each; the kernel turns it once.
    if truth.undecided() > 0 {
        return Vec::new();
    }
    let worst = worst(&problem, &plan, order);
    let of = |(quantity, bounded): (Quantity, &Bounded)| {
        let ratio = ratio(&(&bounded.value + &worst[&quantity]), bounded);
        let regime = family.regime(regime);
        (format!("{} {regime} seed {seed}, {name} {order:?}: {}", family.name(), quantity.name()), ratio)
    };
    truth.iter().map(of).collect()
}

#[test]
fn the_worst_kernel_stays_inside_and_comes_near() {
    for family in FAMILIES {
        let seeds = (0..cases(200) as u64).into_par_iter();
        let judged: Vec<_> = seeds.flat_map_iter(|seed| ratios(family, seed)).collect();
        let (case, largest) = judged.iter().max_by(|one, two| one.1.total_cmp(&two.1)).unwrap();
        println!("{largest:.4} of the envelope: {case}");
        assert!(*largest <= 1.0, "{case} at {largest}");
        assert!(*largest > 0.9, "{}: no more than {largest}", family.name());
    }
}
