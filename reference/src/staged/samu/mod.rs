//! The mixer as a kernel computes it: controls, states and cotangents of every mode; functions and parameter gradients
//! are left to their own files.

mod parameters;
mod unit;

use ndarray::ArrayD;

use super::machine::{Machine, Number};
use super::scan::{Step, Value};
use super::{Staging, Twist, shaped};
use crate::pair::Pair;
use crate::samu::{Input, Problem};
use crate::truth::Quantity;
use unit::{Curve, Direction, Mode, Unit};

type Complex = Pair<Number>;

pub(crate) fn run(problem: &Problem, staging: &Staging, machine: &Machine) -> Vec<(Quantity, ArrayD<f64>)> {
    let kernel = Kernel::new(problem, Unit { machine, staging });
    let rows: Vec<_> = (0..problem.shape().batch).map(|row| kernel.row(row)).collect();
    let mut entries = kernel.outputs(&rows);
    entries.extend(kernel.parameters(&rows));
    entries
}

/// The controls of one token.
#[derive(Clone, Copy, Debug)]
struct Control {
    phase: Curve,
    radial: Curve,
    delta: Number,
    eta: Number,
    swell: Number,
}

struct Kernel<'a> {
    problem: &'a Problem,
    unit: Unit<'a>,
    modes: Vec<Mode>,
    /// Of phase and radius.
    directions: [Direction; 2],
    gains: [Curve; 2],
    scale: Number,
}

/// A mode of one sequence.
struct Strip {
    rates: Vec<Number>,
    gammas: Vec<Number>,
    /// `h0` first.
    states: Vec<Complex>,
    lambda: Vec<Complex>,
    /// Absent on a reset.
    k: Vec<Option<Complex>>,
    dh0: Complex,
}

/// One sequence.
struct Row {
    controls: Vec<Control>,
    strips: Vec<Strip>,
    resets: Vec<bool>,
    deta: Vec<Number>,
    ddelta: Vec<Number>,
}

impl<'a> Kernel<'a> {
    fn new(problem: &'a Problem, unit: Unit<'a>) -> Self {
        let all = |input, count| (0..count).map(|i| problem.number(input, i)).collect::<Vec<_>>();
        let (half, width) = (problem.modes(), problem.shape().width);
        let logs = all(Input::NuLog, half).into_iter().zip(all(Input::ThetaLog, half));
        let directions = [Input::PhaseDirection, Input::RadialDirection];
        let gains = [Input::PhaseAmplitude, Input::RadialAmplitude];
        Self {
            modes: logs.map(|(nu_log, theta_log)| unit.mode(nu_log, theta_log)).collect(),
            directions: directions.map(|input| unit.direction(&all(input, width + 1))),
            gains: gains.map(|input| unit.tanh(Number::exactly(problem.number(input, 0)))),
            scale: unit.scale(half),
            problem,
            unit,
        }
    }

    fn is(&self, twist: Twist) -> bool {
        self.unit.staging.is(twist)
    }

    fn reset(&self, row: usize, t: usize) -> bool {
        let flags = self.problem.reset();
        match self.unit.staging.twist {
            Some(Twist::ResetIgnored) => false,
            Some(Twist::ResetOffByOne) => t > 0 && flags[[row, t - 1]],
            _ => flags[[row, t]],
        }
    }

    /// Where the two parts of a mode stand.
    fn columns(&self, m: usize) -> [usize; 2] {
        if self.is(Twist::HalvesInterleaved) { [2 * m, 2 * m + 1] } else { [m, m + self.problem.modes()] }
    }

    fn x(&self, row: usize, t: usize, w: usize) -> Number {
        Number::exactly(self.problem.inputs().x[[row, t, w]])
    }

    fn x_of(&self, row: usize, t: usize, m: usize) -> Complex {
        let [re, im] = self.columns(m);
        Pair::new(self.x(row, t, re), self.x(row, t, im))
    }

    fn control(&self, row: usize, t: usize) -> Control {
        let width = self.problem.shape().width;
        let [p_phase, p_radial] = [&self.directions[0], &self.directions[1]].map(|direction| {
            let pairs = (0..width).map(|w| (self.x(row, t, w), direction.unit[w]));
            let bias = (!self.is(Twist::DirectionBiasIgnored)).then_some(direction.unit[width]);
            self.unit.dot(pairs, bias)
        });
        let mut phase = self.unit.tanh(p_phase);
        if self.is(Twist::TanhPrimeMissing) {
            phase.slope = Number::ONE;
        }
        let radial = self.unit.folded(p_radial);
        let delta = self.unit.products([self.gains[0].value, phase.value, self.scale]);
        let eta = self.unit.products([self.gains[1].value, radial.value, self.scale]);
        Control { phase, radial, delta, eta, swell: self.unit.exp(eta, self.unit.staging.plan.decay) }
    }

