//! The complex gated recurrence as a kernel computes it: decays, states and gradients, channel by channel; its real gates
//! and its projections are those of [`super::rglru`].

use ndarray::ArrayD;

use super::machine::{Machine, Number};
use super::rglru::projection;
use super::rglru::token::{Token, Unit};
use super::scan::{Carrier, Step, Value};
use super::{Order, Staging, Twist, rglru, shaped};
use crate::pair::Pair;
use crate::plan::{Rounding, RoundingPlan};
use crate::rglru_complex::{Gates, Problem};
use crate::shape::Shape;
use crate::truth::Quantity;

type Complex = Pair<Number>;

/// Everything of `[B, L, W]`, `[B, L, M]` or `[B, W]`, in the making.
struct Tensors {
    y: Vec<Number>,
    last: Vec<Number>,
    dx: Vec<Number>,
    du: Vec<Number>,
    dv: Vec<Number>,
    dh0: Vec<Number>,
    /// `r dl` and `r dphi`, to be summed.
    decays: Vec<Number>,
    phases: Vec<Number>,
}

/// A channel of one sequence.
struct Channel<'a> {
    problem: &'a Problem,
    staging: &'a Staging,
    unit: &'a Unit<'a>,
    /// The same without a boundary: what passes one here is complex.
    gates: &'a Unit<'a>,
    b: usize,
    m: usize,
    sp: Number,
}

/// A token with its decay, were it no reset.
struct Turned {
    real: Token,
    x: Complex,
    a: Complex,
    w: Complex,
}

pub(crate) fn run(problem: &Problem, staging: &Staging, machine: &Machine) -> Vec<(Quantity, ArrayD<f64>)> {
    let unit = &Unit { machine, staging };
    let bare = &Staging { plan: RoundingPlan { boundary: None, ..staging.plan }, ..*staging };
    let gates = &Unit { machine, staging: bare };
    let shape = problem.shape();
    let channels = shape.width / 2;
    let logits = logits(problem, unit);
    let mut out = Tensors::new(shape);
    let (mut da_param, mut da_imag) = (Vec::new(), Vec::new());
    for m in 0..channels {
        let sp = unit.softplus(problem.a_param()[m]);
        let (mut decays, mut phases) = (Vec::new(), Vec::new());
        for b in 0..shape.batch {
            let channel = Channel { problem, staging, unit, gates, b, m, sp };
            channel.run(&logits, &mut out);
            let places = (0..shape.length).map(|t| channel.logit(t));
            if b == 0 || !staging.is(Twist::DaParamOneBatch) {
                decays.extend(places.clone().map(|at| out.decays[at]));
            }
            phases.extend(places.map(|at| out.phases[at]));
        }
        da_param.push(rglru::channel_gradient(unit, problem.a_param()[m], &decays));
        da_imag.push(carrier(unit, staging.plan.reduce.rounding).sum(&phases));
    }
    let mut entries = match problem.gates() {
        Gates::Logits { .. } => Vec::new(),
        Gates::Projected { wi, wr, .. } => {
            let sides = [(&out.du, wi), (&out.dv, wr)];
            projection::gradients(problem.x(), unit, &logits, &out.dx, sides)
        }
    };
    entries.push((Quantity::DaParam, shaped(&[channels], &da_param)));
    entries.push((Quantity::DaImag, shaped(&[channels], &da_imag)));
    entries.extend(out.finish(shape));
    entries
}

fn logits(problem: &Problem, unit: &Unit<'_>) -> [Vec<Number>; 2] {
    match problem.gates() {
        Gates::Logits { u, v } => [u, v].map(projection::given),
        Gates::Projected { wi, bi, wr, br } => {
            [(wi, bi), (wr, br)].map(|(weight, bias)| projection::project(problem.x(), weight, bias, unit))
        }
    }
}

