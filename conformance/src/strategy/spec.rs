//! A case before its arrays: shape, layout, regime, initial state and seed. It prints as one word, reads back from it, and rebuilds the same arrays every time.

use std::fmt;
use std::str::FromStr;

use ndarray::{Array1, Array2, Array3};
use plumbline_reference::{Gates, Inputs, Shape};
use proptest::prelude::*;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Layout, Regime, shapes};

/// Whether there is an initial state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InitialState {
    /// No such tensor: a null pointer.
    Absent,
    /// All zero.
    Zero,
    /// Drawn as the regime draws.
    Nonzero,
}

impl InitialState {
    const ALL: [Self; 3] = [Self::Absent, Self::Zero, Self::Nonzero];

    const fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Zero => "zero",
            Self::Nonzero => "nonzero",
        }
    }
}

/// One generated problem, by description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spec {
    /// B, L, W.
    pub shape: Shape,
    /// Where resets stand.
    pub layout: Layout,
    /// What the numbers are like.
    pub regime: Regime,
    /// Whether there is an initial state.
    pub h0: InitialState,
    /// Seed of the arrays.
    pub seed: u64,
}

/// Specs of the given regimes (all if empty). Shrinks to smaller shapes, plainer layouts and regimes; the seed stays.
pub fn specs(regimes: &[Regime]) -> impl Strategy<Value = Spec> + use<> {
    let regimes = if regimes.is_empty() { Regime::ALL.to_vec() } else { regimes.to_vec() };
    (
        shapes::shapes(),
        proptest::sample::select(Layout::ALL.to_vec()),
        proptest::sample::select(regimes),
        proptest::sample::select(InitialState::ALL.to_vec()),
        any::<u32>().no_shrink(),
    )
        .prop_map(|(shape, layout, regime, h0, seed)| Spec {
            shape,
            layout,
            regime,
            h0,
            seed: seed.into(),
        })
}

/// Values before rounding to a storage type, and the token positions that kernels read.
pub(crate) struct Draft {
    pub(crate) inputs: Inputs,
    pub(crate) segment_pos: Array2<i32>,
}

impl Spec {
    /// Builds the arrays, in f64 and unrounded: the same for the same spec on every machine.
    pub(crate) fn draft(&self) -> Draft {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let Shape { batch, length, width } = self.shape;
        let channels: Vec<Regime> = (0..width).map(|_| self.regime.of_channel(&mut rng)).collect();
        let a_param = Array1::from_iter(channels.iter().map(|r| r.a_param(&mut rng)));
        let mut u = Array3::zeros((batch, length, width));
        let mut v = u.clone();
        let mut x = u.clone();
        let mut dy = u.clone();
        for ((b, t, w), x) in x.indexed_iter_mut() {
            let gates = channels[w].gates(a_param[w], &mut rng);
            (u[[b, t, w]], v[[b, t, w]]) = (gates.u, gates.v);
            *x = self.regime.x(&mut rng);
            dy[[b, t, w]] = self.regime.cotangent(&mut rng);
        }
        let state = |draw: &mut dyn FnMut() -> f64| Array2::from_shape_simple_fn((batch, width), draw);
        let dlast = state(&mut || self.regime.cotangent(&mut rng));
        let h0 = match self.h0 {
            InitialState::Absent => None,
            InitialState::Zero => Some(Array2::zeros((batch, width))),
            InitialState::Nonzero => Some(state(&mut || self.regime.h0(&mut rng))),
        };
        let segment_pos = self.layout.segment_pos(self.shape, &mut rng);
        let reset = segment_pos.mapv(|p| p == 0);
        let mut inputs = Inputs { x, gates: Gates::Logits { u, v }, a_param, reset, h0, dy, dlast };
        if self.regime == Regime::Nonfinite {
            poison(&mut inputs, &mut rng);
        }
        Draft { inputs, segment_pos }
    }
}

