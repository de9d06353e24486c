//! The gradients, from right to left over a tile of channels of one sequence; sums over the batch and the
//! gradients of the projections are left to [`super::solve`] and [`super::projection`].
//!
//! With `lambda_t = dy_t + A_{t+1} lambda_{t+1}`, the gradient of the loss with respect to `h_t`:
//!
//! ```text
//! dx = lambda g n                    du = lambda x n g (1 - g)
//! dl = lambda h_{t-1} a - 2 exp(2l) S(z) lambda x g
//! dv = -c sp dl r (1 - r)            da_param = sigmoid(a_param) sum of -c r dl
//! dh0 = A_0 lambda_0
//! ```
//!
//! On a reset `dl` and `dv` are zero by selection: nothing the token computes from `v` is used, so neither a
//! NaN there nor one in the discarded state reaches them. The factor `sigmoid(a_param)` is applied to the
//! whole sum, as kernels do; a NaN `a_param` therefore makes its own gradient NaN even if every token is a
//! reset.

use super::forward::{Trace, through_norm};
use super::tile::Tile;
use super::token::{Channel, Decay, Token, at_boundary};
use crate::carry::{Carry, State};
use crate::near::{Near, product};
use crate::plan::RoundingPlan;
use crate::scalar::C;
use crate::sheet::Sheet;
use crate::sums::Total;

/// Where the gradients of a tile go.
pub(crate) struct Gradients<'a> {
    pub dx: &'a mut Sheet,
    pub du: &'a mut Sheet,
    pub dv: &'a mut Sheet,
    pub dh0: &'a mut Sheet,
    /// `sum r dl` of each channel of the tile.
    pub decays: &'a mut [Total<f64>],
}

/// What comes back from the next token, unless that is a reset.
#[derive(Clone, Copy)]
struct Arriving {
    /// The decay `A_{t+1}`.
    a: Near,
    /// `lambda_{t+1}`.
    lambda: State<f64>,
    /// What a change of `h_t`, carried on to all later tokens, does to `sum r dl`:
    /// `G_t = A_{t+1} (r_{t+1} lambda_{t+1} + G_{t+1})`.
    reach: f64,
}

/// Runs the adjoint over the tile.
pub(crate) fn run(tile: &Tile<'_>, plan: &RoundingPlan, trace: &Trace, out: &mut Gradients<'_>) {
    let (width, carry) = (tile.width(), Carry::real(plan.carry, tile.length()));
    let mut arriving: Vec<Option<Arriving>> = vec![None; width];
    for t in (0..tile.length()).rev() {
        for (w, arriving) in arriving.iter_mut().enumerate() {
            let at = t * width + w;
            let (token, state) = (&trace.tokens[at], trace.states[at]);
            let lambda = cotangent(tile, t, w, *arriving, carry);
            let (dl, dv) = decay_gradients(lambda, saved(state, plan), token, tile.channel(w), plan);
            put(tile, t, w, lambda, token, plan, out);
            out.dv.put(tile.token_index(t, w), dv);
            let later = arriving.map_or(0.0, |arriving| arriving.reach);
            if let (Some(decay), Some(dl)) = (&token.decay, dl) {
                out.decays[w].add(sum_term(dl, lambda, state, token, decay, plan), plan.reduce.rounding);
            }
            out.decays[w].error += charge(trace.states[at + width].bound.local, later);
            out.decays[w].error += charge(lambda.bound.local, trace.reach[at]);
            *arriving = token.decay.map(|decay| Arriving {
                a: decay.a,
                lambda,
                reach: decay.a.value * (decay.r.value * lambda.value + later),
            });
        }
    }
    for (w, arriving) in arriving.into_iter().enumerate() {
        out.dh0.put(tile.state_index(w), initial(tile, w, arriving, plan));
    }
}

/// What an error does through its reach. An infinite one (of an infinite state) that reaches nothing does nothing.
fn charge(error: f64, reach: f64) -> f64 {
    if reach == 0.0 { 0.0 } else { error * reach.abs() }
}