fn carrier<'a>(unit: &'a Unit<'_>, carry: Rounding) -> Carrier<'a> {
    Carrier { machine: unit.machine, carry, order: unit.staging.order, twist: unit.staging.twist }
}

impl Tensors {
    fn new(shape: Shape) -> Self {
        let tokens = || vec![Number::ZERO; shape.elements()];
        let logits = || vec![Number::ZERO; shape.elements() / 2];
        let states = || vec![Number::ZERO; shape.batch * shape.width];
        Self {
            y: tokens(),
            last: states(),
            dx: tokens(),
            du: logits(),
            dv: logits(),
            dh0: states(),
            decays: logits(),
            phases: logits(),
        }
    }

    fn finish(self, shape: Shape) -> Vec<(Quantity, ArrayD<f64>)> {
        let logits = [shape.batch, shape.length, shape.width / 2];
        vec![
            (Quantity::Y, shaped(&shape.tokens(), &self.y)),
            (Quantity::Last, shaped(&shape.states(), &self.last)),
            (Quantity::Dx, shaped(&shape.tokens(), &self.dx)),
            (Quantity::Du, shaped(&logits, &self.du)),
            (Quantity::Dv, shaped(&logits, &self.dv)),
            (Quantity::Dh0, shaped(&shape.states(), &self.dh0)),
        ]
    }
}