    fn row(&self, row: usize) -> Row {
        let length = self.problem.shape().length;
        let controls: Vec<_> = (0..length).map(|t| self.control(row, t)).collect();
        let strips: Vec<_> = (0..self.problem.modes()).map(|m| self.strip(row, m, &controls)).collect();
        let counted = if self.is(Twist::ControlOfOneBlock) { strips.len().div_ceil(2) } else { strips.len() };
        let reduce = self.unit.carrier(self.unit.staging.plan.reduce.rounding);
        let sum = |t: usize, term: &dyn Fn(&Strip, Complex) -> Number| {
            let terms: Vec<_> = strips[..counted]
                .iter()
                .map(|strip| strip.k[t].map_or(Number::ZERO, |k| term(strip, k)))
                .collect();
            reduce.sum(&terms)
        };
        let deta = (0..length)
            .map(|t| sum(t, &|strip, k| self.unit.products([strip.rates[t], k.re]).map(|term| -term)))
            .collect();
        let ddelta = (0..length).map(|t| sum(t, &|_, k| k.im.map(|im| -im))).collect();
        let resets = (0..length).map(|t| self.reset(row, t)).collect();
        Row { controls, strips, resets, deta, ddelta }
    }

    fn strip(&self, row: usize, m: usize, controls: &[Control]) -> Strip {
        let (unit, mode, decay) = (&self.unit, &self.modes[m], self.unit.staging.plan.decay);
        let rate = |control: &Control| {
            if self.is(Twist::EtaIgnored) { mode.nu } else { unit.product([mode.nu, control.swell], decay) }
        };
        let rates: Vec<_> = controls.iter().map(rate).collect();
        let gamma = |t: usize| {
            if self.is(Twist::WriteRawOnReset) && self.reset(row, t) {
                Number::ONE
            } else if self.is(Twist::GammaOfToken) {
                unit.gamma_of(rates[t])
            } else {
                mode.gamma
            }
        };
        let gammas: Vec<_> = (0..controls.len()).map(gamma).collect();
        let decays: Vec<_> = (0..controls.len()).map(|t| self.decay(row, t, m, rates[t], controls)).collect();
        let states = self.states(row, m, &decays, &gammas);
        let lambda = self.adjoint(row, m, &decays, &states);
        let k = (0..controls.len()).map(|t| self.log_decay_gradient(t, row, &decays, &states, &lambda));
        let k = k.collect();
        let dh0 = self.initial_gradient(row, m, &decays, lambda.first().copied(), (&rates, controls));
        Strip { rates, gammas, states, lambda, k, dh0 }
    }

    fn own_decay(&self, m: usize, rate: Number, control: &Control) -> Complex {
        let delta = if self.is(Twist::DeltaIgnored) { Number::ZERO } else { control.delta };
        self.unit.decay(rate, self.modes[m].theta, delta)
    }

    fn decay(&self, row: usize, t: usize, m: usize, rate: Number, controls: &[Control]) -> Option<Complex> {
        if self.reset(row, t) {
            return self.is(Twist::ResetByMultiplication).then(Complex::default);
        }
        Some(self.own_decay(m, rate, &controls[t]))
    }

    /// The initial state first.
    fn states(&self, row: usize, m: usize, decays: &[Option<Complex>], gammas: &[Number]) -> Vec<Complex> {
        let write = |t: usize| {
            let product = |x| self.unit.boundary(self.unit.products([gammas[t], x]));
            Unit::both(self.x_of(row, t, m), product)
        };
        let steps: Vec<_> =
            decays.iter().enumerate().map(|(t, &decay)| Step { decay, write: write(t) }).collect();
        let h0 = match &self.problem.inputs().h0 {
            Some(h0) if !self.is(Twist::H0Ignored) => {
                let [re, im] = self.columns(m).map(|w| Number::exactly(h0[[row, w]]));
                Pair::new(re, im)
            }
            _ => Complex::default(),
        };
        let mut states = vec![h0];
        states.extend(self.unit.carrier(self.unit.staging.plan.carry).scan(&steps, h0));
        states
    }

    fn dlast(&self, row: usize, m: usize) -> Complex {
        if self.is(Twist::DlastDropped) {
            return Complex::default();
        }
        let [re, im] = self.columns(m).map(|w| Number::exactly(self.problem.inputs().dlast[[row, w]]));
        Pair::new(re, im)
    }

    /// The cotangent of the state, through the ReLU.
    fn cotangent(&self, row: usize, t: usize, m: usize, h: Complex) -> Complex {
        let [re, im] = self.columns(m).map(|w| Number::exactly(self.problem.inputs().dy[[row, t, w]]));
        let masked = |h: Number, dy: Number| h.zip(dy, |h, dy| if h > 0.0 { dy } else { 0.0 });
        match self.unit.staging.twist {
            Some(Twist::ReluMaskMissing) => Pair::new(re, im),
            Some(Twist::ReluMaskOfOtherHalf) => Pair::new(masked(h.im, re), masked(h.re, im)),
            _ => Pair::new(masked(h.re, re), masked(h.im, im)),
        }
    }

    fn conjugated(&self, decay: Complex) -> Complex {
        if self.is(Twist::ConjugateMissing) { decay } else { decay.conj() }
    }

