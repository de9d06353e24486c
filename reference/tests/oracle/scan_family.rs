//! The linear scan, real and complex: its problems; the best kernel uses what it is allowed, and faults do not stay inside.

use std::collections::BTreeMap;

use ndarray::{Array2, Array3};
use plumbline_reference::scan::{Field, Inputs, Problem, solve};
use plumbline_reference::staged::{Order, Staging, Twist, simulate};
use plumbline_reference::{Quantity, RoundingPlan};

use crate::support::{Random, median, ratio, single};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Regime {
    /// Decays of 0.9 to 0.999 and, if complex, any phase.
    Decaying,
    /// Decays of modulus 1: nothing is forgotten.
    Turning,
    /// Decays of 1 and more: the state grows.
    Growing,
    /// Decays near 0.
    Forgetting,
    /// Decays between 0 and 1.
    Mixed,
    /// Decays over forty orders of magnitude: products of them leave the range of f32 where states do not.
    Wild,
    Huge,
    Tiny,
    Zeros,
    /// Every token alike.
    Constant,
}

pub(crate) const REGIMES: [Regime; 10] = [
    Regime::Decaying,
    Regime::Turning,
    Regime::Growing,
    Regime::Forgetting,
    Regime::Mixed,
    Regime::Wild,
    Regime::Huge,
    Regime::Tiny,
    Regime::Zeros,
    Regime::Constant,
];

impl Regime {
    fn modulus(self, random: &mut Random) -> f64 {
        match self {
            Self::Turning => 1.0,
            Self::Growing => random.between(1.0, 1.5),
            Self::Forgetting => random.between(0.0, 0.01),
            Self::Mixed => random.between(0.0, 1.0),
            Self::Wild => 10f64.powf(random.between(-30.0, 10.0)),
            _ => random.between(0.9, 0.999),
        }
    }

    fn signal(self, random: &mut Random) -> f64 {
        let plain = random.normal();
        match self {
            Self::Huge => single(plain * 1e4),
            Self::Tiny if random.chance(0.2) => single(plain * 1e-40),
            Self::Tiny => single(plain * 1e-20),
            Self::Zeros => 0.0,
            _ => plain,
        }
    }

    /// The parts of a decay: real and, if there is one, imaginary.
    fn decay(self, parts: usize, random: &mut Random) -> [f64; 2] {
        let (modulus, phase) = (self.modulus(random), random.between(-3.2, 3.2));
        if parts == 1 {
            return [single(if random.chance(0.3) { -modulus } else { modulus }), 0.0];
        }
        [single(modulus * phase.cos()), single(modulus * phase.sin())]
    }
}

fn parts(field: Field) -> usize {
    if field == Field::Complex { 2 } else { 1 }
}

/// A problem of `(B, L, channels)` with resets and, mostly, an initial state.
pub(crate) fn problem(regime: Regime, field: Field, seed: u64, shape: (usize, usize, usize)) -> Problem {
    let density = [0.0, 0.0, 0.1, 0.4, 1.0][Random(seed).below(5)];
    dense(regime, field, seed, shape, density)
}

/// The same with a given share of resets.
fn dense(
    regime: Regime,
    field: Field,
    seed: u64,
    (b, l, channels): (usize, usize, usize),
    density: f64,
) -> Problem {
    let random = &mut Random(seed.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ 0x5ca9);
    let parts = parts(field);
    let width = channels * parts;
    let constant = (regime.decay(parts, random), regime.signal(random), regime.signal(random));
    let alike = regime == Regime::Constant;
    let mut a = Array3::zeros((b, l, width));
    for ((row, t), m) in (0..b)
        .flat_map(|row| (0..l).map(move |t| (row, t)))
        .flat_map(|at| (0..channels).map(move |m| (at, m)))
    {
        let decay = if alike { constant.0 } else { regime.decay(parts, random) };
        let kept = !random.chance(density);
        for (part, value) in decay.into_iter().take(parts).enumerate() {
            a[[row, t, part * channels + m]] = if kept { value } else { 0.0 };
        }
    }
    let mut tokens = |constant: f64| {
        Array3::from_shape_fn((b, l, width), |_| if alike { constant } else { regime.signal(random) })
    };
    let (w, dy) = (tokens(constant.1), tokens(constant.2));
    let mut states = || Array2::from_shape_fn((b, width), |_| regime.signal(random));
    let (h0, dlast) = (states(), states());
    let h0 = random.chance(0.7).then_some(h0);
    Problem::new(Inputs { field, a, w, h0, dy, dlast }).unwrap()
}

