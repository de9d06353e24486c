//! Arrays of complex RG-LRU, with given logits or with the projections that make them; the moduli are those of the real
//! form's regimes.

use ndarray::Array1;
use plumbline_fixtures::Kind;
use plumbline_reference::ProblemError;
use plumbline_reference::rglru_complex::{Gates, Inputs, Problem};
use rand::Rng;

use super::{Draft, Projections, projections};
use crate::strategy::{Regime, Spec};

pub(super) fn draft(spec: &Spec, rng: &mut impl Rng) -> Result<Draft, ProblemError> {
    let modes = spec.shape.width / 2;
    let channels: Vec<Regime> = (0..modes).map(|_| spec.regime.of_channel(rng)).collect();
    let a_param = Array1::from_iter(channels.iter().map(|r| r.a_param(rng)));
    let a_imag = Array1::from_shape_simple_fn(modes, || spec.regime.phase(rng));
    let x = spec.tokens(spec.shape.width, &mut || spec.regime.x(rng));
    let dy = spec.tokens(spec.shape.width, &mut || spec.regime.cotangent(rng));
    let dlast = spec.dlast(rng);
    let h0 = spec.initial(rng);
    let segment_pos = spec.layout.segment_pos(spec.shape, rng);
    let reset = segment_pos.mapv(|p| p == 0);
    let gates = if spec.kind == Kind::RglruComplexProjected {
        projected(spec, &channels, &a_param, rng)?
    } else {
        logits(spec, &channels, &a_param, rng)
    };
    let problem = Problem::new(Inputs { x, gates, a_param, a_imag, reset, h0, dy, dlast })?.into();
    Ok(Draft { problem, segment_pos })
}

fn logits(spec: &Spec, channels: &[Regime], a_param: &Array1<f64>, rng: &mut impl Rng) -> Gates {
    let mut u = spec.tokens(channels.len(), &mut || 0.0);
    let mut v = u.clone();
    for ((b, t, m), u) in u.indexed_iter_mut() {
        let gates = channels[m].gates(a_param[m], rng);
        (*u, v[[b, t, m]]) = (gates.u, gates.v);
    }
    Gates::Logits { u, v }
}

fn projected(
    spec: &Spec,
    channels: &[Regime],
    a_param: &Array1<f64>,
    rng: &mut impl Rng,
) -> Result<Gates, ProblemError> {
    let (u, v): (Vec<_>, Vec<_>) = channels
        .iter()
        .zip(a_param)
        .map(|(regime, &a_param)| regime.gates(a_param, rng))
        .map(|gates| (gates.u, gates.v))
        .unzip();
    let logits = [&Array1::from_vec(u), &Array1::from_vec(v)];
    let Projections { weights: [wi, wr], biases: [bi, br] } = projections(spec, channels.len(), logits, rng)?;
    Ok(Gates::Projected { wi, bi, wr, br })
}
