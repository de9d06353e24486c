//! The linear scan, real and complex: really rounded kernels stay inside, faults do not, and the gradients are those of the
//! forward pass.

use std::collections::BTreeMap;

use ndarray::{Array2, Array3, ArrayD, Axis, Slice, concatenate};
use plumbline_reference::number::Number;
use plumbline_reference::scan::{Field, Input, Inputs, Problem, evaluate, run, solve};
use plumbline_reference::staged::{Order, Staging, Twist, simulate};
use plumbline_reference::{Quantity, Rounding, RoundingPlan, Truth};

use crate::slope::Slope;
use crate::support::{Random, cases, median, ratio, single, staging};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Regime {
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

const REGIMES: [Regime; 10] = [
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
fn problem(regime: Regime, field: Field, seed: u64, shape: (usize, usize, usize)) -> Problem {
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

const FIELDS: [Field; 2] = [Field::Real, Field::Complex];

fn plans() -> [RoundingPlan; 5] {
    let f32 = RoundingPlan::f32();
    [
        f32,
        f32,
        RoundingPlan { carry: Rounding::BF16, ..f32 },
        RoundingPlan { saved: Rounding::BF16, ..f32 },
        RoundingPlan { saved: Rounding::F16, products: Rounding::BF16, ..f32 },
    ]
}

fn case(seed: u64, longest: usize, seen: &mut BTreeMap<(String, String), f64>) {
    let mut random = Random(seed);
    let regime = REGIMES[random.below(REGIMES.len())];
    let field = FIELDS[random.below(2)];
    let shape = (1 + random.below(2), random.below(longest), 1 + random.below(3));
    let problem = problem(regime, field, random.bits(), shape);
    let plan = plans()[random.below(5)];
    let staging = staging(&plan, &mut random);
    let (truth, outcome) = (solve(&problem, &plan), simulate(&problem.clone().into(), &staging));
    for (quantity, bounded) in truth.iter() {
        let ratio = ratio(outcome.get(quantity).unwrap(), bounded);
        let name = quantity.name();
        assert!(ratio <= 1.0, "seed {seed} {regime:?} {field:?} {shape:?} {staging:?}: {name} at {ratio}");
        let worst = seen.entry((format!("{field:?} {regime:?}"), name.to_owned())).or_default();
        *worst = worst.max(ratio);
    }
}

fn sweep(first: u64, count: usize, longest: usize) {
    let mut seen = BTreeMap::new();
    for seed in 0..count as u64 {
        case(first + seed, longest, &mut seen);
    }
    for ((regime, quantity), worst) in seen {
        println!("{regime:20} {quantity:5} worst {worst:.3}");
    }
}

#[test]
fn no_honest_scan_leaves_the_envelope() {
    sweep(1, cases(4000), 25);
}

#[test]
#[ignore = "long sweep: run with --ignored"]
fn no_honest_scan_leaves_the_envelope_long() {
    sweep(1_000_000, cases(200_000), 25);
    sweep(9_000_000, cases(200_000) / 100, 700);
}

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

fn value(problem: &Problem, input: Input, at: usize) -> f64 {
    problem.number(input, at)
}

/// The gradient of one input, element by element, from dual numbers.
fn slopes(problem: &Problem, input: Input, elements: usize) -> Vec<f64> {
    let inputs = problem.inputs();
    let derivative = |seeded: usize| {
        let outputs = run(problem, |of, at| {
            Slope::new(value(problem, of, at), if of == input && at == seeded { 1.0 } else { 0.0 })
        });
        let dot = |numbers: &[Slope], cotangents: &mut dyn Iterator<Item = &f64>| -> f64 {
            numbers.iter().zip(cotangents).map(|(number, cotangent)| number.slope * cotangent).sum()
        };
        dot(&outputs.y, &mut inputs.dy.iter()) + dot(&outputs.last, &mut inputs.dlast.iter())
    };
    (0..elements).map(derivative).collect()
}

/// In the envelope of a kernel that computes in f64.
fn agree(truth: &Truth, quantity: Quantity, slopes: Vec<f64>, context: &str) {
    let bounded = truth.get(quantity).unwrap();
    let seen = ArrayD::from_shape_vec(bounded.value.raw_dim(), slopes).unwrap();
    let worst = ratio(&seen, bounded);
    assert!(worst <= 1.0, "{context}: {} at {worst} of the f64 envelope", quantity.name());
}

#[test]
fn gradients_of_a_scan_are_those_of_dual_numbers() {
    for (regime, field) in REGIMES.into_iter().flat_map(|regime| FIELDS.map(|field| (regime, field))) {
        for (seed, length) in [(1, 6), (2, 5), (3, 1), (4, 0), (5, 7)] {
            let problem = problem(regime, field, seed, (2, length, 2));
            let truth = solve(&problem, &RoundingPlan::f64());
            let (tokens, states) = (problem.shape().elements(), problem.shape().states().iter().product());
            let context = format!("{regime:?} {field:?} seed {seed} length {length}");
            agree(&truth, Quantity::Da, slopes(&problem, Input::A, tokens), &context);
            agree(&truth, Quantity::Dw, slopes(&problem, Input::W, tokens), &context);
            // An absent initial state is zeros, and they have a gradient.
            agree(&truth, Quantity::Dh0, slopes(&problem, Input::H0, states), &context);
        }
    }
}

#[test]
fn evaluation_is_solution_without_envelopes() {
    for (regime, field) in REGIMES.into_iter().flat_map(|regime| FIELDS.map(|field| (regime, field))) {
        let problem = problem(regime, field, 3, (3, 9, 11));
        let (values, truth) = (evaluate(&problem), solve(&problem, &RoundingPlan::f32()));
        let lifted = run(&problem, |input, at| f64::from_f64(value(&problem, input, at)));
        for (quantity, bounded) in truth.iter() {
            assert_eq!(values.get(quantity).unwrap(), &bounded.value, "{}", quantity.name());
        }
        assert!(truth.get(Quantity::Y).unwrap().value.iter().eq(&lifted.y));
        assert!(truth.get(Quantity::Last).unwrap().value.iter().eq(&lifted.last));
    }
}

/// Real numbers as complex ones.
fn widened(problem: &Problem) -> Problem {
    let inputs = problem.inputs();
    let tokens = |x: &Array3<f64>| concatenate![Axis(2), *x, x * 0.0];
    let states = |x: &Array2<f64>| concatenate![Axis(1), *x, x * 0.0];
    Problem::new(Inputs {
        field: Field::Complex,
        a: tokens(&inputs.a),
        w: tokens(&inputs.w),
        h0: inputs.h0.as_ref().map(states),
        dy: tokens(&inputs.dy),
        dlast: states(&inputs.dlast),
    })
    .unwrap()
}

#[test]
fn a_complex_scan_of_real_numbers_is_the_real_scan() {
    for (regime, seed) in REGIMES.into_iter().flat_map(|regime| (0..4).map(move |seed| (regime, seed))) {
        let problem = problem(regime, Field::Real, seed, (2, 12, 3));
        let (real, complex) = (evaluate(&problem), evaluate(&widened(&problem)));
        for (quantity, values) in real.iter() {
            let both = complex.get(quantity).unwrap();
            let axis = Axis(values.ndim() - 1);
            let half = |from: usize| both.slice_axis(axis, Slice::from(from..from + 3));
            assert_eq!(half(0), values, "{regime:?} {}", quantity.name());
            assert!(half(3).iter().all(|&im| im == 0.0), "{regime:?} {}", quantity.name());
        }
    }
}

/// Tokens of channel 0, in either part, that are NaN; the others must be clean.
fn poisoned(truth: &Truth, quantity: Quantity) -> Vec<usize> {
    let values = &truth.get(quantity).unwrap().value;
    let channels = values.len_of(Axis(2)) / 2;
    let is_nan = |t: usize, m: usize| (0..2).any(|part| values[[0, t, part * channels + m]].is_nan());
    let length = values.len_of(Axis(1));
    assert!((0..length).all(|t| (1..channels).all(|m| !is_nan(t, m))), "channels do not talk");
    (0..length).filter(|&t| is_nan(t, 0)).collect()
}

#[test]
fn a_nan_write_stops_at_the_zero_decay_except_in_its_gradient() {
    for part in 0..2 {
        let mut inputs = problem(Regime::Decaying, Field::Complex, 1, (1, 6, 2)).into_inputs();
        inputs.a.mapv_inplace(|a| if a == 0.0 { 0.5 } else { a });
        inputs.a[[0, 3, 0]] = 0.0;
        inputs.a[[0, 3, 2]] = 0.0;
        inputs.w[[0, 1, 2 * part]] = f64::NAN;
        let truth = solve(&Problem::new(inputs).unwrap(), &RoundingPlan::f32());
        assert_eq!(poisoned(&truth, Quantity::Y), [1, 2]);
        assert_eq!(poisoned(&truth, Quantity::Dw), [0; 0]);
        assert_eq!(poisoned(&truth, Quantity::Da), [2, 3]);
    }
}

#[test]
fn a_nan_cotangent_stops_at_the_zero_decay_too() {
    let mut inputs = problem(Regime::Decaying, Field::Complex, 1, (1, 6, 2)).into_inputs();
    inputs.a.mapv_inplace(|a| if a == 0.0 { 0.5 } else { a });
    inputs.a[[0, 3, 0]] = 0.0;
    inputs.a[[0, 3, 2]] = 0.0;
    inputs.dy[[0, 4, 0]] = f64::NAN;
    let truth = solve(&Problem::new(inputs).unwrap(), &RoundingPlan::f32());
    assert_eq!(poisoned(&truth, Quantity::Y), [0; 0]);
    assert_eq!(poisoned(&truth, Quantity::Dw), [3, 4]);
    assert!(truth.get(Quantity::Dh0).unwrap().value.iter().all(|v| v.is_finite()));
}

#[test]
fn a_zero_first_decay_leaves_the_initial_state_without_gradient_but_has_one_itself() {
    let mut inputs = problem(Regime::Decaying, Field::Real, 2, (1, 4, 1)).into_inputs();
    inputs.a[[0, 0, 0]] = 0.0;
    inputs.h0 = Some(Array2::ones((1, 1)));
    let truth = solve(&Problem::new(inputs).unwrap(), &RoundingPlan::f32());
    assert_eq!(truth.get(Quantity::Dh0).unwrap().value[[0, 0]], 0.0);
    let (da, dw) = (truth.get(Quantity::Da).unwrap(), truth.get(Quantity::Dw).unwrap());
    assert_eq!(da.value[[0, 0, 0]], dw.value[[0, 0, 0]]);
    assert!(da.value[[0, 0, 0]] != 0.0);
}

/// A chunk multiplies its decays even where the state is zero: what overflows there is not held against it.
#[test]
fn decays_whose_product_overflows_promise_nothing() {
    let grow = Array3::from_elem((1, 6, 1), 1e20);
    let inputs = Inputs {
        field: Field::Real,
        a: grow.clone(),
        w: &grow * 0.0,
        h0: None,
        dy: &grow * 0.0,
        dlast: Array2::zeros((1, 1)),
    };
    let truth = solve(&Problem::new(inputs).unwrap(), &RoundingPlan::f32());
    let envelope = &truth.get(Quantity::Y).unwrap().envelope;
    assert!(envelope[[0, 0, 0]].is_finite() && envelope[[0, 5, 0]].is_infinite());
}

/// The same bits from one thread and from three.
#[test]
fn the_bits_of_a_scan_do_not_depend_on_the_threads() {
    let problem = problem(Regime::Decaying, Field::Complex, 8, (3, 40, 37));
    let solved = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| solve(&problem, &RoundingPlan::f32()))
    };
    let (one, three) = (solved(1), solved(3));
    for (quantity, bounded) in one.iter() {
        let other = three.get(quantity).unwrap();
        assert!(bounded.value == other.value && bounded.envelope == other.envelope, "{}", quantity.name());
    }
}
