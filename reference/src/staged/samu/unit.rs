//! The functions of a simulated mixer, operation by operation: controls, norms, decays; what is done with them is left to
//! the rest of the simulation.

use crate::pair::Pair;
use crate::plan::{Complement, NormForm, Rounding};
use crate::staged::machine::{Machine, Number};
use crate::staged::scan::Carrier;
use crate::staged::{Order, Staging, Twist};

/// A division or a root may be the hardware's approximation: one unit in the last place.
const APPROXIMATE: f64 = 2.0;

/// The functions of a kernel.
pub(crate) struct Unit<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) staging: &'a Staging,
}

/// A curve of a control and its derivative.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Curve {
    pub(crate) value: Number,
    pub(crate) slope: Number,
}

/// What a mode's parameters give.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode {
    pub(crate) nu: Number,
    pub(crate) theta: Number,
    pub(crate) gamma: Number,
    pub(crate) gamma_slope: Number,
}

/// A direction, normalized.
#[derive(Clone, Debug)]
pub(crate) struct Direction {
    pub(crate) unit: Vec<Number>,
    norm: Number,
}

impl Unit<'_> {
    pub(crate) fn op(&self, result: Number, rounding: Rounding) -> Number {
        self.machine.round(result, rounding, 1.0)
    }

    fn approximate(&self, result: Number, rounding: Rounding) -> Number {
        self.machine.round(result, rounding, APPROXIMATE)
    }

    /// A division, or the product with a reciprocal.
    fn divide(&self, one: Number, two: Number, rounding: Rounding) -> Number {
        if self.staging.order == Order::Serial {
            return self.approximate(one.zip(two, |one, two| one / two), rounding);
        }
        let reciprocal = self.approximate(two.map(|two| 1.0 / two), rounding);
        self.op(one.zip(reciprocal, |one, two| one * two), rounding)
    }

    fn function(&self, result: Number, argument: Number, rounding: Rounding) -> Number {
        let plan = &self.staging.plan;
        self.machine.round(result, rounding, plan.function + plan.depth * argument.seen.abs())
    }

    pub(crate) fn exp(&self, t: Number, rounding: Rounding) -> Number {
        self.function(t.map(f64::exp), t, rounding)
    }

    /// The exponential of something negative: however badly rounded, no library returns more than 1.
    fn decaying_exp(&self, t: Number, rounding: Rounding) -> Number {
        let e = self.exp(t, rounding);
        if e.seen > 1.0 { Number { seen: 1.0, ..e } } else { e }
    }

    pub(crate) fn product<const N: usize>(&self, factors: [Number; N], rounding: Rounding) -> Number {
        let [first, rest @ ..] = &factors[..] else { return Number::ONE };
        rest.iter().fold(*first, |product, &factor| self.op(product.zip(factor, |a, b| a * b), rounding))
    }

    pub(crate) fn products<const N: usize>(&self, factors: [Number; N]) -> Number {
        self.product(factors, self.staging.plan.products)
    }

    pub(crate) fn boundary(&self, number: Number) -> Number {
        self.staging.plan.boundary.map_or(number, |rounding| self.op(number, rounding))
    }

    pub(crate) fn both(pair: Pair<Number>, f: impl Fn(Number) -> Number) -> Pair<Number> {
        Pair::new(f(pair.re), f(pair.im))
    }

    pub(crate) fn carrier(&self, carry: Rounding) -> Carrier<'_> {
        Carrier { machine: self.machine, carry, order: self.staging.order, twist: self.staging.twist }
    }

    /// A dot product of the projection stage, and what is added to it.
    pub(crate) fn dot(&self, pairs: impl Iterator<Item = (Number, Number)>, more: Option<Number>) -> Number {
        let rounding = self.staging.plan.projection.rounding;
        let term = |(one, two): (Number, Number)| {
            let product = one.zip(two, |one, two| one * two);
            if self.staging.order == Order::Serial { product } else { self.op(product, rounding) }
        };
        let terms: Vec<_> = pairs.map(term).chain(more).collect();
        self.carrier(rounding).sum(&terms)
    }

    /// `tanh(p)` and `1 - tanh(p)^2`.
    pub(crate) fn tanh(&self, p: Number) -> Curve {
        let (plan, gates) = (&self.staging.plan, self.staging.plan.gates);
        let tanh = p.map(f64::tanh);
        let slope = 1.0 - tanh.seen * tanh.seen;
        let argument = if p.seen == 0.0 { 0.0 } else { plan.depth * p.seen.abs() * slope / tanh.seen.abs() };
        let value = self.machine.round(tanh, gates, plan.function + argument);
        // No library returns more than 1.
        let value = Number { seen: value.seen.clamp(-1.0, 1.0), ..value };
        Curve { value, slope: self.complement(value, p) }
    }

    fn complement(&self, s: Number, p: Number) -> Number {
        let gates = self.staging.plan.gates;
        match self.staging.plan.complement {
            Complement::Sigmoid => {
                let e = self.decaying_exp(p.map(|p| -2.0 * p.abs()), gates);
                let below = self.op(e.map(|e| 1.0 + e), gates);
                let square = self.product([below, below], gates);
                self.approximate(e.zip(square, |e, below| 4.0 * e / below), gates)
            }
            Complement::OneMinus if self.staging.order == Order::Tree => {
                let less = self.op(s.map(|s| 1.0 - s), gates);
                let more = self.op(s.map(|s| 1.0 + s), gates);
                self.product([less, more], gates)
            }
            Complement::OneMinus => self.op(self.product([s, s], gates).map(|square| 1.0 - square), gates),
        }
    }

    /// `q / (1 + q^2)` and its derivative with respect to `p`.
    pub(crate) fn folded(&self, p: Number) -> Curve {
        let gates = self.staging.plan.gates;
        let q = self.tanh(p);
        let below = self.op(self.product([q.value, q.value], gates).map(|square| 1.0 + square), gates);
        let value = self.approximate(q.value.zip(below, |q, below| q / below), gates);
        if self.staging.is(Twist::FoldPrimeMissing) {
            return Curve { value, slope: q.slope };
        }
        let secant = match self.staging.plan.complement {
            Complement::OneMinus => self.approximate(q.slope.zip(below, |rest, below| rest / below), gates),
            Complement::Sigmoid => {
                let e = self.decaying_exp(p.map(|p| -2.0 * p.abs()), gates);
                let below = self.op(self.product([e, e], gates).map(|square| 1.0 + square), gates);
                self.approximate(e.zip(below, |e, below| 2.0 * e / below), gates)
            }
        };
        Curve { value, slope: self.products([secant, secant]) }
    }

    pub(crate) fn scale(&self, modes: usize) -> Number {
        if self.staging.is(Twist::ControlNotScaled) {
            return Number::ONE;
        }
        let products = self.staging.plan.products;
        let root = self.op(Number::exactly((modes as f64).sqrt()), products);
        self.approximate(root.map(|root| 1.0 / root), products)
    }

    pub(crate) fn mode(&self, nu_log: f64, theta_log: f64) -> Mode {
        let (gates, norm) = (self.staging.plan.gates, self.staging.plan.norm);
        let [nu, theta] = [nu_log, theta_log].map(|log| self.exp(Number::exactly(log), gates));
        let root = self.root(nu);
        let q = self.decaying_exp(nu.map(|nu| -2.0 * nu), norm);
        let inverse = self.approximate(root.map(|root| 1.0 / root), norm);
        Mode { nu, theta, gamma: self.gamma(root), gamma_slope: self.product([q, inverse], norm) }
    }

    /// `gamma` of another decay rate.
    pub(crate) fn gamma_of(&self, rate: Number) -> Number {
        self.gamma(self.root(rate))
    }

    fn gamma(&self, root: Number) -> Number {
        self.op(root.map(|root| root + 1e-8), self.staging.plan.norm)
    }

    fn root(&self, nu: Number) -> Number {
        let (plan, twice) = (&self.staging.plan, nu.map(|nu| -2.0 * nu));
        let z = match plan.norm_form {
            NormForm::Expm1 => {
                let z = twice.map(|t| -t.exp_m1());
                let depth = plan.depth * twice.seen.abs() * twice.seen.exp();
                let relative = if z.seen > 0.0 { depth / z.seen } else { 0.0 };
                self.machine.round(z, plan.norm, plan.function + relative)
            }
            NormForm::Naive => self.op(self.decaying_exp(twice, plan.norm).map(|q| 1.0 - q), plan.norm),
        };
        self.approximate(z.map(f64::sqrt), plan.norm)
    }

    /// `exp(-rate) exp(i (theta + delta))`, as it enters the scan.
    pub(crate) fn decay(&self, rate: Number, theta: Number, delta: Number) -> Pair<Number> {
        let (plan, rounding) = (&self.staging.plan, self.staging.plan.decay);
        let radius = self.decaying_exp(rate.map(|rate| -rate), rounding);
        let phase = self.machine.add(theta, delta, rounding);
        let phase = self.machine.round(phase, rounding, plan.depth);
        let part = |f: fn(f64) -> f64| {
            let turn = self.machine.round(phase.map(f), rounding, plan.function);
            self.boundary(self.product([radius, turn], rounding))
        };
        Pair::new(part(f64::cos), part(f64::sin))
    }

    pub(crate) fn direction(&self, direction: &[f64]) -> Direction {
        let rounding = self.staging.plan.projection.rounding;
        let numbers: Vec<_> = direction.iter().copied().map(Number::exactly).collect();
        let square = self.dot(numbers.iter().map(|&d| (d, d)), None);
        let norm = self.approximate(square.map(f64::sqrt), rounding);
        let floor = self.op(Number::exactly(1e-12), rounding);
        let divisor = norm.zip(floor, |norm, floor| if norm < floor { floor } else { norm });
        let plain = self.staging.is(Twist::DirectionNotNormalized);
        let element = |&d: &Number| if plain { d } else { self.divide(d, divisor, rounding) };
        Direction { unit: numbers.iter().map(element).collect(), norm }
    }

    /// `dd` of `dd^`.
    pub(crate) fn unnormalized(&self, direction: &Direction, sums: &[Number]) -> Vec<Number> {
        let rounding = self.staging.plan.projection.rounding;
        let floored = direction.norm.seen < 1e-12;
        let divisor = if floored { Number::exactly(1e-12) } else { direction.norm };
        let along = self.dot(direction.unit.iter().copied().zip(sums.iter().copied()), None);
        let whole = floored || self.staging.is(Twist::DirectionNotProjected);
        let element = |(&unit, &sum): (&Number, &Number)| {
            let shadow = self.product([unit, along], rounding);
            let left =
                if whole { sum } else { self.op(sum.zip(shadow, |sum, shadow| sum - shadow), rounding) };
            self.divide(left, divisor, rounding)
        };
        direction.unit.iter().zip(sums).map(element).collect()
    }
}
