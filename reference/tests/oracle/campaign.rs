//! Random kernels on random problems, all families alike, and a tally of how much of their envelopes they use; what the
//! tally must show is left to the suites.

use std::collections::BTreeMap;

use plumbline_reference::staged::{Order, Rounder, Staging, simulate};
use plumbline_reference::{
    Bound, Chain, Complement, NormForm, Problem, Quantity, Reduction, Rounding, RoundingPlan, solve,
};
use rayon::prelude::*;

use crate::sample::{Family, Size};
use crate::support::{Random, median, ratio};

/// One stage of f32 in another precision, or another way to compute it.
pub(crate) const PLANS: [(&str, RoundingPlan); 18] = {
    let f32 = RoundingPlan::f32();
    let truncated = Reduction { rounding: Rounding::F32_TRUNCATED, chain: Chain::Terms };
    [
        ("f32", f32),
        ("f32", f32),
        ("f32, fast functions", RoundingPlan::f32_fast()),
        ("f32, naive norm", RoundingPlan { norm_form: NormForm::Naive, ..f32 }),
        ("f32, sigmoid(-u)", RoundingPlan { complement: Complement::Sigmoid, ..f32 }),
        ("f32, truncated projections", RoundingPlan { projection: truncated, ..f32 }),
        ("f32, truncated sums", RoundingPlan { projection: truncated, reduce: truncated, ..f32 }),
        ("bf16 boundary", RoundingPlan::bf16_boundary()),
        ("bf16 carry", RoundingPlan { carry: Rounding::BF16, ..f32 }),
        ("bf16 saved", RoundingPlan { saved: Rounding::BF16, ..f32 }),
        ("bf16 logits", RoundingPlan { logits: Rounding::BF16, ..f32 }),
        ("bf16 products", RoundingPlan { products: Rounding::BF16, ..f32 }),
        ("bf16 gates", RoundingPlan { gates: Rounding::BF16, ..f32 }),
        ("f16 boundary", RoundingPlan { boundary: Some(Rounding::F16), ..f32 }),
        ("f16 carry", RoundingPlan { carry: Rounding::F16, ..f32 }),
        ("f16 saved", RoundingPlan { saved: Rounding::F16, ..f32 }),
        ("f16 logits", RoundingPlan { logits: Rounding::F16, ..f32 }),
        ("bf16 decay and norm", RoundingPlan { decay: Rounding::BF16, norm: Rounding::BF16, ..f32 }),
    ]
};

/// One kernel on one problem.
pub(crate) struct Case {
    pub(crate) family: Family,
    regime: usize,
    problem: Problem,
    plan: &'static str,
    staging: Staging,
    seed: u64,
}

impl Case {
    /// The case of a seed.
    pub(crate) fn new(family: Family, seed: u64) -> Self {
        let random = &mut Random(seed ^ (family as u64) << 40);
        let regime = random.below(family.regimes());
        let problem = family.problem(regime, random.bits(), size(random));
        let (name, plan) = PLANS[random.below(PLANS.len())];
        let staging = Staging { plan, rounder: rounder(random), order: order(random), twist: None };
        Self { family, regime, problem, plan: name, staging, seed }
    }

    /// The largest ratio of each tensor that the envelope makes a promise for.
    pub(crate) fn ratios(&self) -> Vec<(Quantity, f64)> {
        let (truth, outcome) =
            (solve(&self.problem, &self.staging.plan), simulate(&self.problem, &self.staging));
        // A probabilistic bound is no promise against roundings that all go one way.
        let random = matches!(self.staging.rounder, Rounder::Nearest | Rounder::Random(_));
        let judged = truth.iter().filter(|(_, bounded)| random || bounded.bound == Bound::Rigorous);
        judged.map(|(quantity, bounded)| (quantity, ratio(outcome.get(quantity).unwrap(), bounded))).collect()
    }

    fn describe(&self) -> String {
        let (regime, shape) = (self.family.regime(self.regime), self.problem.shape().tokens());
        let Staging { rounder, order, .. } = self.staging;
        format!(
            "{} seed {}, {regime} {shape:?}, {} {rounder:?} {order:?}",
            self.family.name(),
            self.seed,
            self.plan
        )
    }
}

/// Mostly short, as errors are largest there in units of the envelope; a quarter up to 200 tokens, and some beyond.
fn size(random: &mut Random) -> Size {
    let length = match random.below(100) {
        0..10 => random.below(3),
        10..74 => 1 + random.below(24),
        74..99 => 1 + random.below(200),
        _ => 200 + random.below(500),
    };
    (1 + random.below(3), length, 1 + random.below(4))
}

