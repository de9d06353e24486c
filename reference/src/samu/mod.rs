//! The mixer: a complex diagonal recurrence under two shared controls, a phase and a radius. One call from a problem to
//! the truth; the passes and the bounds are in the submodules.
//!
//! ```text
//! d^ = d / max(||d||, 1e-12)       p = x . d^[:W] + d^[W]         for both directions
//! s_phase = tanh(p_phase)          q = tanh(p_radial)             s_radial = q / (1 + q^2)
//! delta = tanh(phase_amplitude) s_phase / sqrt(M)                 eta = tanh(radial_amplitude) s_radial / sqrt(M)
//! nu = exp(nu_log)                 theta = exp(theta_log)         gamma = sqrt(1 - exp(-2 nu)) + 1e-8
//! a = exp(-nu exp(eta)) exp(i (theta + delta))                    A = reset ? 0 : a
//! h_t = A_t h_{t-1} + gamma (x[:M] + i x[M:])                     y = max(concat(Re h, Im h), 0)
//! ```
//!
//! Modes meet in the controls alone. Those need nothing but `x`, so they come first; then each block of modes of each
//! sequence runs forward and backward by itself; then the sums are joined, in the order of the blocks, whichever thread
//! made them.

mod backward;
mod disc;
mod envelope;
mod forward;
mod parameters;
mod problem;
mod reach;
mod trace;

use rayon::prelude::*;

pub use forward::{Input, Outputs, forward};
pub use problem::*;

use crate::near::Near;
use crate::plan::RoundingPlan;
use crate::sheet::Sheet;
use crate::sums::{Total, bound_of};
use crate::truth::{Bound, Quantity, Tensors, Truth};
use backward::{Gradients, ModeTotals, Spread, TokenShare};
use disc::Disc;
use envelope::{ControllerBound, DirectionBound, ModeBound, hyperbolic, scale};
use forward::{Controller, Mode};
use parameters::{Shares, Side, Which, logarithms, over_modes, total};
use trace::{BLOCK, Block, Mixer, State, Token, output};

/// The true value of every output and gradient, with the envelope of a kernel that rounds as `plan` says.
///
/// Cannot fail: a [`Problem`] is checked when it is built. NaN and infinity among the inputs reach exactly
/// what depends on them. The same bits come out whatever the number of threads.
#[must_use]
pub fn solve(problem: &Problem, plan: &RoundingPlan) -> Truth {
    let mixer = Mixer::new(problem, plan);
    let length = problem.shape().length;
    let places: Vec<_> = (0..problem.shape().batch)
        .flat_map(|row| (0..problem.modes()).step_by(BLOCK).map(move |first| (row, first)))
        .collect();
    let parts: Vec<_> = places
        .into_par_iter()
        .map(|(row, first)| {
            let count = BLOCK.min(problem.modes() - first);
            let block = Block { mixer: &mixer, row, first, count };
            let trace = block.forward();
            let gradients = block.backward(&trace);
            let last = trace.states[length * count..].iter().map(|state| state.disc()).collect();
            let h = trace.states[count..].iter().copied().map(State::disc).collect();
            Part { row, first, count, h, last, gradients }
        })
        .collect();
    Answer::new(&mixer, &parts).finish(&mixer)
}

/// The same values without envelopes.
#[must_use]
pub fn evaluate(problem: &Problem) -> Tensors {
    solve(problem, &RoundingPlan::exact()).into_values()
}