    fn adjoint(&self, row: usize, m: usize, decays: &[Option<Complex>], states: &[Complex]) -> Vec<Complex> {
        let length = decays.len();
        let carrier = self.unit.carrier(self.unit.staging.plan.carry);
        let dlast = self.dlast(row, m);
        // A tree brings the cotangent of the final state in at the end, others begin with it.
        let late = self.unit.staging.order == super::Order::Tree;
        let step = |t: usize| {
            let write = self.cotangent(row, t, m, states[t + 1]);
            if t + 1 == length {
                let one = Pair::new(Number::ONE, Number::ZERO);
                return if late {
                    Step { decay: Some(one), write }
                } else {
                    Step { decay: None, write: dlast.plus(write, &carrier) }
                };
            }
            let decay = decays[if self.is(Twist::ReverseUsesOwnDecay) { t } else { t + 1 }];
            Step { decay: decay.map(|decay| self.conjugated(decay)), write }
        };
        let steps: Vec<_> = (0..length).rev().map(step).collect();
        let mut lambda = carrier.scan(&steps, dlast);
        lambda.reverse();
        lambda
    }

    /// `k = conj(lambda) h_{t-1} a`.
    fn log_decay_gradient(
        &self,
        t: usize,
        row: usize,
        decays: &[Option<Complex>],
        states: &[Complex],
        lambda: &[Complex],
    ) -> Option<Complex> {
        let plan = &self.unit.staging.plan;
        let by = self.unit.carrier(plan.products);
        let a = decays[t].filter(|_| self.is(Twist::ResetByMultiplication) || !self.reset(row, t))?;
        let before = Unit::both(states[t], |part| self.unit.op(part, plan.saved));
        let lambda = if self.is(Twist::LogDecayConjugateMissing) { lambda[t] } else { lambda[t].conj() };
        if plan.boundary.is_none() && self.unit.staging.order == super::Order::Tree {
            return Some(lambda.times(before.times(a, &by), &by));
        }
        let da = Unit::both(lambda.times(before, &by), |part| self.unit.boundary(part));
        Some(da.times(a, &by))
    }

    fn initial_gradient(
        &self,
        row: usize,
        m: usize,
        decays: &[Option<Complex>],
        lambda: Option<Complex>,
        (rates, controls): (&[Number], &[Control]),
    ) -> Complex {
        let Some(lambda) = lambda else {
            return self.dlast(row, m);
        };
        let own = || self.own_decay(m, rates[0], &controls[0]);
        let decay = if self.is(Twist::Dh0NotZeroedByReset) { Some(own()) } else { decays[0] };
        let by = self.unit.carrier(self.unit.staging.plan.carry);
        decay.map_or(Complex::default(), |a| self.conjugated(a).times(lambda, &by))
    }

    /// Everything of `[B, L, W]`, `[B, W]` or `[B, L]` but the total gradient of `x`.
    fn outputs(&self, rows: &[Row]) -> Vec<(Quantity, ArrayD<f64>)> {
        let shape = self.problem.shape();
        let zeros = |count: usize| vec![Number::ZERO; count];
        let (mut y, mut h) = (zeros(shape.elements()), zeros(shape.elements()));
        let (mut last, mut dh0) = (zeros(shape.batch * shape.width), zeros(shape.batch * shape.width));
        let relu = |h: Number| h.map(|h| if h <= 0.0 { 0.0 } else { h });
        let short = usize::from(self.is(Twist::LastIsPenultimate));
        for (b, row) in rows.iter().enumerate() {
            for (m, strip) in row.strips.iter().enumerate() {
                for (part, w) in self.columns(m).into_iter().enumerate() {
                    for t in 0..shape.length {
                        let at = (b * shape.length + t) * shape.width + w;
                        h[at] = strip.states[t + 1].part(part);
                        y[at] = relu(h[at]);
                    }
                    let end = strip.states[shape.length.saturating_sub(short)].part(part);
                    last[b * shape.width + w] = if self.is(Twist::LastAfterRelu) { relu(end) } else { end };
                    dh0[b * shape.width + w] = strip.dh0.part(part);
                }
            }
        }
        let flags = [shape.batch, shape.length];
        let tokens =
            |of: &dyn Fn(&Row) -> Vec<Number>| shaped(&flags, &rows.iter().flat_map(of).collect::<Vec<_>>());
        vec![
            (Quantity::Y, shaped(&shape.tokens(), &y)),
            (Quantity::H, shaped(&shape.tokens(), &h)),
            (Quantity::Last, shaped(&shape.states(), &last)),
            (Quantity::Dh0, shaped(&shape.states(), &dh0)),
            (Quantity::Eta, tokens(&|row| row.controls.iter().map(|control| control.eta).collect())),
            (Quantity::Delta, tokens(&|row| row.controls.iter().map(|control| control.delta).collect())),
            (Quantity::Deta, tokens(&|row| row.deta.clone())),
            (Quantity::Ddelta, tokens(&|row| row.ddelta.clone())),
        ]
    }
}
