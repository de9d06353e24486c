//! States and gradients of the simulated recurrence, channel by channel; gates and projections are left to
//! their own files.

pub(crate) mod projection;
pub(crate) mod token;

use ndarray::ArrayD;

use super::machine::{Machine, Number};
use super::scan::{Carrier, Step};
use super::{Staging, Twist, shaped};
use crate::rglru::{Gates, Problem};
use crate::shape::Shape;
use crate::truth::Quantity;
use token::{Token, Unit};

/// Everything of `[B, L, W]` or `[B, W]`, in the making.
struct Tensors {
    y: Vec<Number>,
    last: Vec<Number>,
    dx: Vec<Number>,
    du: Vec<Number>,
    dv: Vec<Number>,
    dh0: Vec<Number>,
    /// `r dl`, to be summed.
    terms: Vec<Number>,
}

/// A channel of one sequence.
struct Channel<'a> {
    problem: &'a Problem,
    staging: &'a Staging,
    unit: &'a Unit<'a>,
    b: usize,
    w: usize,
    sp: Number,
}

pub(crate) fn run(problem: &Problem, staging: &Staging, machine: &Machine) -> Vec<(Quantity, ArrayD<f64>)> {
    let unit = &Unit { machine, staging };
    let shape = problem.shape();
    let logits = logits(problem, unit);
    let mut out = Tensors::new(shape);
    let mut da_param = Vec::new();
    for w in 0..shape.width {
        let p = problem.a_param()[w];
        let sp = unit.softplus(p);
        let mut terms = Vec::new();
        for b in 0..shape.batch {
            let channel = Channel { problem, staging, unit, b, w, sp };
            channel.run(&logits, &mut out);
            if b == 0 || !staging.is(Twist::DaParamOneBatch) {
                terms.extend((0..shape.length).map(|t| out.terms[channel.at(t)]));
            }
        }
        da_param.push(channel_gradient(unit, p, &terms));
    }
    let mut entries = match problem.gates() {
        Gates::Logits { .. } => Vec::new(),
        Gates::Projected { wi, wr, .. } => {
            let sides = [(&out.du, wi), (&out.dv, wr)];
            projection::gradients(problem.x(), unit, &logits, &out.dx, sides)
        }
    };
    entries.push((Quantity::DaParam, shaped(&[shape.width], &da_param)));
    entries.extend(out.finish(shape));
    entries
}

/// Input and recurrence logits, row-major.
fn logits(problem: &Problem, unit: &Unit<'_>) -> [Vec<Number>; 2] {
    match problem.gates() {
        Gates::Logits { u, v } => [u, v].map(projection::given),
        Gates::Projected { wi, bi, wr, br } => {
            [(wi, bi), (wr, br)].map(|(weight, bias)| projection::project(problem.x(), weight, bias, unit))
        }
    }
}

pub(crate) fn channel_gradient(unit: &Unit<'_>, p: f64, terms: &[Number]) -> Number {
    let staging = unit.staging;
    let adder = Carrier {
        machine: unit.machine,
        carry: staging.plan.reduce.rounding,
        order: staging.order,
        twist: staging.twist,
    };
    let slope = unit.sigmoid(Number::exactly(p));
    unit.product([adder.sum(terms), slope]).map(|product| -8.0 * product)
}

impl Tensors {
    fn new(shape: Shape) -> Self {
        let tokens = || vec![Number::ZERO; shape.elements()];
        let states = || vec![Number::ZERO; shape.batch * shape.width];
        Self {
            y: tokens(),
            last: states(),
            dx: tokens(),
            du: tokens(),
            dv: tokens(),
            dh0: states(),
            terms: tokens(),
        }
    }

    fn finish(self, shape: Shape) -> Vec<(Quantity, ArrayD<f64>)> {
        vec![
            (Quantity::Y, shaped(&shape.tokens(), &self.y)),
            (Quantity::Last, shaped(&shape.states(), &self.last)),
            (Quantity::Dx, shaped(&shape.tokens(), &self.dx)),
            (Quantity::Du, shaped(&shape.tokens(), &self.du)),
            (Quantity::Dv, shaped(&shape.tokens(), &self.dv)),
            (Quantity::Dh0, shaped(&shape.states(), &self.dh0)),
        ]
    }
}