impl<'a> Mixer<'a> {
    fn new(problem: &'a Problem, plan: &'a RoundingPlan) -> Self {
        let number = |input, index| problem.number(input, index);
        let controller = Controller::new(problem, &number);
        let gain = |input| hyperbolic(Near::exact(number(input, 0)), plan);
        let bound = ControllerBound {
            phase: DirectionBound::new(&controller.phase, plan),
            radial: DirectionBound::new(&controller.radial, plan),
            phase_gain: gain(Input::PhaseAmplitude),
            radial_gain: gain(Input::RadialAmplitude),
            scale: scale(problem.modes(), plan),
        };
        let mode = |m| {
            let (nu_log, theta_log) = (number(Input::NuLog, m), number(Input::ThetaLog, m));
            let mode = Mode::new(nu_log, theta_log);
            (mode, ModeBound::new(nu_log, theta_log, &mode, plan))
        };
        let modes = (0..problem.modes()).map(mode).collect();
        let x = problem.inputs().x.as_slice().unwrap_or(&[]);
        let tokens = x.par_chunks_exact(problem.shape().width).map(|x| {
            let control = controller.control(x);
            let phase = bound.phase.project(control.p_phase, x, &controller.phase.unit, plan);
            let radial = bound.radial.project(control.p_radial, x, &controller.radial.unit, plan);
            Token { control, bound: bound.control(&control, [phase, radial], plan) }
        });
        let tokens = tokens.collect();
        Self { problem, plan, controller, bound, modes, tokens }
    }
}

/// What one block of modes of one sequence gives.
struct Part {
    row: usize,
    first: usize,
    count: usize,
    /// `[L, count]`.
    h: Vec<Disc>,
    /// `[count]`.
    last: Vec<Disc>,
    gradients: Gradients,
}

/// The tensors in the making.
struct Answer {
    y: Sheet,
    h: Sheet,
    last: Sheet,
    dx: Sheet,
    dh0: Sheet,
    deta: Vec<Near>,
    ddelta: Vec<Near>,
    /// The errors of the terms of `ddelta` and `deta`, added up, `[B, L]`.
    inherited: [Vec<f64>; 2],
    tokens: Vec<TokenShare>,
    modes: Vec<ModeTotals>,
    spread: Spread,
    undecided: usize,
}

impl Answer {
    fn new(mixer: &Mixer<'_>, parts: &[Part]) -> Self {
        let shape = mixer.problem.shape();
        let (tokens, states) = (|| Sheet::new(&shape.tokens()), || Sheet::new(&shape.states()));
        let mut answer = Self {
            y: tokens(),
            h: tokens(),
            last: states(),
            dx: tokens(),
            dh0: states(),
            deta: Vec::new(),
            ddelta: Vec::new(),
            inherited: [Vec::new(), Vec::new()],
            tokens: vec![TokenShare::default(); shape.batch * shape.length],
            spread: [0.0; 2],
            modes: vec![ModeTotals::after(0); mixer.problem.modes()],
            undecided: 0,
        };
        let count = shape.batch * shape.length;
        let mut sums = [vec![Total::default(); count], vec![Total::default(); count]];
        for part in parts {
            answer.place(mixer, part);
            answer.join(mixer, part, &mut sums);
        }
        let end = |sums: &[Total<f64>]| sums.iter().map(|sum| over_modes(sum, mixer)).collect();
        (answer.deta, answer.ddelta) = (end(&sums[0]), end(&sums[1]));
        let errors = |sums: &[Total<f64>]| sums.iter().map(|sum| sum.error).collect();
        answer.inherited = [errors(&sums[1]), errors(&sums[0])];
        answer
    }

    fn place(&mut self, mixer: &Mixer<'_>, part: &Part) {
        let shape = mixer.problem.shape();
        let half = mixer.problem.modes();
        for (i, (h, dx)) in part.h.iter().zip(&part.gradients.dx).enumerate() {
            let t = i / part.count;
            let re = (part.row * shape.length + t) * shape.width + part.first + i % part.count;
            for (index, h, dx) in [(re, h.re(), dx.re()), (re + half, h.im(), dx.im())] {
                self.h.put(index, h);
                self.y.put(index, output(h));
                self.dx.put(index, dx);
            }
        }
        for (m, (last, dh0)) in part.last.iter().zip(&part.gradients.dh0).enumerate() {
            let re = part.row * shape.width + part.first + m;
            for (index, last, dh0) in [(re, last.re(), dh0.re()), (re + half, last.im(), dh0.im())] {
                self.last.put(index, last);
                self.dh0.put(index, dh0);
            }
        }
    }

