//! The inputs of the recurrence, checked when they are put together; what is computed from them is left to
//! [`crate::rglru`].

use std::fmt;

use ndarray::{Array, Array1, Array2, Array3, Dimension};

use crate::shape::Shape;

/// Everything the recurrence reads, not yet checked. All values are taken as exact.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// Input `x`, `[B, L, W]`; its shape is the one all others are held against.
    pub x: Array3<f64>,
    /// The gate logits, or the projections that make them from `x`.
    pub gates: Gates,
    /// Decay parameter `[W]`: the log-decay is `-8 softplus(a_param) sigmoid(v)`.
    pub a_param: Array1<f64>,
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
        /// Input-gate logits `u`, `[B, L, W]`.
        u: Array3<f64>,
        /// Recurrence-gate logits `v`, `[B, L, W]`.
        v: Array3<f64>,
    },
    /// The logits are block-diagonal projections of `x`: `u[h,:] = x[h,:] Wi[h] + bi[h]`, `v` likewise,
    /// with `H` blocks of `K = W / H` channels.
    Projected {
        /// Input-gate weights `[H, K, K]`, contracted over the first `K`.
        wi: Array3<f64>,
        /// Input-gate bias `[H, K]`.
        bi: Array2<f64>,
        /// Recurrence-gate weights `[H, K, K]`, contracted over the first `K`.
        wr: Array3<f64>,
        /// Recurrence-gate bias `[H, K]`.
        br: Array2<f64>,
    },
}

/// Why inputs do not make a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemError {
    /// A tensor's shape does not agree with that of `x`.
    Mismatch {
        /// Name of the tensor.
        tensor: &'static str,
        /// The shape that `x` (or, for a projection, `wi`) asks for.
        expected: Vec<usize>,
        /// The shape that was given.
        found: Vec<usize>,
    },
    /// There is no sequence or no channel: a batch or width of 0. (A length of 0 is legal.)
    Empty {
        /// The shape of `x`.
        found: Vec<usize>,
    },
    /// The blocks of the gate projections do not tile the width.
    Blocks {
        /// The width `W`, which `H * K` must equal.
        width: usize,
        /// The shape of `wi`.
        found: Vec<usize>,
    },
}

impl fmt::Display for ProblemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mismatch { tensor, expected, found } => write!(
                f,
                "tensor `{tensor}`: expected shape {expected:?}, found {found:?}; give it the shape that the others imply"
            ),
            Self::Empty { found } => write!(
                f,
                "tensor `x`: expected at least one sequence and one channel, found shape {found:?}; only the length may be 0"
            ),
            Self::Blocks { width, found } => write!(
                f,
                "tensor `wi`: expected [H, K, K] with H * K = {width}, found {found:?}; choose a block count that divides the width"
            ),
        }
    }
}

impl std::error::Error for ProblemError {}

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

    /// Decay parameter, `[W]`.
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

    /// True if the logits are made from `x` by projections.
    #[must_use]
    pub fn is_projected(&self) -> bool {
        matches!(self.inputs.gates, Gates::Projected { .. })
    }
}

fn check(shape: Shape, inputs: &Inputs) -> Result<(), ProblemError> {
    if shape.batch == 0 || shape.width == 0 {
        return Err(ProblemError::Empty { found: shape.tokens().to_vec() });
    }
    check_gates(shape, &inputs.gates)?;
    expect("a_param", &[shape.width], &inputs.a_param)?;
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
            expect("u", &shape.tokens(), u)?;
            expect("v", &shape.tokens(), v)
        }
        Gates::Projected { wi, bi, wr, br } => {
            let (blocks, inner, outer) = wi.dim();
            if inner != outer || blocks * inner != shape.width {
                return Err(ProblemError::Blocks { width: shape.width, found: wi.shape().to_vec() });
            }
            expect("bi", &[blocks, inner], bi)?;
            expect("wr", &[blocks, inner, inner], wr)?;
            expect("br", &[blocks, inner], br)
        }
    }
}

fn expect<T, D: Dimension>(
    tensor: &'static str,
    expected: &[usize],
    found: &Array<T, D>,
) -> Result<(), ProblemError> {
    if found.shape() == expected {
        return Ok(());
    }
    Err(ProblemError::Mismatch { tensor, expected: expected.to_vec(), found: found.shape().to_vec() })
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
        reset: standard(inputs.reset),
        h0: inputs.h0.map(standard),
        dy: standard(inputs.dy),
        dlast: standard(inputs.dlast),
    }
}

fn standard<T: Clone, D: Dimension>(array: Array<T, D>) -> Array<T, D> {
    if array.is_standard_layout() { array } else { array.as_standard_layout().into_owned() }
}