/// `r dl`, with an error that leaves out what the errors of gates and decays, carried along in `h` and
/// `lambda`, do to first order.
///
/// That part is one error spread over many terms: `run` charges each step's share once, with the *signed* sum
/// of all it reaches, where the terms' own bounds would add up magnitudes. The roundings of the scan stay
/// with the terms: in a chunked order one state's rounding need not be part of the next.
fn sum_term(
    dl: Near,
    lambda: State<f64>,
    before: State<f64>,
    token: &Token,
    decay: &Decay,
    plan: &RoundingPlan,
) -> Near {
    let term = product([decay.r, dl], plan.products);
    let a = decay.a.value;
    let by_state = lambda.value.abs() * a * before.bound.given;
    let by_lambda = ((before.value * a).abs() + through_norm(token, decay).abs()) * lambda.bound.given;
    let error = term.error - decay.r.value * (by_state + by_lambda);
    // Not `f64::max`, which would swallow a NaN: no bound.
    Near { error: if error < 0.0 { 0.0 } else { error }, ..term }
}

/// `lambda_t`: what the output and the final state ask for, and what comes back from the next token.
fn cotangent(tile: &Tile<'_>, t: usize, w: usize, arriving: Option<Arriving>, carry: Carry) -> State<f64> {
    let dy = Near::exact(tile.dy(t, w));
    if t + 1 == tile.length() {
        return State::exact(tile.dlast(w)).step(Near::exact(1.0), dy, carry);
    }
    match arriving {
        None => State::written(dy, carry),
        Some(Arriving { a, lambda, .. }) => lambda.step(a, dy, carry),
    }
}

/// The state as the backward pass sees it.
fn saved(state: State<f64>, plan: &RoundingPlan) -> Near {
    if plan.saved.unit > 0.0 { state.near().rounded(plan.saved) } else { state.near() }
}

fn put(
    tile: &Tile<'_>,
    t: usize,
    w: usize,
    lambda: State<f64>,
    token: &Token,
    plan: &RoundingPlan,
    out: &mut Gradients<'_>,
) {
    let dw = at_boundary(lambda.near(), plan);
    let index = tile.token_index(t, w);
    out.dx.put(index, product([dw, token.g, token.n], plan.products));
    out.du.put(index, product([dw, token.x, token.n, token.g_slope], plan.products));
}

/// `dl` (absent on a reset) and `dv`.
fn decay_gradients(
    lambda: State<f64>,
    before: Near,
    token: &Token,
    channel: &Channel,
    plan: &RoundingPlan,
) -> (Option<Near>, Near) {
    let Some(decay) = &token.decay else {
        return (None, Near::exact(0.0));
    };
    let dl = log_decay_gradient(lambda.near(), before, token, decay, plan);
    let dv = product([dl, channel.sp, decay.r_slope], plan.products).scaled(-C);
    (Some(dl), dv)
}

fn log_decay_gradient(lambda: Near, before: Near, token: &Token, decay: &Decay, plan: &RoundingPlan) -> Near {
    let da = at_boundary(product([lambda, before], plan.products), plan);
    let through_decay = product([da, decay.a], plan.products);
    let dw = at_boundary(lambda, plan);
    let through_norm = product([dw, token.x, token.g, decay.q, decay.root_slope], plan.products);
    through_decay.minus(through_norm.scaled(2.0), plan.products)
}

/// `dh0`: nothing if the first token is a reset, `dlast` itself if there is no token.
fn initial(tile: &Tile<'_>, w: usize, arriving: Option<Arriving>, plan: &RoundingPlan) -> Near {
    match arriving {
        _ if tile.length() == 0 => Near::exact(tile.dlast(w)),
        None => Near::exact(0.0),
        Some(Arriving { a, lambda, .. }) => product([lambda.near(), a], plan.carry),
    }
}
