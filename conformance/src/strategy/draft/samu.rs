//! Arrays of SAMU: decay rates from nearly nothing forgotten to nothing remembered, angles within a turn and far beyond,
//! controls off, moderate and at the ends of their range.

use ndarray::{Array0, Array1};
use plumbline_reference::ProblemError;
use plumbline_reference::samu::{Inputs, Problem};
use rand::{Rng, RngExt};

use super::Draft;
use crate::strategy::regime::{log_uniform, normal, sign};
use crate::strategy::{Regime, Spec};

pub(super) fn draft(spec: &Spec, rng: &mut impl Rng) -> Result<Draft, ProblemError> {
    let (regime, width) = (spec.regime, spec.shape.width);
    let nu_log = Array1::from_shape_simple_fn(width / 2, || nu(regime, rng).ln());
    let theta_log = Array1::from_shape_simple_fn(width / 2, || theta(regime, rng).ln());
    let mut direction = || Array1::from_shape_simple_fn(width + 1, || normal(rng));
    let [phase_direction, radial_direction] = [direction(), direction()];
    let [phase_amplitude, radial_amplitude] = [amplitude(regime, rng), amplitude(regime, rng)];
    let x = spec.tokens(width, &mut || x(regime, rng));
    let dy = spec.tokens(width, &mut || regime.cotangent(rng));
    let dlast = spec.dlast(rng);
    let h0 = spec.initial(rng);
    let segment_pos = spec.layout.segment_pos(spec.shape, rng);
    let reset = segment_pos.mapv(|p| p == 0);
    let inputs = Inputs {
        x,
        nu_log,
        theta_log,
        phase_direction,
        radial_direction,
        phase_amplitude,
        radial_amplitude,
        reset,
        h0,
        dy,
        dlast,
    };
    Ok(Draft { problem: Problem::new(inputs)?.into(), segment_pos })
}

/// The base decay rate: the decay is near `exp(-nu)`.
fn nu(regime: Regime, rng: &mut impl Rng) -> f64 {
    match regime {
        Regime::NearOne => log_uniform(-6.0, -3.0, rng),
        Regime::NearZero => rng.random_range(4.0..30.0),
        // exp(-1000) is 0 in f64 too.
        Regime::Zero => rng.random_range(1000.0..2000.0),
        Regime::Mixed => log_uniform(-6.0, 30f64.log10(), rng),
        _ => -rng.random_range(0.9..0.999f64).ln(),
    }
}

/// The base angle in radians.
fn theta(regime: Regime, rng: &mut impl Rng) -> f64 {
    match regime {
        Regime::Turning => log_uniform(1.0, 5.0, rng),
        Regime::Mixed => log_uniform(-4.0, 3.0, rng),
        _ => rng.random_range(1e-3..std::f64::consts::TAU),
    }
}

fn amplitude(regime: Regime, rng: &mut impl Rng) -> Array0<f64> {
    Array0::from_elem(
        (),
        match regime {
            Regime::Ungated => 0.0,
            Regime::Saturated => sign(rng) * rng.random_range(8.0..40.0),
            _ => normal(rng),
        },
    )
}

/// Controls are at the ends of their range where the projections of `x` are large.
fn x(regime: Regime, rng: &mut impl Rng) -> f64 {
    if regime == Regime::Saturated { 30.0 * normal(rng) } else { regime.x(rng) }
}