    /// Joins the sums; the parts come in the order of rows and, within each, of modes.
    fn join(&mut self, mixer: &Mixer<'_>, part: &Part, [deta, ddelta]: &mut [Vec<Total<f64>>; 2]) {
        let length = mixer.problem.shape().length;
        for t in 0..length {
            let at = part.row * length + t;
            deta[at] = deta[at].then(part.gradients.deta[t]);
            ddelta[at] = ddelta[at].then(part.gradients.ddelta[t]);
            self.tokens[at] = self.tokens[at].plus(part.gradients.tokens[t]);
        }
        for (whole, mode) in self.modes[part.first..].iter_mut().zip(&part.gradients.modes) {
            *whole = whole.then(*mode);
        }
        self.spread = [0, 1].map(|i| self.spread[i] + part.gradients.spread[i]);
        self.undecided += part.gradients.undecided;
    }

    fn finish(self, mixer: &Mixer<'_>) -> Truth {
        let (problem, bounds) = (mixer.problem, Bounds::new(mixer));
        let shape = problem.shape();
        let shares = Shares { tokens: &self.tokens, modes: &self.modes, spread: self.spread };
        let sides = [
            Side::new(mixer, Which::Phase, &self.ddelta, &self.inherited[0], &shares),
            Side::new(mixer, Which::Radial, &self.deta, &self.inherited[1], &shares),
        ];
        let dx_total = total(mixer, &self.dx, &sides);
        let flags = [shape.batch, shape.length];
        let eta = sheet(&flags, mixer.tokens.iter().map(|token| token.bound.eta));
        let delta = sheet(&flags, mixer.tokens.iter().map(|token| token.bound.delta));
        let logs: Vec<_> =
            self.modes.iter().enumerate().map(|(m, totals)| logarithms(mixer, m, totals)).collect();
        let log = |which: usize| sheet(&[problem.modes()], logs.iter().map(|log| log[which]));
        let direction = |side: &Side<'_>| sheet(&[shape.width + 1], side.direction(mixer).into_iter());
        let amplitude = |side: &Side<'_>| sheet(&[], std::iter::once(side.amplitude(mixer)));
        let Bounds { own, control, parameter } = bounds;
        let [phase, radial] = &sides;
        Truth::new(vec![
            (Quantity::Deta, sheet(&flags, self.deta.iter().copied()).finish(control)),
            (Quantity::Ddelta, sheet(&flags, self.ddelta.iter().copied()).finish(control)),
            (Quantity::DxTotal, dx_total.finish(control)),
            (Quantity::Y, self.y.finish(own)),
            (Quantity::H, self.h.finish(own)),
            (Quantity::Last, self.last.finish(own)),
            (Quantity::Dx, self.dx.finish(own)),
            (Quantity::Dh0, self.dh0.finish(own)),
            (Quantity::Eta, eta.finish(own)),
            (Quantity::Delta, delta.finish(own)),
            (Quantity::DnuLog, log(0).finish(parameter)),
            (Quantity::DthetaLog, log(1).finish(parameter)),
            (Quantity::DphaseDirection, direction(phase).finish(parameter)),
            (Quantity::DradialDirection, direction(radial).finish(parameter)),
            (Quantity::DphaseAmplitude, amplitude(phase).finish(parameter)),
            (Quantity::DradialAmplitude, amplitude(radial).finish(parameter)),
        ])
        .with_undecided(self.undecided)
    }
}

fn sheet(shape: &[usize], nears: impl Iterator<Item = Near>) -> Sheet {
    let mut sheet = Sheet::new(shape);
    nears.enumerate().for_each(|(index, near)| sheet.put(index, near));
    sheet
}

/// What the bounds promise: the controls' dot products are in everything, their sums over modes in what follows them.
struct Bounds {
    own: Bound,
    control: Bound,
    parameter: Bound,
}

impl Bounds {
    fn new(mixer: &Mixer<'_>) -> Self {
        let (shape, plan) = (mixer.problem.shape(), mixer.plan);
        let weaker = |one, two| if one == Bound::Probabilistic { one } else { two };
        let own = bound_of(plan.projection.chain.additions(1, shape.width + 1) + 1);
        let control = weaker(own, bound_of(plan.reduce.chain.additions(1, mixer.problem.modes())));
        let additions = plan.reduce.chain.additions(shape.batch, shape.length) + 1;
        Self { own, control, parameter: weaker(control, bound_of(additions)) }
    }
}
