//! A second opinion on the oracle for short problems with finite inputs: closed forms instead of the
//! recurrence, double-double instead of f64, forward-mode duals instead of the adjoint. It shares no formula
//! with the main path, is quadratic in the length, and gives no envelopes.

mod double;
mod dual;

use ndarray::{Array3, ArrayD, IxDyn};

pub use double::Double;
use dual::Dual;

use crate::rglru::{Gates, Inputs, Problem};
use crate::shape::Shape;
use crate::truth::{Quantity, Tensors};

/// Every output and gradient of `problem`, rounded to f64 at the very end.
///
/// The cost is the number of inputs times the square of the length: meant for a few tens of tokens.
#[must_use]
pub fn testify(problem: &Problem) -> Tensors {
    let mut entries = Vec::new();
    let inputs = match problem.gates() {
        Gates::Logits { .. } => problem.inputs().clone(),
        Gates::Projected { .. } => {
            let mut model = Model::new(problem.inputs(), problem.shape());
            let (u, v) = model.logits();
            entries.extend(model.projected_gradients());
            let [u, v] = [u, v].map(|values| tokens(problem.shape(), &values));
            entries.push((Quantity::U, u.clone().into_dyn()));
            entries.push((Quantity::V, v.clone().into_dyn()));
            Inputs { gates: Gates::Logits { u, v }, ..problem.inputs().clone() }
        }
    };
    let mut model = Model::new(&inputs, problem.shape());
    entries.extend(model.outputs());
    entries.extend(model.gradients());
    entries.sort_by_key(|(quantity, _)| *quantity);
    Tensors::new(entries)
}

fn tokens(shape: Shape, values: &[Dual]) -> Array3<f64> {
    Array3::from_shape_fn(shape.tokens(), |(b, t, w)| {
        values[(b * shape.length + t) * shape.width + w].value.to_f64()
    })
}

/// All inputs of a problem as duals, so that any one of them can be given a derivative.
struct Model {
    shape: Shape,
    x: Vec<Dual>,
    gates: [Gate; 2],
    a_param: Vec<Dual>,
    h0: Vec<Dual>,
    reset: Vec<bool>,
    dy: Vec<f64>,
    dlast: Vec<f64>,
}

/// One gate: its logits, or a block-diagonal projection.
enum Gate {
    Logits(Vec<Dual>),
    Projected { block: usize, weight: Vec<Dual>, bias: Vec<Dual> },
}

impl Gate {
    fn logits(&self, x: &[Dual], width: usize) -> Vec<Dual> {
        match self {
            Self::Logits(values) => values.clone(),
            Self::Projected { block, weight, bias } => {
                let logit = |i: usize| {
                    let (row, w) = (i / width * width, i % width);
                    let (h, j) = (w / block, w % block);
                    (0..*block).fold(bias[w], |sum, k| {
                        sum + x[row + h * block + k] * weight[(h * block + k) * block + j]
                    })
                };
                (0..x.len()).map(logit).collect()
            }
        }
    }
}

/// Names one input tensor of the model.
#[derive(Clone, Copy)]
enum Seed {
    X,
    Gate(usize),
    Bias(usize),
    AParam,
    H0,
}

fn duals<'a>(values: impl IntoIterator<Item = &'a f64>) -> Vec<Dual> {
    values.into_iter().map(|&value| Dual::constant(value)).collect()
}

impl Model {
    fn new(inputs: &Inputs, shape: Shape) -> Self {
        let gates = match &inputs.gates {
            Gates::Logits { u, v } => [u, v].map(|logits| Gate::Logits(duals(logits))),
            Gates::Projected { wi, bi, wr, br } => [(wi, bi), (wr, br)].map(|(weight, bias)| {
                Gate::Projected { block: weight.dim().1, weight: duals(weight), bias: duals(bias) }
            }),
        };
        let states = shape.batch * shape.width;
        Self {
            shape,
            x: duals(&inputs.x),
            gates,
            a_param: duals(&inputs.a_param),
            h0: inputs.h0.as_ref().map_or_else(|| vec![Dual::ZERO; states], duals),
            reset: inputs.reset.iter().copied().collect(),
            dy: inputs.dy.iter().copied().collect(),
            dlast: inputs.dlast.iter().copied().collect(),
        }
    }

    fn logits(&self) -> (Vec<Dual>, Vec<Dual>) {
        let [u, v] = &self.gates;
        (u.logits(&self.x, self.shape.width), v.logits(&self.x, self.shape.width))
    }

    /// `y`, row-major, and `last`.
    fn run(&self) -> (Vec<Dual>, Vec<Dual>) {
        let Shape { batch, length, width } = self.shape;
        let (u, v) = self.logits();
        let (mut y, mut last) = (vec![Dual::ZERO; self.shape.elements()], self.h0.clone());
        for (b, w) in (0..batch).flat_map(|b| (0..width).map(move |w| (b, w))) {
            let at = |t: usize| (b * length + t) * width + w;
            let tokens: Vec<_> = (0..length).map(|t| self.token(b, t, at(t), &u, &v)).collect();
            for t in 0..length {
                y[at(t)] = closed_form(&tokens[..=t], self.h0[b * width + w]);
                last[b * width + w] = y[at(t)];
            }
        }
        (y, last)
    }

