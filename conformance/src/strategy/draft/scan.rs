//! Arrays of the linear scan, real and complex: given decays up to 1 in modulus, exactly 0 where a layout has a reset.

use ndarray::Array3;
use plumbline_fixtures::Kind;
use plumbline_reference::scan::{Field, Inputs, Problem};
use plumbline_reference::{ProblemError, Shape};
use rand::{Rng, RngExt};

use super::Draft;
use crate::strategy::regime::{log_uniform, sign};
use crate::strategy::{Regime, Spec};

pub(super) fn draft(spec: &Spec, rng: &mut impl Rng) -> Result<Draft, ProblemError> {
    let field = if spec.kind == Kind::ScanComplex { Field::Complex } else { Field::Real };
    let mut a = decays(spec, field, rng);
    let w = spec.tokens(spec.shape.width, &mut || write(spec.regime, rng));
    let dy = spec.tokens(spec.shape.width, &mut || cotangent(spec.regime, rng));
    let dlast = spec.states(&mut || cotangent(spec.regime, rng));
    let h0 = spec.initial(rng);
    let segment_pos = spec.layout.segment_pos(spec.shape, rng);
    for ((b, t, _), a) in a.indexed_iter_mut() {
        if segment_pos[[b, t]] == 0 {
            *a = 0.0;
        }
    }
    // Decays of 0 say it all: there are no positions.
    let segment_pos = segment_pos.mapv(|_| 1);
    Ok(Draft { problem: Problem::new(Inputs { field, a, w, h0, dy, dlast })?.into(), segment_pos })
}

fn decays(spec: &Spec, field: Field, rng: &mut impl Rng) -> Array3<f64> {
    let Shape { batch, length, width } = spec.shape;
    let channels = if field == Field::Complex { width / 2 } else { width };
    let regimes: Vec<Regime> = (0..channels).map(|_| spec.regime.of_channel(rng)).collect();
    let mut a = spec.tokens(width, &mut || 0.0);
    for b in 0..batch {
        for t in 0..length {
            for (channel, &regime) in regimes.iter().enumerate() {
                let modulus = modulus(spec.regime, regime, rng);
                let [re, im] = turned(spec.regime, modulus, field, rng);
                a[[b, t, channel]] = re;
                if field == Field::Complex {
                    a[[b, t, channels + channel]] = im;
                }
            }
        }
    }
    a
}

/// The modulus of a decay; `regime` is that of its channel.
fn modulus(whole: Regime, regime: Regime, rng: &mut impl Rng) -> f64 {
    match regime {
        // A channel may be reset alone.
        _ if whole == Regime::Mixed && rng.random_bool(0.05) => 0.0,
        Regime::NearOne => 1.0 - log_uniform(-9.0, -3.0, rng),
        Regime::One => 1.0,
        Regime::Zero => 0.0,
        Regime::NearZero => log_uniform(-44.0, -4.0, rng),
        Regime::Exact => f64::from(rng.random_range(0i32..=1)),
        Regime::Saturated => rng.random_range(0.0..1.0),
        _ => rng.random_range(0.9..0.999),
    }
}

/// The modulus with a sign, or a phase; quarter turns where the numbers are to stay integers.
fn turned(regime: Regime, modulus: f64, field: Field, rng: &mut impl Rng) -> [f64; 2] {
    if field == Field::Real {
        let negative = matches!(regime, Regime::Exact | Regime::Mixed) && rng.random_bool(0.5);
        return [if negative { -modulus } else { modulus }, 0.0];
    }
    if regime == Regime::Exact {
        let turned = sign(rng) * modulus;
        return if rng.random() { [turned, 0.0] } else { [0.0, turned] };
    }
    let (sin, cos) = rng.random_range(-std::f64::consts::PI..std::f64::consts::PI).sin_cos();
    [modulus * cos, modulus * sin]
}

/// Products of states with cotangents stay below 2^24 where they are to be exact.
fn write(regime: Regime, rng: &mut impl Rng) -> f64 {
    if regime == Regime::Exact { f64::from(rng.random_range(-3i32..=3)) } else { regime.x(rng) }
}

fn cotangent(regime: Regime, rng: &mut impl Rng) -> f64 {
    if regime == Regime::Exact { f64::from(rng.random_range(-2i32..=2)) } else { regime.cotangent(rng) }
}
