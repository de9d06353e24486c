//! The recurrence from left to right, for a tile of channels of one sequence; gradients are left to
//! [`super::backward`].

use super::tile::Tile;
use super::token::{Decay, Token};
use crate::carry::{Carry, State};
use crate::plan::RoundingPlan;
use crate::sheet::Sheet;

/// What the backward pass needs of a tile: every token, and the state before each.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// `[L, tile]`.
    pub tokens: Vec<Token>,
    /// `[L + 1, tile]`: the initial state first.
    pub states: Vec<State<f64>>,
    /// `[L, tile]`: what a change of `lambda_t`, carried on to all earlier tokens, does to `sum r dl`.
    pub reach: Vec<f64>,
}

/// Runs `h_t = A_t h_{t-1} + w_t` over the tile; fills `trace`, writes `y` and `last`.
pub(crate) fn run(tile: &Tile<'_>, plan: &RoundingPlan, trace: &mut Trace, y: &mut Sheet, last: &mut Sheet) {
    let (width, carry) = (tile.width(), Carry::real(plan.carry, tile.length()));
    trace.tokens.clear();
    trace.states.clear();
    trace.reach.clear();
    trace.states.extend((0..width).map(|w| State::exact(tile.h0(w))));
    for t in 0..tile.length() {
        let reset = tile.is_reset(t);
        for w in 0..width {
            let (u, v) = tile.logits(t, w);
            let token = Token::new(tile.x(t, w), u, v, reset, tile.channel(w), plan);
            let state = step(trace.states[t * width + w], &token, carry);
            let earlier = if t == 0 { 0.0 } else { trace.reach[(t - 1) * width + w] };
            trace.reach.push(reach(earlier, trace.states[t * width + w].value, &token));
            y.put(tile.token_index(t, w), state.near());
            trace.tokens.push(token);
            trace.states.push(state);
        }
    }
    for w in 0..width {
        last.put(tile.state_index(w), trace.states[tile.length() * width + w].near());
    }
}

fn step(before: State<f64>, token: &Token, carry: Carry) -> State<f64> {
    match &token.decay {
        None => State::written(token.w, carry),
        Some(decay) => before.step(decay.a, token.w, carry),
    }
}

/// `F_t = r (h_{t-1} a - 2 exp(2l) S(z) x g) + A_t F_{t-1}`: the adjoint of the adjoint.
fn reach(earlier: f64, before: f64, token: &Token) -> f64 {
    token.decay.map_or(0.0, |decay| {
        let own = before * decay.a.value - through_norm(token, &decay);
        decay.r.value * own + decay.a.value * earlier
    })
}

/// `2 exp(2l) S(z) x g`: how `dl` depends on `lambda` through the norm.
pub(crate) fn through_norm(token: &Token, decay: &Decay) -> f64 {
    2.0 * decay.q.value * decay.root_slope.value * token.x.value * token.g.value
}
