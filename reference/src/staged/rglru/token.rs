//! The gates of one simulated token, operation by operation; state and gradients are left to the channel.

use crate::plan::{Complement, NormForm, Rounding};
use crate::staged::machine::{Machine, Number};
use crate::staged::{Order, Staging, Twist};

/// A division or a root may be the hardware's approximation: one unit in the last place.
const APPROXIMATE: f64 = 2.0;

/// The functions of a kernel.
pub(crate) struct Unit<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) staging: &'a Staging,
}

/// What a token's gates give.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) reset: bool,
    pub(crate) x: Number,
    pub(crate) g: Number,
    pub(crate) g_slope: Number,
    pub(crate) r: Number,
    pub(crate) r_slope: Number,
    pub(crate) a: Number,
    pub(crate) q: Number,
    pub(crate) root_slope: Number,
    pub(crate) n: Number,
    pub(crate) w: Number,
}

impl Unit<'_> {
    fn op(&self, result: Number, rounding: Rounding) -> Number {
        self.machine.round(result, rounding, 1.0)
    }

    fn approximate(&self, result: Number, rounding: Rounding) -> Number {
        self.machine.round(result, rounding, APPROXIMATE)
    }

    fn function(&self, result: Number, argument: Number, rounding: Rounding) -> Number {
        let plan = &self.staging.plan;
        self.machine.round(result, rounding, plan.function + plan.depth * argument.seen.abs())
    }

    /// The exponential of something negative: however badly rounded, no library returns more than 1.
    fn decaying_exp(&self, t: Number, rounding: Rounding) -> Number {
        let e = self.function(t.map(f64::exp), t, rounding);
        if e.seen > 1.0 { Number { seen: 1.0, ..e } } else { e }
    }

    pub(crate) fn product<const N: usize>(&self, factors: [Number; N]) -> Number {
        let rounding = self.staging.plan.products;
        let [first, rest @ ..] = &factors[..] else { return Number::ONE };
        rest.iter().fold(*first, |product, &factor| self.op(product.zip(factor, |a, b| a * b), rounding))
    }

    pub(crate) fn minus(&self, one: Number, two: Number) -> Number {
        self.op(one.zip(two, |one, two| one - two), self.staging.plan.products)
    }

    pub(crate) fn sigmoid(&self, t: Number) -> Number {
        let gates = self.staging.plan.gates;
        let minus = t.map(|t| -t);
        let e = self.function(minus.map(f64::exp), t, gates);
        let e = Number { seen: if e.seen > gates.overflow { f64::INFINITY } else { e.seen }, ..e };
        let below = self.op(e.map(|e| 1.0 + e), gates);
        let g = self.approximate(below.map(|below| 1.0 / below), gates);
        if g.seen > 1.0 { Number { seen: 1.0, ..g } } else { g }
    }

    fn slope(&self, t: Number, g: Number) -> Number {
        let rest = match self.staging.plan.complement {
            Complement::OneMinus => self.op(g.map(|g| 1.0 - g), self.staging.plan.gates),
            Complement::Sigmoid => self.sigmoid(t.map(|t| -t)),
        };
        self.product([g, rest])
    }

    pub(crate) fn softplus(&self, p: f64) -> Number {
        let gates = self.staging.plan.gates;
        let p = Number::exactly(p);
        if self.staging.is(Twist::SoftplusIsExp) {
            return self.function(p.map(f64::exp), p, gates);
        }
        let e = self.function(p.map(|p| (-p.abs()).exp()), p, gates);
        let logarithm = self.machine.round(e.map(f64::ln_1p), gates, self.staging.plan.function);
        self.op(p.zip(logarithm, |p, logarithm| if p < 0.0 { logarithm } else { p + logarithm }), gates)
    }

    fn log_decay(&self, r: Number, sp: Number) -> Number {
        let c = if self.staging.is(Twist::CEightWrong) { 7.99 } else { 8.0 };
        self.op(r.zip(sp, |r, sp| -c * r * sp), self.staging.plan.decay)
    }

    fn square(&self, a: Number, l: Number) -> Number {
        if self.staging.order == Order::Serial {
            return self.product([a, a]);
        }
        self.decaying_exp(l.map(|l| 2.0 * l), self.staging.plan.decay)
    }

    fn one_minus_square(&self, l: Number) -> Number {
        let (norm, twice) = (self.staging.plan.norm, l.map(|l| 2.0 * l));
        match self.staging.plan.norm_form {
            NormForm::Expm1 => {
                let depth = self.staging.plan.depth * twice.seen.abs() * twice.seen.exp();
                let z = twice.map(|t| -t.exp_m1());
                let relative = if z.seen > 0.0 { depth / z.seen } else { 0.0 };
                self.machine.round(z, norm, self.staging.plan.function + relative)
            }
            NormForm::Naive => self.op(self.decaying_exp(twice, norm).map(|q| 1.0 - q), norm),
        }
    }

    fn root_slope(&self, z: Number) -> Number {
        let norm = self.staging.plan.norm;
        let clip = match self.staging.twist {
            Some(Twist::SqrtClipMissing) => 0.0,
            Some(Twist::SqrtClipWrong) => 1e-8,
            _ => 1e-6,
        };
        let clip = self.op(Number::exactly(clip), norm);
        let below = z.zip(clip, |z, clip| if 4.0 * z < clip { clip } else { 4.0 * z });
        let root = self.approximate(below.map(f64::sqrt), norm);
        self.approximate(root.map(|root| 1.0 / root), norm)
    }

    /// `reset` is the flag as the kernel understands it.
    pub(crate) fn token(&self, x: f64, [u, v]: [Number; 2], sp: Number, reset: bool) -> Token {
        let (x, g, r) = (Number::exactly(x), self.sigmoid(u), self.sigmoid(v));
        let l = self.log_decay(r, sp);
        let a = self.decaying_exp(l, self.staging.plan.decay);
        let z = self.one_minus_square(l);
        let m = self.approximate(z.map(f64::sqrt), self.staging.plan.norm);
        let n = if reset && !self.staging.is(Twist::NormKeptOnReset) { Number::ONE } else { m };
        let w = self.boundary(self.product([x, g, n]));
        Token {
            reset,
            x,
            g,
            g_slope: self.slope(u, g),
            r,
            r_slope: self.slope(v, r),
            a: self.boundary(a),
            q: self.square(a, l),
            root_slope: self.root_slope(z),
            n,
            w,
        }
    }

    pub(crate) fn boundary(&self, number: Number) -> Number {
        self.staging.plan.boundary.map_or(number, |rounding| self.op(number, rounding))
    }

    pub(crate) fn saved(&self, number: Number) -> Number {
        self.op(number, self.staging.plan.saved)
    }
}
