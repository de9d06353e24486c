//! Problems of the mixer for the oracle's own tests, by regime and seed; the suites say what must hold.

use ndarray::{Array1, Array2, Array3, arr0};
use plumbline_reference::samu::{Inputs, Problem};

use crate::support::{Random, single};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Regime {
    /// Moduli of 0.9 to 0.999, angles up to a full turn.
    Init,
    /// Decay rates down to 1e-6.
    NearOne,
    /// Decay rates up to 30: nothing is remembered.
    Forgetful,
    /// Angles up to 1000 radians.
    Winding,
    /// Everything at once.
    Mixed,
    /// No controls, but a gradient to their amplitudes.
    Ungated,
    /// Saturated amplitudes and controls.
    Saturated,
    Huge,
    Tiny,
    Zeros,
    /// Many zeros among the inputs: states on the kink of the ReLU.
    Sparse,
    /// Every token alike: every token makes the same rounding errors.
    Constant,
    /// Directions so short that their norm is below its floor, or near it.
    Short,
}

pub(crate) const REGIMES: [Regime; 13] = [
    Regime::Init,
    Regime::NearOne,
    Regime::Forgetful,
    Regime::Winding,
    Regime::Mixed,
    Regime::Ungated,
    Regime::Saturated,
    Regime::Huge,
    Regime::Tiny,
    Regime::Zeros,
    Regime::Sparse,
    Regime::Constant,
    Regime::Short,
];

impl Regime {
    fn nu_log(self, random: &mut Random) -> f64 {
        match self {
            Self::NearOne => random.between(-14.0, -9.0),
            Self::Forgetful => random.between(0.0, 3.4),
            Self::Mixed => random.between(-14.0, 3.4),
            // `-log` of 0.9 to 0.999.
            _ => random.between(-6.9, -2.25),
        }
    }

    fn theta_log(self, random: &mut Random) -> f64 {
        match self {
            Self::Winding => random.between(1.8, 6.9),
            Self::Mixed => random.between(-7.0, 6.9),
            _ => single(random.between(1e-3, std::f64::consts::TAU).ln()),
        }
    }

    fn amplitude(self, random: &mut Random) -> f64 {
        match self {
            Self::Ungated => 0.0,
            Self::Saturated => random.between(-12.0, 12.0),
            Self::Mixed => random.between(-3.0, 3.0),
            _ => random.normal(),
        }
    }

    fn direction(self, random: &mut Random, width: usize) -> f64 {
        let scale = match self {
            // Norms of a few to some hundred; they cancel.
            Self::Saturated => 40.0,
            Self::Short if random.chance(0.5) => 1e-12 / (width as f64).sqrt(),
            Self::Short => 1e-20,
            _ => 1.0,
        };
        single(random.normal() * scale)
    }

    fn signal(self, random: &mut Random) -> f64 {
        let plain = random.normal();
        match self {
            Self::Huge => single(plain * 1e4),
            Self::Tiny if random.chance(0.2) => single(plain * 1e-40),
            Self::Tiny => single(plain * 1e-20),
            Self::Zeros => 0.0,
            Self::Sparse if random.chance(0.7) => 0.0,
            Self::Saturated => single(plain * 3.0),
            _ => plain,
        }
    }
}

/// A problem of `(B, L, W)` in a regime; resets and an initial state with it.
pub(crate) fn problem(regime: Regime, seed: u64, (b, l, w): (usize, usize, usize)) -> Problem {
    let mut random = Random(seed.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ 0x5a3);
    let random = &mut random;
    let density = [0.0, 0.0, 0.1, 0.4, 1.0][random.below(5)];
    let constant = [random.normal(), random.normal()];
    let mut tokens = |which: usize, draw: &dyn Fn(&mut Random) -> f64| {
        Array3::from_shape_fn((b, l, w), |_| {
            if regime == Regime::Constant { constant[which] } else { draw(random) }
        })
    };
    let x = tokens(0, &|random| regime.signal(random));
    let dy =
        tokens(1, &|random| if regime == Regime::Tiny { random.normal() } else { regime.signal(random) });
    let h0 = random.chance(0.6).then(|| Array2::from_shape_fn((b, w), |_| regime.signal(random)));
    Problem::new(Inputs {
        x,
        nu_log: Array1::from_shape_fn(w / 2, |_| regime.nu_log(random)),
        theta_log: Array1::from_shape_fn(w / 2, |_| regime.theta_log(random)),
        phase_direction: Array1::from_shape_fn(w + 1, |_| regime.direction(random, w)),
        radial_direction: Array1::from_shape_fn(w + 1, |_| regime.direction(random, w)),
        phase_amplitude: arr0(regime.amplitude(random)),
        radial_amplitude: arr0(regime.amplitude(random)),
        reset: Array2::from_shape_fn((b, l), |_| random.chance(density)),
        h0,
        dy,
        dlast: Array2::from_shape_fn((b, w), |_| regime.signal(random)),
    })
    .unwrap()
}