impl Channel<'_> {
    fn column(&self, part: usize) -> usize {
        if self.staging.is(Twist::HalvesInterleaved) {
            return 2 * self.m + part;
        }
        part * (self.problem.shape().width / 2) + self.m
    }

    fn token(&self, t: usize, part: usize) -> usize {
        let shape = self.problem.shape();
        (self.b * shape.length + t) * shape.width + self.column(part)
    }

    fn state(&self, part: usize) -> usize {
        self.b * self.problem.shape().width + self.column(part)
    }

    fn logit(&self, t: usize) -> usize {
        let shape = self.problem.shape();
        (self.b * shape.length + t) * (shape.width / 2) + self.m
    }

    fn pair(&self, read: impl Fn(usize) -> f64) -> Complex {
        <Complex as Value>::new(|part| Number::exactly(read(self.column(part))))
    }

    fn carrier(&self) -> Carrier<'_> {
        carrier(self.unit, self.staging.plan.carry)
    }

    fn run(&self, logits: &[Vec<Number>; 2], out: &mut Tensors) {
        let length = self.problem.shape().length;
        let tokens: Vec<_> = (0..length).map(|t| self.turned(logits, t)).collect();
        let states = self.forward(&tokens);
        let end = if self.staging.is(Twist::LastIsPenultimate) { length.saturating_sub(1) } else { length };
        let lambda = self.adjoint(&tokens);
        let dh0 = self.initial_gradient(&tokens, &lambda);
        for part in 0..2 {
            for t in 0..length {
                out.y[self.token(t, part)] = states[t + 1].part(part);
            }
            out.last[self.state(part)] = states[end].part(part);
            out.dh0[self.state(part)] = dh0.part(part);
        }
        for t in 0..length {
            self.gradients(t, &tokens[t], states[t], lambda[t], out);
        }
    }

    fn turned(&self, [u, v]: &[Vec<Number>; 2], t: usize) -> Turned {
        let (at, flags) = (self.logit(t), self.problem.reset());
        let reset = match self.staging.twist {
            Some(Twist::ResetIgnored) => false,
            Some(Twist::ResetOffByOne) => t > 0 && flags[[self.b, t - 1]],
            _ => flags[[self.b, t]],
        };
        let mut real = self.gates.token(0.0, [u[at], v[at]], self.sp, reset);
        let a = self.decay(&real);
        if !reset {
            real.n = self.norm(real.n, a);
        }
        let x = self.pair(|column| self.problem.x()[[self.b, t, column]]);
        let w = <Complex as Value>::new(|part| {
            self.unit.boundary(self.unit.product([x.part(part), real.g, real.n]))
        });
        Turned { real, x, a, w }
    }

    /// `radius (cos phi + i sin phi)`, `phi = a_imag r`.
    fn decay(&self, token: &Token) -> Complex {
        let plan = &self.staging.plan;
        let a_imag = self.problem.a_imag()[self.m];
        let gated = if self.staging.is(Twist::PhaseNotGated) { Number::ONE } else { token.r };
        let round = |result: Number, units: f64| self.unit.machine.round(result, plan.decay, units);
        let phase = round(gated.map(|r| a_imag * r), 1.0);
        let turned = |function: fn(f64) -> f64| {
            let exact = phase.map(function);
            // What grows with the argument is absolute.
            let absolute = if exact.seen == 0.0 { 0.0 } else { plan.depth * (phase.seen / exact.seen).abs() };
            let function = round(exact, plan.function + absolute);
            self.unit.boundary(round(token.a.zip(function, |radius, f| radius * f), 1.0))
        };
        Pair { re: turned(f64::cos), im: turned(f64::sin) }
    }

    fn norm(&self, n: Number, a: Complex) -> Number {
        let of = |square: &dyn Fn(f64, f64) -> f64| a.re.zip(a.im, |re, im| square(re, im).sqrt());
        match self.staging.twist {
            Some(Twist::NormFromRealPart) => of(&|re, _| 1.0 - re * re),
            Some(Twist::NormFromComplexSquare) => {
                of(&|re, im| (1.0 - re * re + im * im).hypot(2.0 * re * im))
            }
            _ => n,
        }
    }

    fn arriving(&self, token: &Turned) -> Option<Complex> {
        match self.staging.twist {
            Some(Twist::ResetWriteOnly) => Some(token.a),
            Some(Twist::ResetByMultiplication) if token.real.reset => Some(Complex::default()),
            _ if token.real.reset => None,
            _ => Some(token.a),
        }
    }

    fn conjugated(&self, decay: Complex) -> Complex {
        if self.staging.is(Twist::ConjugateMissing) { decay } else { Value::conj(decay) }
    }

    /// The initial state first.
    fn forward(&self, tokens: &[Turned]) -> Vec<Complex> {
        let step = |token: &Turned| Step { decay: self.arriving(token), write: token.w };
        let steps: Vec<_> = tokens.iter().map(step).collect();
        let h0 = match self.problem.h0() {
            Some(h0) if !self.staging.is(Twist::H0Ignored) => self.pair(|column| h0[[self.b, column]]),
            _ => Complex::default(),
        };
        let mut states = vec![h0];
        states.extend(self.carrier().scan(&steps, h0));
        states
    }

    fn dlast(&self) -> Complex {
        if self.staging.is(Twist::DlastDropped) {
            return Complex::default();
        }
        self.pair(|column| self.problem.dlast()[[self.b, column]])
    }

    fn adjoint(&self, tokens: &[Turned]) -> Vec<Complex> {
        let length = tokens.len();
        let own = self.staging.is(Twist::ReverseUsesOwnDecay);
        let step = |t: usize| {
            let write = self.pair(|column| self.problem.dy()[[self.b, t, column]]);
            if t + 1 == length {
                return Step { decay: Some(Pair::new(Number::ONE, Number::ZERO)), write };
            }
            let decay = self.arriving(&tokens[if own { t } else { t + 1 }]);
            Step { decay: decay.map(|decay| self.conjugated(decay)), write }
        };
        let steps: Vec<_> = (0..length).rev().map(step).collect();
        let mut lambda = self.carrier().scan(&steps, self.dlast());
        lambda.reverse();
        lambda
    }

    /// `Re(conj(one) two)` times real factors: first the inner product, or first the factors.
    fn dot<const N: usize>(&self, one: Complex, two: Complex, factors: [Number; N]) -> Number {
        let (unit, carrier) = (self.unit, carrier(self.unit, self.staging.plan.products));
        let im = if self.staging.is(Twist::ImaginaryHalfDropped) { Number::ZERO } else { two.im };
        let weighted = |number: Number| unit.product([number, unit.product(factors)]);
        let terms = [unit.product([one.re, two.re]), unit.product([one.im, im])];
        if self.staging.order == Order::Serial {
            return weighted(terms[0].plus(terms[1], &carrier));
        }
        weighted(terms[0]).plus(weighted(terms[1]), &carrier)
    }

    fn gradients(&self, t: usize, token: &Turned, before: Complex, lambda: Complex, out: &mut Tensors) {
        let (at, unit, real) = (self.logit(t), self.unit, &token.real);
        let dw = <Complex as Value>::new(|part| unit.boundary(lambda.part(part)));
        for part in 0..2 {
            out.dx[self.token(t, part)] = unit.product([dw.part(part), real.g, real.n]);
        }
        let g_slope = if self.staging.is(Twist::SigmoidPrimeMissing) { Number::ONE } else { real.g_slope };
        out.du[at] = self.dot(dw, token.x, [real.n, g_slope]);
        if real.reset && !self.staging.is(Twist::ResetByMultiplication) {
            return;
        }
        let carrier = carrier(unit, self.staging.plan.products);
        let saved = <Complex as Value>::new(|part| unit.saved(before.part(part)));
        let saved = if self.staging.is(Twist::DaConjugateMissing) { saved } else { Value::conj(saved) };
        let da = lambda.times(saved, &carrier);
        let da = <Complex as Value>::new(|part| unit.boundary(da.part(part)));
        let k = Value::conj(da).times(token.a, &carrier);
        let through_norm = self.dot(dw, token.x, [real.g, real.q, real.root_slope]);
        let dl = unit.minus(k.re, through_norm.map(|product| 2.0 * product));
        let negated = self.staging.is(Twist::PhaseGradientNegated);
        let dphi = if negated { k.im } else { k.im.map(|im| -im) };
        let shut = |number: Number| if real.reset { number.map(|number| 0.0 * number) } else { number };
        let (dl, dphi) = (shut(dl), shut(dphi));
        out.decays[at] = unit.product([real.r, dl]);
        let gated = if self.staging.is(Twist::DaImagNotGated) { Number::ONE } else { real.r };
        out.phases[at] = unit.product([gated, dphi]);
        out.dv[at] = self.logit_gradient(dl, dphi, real);
    }

    /// `(-8 sp dl + a_imag dphi) r (1 - r)`, as a product of a sum or as a sum of products.
    fn logit_gradient(&self, dl: Number, dphi: Number, token: &Token) -> Number {
        let unit = self.unit;
        let a_imag = Number::exactly(-self.problem.a_imag()[self.m]);
        let a_imag = if self.staging.is(Twist::PhasePathMissing) { Number::ZERO } else { a_imag };
        let times_eight = |product: Number| product.map(|product| -8.0 * product);
        if self.staging.order == Order::Serial {
            let by_modulus = times_eight(unit.product([dl, self.sp]));
            let sum = unit.minus(by_modulus, unit.product([dphi, a_imag]));
            return unit.product([sum, token.r_slope]);
        }
        let by_modulus = times_eight(unit.product([dl, self.sp, token.r_slope]));
        unit.minus(by_modulus, unit.product([dphi, a_imag, token.r_slope]))
    }

    fn initial_gradient(&self, tokens: &[Turned], lambda: &[Complex]) -> Complex {
        let (Some(first), Some(&lambda)) = (tokens.first(), lambda.first()) else {
            return self.dlast();
        };
        let kept = self.staging.is(Twist::Dh0NotZeroedByReset);
        let decay = if kept { Some(first.a) } else { self.arriving(first) };
        decay.map_or(Complex::default(), |decay| self.conjugated(decay).times(lambda, &self.carrier()))
    }
}
