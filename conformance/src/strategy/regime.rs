//! What the numbers are like: one function a regime, each a kind of input that breaks a kind of kernel; the shape and the resets are left to others.

use plumbline_fixtures::Kind;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// Kind of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Regime {
    /// The official initialization: decay at an open gate in 0.9 .. 0.999; any phase.
    Init,
    /// 1 - decay from 1e-3 down to 1e-9: where `1 - a^2` cancels and the derivative of its root is clipped.
    NearOne,
    /// Decay exactly 1: nothing is forgotten and nothing written.
    One,
    /// Decay exactly 0: nothing is remembered.
    Zero,
    /// Decay from 1e-4 to below the smallest f32.
    NearZero,
    /// Logits up to 40 in magnitude; controls at the ends of their range.
    Saturated,
    /// Each channel from a regime of its own.
    Mixed,
    /// `x` and cotangents up to 1e4.
    Huge,
    /// `x` and `h0` near 1e-20, some subnormal.
    Tiny,
    /// `x` and many cotangents zero.
    Zeros,
    /// Small integers, gates and decays exactly 0 or 1: every order of summation is exact, judged by equality.
    Exact,
    /// Isolated 1e4 among 1e-4.
    Spiky,
    /// NaN and infinity in inputs of tokens and in `h0`: they reach what depends on them and do not cross a reset.
    Nonfinite,
    /// Controls switched off: amplitudes exactly 0, which still have a gradient.
    Ungated,
    /// Phases far beyond a full turn.
    Turning,
}

/// The parameters and logits of one token and channel.
pub(crate) struct Gates {
    pub(crate) u: f64,
    pub(crate) v: f64,
}

impl Regime {
    /// All of them, the plainest first: shrinking goes that way.
    pub const ALL: [Self; 15] = [
        Self::Init,
        Self::Exact,
        Self::Zeros,
        Self::Mixed,
        Self::NearOne,
        Self::One,
        Self::Zero,
        Self::NearZero,
        Self::Saturated,
        Self::Huge,
        Self::Tiny,
        Self::Spiky,
        Self::Nonfinite,
        Self::Ungated,
        Self::Turning,
    ];

    /// The regimes in which a kind of case is generated, the plainest first.
    #[must_use]
    pub fn of(kind: Kind) -> Vec<Self> {
        Self::ALL.into_iter().filter(|regime| regime.fits(kind)).collect()
    }

    fn fits(self, kind: Kind) -> bool {
        let gated = !matches!(kind, Kind::Samu | Kind::Scan | Kind::ScanComplex);
        match self {
            // Gates; controls.
            Self::Saturated => gated || kind == Kind::Samu,
            Self::Ungated => kind == Kind::Samu,
            // Phases that are computed, not given.
            Self::Turning => kind == Kind::Samu || (gated && kind.is_complex()),
            // At nu = 0 the root in gamma has no derivative; and gamma, with its 1e-8, is no number of f32.
            Self::One | Self::Exact => kind != Kind::Samu,
            _ => true,
        }
    }

