//! The linear scan as a kernel computes it, real and complex: reading, states, cotangents, gradients; the orders of
//! association are left to [`super::scan`].

use ndarray::ArrayD;

use super::machine::{Machine, Number};
use super::scan::{Carrier, Step, Value};
use super::{Staging, Twist, shaped};
use crate::pair::Pair;
use crate::plan::Rounding;
use crate::scan::{Field, Input, Problem};
use crate::truth::Quantity;

pub(crate) fn run(problem: &Problem, staging: &Staging, machine: &Machine) -> Vec<(Quantity, ArrayD<f64>)> {
    let kernel = Kernel { problem, staging, machine };
    match problem.inputs().field {
        Field::Real => kernel.run::<Number>(),
        Field::Complex => kernel.run::<Pair<Number>>(),
    }
}

struct Kernel<'a> {
    problem: &'a Problem,
    staging: &'a Staging,
    machine: &'a Machine,
}

/// A channel of one sequence: where its numbers stand.
#[derive(Clone, Copy)]
struct Place {
    row: usize,
    channel: usize,
}

/// All numbers of a channel.
struct Channel<V> {
    decays: Vec<Option<V>>,
    /// `h0` first.
    states: Vec<V>,
    dlast: V,
    lambda: Vec<V>,
}

impl Kernel<'_> {
    fn run<V: Value>(&self) -> Vec<(Quantity, ArrayD<f64>)> {
        let shape = self.problem.shape();
        let tokens = || vec![Number::ZERO; shape.elements()];
        let (mut y, mut da, mut dw) = (tokens(), tokens(), tokens());
        let states = || vec![Number::ZERO; shape.batch * shape.width];
        let (mut last, mut dh0) = (states(), states());
        for place in self.places::<V>() {
            let channel: Channel<V> = self.channel(place);
            for t in 0..shape.length {
                let gradient = self.decay_gradient(&channel, t);
                for part in 0..V::PARTS {
                    let at = self.token::<V>(place, t, part);
                    y[at] = channel.states[t + 1].part(part);
                    dw[at] = channel.lambda[t].part(part);
                    da[at] = gradient.part(part);
                }
            }
            let penultimate = self.staging.is(Twist::LastIsPenultimate);
            let end = shape.length.saturating_sub(usize::from(penultimate));
            let initial = self.initial_gradient(&channel);
            for part in 0..V::PARTS {
                last[self.state::<V>(place, part)] = channel.states[end].part(part);
                dh0[self.state::<V>(place, part)] = initial.part(part);
            }
        }
        let (tokens, states) = (shape.tokens(), shape.states());
        vec![
            (Quantity::Y, shaped(&tokens, &y)),
            (Quantity::Last, shaped(&states, &last)),
            (Quantity::Da, shaped(&tokens, &da)),
            (Quantity::Dw, shaped(&tokens, &dw)),
            (Quantity::Dh0, shaped(&states, &dh0)),
        ]
    }

    fn places<V: Value>(&self) -> impl Iterator<Item = Place> + use<V> {
        let shape = self.problem.shape();
        let channels = shape.width / V::PARTS;
        (0..shape.batch).flat_map(move |row| (0..channels).map(move |channel| Place { row, channel }))
    }

    fn column<V: Value>(&self, place: Place, part: usize) -> usize {
        if self.staging.is(Twist::HalvesInterleaved) {
            return place.channel * V::PARTS + part;
        }
        part * (self.problem.shape().width / V::PARTS) + place.channel
    }

    fn token<V: Value>(&self, place: Place, t: usize, part: usize) -> usize {
        let shape = self.problem.shape();
        (place.row * shape.length + t) * shape.width + self.column::<V>(place, part)
    }

    fn state<V: Value>(&self, place: Place, part: usize) -> usize {
        place.row * self.problem.shape().width + self.column::<V>(place, part)
    }

    fn read<V: Value>(&self, input: Input, place: Place, t: usize) -> V {
        V::new(|part| Number::exactly(self.problem.number(input, self.token::<V>(place, t, part))))
    }

    fn carrier(&self, carry: Rounding) -> Carrier<'_> {
        Carrier { machine: self.machine, carry, order: self.staging.order, twist: self.staging.twist }
    }

    fn channel<V: Value>(&self, place: Place) -> Channel<V> {
        let length = self.problem.shape().length;
        let decays: Vec<_> = (0..length).map(|t| self.decay(place, t)).collect();
        let write = |t| self.read(Input::W, place, t);
        let steps: Vec<_> =
            decays.iter().enumerate().map(|(t, &decay)| Step { decay, write: write(t) }).collect();
        let h0 = V::new(|part| Number::exactly(self.problem.number(Input::H0, self.state::<V>(place, part))));
        let h0 = if self.staging.is(Twist::H0Ignored) { V::default() } else { h0 };
        let mut states = vec![h0];
        states.extend(self.carrier(self.staging.plan.carry).scan(&steps, h0));
        let dlast = self.dlast(place);
        let lambda = self.adjoint(place, &decays, dlast);
        Channel { decays, states, dlast, lambda }
    }

    /// A decay of 0 discards.
    fn decay<V: Value>(&self, place: Place, t: usize) -> Option<V> {
        let decay: V = self.read(Input::A, place, t);
        let discards = (0..V::PARTS).all(|part| decay.part(part).seen == 0.0);
        if discards && !self.staging.is(Twist::ResetByMultiplication) { None } else { Some(decay) }
    }

    fn dlast<V: Value>(&self, place: Place) -> V {
        if self.staging.is(Twist::DlastDropped) {
            return V::default();
        }
        V::new(|part| {
            let column = self.column::<V>(place, part);
            Number::exactly(self.problem.inputs().dlast[[place.row, column]])
        })
    }

    fn conjugated<V: Value>(&self, decay: V) -> V {
        if self.staging.is(Twist::ConjugateMissing) { decay } else { decay.conj() }
    }

    fn adjoint<V: Value>(&self, place: Place, decays: &[Option<V>], dlast: V) -> Vec<V> {
        let length = decays.len();
        let one = V::new(|part| if part == 0 { Number::ONE } else { Number::ZERO });
        let step = |t: usize| {
            let write = V::new(|part| {
                Number::exactly(self.problem.inputs().dy[[place.row, t, self.column::<V>(place, part)]])
            });
            if t + 1 == length {
                return Step { decay: Some(one), write };
            }
            let decay = decays[if self.staging.is(Twist::ReverseUsesOwnDecay) { t } else { t + 1 }];
            Step { decay: decay.map(|decay| self.conjugated(decay)), write }
        };
        let steps: Vec<_> = (0..length).rev().map(step).collect();
        let mut lambda = self.carrier(self.staging.plan.carry).scan(&steps, dlast);
        lambda.reverse();
        lambda
    }

    fn decay_gradient<V: Value>(&self, channel: &Channel<V>, t: usize) -> V {
        let plan = &self.staging.plan;
        let before = channel.states[if self.staging.is(Twist::DaFromOwnState) { t + 1 } else { t }];
        let saved = V::new(|part| self.machine.round(before.part(part), plan.saved, 1.0));
        let saved = if self.staging.is(Twist::DaConjugateMissing) { saved } else { saved.conj() };
        channel.lambda[t].times(saved, &self.carrier(plan.products))
    }

    fn initial_gradient<V: Value>(&self, channel: &Channel<V>) -> V {
        let (Some(first), Some(&lambda)) = (channel.decays.first(), channel.lambda.first()) else {
            return channel.dlast;
        };
        if self.staging.is(Twist::Dh0NotDecayed) {
            return lambda;
        }
        let carrier = self.carrier(self.staging.plan.carry);
        first.map_or(V::default(), |decay| self.conjugated(decay).times(lambda, &carrier))
    }
}
