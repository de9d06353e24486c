//! Arrays of RG-LRU, with given logits or with the projections that make them.

use ndarray::{Array1, Array3};
use plumbline_fixtures::Kind;
use plumbline_reference::rglru::{Gates, Inputs, Problem};
use plumbline_reference::{ProblemError, Shape};
use rand::Rng;

use super::{Draft, Projections, projections};
use crate::strategy::{Regime, Spec};

pub(super) fn draft(spec: &Spec, rng: &mut impl Rng) -> Result<Draft, ProblemError> {
    let Shape { batch, length, width } = spec.shape;
    let channels: Vec<Regime> = (0..width).map(|_| spec.regime.of_channel(rng)).collect();
    let a_param = Array1::from_iter(channels.iter().map(|r| r.a_param(rng)));
    let mut u = Array3::zeros((batch, length, width));
    let mut v = u.clone();
    let mut x = u.clone();
    let mut dy = u.clone();
    for ((b, t, w), x) in x.indexed_iter_mut() {
        let gates = channels[w].gates(a_param[w], rng);
        (u[[b, t, w]], v[[b, t, w]]) = (gates.u, gates.v);
        *x = spec.regime.x(rng);
        dy[[b, t, w]] = spec.regime.cotangent(rng);
    }
    let dlast = spec.dlast(rng);
    let h0 = spec.initial(rng);
    let segment_pos = spec.layout.segment_pos(spec.shape, rng);
    let reset = segment_pos.mapv(|p| p == 0);
    let gates = if spec.kind == Kind::RglruProjected {
        projected(spec, &channels, &a_param, rng)?
    } else {
        Gates::Logits { u, v }
    };
    let problem = Problem::new(Inputs { x, gates, a_param, reset, h0, dy, dlast })?.into();
    Ok(Draft { problem, segment_pos })
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
    let Projections { weights: [wi, wr], biases: [bi, br] } =
        projections(spec, spec.shape.width, logits, rng)?;
    Ok(Gates::Projected { wi, bi, wr, br })
}
