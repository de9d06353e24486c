//! A case before its arrays: kind, shape, layout, regime, initial state and seed. It prints as one word and reads back from it; its arrays are left to `draft`.

use std::fmt;
use std::str::FromStr;

use plumbline_fixtures::Kind;
use plumbline_reference::Shape;
use proptest::prelude::*;

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
    /// Which recurrence, and what is given to it.
    pub kind: Kind,
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

/// Specs of a kind in the given regimes (all of the kind if empty). Shrinks to smaller shapes, plainer layouts and regimes;
/// kind and seed stay.
pub fn specs(kind: Kind, regimes: &[Regime]) -> impl Strategy<Value = Spec> + use<> {
    let regimes = if regimes.is_empty() { Regime::of(kind) } else { regimes.to_vec() };
    (
        shapes::shapes(),
        proptest::sample::select(Layout::ALL.to_vec()),
        proptest::sample::select(regimes),
        proptest::sample::select(InitialState::ALL.to_vec()),
        any::<u32>().no_shrink(),
    )
        .prop_map(move |(shape, layout, regime, h0, seed)| Spec {
            kind,
            shape: shape_of(kind, shape),
            layout,
            regime,
            h0,
            seed: seed.into(),
        })
}

/// The shape, with a channel more where numbers are complex and the width is odd.
pub(crate) fn shape_of(kind: Kind, shape: Shape) -> Shape {
    let odd = kind.is_complex() && shape.width % 2 == 1;
    Shape { width: shape.width + usize::from(odd), ..shape }
}

/// What stands before the regime: nothing for the kind that kernels take, so that its words are short.
fn prefix(kind: Kind) -> String {
    if kind == Kind::RglruLogits { String::new() } else { format!("{kind}/") }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape { batch, length, width } = self.shape;
        let (regime, layout, h0) = (self.regime.name(), self.layout.name(), self.h0.name());
        write!(f, "{}{regime}:{layout}:{h0}:{batch}x{length}x{width}:{:x}", prefix(self.kind), self.seed)
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
        let (kind, word) = match text.split_once('/') {
            None => (Kind::RglruLogits, text),
            Some((kind, word)) => {
                let names = || format!("one of {}", Kind::ALL.map(Kind::name).join(", "));
                (kind.parse().map_err(|_| error("kind", &names(), kind))?, word)
            }
        };
        let parts: Vec<&str> = word.split(':').collect();
        let [regime, layout, h0, shape, seed] = parts.as_slice() else {
            return Err(error("whole", "[KIND/]REGIME:LAYOUT:H0:BxLxW:SEED", text));
        };
        let named = |part, found: &str, names: Vec<&'static str>| {
            names
                .iter()
                .position(|name| *name == found)
                .ok_or_else(|| error(part, &format!("one of {}", names.join(", ")), found))
        };
        let regimes = Regime::of(kind);
        let regime_at = named("regime", regime, regimes.iter().map(|r| r.name()).collect())?;
        let layout_at = named("layout", layout, Layout::ALL.map(Layout::name).to_vec())?;
        let h0_at = named("initial state", h0, InitialState::ALL.map(InitialState::name).to_vec())?;
        let seed = u64::from_str_radix(seed, 16).map_err(|_| error("seed", "hexadecimal digits", seed))?;
        let shape = parse_shape(shape).ok_or_else(|| {
            error("shape", "BxLxW with B and W at least 1 and at most 2^24 elements", shape)
        })?;
        if shape_of(kind, shape) != shape {
            return Err(error("shape", "an even W, for the numbers are complex", &shape.width.to_string()));
        }
        Ok(Self {
            kind,
            shape,
            layout: Layout::ALL[layout_at],
            regime: regimes[regime_at],
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

    fn any_spec() -> impl Strategy<Value = Spec> {
        proptest::sample::select(Kind::ALL.to_vec()).prop_flat_map(|kind| specs(kind, &[]))
    }

    proptest! {
        #[test]
        fn a_spec_reads_back_from_its_word(spec in any_spec()) {
            prop_assert_eq!(spec.to_string().parse::<Spec>().unwrap(), spec);
        }

        #[test]
        fn any_text_is_a_spec_or_a_clear_error(text in "\\PC{0,60}") {
            if let Err(error) = text.parse::<Spec>() {
                prop_assert!(error.to_string().contains("expected"));
            }
        }

        #[test]
        fn arrays_are_the_same_every_time(spec in any_spec()) {
            let (a, b) = (spec.draft().unwrap(), spec.draft().unwrap());
            prop_assert_eq!(Kind::of(&a.problem), spec.kind);
            prop_assert_eq!(a.segment_pos, b.segment_pos);
            for (one, two) in a.problem.tensors().iter().zip(b.problem.tensors()) {
                prop_assert_eq!(one.values.mapv(f64::to_bits), two.values.mapv(f64::to_bits));
            }
        }
    }

    #[test]
    fn errors_name_the_part() {
        let error = |text: &str| text.parse::<Spec>().unwrap_err().to_string();
        assert!(error("init:none").contains("expected [KIND/]REGIME:LAYOUT:H0:BxLxW:SEED"));
        assert!(error("warm:none:zero:1x1x1:0").contains("regime: expected one of init, exact"));
        assert!(error("ungated:none:zero:1x1x1:0").contains("regime: expected one of init, exact"));
        assert!(error("init:none:zero:0x1x1:0").contains("shape: expected BxLxW"));
        assert!(error("init:none:zero:9999999x9999999x1:0").contains("shape: expected BxLxW"));
        assert!(error("init:none:zero:1x1x1:xyz").contains("seed: expected hexadecimal"));
        assert!(error("gru/init:none:zero:1x1x1:0").contains("kind: expected one of rglru_projected, "));
        assert!(error("samu/init:none:zero:1x1x3:0").contains("shape: expected an even W"));
        assert!(error("samu/exact:none:zero:1x1x2:0").contains("regime: expected one of init, zeros"));
    }
}
