//! The inputs of the recurrence, checked when they are put together; what is computed from them is left to
//! [`super::solve`].

use ndarray::{Array1, Array2, Array3};

use crate::problem::{ProblemError, Role, Tensor, TensorMut, expect, reading, standard, writing};
use crate::shape::Shape;

/// Everything the recurrence reads, not yet checked. All values are taken as exact. `W` is even, with `M = W / 2` complex
/// channels; `x`, `y` and states hold real parts in the first half of `W` and imaginary parts in the second.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// Input `x`, `[B, L, W]`; its shape is the one all others are held against.
    pub x: Array3<f64>,
    /// The gate logits, or the projections that make them from `x`.
    pub gates: Gates,
    /// Decay parameter `[M]`: the logarithm of the decay's modulus is `-8 softplus(a_param) sigmoid(v)`.
    pub a_param: Array1<f64>,
    /// Phase parameter `[M]`, in radians: the decay's phase is `a_imag sigmoid(v)`.
    pub a_imag: Array1<f64>,
    /// `[B, L]`: true where a token is the first of its document and discards the state.
    pub reset: Array2<bool>,
    /// Initial state `[B, W]`; absent is the same as zeros.
    pub h0: Option<Array2<f64>>,
    /// Cotangent of `y`, `[B, L, W]`.
    pub dy: Array3<f64>,
    /// Cotangent of the final state, `[B, W]`.
    pub dlast: Array2<f64>,
}

/// Where the logits of the two gates come from.
#[derive(Clone, Debug)]
pub enum Gates {
    /// The logits are inputs.
    Logits {
        /// Input-gate logits `u`, `[B, L, M]`.
        u: Array3<f64>,
        /// Recurrence-gate logits `v`, `[B, L, M]`.
        v: Array3<f64>,
    },
    /// The logits are block-diagonal projections of the real numbers of `x`: `u[h,:] = x[h,:] Wi[h] + bi[h]`, `v`
    /// likewise, with `H` blocks from `K = W / H` numbers to `K / 2`.
    Projected {
        /// Input-gate weights `[H, K, K/2]`, contracted over the first `K`.
        wi: Array3<f64>,
        /// Input-gate bias `[H, K/2]`.
        bi: Array2<f64>,
        /// Recurrence-gate weights `[H, K, K/2]`, contracted over the first `K`.
        wr: Array3<f64>,
        /// Recurrence-gate bias `[H, K/2]`.
        br: Array2<f64>,
    },
}

/// Inputs whose shapes agree and whose arrays are row-major: solving one cannot fail.
#[derive(Clone, Debug)]
pub struct Problem {
    shape: Shape,
    inputs: Inputs,
}

impl Problem {
    /// Checks every shape against that of `x`.
    ///
    /// # Errors
    ///
    /// The first tensor that does not fit, by name, with the expected and the found shape.
    pub fn new(inputs: Inputs) -> Result<Self, ProblemError> {
        let (batch, length, width) = inputs.x.dim();
        let shape = Shape { batch, length, width };
        check(shape, &inputs)?;
        Ok(Self { shape, inputs: row_major(inputs) })
    }

    /// The sizes of the problem.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The inputs, to read.
    #[must_use]
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// The inputs, to change and check again.
    #[must_use]
    pub fn into_inputs(self) -> Inputs {
        self.inputs
    }

    /// Input `x`, `[B, L, W]`.
    #[must_use]
    pub fn x(&self) -> &Array3<f64> {
        &self.inputs.x
    }

    /// Where the logits come from.
    #[must_use]
    pub fn gates(&self) -> &Gates {
        &self.inputs.gates
    }

    /// Phase parameter, `[M]`.
    #[must_use]
    pub fn a_imag(&self) -> &Array1<f64> {
        &self.inputs.a_imag
    }

    /// Decay parameter, `[M]`.
    #[must_use]
    pub fn a_param(&self) -> &Array1<f64> {
        &self.inputs.a_param
    }

    /// Reset flags, `[B, L]`.
    #[must_use]
    pub fn reset(&self) -> &Array2<bool> {
        &self.inputs.reset
    }

    /// Initial state `[B, W]`, if one was given.
    #[must_use]
    pub fn h0(&self) -> Option<&Array2<f64>> {
        self.inputs.h0.as_ref()
    }

    /// Cotangent of `y`, `[B, L, W]`.
    #[must_use]
    pub fn dy(&self) -> &Array3<f64> {
        &self.inputs.dy
    }

    /// Cotangent of the final state, `[B, W]`.
    #[must_use]
    pub fn dlast(&self) -> &Array2<f64> {
        &self.inputs.dlast
    }