/// Puts NaN and infinity into a few places. Infinite logits saturate a gate; an infinite `x` makes an infinite state.
fn poison(inputs: &mut Inputs, rng: &mut impl Rng) {
    let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let count = inputs.x.len().div_ceil(40).min(8);
    for _ in 0..count.min(inputs.x.len()) {
        let at = rng.random_range(0..inputs.x.len());
        let value = values[rng.random_range(0..values.len())];
        let Gates::Logits { u, v } = &mut inputs.gates else { continue };
        let target = match rng.random_range(0..3) {
            0 => &mut inputs.x,
            1 => u,
            _ => v,
        };
        if let Some(element) = target.iter_mut().nth(at) {
            *element = value;
        }
    }
    if let Some(h0) = inputs.h0.as_mut().filter(|_| rng.random_bool(0.3))
        && let Some(element) = h0.iter_mut().next()
    {
        *element = values[rng.random_range(0..values.len())];
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape { batch, length, width } = self.shape;
        let (regime, layout, h0) = (self.regime.name(), self.layout.name(), self.h0.name());
        write!(f, "{regime}:{layout}:{h0}:{batch}x{length}x{width}:{:x}", self.seed)
    }
}

/// Why a text is not a spec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("case `{text}`: {part}: expected {expected}, found `{found}`")]
pub struct SpecError {
    text: String,
    part: &'static str,
    expected: String,
    found: String,
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let error = |part, expected: &str, found: &str| SpecError {
            text: text.to_owned(),
            part,
            expected: expected.to_owned(),
            found: found.to_owned(),
        };
        let parts: Vec<&str> = text.split(':').collect();
        let [regime, layout, h0, shape, seed] = parts.as_slice() else {
            return Err(error("whole", "REGIME:LAYOUT:H0:BxLxW:SEED", text));
        };
        let named = |part, found: &str, names: Vec<&'static str>| {
            names
                .iter()
                .position(|name| *name == found)
                .ok_or_else(|| error(part, &format!("one of {}", names.join(", ")), found))
        };
        let regime_at = named("regime", regime, Regime::ALL.map(Regime::name).to_vec())?;
        let layout_at = named("layout", layout, Layout::ALL.map(Layout::name).to_vec())?;
        let h0_at = named("initial state", h0, InitialState::ALL.map(InitialState::name).to_vec())?;
        let seed = u64::from_str_radix(seed, 16).map_err(|_| error("seed", "hexadecimal digits", seed))?;
        let shape = parse_shape(shape).ok_or_else(|| {
            error("shape", "BxLxW with B and W at least 1 and at most 2^24 elements", shape)
        })?;
        Ok(Self {
            shape,
            layout: Layout::ALL[layout_at],
            regime: Regime::ALL[regime_at],
            h0: InitialState::ALL[h0_at],
            seed,
        })
    }
}

fn parse_shape(text: &str) -> Option<Shape> {
    let sizes: Vec<usize> = text.split('x').map(str::parse).collect::<Result<_, _>>().ok()?;
    let &[batch, length, width] = sizes.as_slice() else { return None };
    let elements = batch.checked_mul(length.max(1))?.checked_mul(width)?;
    (batch > 0 && width > 0 && elements <= 1 << 24).then_some(Shape { batch, length, width })
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest! {
        #[test]
        fn a_spec_reads_back_from_its_word(spec in specs(&[])) {
            prop_assert_eq!(spec.to_string().parse::<Spec>().unwrap(), spec);
        }

        #[test]
        fn any_text_is_a_spec_or_a_clear_error(text in "\\PC{0,60}") {
            if let Err(error) = text.parse::<Spec>() {
                prop_assert!(error.to_string().contains("expected"));
            }
        }

        #[test]
        fn arrays_are_the_same_every_time(spec in specs(&[])) {
            let (a, b) = (spec.draft(), spec.draft());
            prop_assert_eq!(a.segment_pos, b.segment_pos);
            prop_assert_eq!(a.inputs.x.mapv(f64::to_bits), b.inputs.x.mapv(f64::to_bits));
        }
    }

    #[test]
    fn errors_name_the_part() {
        let error = |text: &str| text.parse::<Spec>().unwrap_err().to_string();
        assert!(error("init:none").contains("expected REGIME:LAYOUT:H0:BxLxW:SEED"));
        assert!(error("warm:none:zero:1x1x1:0").contains("regime: expected one of init, exact"));
        assert!(error("init:none:zero:0x1x1:0").contains("shape: expected BxLxW"));
        assert!(error("init:none:zero:9999999x9999999x1:0").contains("shape: expected BxLxW"));
        assert!(error("init:none:zero:1x1x1:xyz").contains("seed: expected hexadecimal"));
    }
}