pub(crate) const FIELDS: [Field; 2] = [Field::Real, Field::Complex];

/// Resets are few, as a scan that only resets rounds nothing. The best kernel there can be uses a good part of what it is allowed.
#[test]
fn the_best_scan_uses_a_good_part_of_the_envelope() {
    for field in FIELDS {
        let mut all: BTreeMap<Quantity, Vec<f64>> = BTreeMap::new();
        for regime in [Regime::Decaying, Regime::Turning, Regime::Forgetting, Regime::Mixed] {
            for (seed, length) in (0..8).flat_map(|seed| [1, 8, 24].map(|length| (seed, length))) {
                let problem =
                    dense(regime, field, seed, (2, length, 64), if seed % 2 == 0 { 0.0 } else { 0.1 });
                let order = [Order::Serial, Order::Chunked(16), Order::Tree][length % 3];
                let staging = Staging { order, ..Staging::new(RoundingPlan::f32()) };
                let (truth, outcome) =
                    (solve(&problem, &staging.plan), simulate(&problem.clone().into(), &staging));
                for (quantity, bounded) in truth.iter() {
                    all.entry(quantity).or_default().push(ratio(outcome.get(quantity).unwrap(), bounded));
                }
            }
        }
        for (quantity, mut ratios) in all {
            let median = median(&mut ratios);
            println!("{field:?} {:5} median {median:.4}", quantity.name());
            let demanded = if matches!(quantity, Quantity::Y | Quantity::Last) { 0.1 } else { 0.05 };
            assert!(median > demanded, "{field:?} {}: median {median}", quantity.name());
        }
    }
}

fn worst(problem: &Problem, twist: Twist, order: Order) -> f64 {
    let plan = RoundingPlan::f32();
    let truth = solve(problem, &plan);
    let staging = Staging { twist: Some(twist), order, ..Staging::new(plan) };
    let outcome = simulate(&problem.clone().into(), &staging);
    truth.iter().map(|(q, bounded)| ratio(outcome.get(q).unwrap(), bounded)).fold(0.0, f64::max)
}

/// A NaN ahead of a reset makes the difference between a discard and a product with zero.
#[test]
fn every_twist_of_a_scan_is_caught() {
    for twist in Twist::SCAN {
        let caught = (0..10).any(|seed| {
            let plain = problem(Regime::Decaying, Field::Complex, seed, (2, 20, 3));
            let mut inputs = plain.inputs().clone();
            inputs.w[[0, 0, 0]] = f64::NAN;
            let poisoned = Problem::new(inputs).unwrap();
            [plain, poisoned].iter().any(|problem| worst(problem, twist, Order::Serial) > 2.0)
        });
        assert!(caught, "{twist:?} stays inside the envelope everywhere");
    }
}

#[test]
fn real_faults_of_a_scan_are_caught_in_real_numbers_too() {
    let complex = [
        Twist::ConjugateMissing,
        Twist::DaConjugateMissing,
        Twist::CrossTermAdded,
        Twist::HalvesInterleaved,
        Twist::ResetByMultiplication,
    ];
    for twist in Twist::SCAN.into_iter().filter(|twist| !complex.contains(twist)) {
        let caught = (0..10).any(|seed| {
            let problem = problem(Regime::Decaying, Field::Real, seed, (2, 20, 3));
            [Order::Serial, Order::Chunked(4), Order::Tree]
                .into_iter()
                .all(|order| worst(&problem, twist, order) > 2.0)
        });
        assert!(caught, "{twist:?} stays inside the envelope in some order");
    }
}
