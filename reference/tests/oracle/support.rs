//! Problems for the oracle's own tests, by regime and seed, and the ratio of an error to its envelope; the
//! suites say what must hold.

use ndarray::{Array1, Array2, Array3, ArrayD};
use plumbline_reference::Bounded;
use plumbline_reference::rglru::{Gates, Inputs, Problem};

/// A small generator (splitmix64), so that a case is its seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `[low, high)`, as an f32.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        let unit = (self.bits() >> 11) as f64 / 9_007_199_254_740_992.0;
        single(low + (high - low) * unit)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.bits() % bound as u64).unwrap()
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.between(0.0, 1.0) < probability
    }

    /// About normal.
    pub(crate) fn normal(&mut self) -> f64 {
        single((0..6).map(|_| self.between(-1.0, 1.0)).sum::<f64>() / std::f64::consts::SQRT_2)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "inputs are what a kernel can be given")]
pub(crate) fn single(value: f64) -> f64 {
    f64::from(value as f32)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Regime {
    Init,
    NearOne,
    One,
    Zero,
    NearZero,
    Saturated,
    Mixed,
    Huge,
    Tiny,
    Zeros,
    Spiky,
    /// Every token alike: every token makes the same rounding errors.
    Constant,
    /// `z` around the clip of the square root's derivative.
    Clip,
}

pub(crate) const REGIMES: [Regime; 13] = [
    Regime::Init,
    Regime::NearOne,
    Regime::One,
    Regime::Zero,
    Regime::NearZero,
    Regime::Saturated,
    Regime::Mixed,
    Regime::Huge,
    Regime::Tiny,
    Regime::Zeros,
    Regime::Spiky,
    Regime::Constant,
    Regime::Clip,
];

impl Regime {
    pub(crate) fn a_param(self, random: &mut Random) -> f64 {
        match self {
            Self::NearOne => random.between(-20.0, -9.0),
            Self::One => -200.0,
            Self::Zero => 100.0,
            Self::NearZero => random.between(0.0, 4.0),
            Self::Mixed => random.between(-12.0, 3.0),
            Self::Huge => random.between(-100.0, 100.0),
            Self::Clip => random.between(-17.0, -15.0),
            // Decays of 0.9 to 0.999 at r = 1.
            _ => random.between(-9.0, -4.3),
        }
    }

    pub(crate) fn logit(self, random: &mut Random) -> f64 {
        match self {
            Self::Zero => random.between(5.0, 9.0),
            Self::Saturated => random.between(-40.0, 40.0),
            Self::Huge => random.between(-1e4, 1e4),
            Self::Mixed => random.between(-8.0, 8.0),
            _ => random.normal(),
        }
    }

    pub(crate) fn signal(self, random: &mut Random) -> f64 {
        let plain = random.normal();
        match self {
            Self::Huge => single(plain * 1e4),
            Self::Tiny if random.chance(0.2) => single(plain * 1e-40),
            Self::Tiny => single(plain * 1e-20),
            Self::Zeros => 0.0,
            Self::Spiky if random.chance(0.1) => single(plain * 1e4),
            Self::Spiky => single(plain * 1e-4),
            _ => plain,
        }
    }
}

/// A problem of `(B, L, W)` in a regime; resets, an initial state and, if asked, projections with it.
pub(crate) fn problem(
    regime: Regime,
    seed: u64,
    (b, l, w): (usize, usize, usize),
    projected: bool,
) -> Problem {
    let mut random = Random(seed.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ 0xabcd);
    let random = &mut random;
    let density = [0.0, 0.0, 0.1, 0.4, 1.0][random.below(5)];
    let constant = [0; 4].map(|_| random.normal());
    let mut tokens = |which: usize, draw: &dyn Fn(&mut Random) -> f64| {
        Array3::from_shape_fn((b, l, w), |_| {
            if regime == Regime::Constant { constant[which] } else { draw(random) }
        })
    };
    let x = tokens(0, &|r| regime.signal(r));
    let u = tokens(1, &|r| regime.logit(r));
    let v = tokens(2, &|r| regime.logit(r));
    let dy = tokens(3, &|r| if regime == Regime::Tiny { r.normal() } else { regime.signal(r) });
    let gates = if projected { projections(regime, random, w) } else { Gates::Logits { u, v } };
    let h0 = random.chance(0.6).then(|| Array2::from_shape_fn((b, w), |_| regime.signal(random)));
    Problem::new(Inputs {
        x,
        gates,
        a_param: Array1::from_shape_fn(w, |_| regime.a_param(random)),
        reset: Array2::from_shape_fn((b, l), |_| random.chance(density)),
        h0,
        dy,
        dlast: Array2::from_shape_fn((b, w), |_| regime.signal(random)),
    })
    .unwrap()
}

fn projections(regime: Regime, random: &mut Random, width: usize) -> Gates {
    let most = if width > 16 { 16 } else { width.div_ceil(2) };
    let block = (1..=most).rev().find(|block| width.is_multiple_of(*block)).unwrap_or(1);
    let blocks = width / block;
    let scale = if regime == Regime::Huge { 1.0 } else { 1.0 / (block as f64).sqrt() };
    let weight = |random: &mut Random| {
        Array3::from_shape_fn((blocks, block, block), |_| single(random.normal() * scale))
    };
    let bias = |random: &mut Random| Array2::from_shape_fn((blocks, block), |_| random.normal());
    Gates::Projected { wi: weight(random), bi: bias(random), wr: weight(random), br: bias(random) }
}

/// The largest `distance / envelope` over a tensor; infinite if the class of a number is wrong.
pub(crate) fn ratio(got: &ArrayD<f64>, truth: &Bounded) -> f64 {
    assert_eq!(got.shape(), truth.value.shape(), "shapes");
    let elements = got.iter().zip(&truth.value).zip(&truth.envelope);
    elements.map(|((&got, &value), &envelope)| element_ratio(got, value, envelope)).fold(0.0, f64::max)
}

fn element_ratio(got: f64, value: f64, envelope: f64) -> f64 {
    assert!(envelope >= 0.0, "an envelope is never NaN or negative");
    if envelope.is_infinite() && value.is_finite() {
        return 0.0;
    }
    if !value.is_finite() || !got.is_finite() {
        let same = got == value || (got.is_nan() && value.is_nan());
        return if same { 0.0 } else { f64::INFINITY };
    }
    let distance = (got - value).abs();
    if distance == 0.0 { 0.0 } else { distance / envelope }
}

/// A number of cases from the environment, or the default where there is none or an empty one.
pub(crate) fn cases(default: usize) -> usize {
    let text = std::env::var_os("PLUMBLINE_CASES").unwrap_or_default();
    let text = text.to_string_lossy();
    if text.is_empty() {
        return default;
    }
    text.parse().unwrap_or_else(|_| panic!("PLUMBLINE_CASES: expected a number, found `{text}`"))
}

pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
