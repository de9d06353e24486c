//! The simulated gradients of inputs and parameters, from those of states and controls; the recurrence is left to the rest
//! of the simulation.

use ndarray::ArrayD;

use super::unit::{Curve, Unit};
use super::{Control, Kernel, Row, Strip};
use crate::staged::machine::Number;
use crate::staged::scan::Value;
use crate::staged::{Twist, shaped};
use crate::truth::Quantity;

/// The gradients of one control, `[B, L]`.
struct Side {
    dp: Vec<Number>,
    terms: Vec<Number>,
}

impl Kernel<'_> {
    pub(super) fn parameters(&self, rows: &[Row]) -> Vec<(Quantity, ArrayD<f64>)> {
        let shape = self.problem.shape();
        let sides = [
            self.side(rows, 0, |row| &row.ddelta, |control| control.phase),
            self.side(rows, 1, |row| &row.deta, |control| control.radial),
        ];
        let dx = self.direct(rows);
        let total = if self.is(Twist::ControlDxDropped) { dx.clone() } else { self.total(&dx, &sides) };
        let [nu, theta] = self.logarithms(rows);
        let directions = [0, 1].map(|i| {
            let sums = self.direction_sums(rows, &sides[i]);
            shaped(&[shape.width + 1], &self.unit.unnormalized(&self.directions[i], &sums))
        });
        let amplitudes = [0, 1].map(|i| {
            let sum = self.sum(&sides[i].terms);
            shaped(&[], &[self.unit.products([sum, self.gains[i].slope, self.scale])])
        });
        let ([phase, radial], [phase_gain, radial_gain]) = (directions, amplitudes);
        vec![
            (Quantity::Dx, shaped(&shape.tokens(), &dx)),
            (Quantity::DxTotal, shaped(&shape.tokens(), &total)),
            (Quantity::DnuLog, shaped(&[self.problem.modes()], &nu)),
            (Quantity::DthetaLog, shaped(&[self.problem.modes()], &theta)),
            (Quantity::DphaseDirection, phase),
            (Quantity::DradialDirection, radial),
            (Quantity::DphaseAmplitude, phase_gain),
            (Quantity::DradialAmplitude, radial_gain),
        ]
    }

    fn sum(&self, terms: &[Number]) -> Number {
        self.unit.carrier(self.unit.staging.plan.reduce.rounding).sum(terms)
    }

    fn side(
        &self,
        rows: &[Row],
        i: usize,
        gradients: impl Fn(&Row) -> &Vec<Number>,
        curve: impl Fn(&Control) -> Curve,
    ) -> Side {
        let mut side = Side { dp: Vec::new(), terms: Vec::new() };
        for row in rows {
            for (t, &gradient) in gradients(row).iter().enumerate() {
                let curve = curve(&row.controls[t]);
                let kept = !row.resets[t] || self.is(Twist::ResetByMultiplication);
                let or_zero = |number: Number| if kept { number } else { Number::ZERO };
                let dp = self.unit.products([gradient, self.gains[i].value, self.scale, curve.slope]);
                side.dp.push(or_zero(dp));
                side.terms.push(or_zero(self.unit.products([gradient, curve.value])));
            }
        }
        side
    }

    /// `dx` through the write alone.
    fn direct(&self, rows: &[Row]) -> Vec<Number> {
        let shape = self.problem.shape();
        let mut dx = vec![Number::ZERO; shape.elements()];
        for (b, row) in rows.iter().enumerate() {
            for (m, strip) in row.strips.iter().enumerate() {
                for (part, w) in self.columns(m).into_iter().enumerate() {
                    for t in 0..shape.length {
                        let dw = self.unit.boundary(strip.lambda[t].part(part));
                        dx[(b * shape.length + t) * shape.width + w] =
                            self.unit.products([strip.gammas[t], dw]);
                    }
                }
            }
        }
        dx
    }

    fn total(&self, dx: &[Number], sides: &[Side; 2]) -> Vec<Number> {
        let width = self.problem.shape().width;
        let element = |(at, &dx): (usize, &Number)| {
            let pairs = sides
                .iter()
                .zip(&self.directions)
                .map(|(side, direction)| (side.dp[at / width], direction.unit[at % width]));
            self.unit.dot(pairs, Some(dx))
        };
        dx.iter().enumerate().map(element).collect()
    }

    /// `dd^`.
    fn direction_sums(&self, rows: &[Row], side: &Side) -> Vec<Number> {
        let shape = self.problem.shape();
        let batch = if self.is(Twist::DirectionOneBatch) { 1 } else { rows.len() };
        let rounding = self.unit.staging.plan.reduce.rounding;
        let column = |w: usize| {
            let term = |(b, t): (usize, usize)| {
                let dp = side.dp[b * shape.length + t];
                let unused = rows[b].resets[t] && !self.is(Twist::ResetByMultiplication);
                if w == shape.width || unused {
                    dp
                } else {
                    self.unit.product([dp, self.x(b, t, w)], rounding)
                }
            };
            let places = (0..batch).flat_map(|b| (0..shape.length).map(move |t| (b, t)));
            self.sum(&places.map(term).collect::<Vec<_>>())
        };
        (0..=shape.width).map(column).collect()
    }

    /// `dnu_log` and `dtheta_log`.
    fn logarithms(&self, rows: &[Row]) -> [Vec<Number>; 2] {
        let (mut dnu_log, mut dtheta_log) = (Vec::new(), Vec::new());
        for (m, mode) in self.modes.iter().enumerate() {
            let (mut nu, mut gamma, mut theta) = (Vec::new(), Vec::new(), Vec::new());
            for (b, row) in rows.iter().enumerate() {
                for (t, control) in row.controls.iter().enumerate() {
                    let strip = &row.strips[m];
                    gamma.push(self.gamma_term(b, t, m, strip));
                    let Some(k) = strip.k[t] else { continue };
                    nu.push(self.unit.products([control.swell, k.re]).map(|term| -term));
                    theta.push(k.im.map(|im| -im));
                }
            }
            let [nu, gamma, theta] = [nu, gamma, theta].map(|terms| self.sum(&terms));
            let through = self.unit.products([gamma, mode.gamma_slope]);
            let whole = self.unit.machine.add(nu, through, self.unit.staging.plan.products);
            let whole = if self.is(Twist::GammaGradientDropped) { nu } else { whole };
            dnu_log.push(self.unit.products([mode.nu, whole]));
            dtheta_log.push(self.unit.products([mode.theta, theta]));
        }
        [dnu_log, dtheta_log]
    }

    /// `Re(conj(lambda) x)`.
    fn gamma_term(&self, b: usize, t: usize, m: usize, strip: &Strip) -> Number {
        let (x, dw) = (self.x_of(b, t, m), Unit::both(strip.lambda[t], |part| self.unit.boundary(part)));
        let [re, im] = [self.unit.products([dw.re, x.re]), self.unit.products([dw.im, x.im])];
        self.unit.machine.add(re, im, self.unit.staging.plan.products)
    }
}
