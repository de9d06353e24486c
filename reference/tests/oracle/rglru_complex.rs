//! The complex gated recurrence: its problems; the best kernel uses what it is allowed, and faults do not stay inside.

use std::collections::BTreeMap;

use ndarray::{Array1, Array2, Array3};
use plumbline_reference::rglru_complex::{Gates, Inputs, Problem, solve};
use plumbline_reference::staged::{Order, Staging, Twist, simulate};
use plumbline_reference::{Quantity, RoundingPlan};

use crate::support::{REGIMES, Random, Regime, median, ratio, single};

/// Channels `M`, batch and length; projections have one block or two.
pub(crate) type Size = (usize, usize, usize);

/// A problem in a regime of the real form, with phases beside it; resets, an initial state and, if asked, projections.
pub(crate) fn problem(regime: Regime, seed: u64, size: Size, projected: bool) -> Problem {
    let density = [0.0, 0.0, 0.1, 0.4, 1.0][Random(seed).below(5)];
    dense(regime, seed, size, projected, density)
}

/// The same with a given share of resets.
fn dense(regime: Regime, seed: u64, (b, l, channels): Size, projected: bool, density: f64) -> Problem {
    let mut random = Random(seed.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ 0xc0de);
    let random = &mut random;
    let constant = [0; 4].map(|_| random.normal());
    let mut tokens = |which: usize, width: usize, draw: &dyn Fn(&mut Random) -> f64| {
        Array3::from_shape_fn((b, l, width), |_| {
            if regime == Regime::Constant { constant[which] } else { draw(random) }
        })
    };
    let x = tokens(0, 2 * channels, &|r| regime.signal(r));
    let u = tokens(1, channels, &|r| regime.logit(r));
    let v = tokens(2, channels, &|r| regime.logit(r));
    let dy = tokens(3, 2 * channels, &|r| if regime == Regime::Tiny { r.normal() } else { regime.signal(r) });
    let gates = if projected { projections(regime, random, channels) } else { Gates::Logits { u, v } };
    let mut states = || Array2::from_shape_fn((b, 2 * channels), |_| regime.signal(random));
    let (h0, dlast) = (states(), states());
    Problem::new(Inputs {
        x,
        gates,
        a_param: Array1::from_shape_fn(channels, |_| regime.a_param(random)),
        a_imag: Array1::from_shape_fn(channels, |_| phase(regime, random)),
        reset: Array2::from_shape_fn((b, l), |_| random.chance(density)),
        h0: random.chance(0.6).then_some(h0),
        dy,
        dlast,
    })
    .unwrap()
}

fn phase(regime: Regime, random: &mut Random) -> f64 {
    match regime {
        Regime::Huge => random.between(-100.0, 100.0),
        Regime::NearOne => random.between(-0.1, 0.1),
        Regime::Zeros => 0.0,
        _ => random.between(-3.2, 3.2),
    }
}

fn projections(regime: Regime, random: &mut Random, channels: usize) -> Gates {
    let blocks = if channels.is_multiple_of(2) { (channels / 8).max(2) } else { 1 };
    let outer = channels / blocks;
    let scale = if regime == Regime::Huge { 1.0 } else { 1.0 / (2.0 * outer as f64).sqrt() };
    let weight = |random: &mut Random| {
        Array3::from_shape_fn((blocks, 2 * outer, outer), |_| single(random.normal() * scale))
    };
    let bias = |random: &mut Random| Array2::from_shape_fn((blocks, outer), |_| random.normal());
    Gates::Projected { wi: weight(random), bi: bias(random), wr: weight(random), br: bias(random) }
}

/// What is demanded of the real form, but for one thing: a disc is charged to both components in full, although an error
/// that fills it in one direction has `1 / sqrt(2)` of it in each.
fn demanded(quantity: Quantity) -> f64 {
    let real = match quantity {
        Quantity::U | Quantity::V => return 0.1,
        Quantity::Y | Quantity::Last => 0.1,
        _ if quantity.is_reduced() => 0.01,
        _ => 0.05,
    };
    real * std::f64::consts::FRAC_1_SQRT_2
}

/// Some sequences only reset, some never do.
#[test]
fn the_best_complex_kernel_uses_a_good_part_of_the_envelope() {
    let regimes = [Regime::Init, Regime::NearOne, Regime::Mixed, Regime::Spiky, Regime::Saturated];
    let mut all: BTreeMap<Quantity, Vec<f64>> = BTreeMap::new();
    for (i, &regime) in regimes.iter().enumerate() {
        let densities = [1.0, 0.0, 0.0, 0.1, 0.0, 0.4];
        let cases = (0..).zip(densities).flat_map(|case| [1, 8, 24].map(|length| (case, length)));
        for ((seed, density), length) in cases {
            let problem = dense(regime, seed, (2, length, 64), seed % 2 == 1, density);
            let order = [Order::Serial, Order::Chunked(16), Order::Tree][(length + i) % 3];
            let staging = Staging { order, ..Staging::new(RoundingPlan::f32()) };
            let (truth, outcome) =
                (solve(&problem, &staging.plan), simulate(&problem.clone().into(), &staging));
            for (quantity, bounded) in truth.iter() {
                all.entry(quantity).or_default().push(ratio(outcome.get(quantity).unwrap(), bounded));
            }
        }
    }
    let medians: Vec<_> =
        all.into_iter().map(|(quantity, mut ratios)| (quantity, median(&mut ratios))).collect();
    for (quantity, median) in &medians {
        println!("{:9} median {median:.4}", quantity.name());
    }
    for (quantity, median) in medians {
        assert!(median > demanded(quantity), "{}: median {median}", quantity.name());
    }
}

fn worst(problem: &Problem, twist: Twist) -> f64 {
    let plan = RoundingPlan::f32();
    let truth = solve(problem, &plan);
    let outcome = simulate(&problem.clone().into(), &Staging { twist: Some(twist), ..Staging::new(plan) });
    truth.iter().map(|(q, bounded)| ratio(outcome.get(q).unwrap(), bounded)).fold(0.0, f64::max)
}

/// Also with a NaN ahead of the last reset: only a discard keeps that away.
#[test]
fn every_twist_of_the_complex_recurrence_is_caught() {
    for twist in Twist::RGLRU_COMPLEX {
        let caught = (0..10).any(|seed| {
            REGIMES.into_iter().any(|regime| {
                let plain = problem(regime, seed, (2, 20, 3), false);
                let mut inputs = plain.inputs().clone();
                inputs.x[[0, 0, 0]] = f64::NAN;
                let poisoned = Problem::new(inputs).unwrap();
                worst(&plain, twist) > 2.0 || worst(&poisoned, twist) > 2.0
            })
        });
        assert!(caught, "{twist:?} stays inside the envelope everywhere");
    }
}

/// The faults of the projected layer: a wrong half must show there too.
#[test]
fn complex_faults_show_through_the_projections() {
    for twist in [Twist::HalvesInterleaved, Twist::ImaginaryHalfDropped, Twist::PhasePathMissing] {
        let problem = dense(Regime::Init, 3, (2, 12, 4), true, 0.1);
        assert!(worst(&problem, twist) > 2.0, "{twist:?}");
    }
}
