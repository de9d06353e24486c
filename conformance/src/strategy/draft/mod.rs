//! From a spec to its arrays, in f64 and unrounded: what the families share; the numbers of each are its own file's.

mod rglru;
mod rglru_complex;
mod samu;
mod scan;

use ndarray::{Array1, Array2, Array3};
use plumbline_fixtures::Kind;
use plumbline_reference::{Problem, ProblemError, Shape};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{InitialState, Regime, Spec};

/// Values before rounding to a storage type, and the token positions that kernels read.
pub(crate) struct Draft {
    pub(crate) problem: Problem,
    pub(crate) segment_pos: Array2<i32>,
}

impl Spec {
    /// Builds the arrays: the same for the same spec on every machine.
    pub(crate) fn draft(&self) -> Result<Draft, ProblemError> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let rng = &mut rng;
        let mut draft = match self.kind {
            Kind::RglruProjected | Kind::RglruLogits => rglru::draft(self, rng)?,
            Kind::RglruComplexProjected | Kind::RglruComplexLogits => rglru_complex::draft(self, rng)?,
            Kind::Samu => samu::draft(self, rng)?,
            Kind::Scan | Kind::ScanComplex => scan::draft(self, rng)?,
        };
        if self.regime == Regime::Nonfinite {
            poison(&mut draft.problem, poisonable(self.kind), rng);
        }
        Ok(draft)
    }

    /// `[B, W]`, each number drawn.
    fn states(&self, draw: &mut dyn FnMut() -> f64) -> Array2<f64> {
        let Shape { batch, width, .. } = self.shape;
        Array2::from_shape_simple_fn((batch, width), draw)
    }

    /// `[B, L, width]`, each number drawn.
    fn tokens(&self, width: usize, draw: &mut dyn FnMut() -> f64) -> Array3<f64> {
        let Shape { batch, length, .. } = self.shape;
        Array3::from_shape_simple_fn((batch, length, width), draw)
    }

    fn dlast(&self, rng: &mut impl Rng) -> Array2<f64> {
        self.states(&mut || self.regime.cotangent(rng))
    }

    fn initial(&self, rng: &mut impl Rng) -> Option<Array2<f64>> {
        match self.h0 {
            InitialState::Absent => None,
            InitialState::Zero => Some(self.states(&mut || 0.0)),
            InitialState::Nonzero => Some(self.states(&mut || self.regime.h0(rng))),
        }
    }
}

/// The two projections of a layer: weights `[H, K, outer]` and biases `[H, outer]`.
struct Projections {
    weights: [Array3<f64>; 2],
    biases: [Array2<f64>; 2],
}

/// Projections to `outputs` logits around given ones: a bias is the logit that its regime draws for the channel, and the
/// weights move it from token to token without leaving the regime.
fn projections(
    spec: &Spec,
    outputs: usize,
    logits: [&Array1<f64>; 2],
    rng: &mut impl Rng,
) -> Result<Projections, ProblemError> {
    let width = spec.shape.width;
    let most = 16;
    let fits = |block: &usize| width.is_multiple_of(*block) && (outputs * block).is_multiple_of(width);
    let blocks: Vec<usize> = (1..=width.min(most)).filter(fits).collect();
    // Numbers of complex layers come in pairs, so that a block of 2 always fits.
    let block = blocks.get(rng.random_range(0..blocks.len().max(1))).copied().unwrap_or(width);
    let (heads, outer) = (width / block, outputs * block / width);
    let scale = spec.regime.weight_scale() / (block as f64).sqrt();
    let mut weight = || {
        Array3::from_shape_simple_fn((heads, block, outer), || match spec.regime {
            Regime::Exact => f64::from(rng.random_range(-2i32..=2)),
            _ => super::regime::normal(rng) * scale,
        })
    };
    let weights = [weight(), weight()];
    let wrong = |_| ProblemError::Blocks { width, found: vec![heads, block, outer] };
    let bias = |logits: &Array1<f64>| logits.clone().into_shape_with_order((heads, outer)).map_err(wrong);
    Ok(Projections { weights, biases: [bias(logits[0])?, bias(logits[1])?] })
}

/// Tensors that may hold what is not finite. A parameter that is NaN would leave nothing to compare.
fn poisonable(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::RglruLogits | Kind::RglruComplexLogits => &["x", "u", "v"],
        Kind::RglruProjected | Kind::RglruComplexProjected | Kind::Samu => &["x"],
        Kind::Scan | Kind::ScanComplex => &["a", "w"],
    }
}

/// Puts NaN and infinity into a few places. Infinite logits saturate a gate; an infinite `x` makes an infinite state.
fn poison(problem: &mut Problem, names: &[&str], rng: &mut impl Rng) {
    let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let elements = problem.shape().elements();
    let mut tensors = problem.tensors_mut();
    let count = elements.div_ceil(40).min(8);
    for _ in 0..count.min(elements) {
        let at = rng.random_range(0..elements);
        let value = values[rng.random_range(0..values.len())];
        let name = names[rng.random_range(0..names.len())];
        let Some(target) = tensors.iter_mut().find(|tensor| tensor.name == name) else { continue };
        let at = at % target.values.len().max(1);
        if let Some(element) = target.values.iter_mut().nth(at) {
            *element = value;
        }
    }
    if let Some(h0) = tensors.iter_mut().find(|tensor| tensor.name == "h0").filter(|_| rng.random_bool(0.3))
        && let Some(element) = h0.values.iter_mut().next()
    {
        *element = values[rng.random_range(0..values.len())];
    }
}
