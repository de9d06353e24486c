//! The forward passes of all families behind one door, over any number: inputs go by name, and each knows its gradient;
//! which numbers stand for them, and what must hold, is left to the suites.

use std::collections::BTreeMap;

use plumbline_reference::number::Number;
use plumbline_reference::{Problem, Quantity, rglru, rglru_complex, samu, scan};

use crate::numbers::Dual;

/// Outputs over some number, row-major.
pub(crate) type Outputs<N> = Vec<(Quantity, Vec<N>)>;

/// A problem and the values of its inputs, by name.
pub(crate) struct Lifted<'a> {
    pub(crate) problem: &'a Problem,
    inputs: BTreeMap<&'static str, Vec<f64>>,
}

impl<'a> Lifted<'a> {
    pub(crate) fn new(problem: &'a Problem) -> Self {
        let tensors = problem.tensors().into_iter();
        let inputs = tensors.map(|tensor| (tensor.name, tensor.values.iter().copied().collect()));
        Self { problem, inputs: inputs.collect() }
    }

    /// The inputs that have a gradient, and it.
    pub(crate) fn gradients(&self) -> Vec<(&'static str, Quantity)> {
        let gradient = |&name: &&'static str| Some((name, gradient_of(self.problem, name)?));
        self.inputs.keys().filter_map(gradient).collect()
    }

    /// How many numbers an input has; none if it is absent.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.inputs.get(name).map_or(0, Vec::len)
    }

    /// The value of an element; 0 where the input is absent.
    pub(crate) fn value(&self, name: &str, at: usize) -> f64 {
        self.inputs.get(name).map_or(0.0, |values| values[at])
    }

    /// The forward pass over the values themselves.
    pub(crate) fn values<N: Number>(&self) -> Outputs<N> {
        forward(self.problem, |name, at| N::from_f64(self.value(name, at)))
    }

    /// The derivative of every output along a direction in the space of all inputs.
    pub(crate) fn along<N: Number>(&self, direction: impl Fn(&str, usize) -> f64) -> Outputs<Dual<N>> {
        forward(self.problem, |name, at| {
            Dual::new(N::from_f64(self.value(name, at)), N::from_f64(direction(name, at)))
        })
    }

    /// The derivative of the loss with respect to every element of an input.
    pub(crate) fn derivatives<N: Number>(&self, name: &str) -> Vec<N> {
        let unit = |at: usize| move |of: &str, i: usize| f64::from(u8::from(of == name && i == at));
        let derivative = |at| self.loss(self.along::<N>(unit(at)).into_iter());
        (0..self.count(name)).map(derivative).collect()
    }

    fn loss<N: Number>(&self, outputs: impl Iterator<Item = (Quantity, Vec<Dual<N>>)>) -> N {
        let weighted = outputs.filter_map(|(quantity, numbers)| Some((cotangent(quantity)?, numbers)));
        weighted.fold(N::zero(), |sum, (cotangent, numbers)| {
            let terms = numbers.iter().zip(&self.inputs[cotangent]);
            terms.fold(sum, |sum, (number, &d)| sum + number.slope.times(d))
        })
    }
}

/// The name of an output's cotangent.
pub(crate) fn cotangent(quantity: Quantity) -> Option<&'static str> {
    match quantity {
        Quantity::Y => Some("dy"),
        Quantity::Last => Some("dlast"),
        _ => None,
    }
}

fn gradient_of(problem: &Problem, name: &str) -> Option<Quantity> {
    let whole = match problem {
        Problem::Rglru(problem) => problem.is_projected(),
        Problem::RglruComplex(problem) => problem.is_projected(),
        Problem::Samu(_) | Problem::Scan(_) => true,
    };
    Some(match name {
        "x" if whole => Quantity::DxTotal,
        "x" => Quantity::Dx,
        "u" => Quantity::Du,
        "v" => Quantity::Dv,
        "wi" => Quantity::Dwi,
        "bi" => Quantity::Dbi,
        "wr" => Quantity::Dwr,
        "br" => Quantity::Dbr,
        "a_param" => Quantity::DaParam,
        "a_imag" => Quantity::DaImag,
        "h0" => Quantity::Dh0,
        "a" => Quantity::Da,
        "w" => Quantity::Dw,
        "nu_log" => Quantity::DnuLog,
        "theta_log" => Quantity::DthetaLog,
        "phase_direction" => Quantity::DphaseDirection,
        "radial_direction" => Quantity::DradialDirection,
        "phase_amplitude" => Quantity::DphaseAmplitude,
        "radial_amplitude" => Quantity::DradialAmplitude,
        _ => return None,
    })
}

/// The forward pass of any family.
fn forward<N: Number>(problem: &Problem, lift: impl Fn(&'static str, usize) -> N) -> Outputs<N> {
    let (y, last, more) = match problem {
        Problem::Rglru(problem) => {
            let outputs = rglru::forward(problem, |input, at| lift(rglru_name(input), at));
            (outputs.y, outputs.last, vec![])
        }
        Problem::RglruComplex(problem) => {
            let outputs = rglru_complex::forward(problem, |input, at| lift(complex_name(input), at));
            (outputs.y, outputs.last, vec![])
        }
        Problem::Scan(problem) => {
            let outputs = scan::run(problem, |input, at| lift(scan_name(input), at));
            (outputs.y, outputs.last, vec![])
        }
        Problem::Samu(problem) => {
            let outputs = samu::forward(problem, |input, at| lift(samu_name(input), at));
            let controls = [(Quantity::Eta, outputs.eta), (Quantity::Delta, outputs.delta)];
            let more = [(Quantity::H, outputs.h)].into_iter().chain(controls).collect();
            (outputs.y, outputs.last, more)
        }
    };
    [(Quantity::Y, y), (Quantity::Last, last)].into_iter().chain(more).collect()
}

fn rglru_name(input: rglru::Input) -> &'static str {
    match input {
        rglru::Input::X => "x",
        rglru::Input::U => "u",
        rglru::Input::V => "v",
        rglru::Input::Wi => "wi",
        rglru::Input::Bi => "bi",
        rglru::Input::Wr => "wr",
        rglru::Input::Br => "br",
        rglru::Input::AParam => "a_param",
        rglru::Input::H0 => "h0",
    }
}

fn complex_name(input: rglru_complex::Input) -> &'static str {
    match input {
        rglru_complex::Input::X => "x",
        rglru_complex::Input::U => "u",
        rglru_complex::Input::V => "v",
        rglru_complex::Input::Wi => "wi",
        rglru_complex::Input::Bi => "bi",
        rglru_complex::Input::Wr => "wr",
        rglru_complex::Input::Br => "br",
        rglru_complex::Input::AParam => "a_param",
        rglru_complex::Input::AImag => "a_imag",
        rglru_complex::Input::H0 => "h0",
    }
}

fn scan_name(input: scan::Input) -> &'static str {
    match input {
        scan::Input::A => "a",
        scan::Input::W => "w",
        scan::Input::H0 => "h0",
    }
}

fn samu_name(input: samu::Input) -> &'static str {
    match input {
        samu::Input::X => "x",
        samu::Input::NuLog => "nu_log",
        samu::Input::ThetaLog => "theta_log",
        samu::Input::PhaseDirection => "phase_direction",
        samu::Input::RadialDirection => "radial_direction",
        samu::Input::PhaseAmplitude => "phase_amplitude",
        samu::Input::RadialAmplitude => "radial_amplitude",
        samu::Input::H0 => "h0",
    }
}