/// Orders whose longest chain of additions is no longer than the plan's, which counts every term.
fn order(random: &mut Random) -> Order {
    let chunk = 1 + random.below(64);
    match random.below(4) {
        0 => Order::Serial,
        1 => Order::Chunked(chunk),
        2 => Order::Grouped(chunk.div_ceil(4), 1 + random.below(8)),
        _ => Order::Tree,
    }
}

fn rounder(random: &mut Random) -> Rounder {
    match random.below(5) {
        0 => Rounder::Nearest,
        1 => Rounder::Random(random.bits()),
        2 => Rounder::Up,
        3 => Rounder::Down,
        _ => Rounder::Away,
    }
}

/// How many cases, the largest ratio and the median one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    pub(crate) cases: usize,
    pub(crate) worst: f64,
    pub(crate) median: f64,
}

/// Ratios by whatever they are sorted by.
pub(crate) struct Tally<K>(BTreeMap<K, Vec<f64>>);

impl<K: Ord> Tally<K> {
    pub(crate) fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub(crate) fn add(&mut self, key: K, ratio: f64) {
        self.0.entry(key).or_default().push(ratio);
    }

    pub(crate) fn get(&self, key: &K) -> Option<Summary> {
        self.0.get(key).map(|ratios| {
            let worst = ratios.iter().copied().fold(0.0, f64::max);
            Summary { cases: ratios.len(), worst, median: median(&mut ratios.clone()) }
        })
    }

    /// All ratios of a key, ascending.
    pub(crate) fn sorted(&self, key: &K) -> Vec<f64> {
        let mut ratios = self.0.get(key).cloned().unwrap_or_default();
        ratios.sort_by(f64::total_cmp);
        ratios
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.keys()
    }
}

/// What many cases of one family showed.
pub(crate) struct Campaign {
    /// By regime and tensor.
    pub(crate) tensors: Tally<(usize, Quantity)>,
    /// The largest ratio of each case, by kind of order and of rounding.
    pub(crate) kernels: Tally<(&'static str, &'static str)>,
    /// The same by plan.
    pub(crate) plans: Tally<&'static str>,
    /// By tensor and kind of rounding.
    pub(crate) roundings: Tally<(Quantity, &'static str)>,
    /// Cases that left their envelope, in words.
    pub(crate) outside: Vec<String>,
}

impl Campaign {
    pub(crate) fn run(family: Family, seeds: std::ops::Range<u64>) -> Self {
        let judge = |seed| {
            let case = Case::new(family, seed);
            let ratios = case.ratios();
            (case, ratios)
        };
        let mut campaign = Self {
            tensors: Tally::new(),
            kernels: Tally::new(),
            plans: Tally::new(),
            roundings: Tally::new(),
            outside: Vec::new(),
        };
        let seeds: Vec<_> = seeds.collect();
        // Part by part, as every case holds its problem.
        for part in seeds.chunks(1000) {
            let judged: Vec<_> = part.par_iter().map(|&seed| judge(seed)).collect();
            for (case, ratios) in &judged {
                campaign.enter(case, ratios);
            }
        }
        campaign
    }

    fn enter(&mut self, case: &Case, ratios: &[(Quantity, f64)]) {
        let (order, rounder) = (order_name(case.staging.order), rounder_name(case.staging.rounder));
        let mut worst = 0.0f64;
        for &(quantity, ratio) in ratios {
            self.tensors.add((case.regime, quantity), ratio);
            self.roundings.add((quantity, rounder), ratio);
            worst = worst.max(ratio);
            if ratio > 1.0 {
                self.outside.push(format!("{}: {} at {ratio:.3}", case.describe(), quantity.name()));
            }
        }
        self.kernels.add((order, rounder), worst);
        self.plans.add(case.plan, worst);
    }
}

pub(crate) const ORDERS: [&str; 4] = ["serial", "chunked", "grouped", "tree"];
pub(crate) const ROUNDERS: [&str; 5] = ["nearest", "random", "up", "down", "away"];

fn order_name(order: Order) -> &'static str {
    match order {
        Order::Serial => "serial",
        Order::Chunked(_) => "chunked",
        Order::Grouped(..) => "grouped",
        Order::Tree => "tree",
    }
}

fn rounder_name(rounder: Rounder) -> &'static str {
    match rounder {
        Rounder::Nearest => "nearest",
        Rounder::Random(_) => "random",
        Rounder::Up => "up",
        Rounder::Down => "down",
        Rounder::Away => "away",
        Rounder::Only(_) => "only one",
    }
}