    /// Log-decay (absent on a reset) and write.
    fn token(&self, b: usize, t: usize, at: usize, u: &[Dual], v: &[Dual]) -> (Option<Dual>, Dual) {
        let write = self.x[at] * u[at].sigmoid();
        if self.reset[b * self.shape.length + t] {
            return (None, write);
        }
        let l = Dual::constant(-8.0) * v[at].sigmoid() * self.a_param[at % self.shape.width].softplus();
        // Not `(1 - a) (1 + a)`: its derivative cancels to nothing where `a` is tiny.
        let z = -(l + l).expm1();
        (Some(l), write * z.clipped_sqrt())
    }

    fn outputs(&self) -> Vec<(Quantity, ArrayD<f64>)> {
        let (y, last) = self.run();
        let y = y.iter().map(|dual| dual.value.to_f64()).collect();
        let last = last.iter().map(|dual| dual.value.to_f64()).collect();
        vec![
            (Quantity::Y, shaped(&self.shape.tokens(), y)),
            (Quantity::Last, shaped(&self.shape.states(), last)),
        ]
    }

    /// The derivative of the loss in the direction that is set in the inputs.
    fn loss(&self) -> f64 {
        let (y, last) = self.run();
        let outputs = y.iter().zip(&self.dy).chain(last.iter().zip(&self.dlast));
        outputs
            .fold(Double::ZERO, |sum, (dual, &cotangent)| sum + dual.derivative * Double::from(cotangent))
            .to_f64()
    }

    fn tensor(&mut self, seed: Seed) -> &mut Vec<Dual> {
        match seed {
            Seed::X => &mut self.x,
            Seed::AParam => &mut self.a_param,
            Seed::H0 => &mut self.h0,
            Seed::Gate(i) => match &mut self.gates[i] {
                Gate::Logits(values) | Gate::Projected { weight: values, .. } => values,
            },
            Seed::Bias(i) => match &mut self.gates[i] {
                Gate::Logits(values) | Gate::Projected { bias: values, .. } => values,
            },
        }
    }

    /// One evaluation for each element of the tensor.
    fn gradient(&mut self, seed: Seed, shape: &[usize]) -> ArrayD<f64> {
        let values = (0..shape.iter().product()).map(|i| {
            self.tensor(seed)[i].derivative = Double::ONE;
            let loss = self.loss();
            self.tensor(seed)[i].derivative = Double::ZERO;
            loss
        });
        let values = values.collect();
        shaped(shape, values)
    }

    fn gradients(&mut self) -> Vec<(Quantity, ArrayD<f64>)> {
        let (tokens, states, width) = (self.shape.tokens(), self.shape.states(), self.shape.width);
        vec![
            (Quantity::Dx, self.gradient(Seed::X, &tokens)),
            (Quantity::Du, self.gradient(Seed::Gate(0), &tokens)),
            (Quantity::Dv, self.gradient(Seed::Gate(1), &tokens)),
            (Quantity::DaParam, self.gradient(Seed::AParam, &[width])),
            (Quantity::Dh0, self.gradient(Seed::H0, &states)),
        ]
    }

    fn projected_gradients(&mut self) -> Vec<(Quantity, ArrayD<f64>)> {
        let block = match &self.gates[0] {
            Gate::Logits(_) => 1,
            Gate::Projected { block, .. } => *block,
        };
        let blocks = self.shape.width / block;
        let tokens = self.shape.tokens();
        vec![
            (Quantity::DxTotal, self.gradient(Seed::X, &tokens)),
            (Quantity::Dwi, self.gradient(Seed::Gate(0), &[blocks, block, block])),
            (Quantity::Dwr, self.gradient(Seed::Gate(1), &[blocks, block, block])),
            (Quantity::Dbi, self.gradient(Seed::Bias(0), &[blocks, block])),
            (Quantity::Dbr, self.gradient(Seed::Bias(1), &[blocks, block])),
        ]
    }
}

/// `h_t = sum over s of exp(l_{s+1} + ... + l_t) w_s`, back to the last reset or to the initial state.
fn closed_form(tokens: &[(Option<Dual>, Dual)], h0: Dual) -> Dual {
    let (mut sum, mut log) = (Dual::ZERO, Dual::ZERO);
    for (l, write) in tokens.iter().rev() {
        sum = sum + log.exp() * *write;
        match l {
            None => return sum,
            Some(l) => log = log + *l,
        }
    }
    sum + log.exp() * h0
}

fn shaped(shape: &[usize], values: Vec<f64>) -> ArrayD<f64> {
    ArrayD::from_shape_vec(IxDyn(shape), values).unwrap_or_else(|_| ArrayD::zeros(IxDyn(shape)))
}
