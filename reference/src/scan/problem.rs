//! Given decays and writes, checked when they are put together; what is computed from them is left to [`super::solve`].

use ndarray::{Array2, Array3};

use crate::problem::{ProblemError, Role, Tensor, TensorMut, expect, reading, standard, writing};
use crate::shape::Shape;

/// Whether the numbers of a scan are real or complex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// One real number a channel.
    Real,
    /// `W` is even: `W / 2` complex numbers, real parts in the first half and imaginary parts in the second.
    Complex,
}

/// Everything a scan reads, not yet checked. All values are taken as exact.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// Real or complex.
    pub field: Field,
    /// Decays `A`, `[B, L, W]`; 0 discards the state.
    pub a: Array3<f64>,
    /// Writes `w`, `[B, L, W]`; its shape is the one all others are held against.
    pub w: Array3<f64>,
    /// Initial state `[B, W]`; absent is the same as zeros.
    pub h0: Option<Array2<f64>>,
    /// Cotangent of `y`, `[B, L, W]`.
    pub dy: Array3<f64>,
    /// Cotangent of the final state, `[B, W]`.
    pub dlast: Array2<f64>,
}

/// Inputs whose shapes agree and whose arrays are row-major: solving one cannot fail.
#[derive(Clone, Debug)]
pub struct Problem {
    shape: Shape,
    inputs: Inputs,
}

impl Problem {
    /// Checks every shape against that of `w`.
    ///
    /// # Errors
    ///
    /// The first tensor that does not fit, by name, with the expected and the found shape.
    pub fn new(inputs: Inputs) -> Result<Self, ProblemError> {
        let (batch, length, width) = inputs.w.dim();
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

    /// Every input tensor by name, to read.
    #[must_use]
    pub fn tensors(&self) -> Vec<Tensor<'_>> {
        let inputs = &self.inputs;
        let mut tensors = vec![
            reading("a", Role::Token, &inputs.a),
            reading("w", Role::Token, &inputs.w),
            reading("dy", Role::Token, &inputs.dy),
            reading("dlast", Role::Parameter, &inputs.dlast),
        ];
        tensors.extend(inputs.h0.iter().map(|h0| reading("h0", Role::Parameter, h0)));
        tensors
    }

    /// Every input tensor by name, to change its numbers; shapes stay.
    #[must_use]
    pub fn tensors_mut(&mut self) -> Vec<TensorMut<'_>> {
        let inputs = &mut self.inputs;
        let mut tensors = vec![
            writing("a", Role::Token, &mut inputs.a),
            writing("w", Role::Token, &mut inputs.w),
            writing("dy", Role::Token, &mut inputs.dy),
            writing("dlast", Role::Parameter, &mut inputs.dlast),
        ];
        tensors.extend(inputs.h0.iter_mut().map(|h0| writing("h0", Role::Parameter, h0)));
        tensors
    }
}

fn check(shape: Shape, inputs: &Inputs) -> Result<(), ProblemError> {
    shape.demand_some("w")?;
    if inputs.field == Field::Complex {
        shape.demand_even("w")?;
    }
    expect("a", &shape.tokens(), &inputs.a)?;
    if let Some(h0) = &inputs.h0 {
        expect("h0", &shape.states(), h0)?;
    }
    expect("dy", &shape.tokens(), &inputs.dy)?;
    expect("dlast", &shape.states(), &inputs.dlast)
}

fn row_major(inputs: Inputs) -> Inputs {
    Inputs {
        field: inputs.field,
        a: standard(inputs.a),
        w: standard(inputs.w),
        h0: inputs.h0.map(standard),
        dy: standard(inputs.dy),
        dlast: standard(inputs.dlast),
    }
}