    /// Every input tensor by name, to read.
    #[must_use]
    pub fn tensors(&self) -> Vec<Tensor<'_>> {
        let inputs = &self.inputs;
        let mut tensors = vec![reading("x", Role::Token, &inputs.x)];
        match &inputs.gates {
            Gates::Logits { u, v } => {
                tensors.extend([reading("u", Role::Token, u), reading("v", Role::Token, v)]);
            }
            Gates::Projected { wi, bi, wr, br } => tensors.extend([
                reading("wi", Role::Parameter, wi),
                reading("bi", Role::Parameter, bi),
                reading("wr", Role::Parameter, wr),
                reading("br", Role::Parameter, br),
            ]),
        }
        tensors.push(reading("a_param", Role::Parameter, &inputs.a_param));
        tensors.push(reading("a_imag", Role::Parameter, &inputs.a_imag));
        tensors.extend(inputs.h0.iter().map(|h0| reading("h0", Role::Parameter, h0)));
        tensors.extend([
            reading("dy", Role::Token, &inputs.dy),
            reading("dlast", Role::Parameter, &inputs.dlast),
        ]);
        tensors
    }

    /// Every input tensor by name, to change its numbers; shapes stay.
    #[must_use]
    pub fn tensors_mut(&mut self) -> Vec<TensorMut<'_>> {
        let inputs = &mut self.inputs;
        let mut tensors = vec![writing("x", Role::Token, &mut inputs.x)];
        match &mut inputs.gates {
            Gates::Logits { u, v } => {
                tensors.extend([writing("u", Role::Token, u), writing("v", Role::Token, v)]);
            }
            Gates::Projected { wi, bi, wr, br } => tensors.extend([
                writing("wi", Role::Parameter, wi),
                writing("bi", Role::Parameter, bi),
                writing("wr", Role::Parameter, wr),
                writing("br", Role::Parameter, br),
            ]),
        }
        tensors.push(writing("a_param", Role::Parameter, &mut inputs.a_param));
        tensors.push(writing("a_imag", Role::Parameter, &mut inputs.a_imag));
        tensors.extend(inputs.h0.iter_mut().map(|h0| writing("h0", Role::Parameter, h0)));
        tensors.push(writing("dy", Role::Token, &mut inputs.dy));
        tensors.push(writing("dlast", Role::Parameter, &mut inputs.dlast));
        tensors
    }

    /// True if the logits are made from `x` by projections.
    #[must_use]
    pub fn is_projected(&self) -> bool {
        matches!(self.inputs.gates, Gates::Projected { .. })
    }
}

fn check(shape: Shape, inputs: &Inputs) -> Result<(), ProblemError> {
    shape.demand_some("x")?;
    shape.demand_even("x")?;
    check_gates(shape, &inputs.gates)?;
    expect("a_param", &[shape.width / 2], &inputs.a_param)?;
    expect("a_imag", &[shape.width / 2], &inputs.a_imag)?;
    expect("reset", &[shape.batch, shape.length], &inputs.reset)?;
    if let Some(h0) = &inputs.h0 {
        expect("h0", &shape.states(), h0)?;
    }
    expect("dy", &shape.tokens(), &inputs.dy)?;
    expect("dlast", &shape.states(), &inputs.dlast)
}

fn check_gates(shape: Shape, gates: &Gates) -> Result<(), ProblemError> {
    match gates {
        Gates::Logits { u, v } => {
            let expected = [shape.batch, shape.length, shape.width / 2];
            expect("u", &expected, u)?;
            expect("v", &expected, v)
        }
        Gates::Projected { wi, bi, wr, br } => {
            let (blocks, inner, outer) = wi.dim();
            if inner != 2 * outer || blocks * inner != shape.width {
                return Err(ProblemError::Blocks { width: shape.width, found: wi.shape().to_vec() });
            }
            expect("bi", &[blocks, outer], bi)?;
            expect("wr", &[blocks, inner, outer], wr)?;
            expect("br", &[blocks, outer], br)
        }
    }
}

fn row_major(inputs: Inputs) -> Inputs {
    let gates = match inputs.gates {
        Gates::Logits { u, v } => Gates::Logits { u: standard(u), v: standard(v) },
        Gates::Projected { wi, bi, wr, br } => {
            Gates::Projected { wi: standard(wi), bi: standard(bi), wr: standard(wr), br: standard(br) }
        }
    };
    Inputs {
        x: standard(inputs.x),
        gates,
        a_param: standard(inputs.a_param),
        a_imag: standard(inputs.a_imag),
        reset: standard(inputs.reset),
        h0: inputs.h0.map(standard),
        dy: standard(inputs.dy),
        dlast: standard(inputs.dlast),
    }
}