impl Channel<'_> {
    fn at(&self, t: usize) -> usize {
        let shape = self.problem.shape();
        (self.b * shape.length + t) * shape.width + self.w
    }

    fn carrier(&self) -> Carrier<'_> {
        Carrier {
            machine: self.unit.machine,
            carry: self.staging.plan.carry,
            order: self.staging.order,
            twist: self.staging.twist,
        }
    }

    fn run(&self, logits: &[Vec<Number>; 2], out: &mut Tensors) {
        let length = self.problem.shape().length;
        let state = self.b * self.problem.shape().width + self.w;
        let tokens: Vec<_> = (0..length).map(|t| self.token(logits, t)).collect();
        let states = self.forward(&tokens);
        for t in 0..length {
            out.y[self.at(t)] = states[t + 1];
        }
        let end = if self.staging.is(Twist::LastIsPenultimate) { length.saturating_sub(1) } else { length };
        out.last[state] = states[end];
        let lambda = self.adjoint(&tokens);
        for t in 0..length {
            self.gradients(t, &tokens[t], states[t], lambda[t], out);
        }
        out.dh0[state] = self.initial_gradient(&tokens, &lambda);
    }

    fn token(&self, [u, v]: &[Vec<Number>; 2], t: usize) -> Token {
        let (at, flags) = (self.at(t), self.problem.reset());
        let reset = match self.staging.twist {
            Some(Twist::ResetIgnored) => false,
            Some(Twist::ResetOffByOne) => t > 0 && flags[[self.b, t - 1]],
            _ => flags[[self.b, t]],
        };
        self.unit.token(self.problem.x()[[self.b, t, self.w]], [u[at], v[at]], self.sp, reset)
    }

    fn decay(&self, token: &Token) -> Option<Number> {
        match self.staging.twist {
            Some(Twist::ResetWriteOnly) => Some(token.a),
            Some(Twist::ResetByMultiplication) if token.reset => Some(Number::ZERO),
            _ if token.reset => None,
            _ => Some(token.a),
        }
    }

    /// The initial state first.
    fn forward(&self, tokens: &[Token]) -> Vec<Number> {
        let steps: Vec<_> =
            tokens.iter().map(|token| Step { decay: self.decay(token), write: token.w }).collect();
        let h0 = match self.problem.h0() {
            Some(h0) if !self.staging.is(Twist::H0Ignored) => Number::exactly(h0[[self.b, self.w]]),
            _ => Number::ZERO,
        };
        let mut states = vec![h0];
        states.extend(self.carrier().scan(&steps, h0));
        states
    }

    fn dlast(&self) -> Number {
        if self.staging.is(Twist::DlastDropped) {
            return Number::ZERO;
        }
        Number::exactly(self.problem.dlast()[[self.b, self.w]])
    }

    fn adjoint(&self, tokens: &[Token]) -> Vec<Number> {
        let length = tokens.len();
        let own = self.staging.is(Twist::ReverseUsesOwnDecay);
        let step = |t: usize| {
            let write = Number::exactly(self.problem.dy()[[self.b, t, self.w]]);
            if t + 1 == length {
                return Step { decay: Some(Number::ONE), write };
            }
            Step { decay: self.decay(&tokens[if own { t } else { t + 1 }]), write }
        };
        let steps: Vec<_> = (0..length).rev().map(step).collect();
        let mut lambda = self.carrier().scan(&steps, self.dlast());
        lambda.reverse();
        lambda
    }

    fn gradients(&self, t: usize, token: &Token, before: Number, lambda: Number, out: &mut Tensors) {
        let (at, unit) = (self.at(t), self.unit);
        let dw = unit.boundary(lambda);
        let g_slope = if self.staging.is(Twist::SigmoidPrimeMissing) { Number::ONE } else { token.g_slope };
        out.dx[at] = unit.product([dw, token.g, token.n]);
        out.du[at] = unit.product([dw, token.x, token.n, g_slope]);
        if token.reset && !self.staging.is(Twist::ResetByMultiplication) {
            return;
        }
        let da = unit.boundary(unit.product([lambda, unit.saved(before)]));
        let through_decay = unit.product([da, token.a]);
        let through_norm = unit.product([dw, token.x, token.g, token.q, token.root_slope]);
        let dl = unit.minus(through_decay, through_norm.map(|product| 2.0 * product));
        let dl = if token.reset { dl.map(|dl| 0.0 * dl) } else { dl };
        out.terms[at] = unit.product([token.r, dl]);
        out.dv[at] = unit.product([dl, self.sp, token.r_slope]).map(|product| -8.0 * product);
    }

    fn initial_gradient(&self, tokens: &[Token], lambda: &[Number]) -> Number {
        let Some(first) = tokens.first() else {
            return self.dlast();
        };
        let decay =
            if self.staging.is(Twist::Dh0NotZeroedByReset) { Some(first.a) } else { self.decay(first) };
        let arrive = |decay: Number| {
            let product = decay.zip(lambda[0], |decay, lambda| decay * lambda);
            self.unit.machine.round(product, self.staging.plan.carry, 1.0)
        };
        decay.map_or(Number::ZERO, arrive)
    }
}