    /// Name in case ids, reports and the ledger.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::NearOne => "near_one",
            Self::One => "one",
            Self::Zero => "zero",
            Self::NearZero => "near_zero",
            Self::Saturated => "saturated",
            Self::Mixed => "mixed",
            Self::Huge => "huge",
            Self::Tiny => "tiny",
            Self::Zeros => "zeros",
            Self::Exact => "exact",
            Self::Spiky => "spiky",
            Self::Nonfinite => "nonfinite",
            Self::Ungated => "ungated",
            Self::Turning => "turning",
        }
    }

    /// Regimes a channel of [`Regime::Mixed`] may come from.
    const MIXABLE: [Self; 6] =
        [Self::Init, Self::NearOne, Self::One, Self::Zero, Self::NearZero, Self::Saturated];

    /// The regime of one channel.
    pub(crate) fn of_channel(self, rng: &mut impl Rng) -> Self {
        if self == Self::Mixed { Self::MIXABLE[rng.random_range(0..Self::MIXABLE.len())] } else { self }
    }

    /// The decay parameter of one channel.
    pub(crate) fn a_param(self, rng: &mut impl Rng) -> f64 {
        match self {
            Self::NearOne => a_param_of(1.0 - log_uniform(-9.0, -3.0, rng)),
            // softplus(-1e4) is 0 in f64 too; the other half leaves it to the gate.
            Self::One => {
                if rng.random() {
                    -1e4
                } else {
                    a_param_of(rng.random_range(0.9..0.999))
                }
            }
            Self::Zero => rng.random_range(500.0..1000.0),
            Self::Exact => 500.0,
            // The decay at a half-open gate is exp(-4 softplus): from 1e-2 to below the smallest f32.
            Self::NearZero => rng.random_range(1.0..26.0),
            _ => a_param_of(rng.random_range(0.9..0.999)),
        }
    }

    /// The gate logits of one token; `one` channels that keep a decaying parameter close their gate instead.
    pub(crate) fn gates(self, a_param: f64, rng: &mut impl Rng) -> Gates {
        match self {
            Self::Saturated => Gates { u: rng.random_range(-40.0..40.0), v: rng.random_range(-40.0..40.0) },
            Self::One if a_param > -1e3 => Gates { u: normal(rng), v: -1e4 },
            // Recurrence gates below 1/2 would leave a decay above 0.
            Self::Zero => Gates { u: normal(rng), v: normal(rng).abs() },
            Self::Exact => Gates { u: sign(rng) * 1e4, v: sign(rng) * 1e4 },
            _ => Gates { u: normal(rng), v: normal(rng) },
        }
    }

    /// The phase of a decay at an open gate, in radians.
    pub(crate) fn phase(self, rng: &mut impl Rng) -> f64 {
        match self {
            Self::Turning => sign(rng) * log_uniform(1.0, 4.0, rng),
            // A whole number of turns is none.
            Self::Exact => 0.0,
            _ => rng.random_range(-std::f64::consts::PI..std::f64::consts::PI),
        }
    }

    /// Size of gate weights, beside `x` of size 1 and before the root of the block's size.
    pub(crate) fn weight_scale(self) -> f64 {
        match self {
            // The bias alone keeps a gate as open as the regime wants it.
            Self::One | Self::Zero | Self::NearZero => 0.1,
            _ => 1.0,
        }
    }

    /// One element of `x`.
    pub(crate) fn x(self, rng: &mut impl Rng) -> f64 {
        match self {
            Self::Huge => sign(rng) * log_uniform(2.0, 4.0, rng),
            Self::Tiny if rng.random_bool(0.2) => normal(rng) * 1e-40,
            Self::Tiny => normal(rng) * 1e-20,
            Self::Zeros => 0.0,
            Self::Exact => f64::from(rng.random_range(-8i32..=8)),
            Self::Spiky if rng.random_bool(0.05) => sign(rng) * 1e4,
            Self::Spiky => normal(rng) * 1e-4,
            _ => normal(rng),
        }
    }

    /// One element of a nonzero initial state.
    pub(crate) fn h0(self, rng: &mut impl Rng) -> f64 {
        self.x(rng)
    }

    /// One element of a cotangent.
    pub(crate) fn cotangent(self, rng: &mut impl Rng) -> f64 {
        match self {
            Self::Huge => sign(rng) * log_uniform(0.0, 4.0, rng),
            Self::Zeros => {
                if rng.random_bool(0.5) {
                    0.0
                } else {
                    normal(rng)
                }
            }
            Self::Exact => f64::from(rng.random_range(-4i32..=4)),
            Self::Spiky if rng.random_bool(0.05) => sign(rng) * 1e4,
            _ => normal(rng),
        }
    }
}

/// The parameter whose decay at an open gate is `a`: `softplus(a_param) = -log(a) / 8`.
fn a_param_of(a: f64) -> f64 {
    (-a.ln() / 8.0).exp_m1().ln()
}

pub(super) fn log_uniform(low: f64, high: f64, rng: &mut impl Rng) -> f64 {
    10f64.powf(rng.random_range(low..high))
}

pub(super) fn normal(rng: &mut impl Rng) -> f64 {
    StandardNormal.sample(rng)
}

pub(super) fn sign(rng: &mut impl Rng) -> f64 {
    if rng.random() { 1.0 } else { -1.0 }
}
