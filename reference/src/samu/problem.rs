//! The inputs of the mixer, checked when they are put together; what is computed from them is left to [`super::solve`].

use ndarray::{Array0, Array1, Array2, Array3};

use crate::problem::{ProblemError, Role, Tensor, TensorMut, expect, reading, standard, writing};
use crate::shape::Shape;

/// Everything the mixer reads, not yet checked. All values are taken as exact. `W` is even, with `M = W / 2` modes;
/// complex states are `[B, W]`, real parts in the first half and imaginary parts in the second.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// Input `x`, `[B, L, W]`; its shape is the one all others are held against.
    pub x: Array3<f64>,
    /// Logarithm of the base decay rate, `[M]`: `nu = exp(nu_log)`.
    pub nu_log: Array1<f64>,
    /// Logarithm of the base angle in radians, `[M]`: `theta = exp(theta_log)`.
    pub theta_log: Array1<f64>,
    /// Direction of the phase control, `[W + 1]`, bias last.
    pub phase_direction: Array1<f64>,
    /// Direction of the radial control, `[W + 1]`, bias last.
    pub radial_direction: Array1<f64>,
    /// Amplitude of the phase control, a scalar.
    pub phase_amplitude: Array0<f64>,
    /// Amplitude of the radial control, a scalar.
    pub radial_amplitude: Array0<f64>,
    /// `[B, L]`: true where a token is the first of its document and discards the state.
    pub reset: Array2<bool>,
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

    /// Number of complex modes, `M = W / 2`.
    #[must_use]
    pub fn modes(&self) -> usize {
        self.shape.width / 2
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

    /// Reset flags, `[B, L]`.
    #[must_use]
    pub fn reset(&self) -> &Array2<bool> {
        &self.inputs.reset
    }

    /// Every input tensor by name, to read.
    #[must_use]
    pub fn tensors(&self) -> Vec<Tensor<'_>> {
        let inputs = &self.inputs;
        let mut tensors = vec![
            reading("x", Role::Token, &inputs.x),
            reading("nu_log", Role::Parameter, &inputs.nu_log),
            reading("theta_log", Role::Parameter, &inputs.theta_log),
            reading("phase_direction", Role::Parameter, &inputs.phase_direction),
            reading("radial_direction", Role::Parameter, &inputs.radial_direction),
            reading("phase_amplitude", Role::Parameter, &inputs.phase_amplitude),
            reading("radial_amplitude", Role::Parameter, &inputs.radial_amplitude),
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
            writing("x", Role::Token, &mut inputs.x),
            writing("nu_log", Role::Parameter, &mut inputs.nu_log),
            writing("theta_log", Role::Parameter, &mut inputs.theta_log),
            writing("phase_direction", Role::Parameter, &mut inputs.phase_direction),
            writing("radial_direction", Role::Parameter, &mut inputs.radial_direction),
            writing("phase_amplitude", Role::Parameter, &mut inputs.phase_amplitude),
            writing("radial_amplitude", Role::Parameter, &mut inputs.radial_amplitude),
            writing("dy", Role::Token, &mut inputs.dy),
            writing("dlast", Role::Parameter, &mut inputs.dlast),
        ];
        tensors.extend(inputs.h0.iter_mut().map(|h0| writing("h0", Role::Parameter, h0)));
        tensors
    }
}

fn check(shape: Shape, inputs: &Inputs) -> Result<(), ProblemError> {
    shape.demand_some("x")?;
    shape.demand_even("x")?;
    let (modes, width) = (shape.width / 2, shape.width);
    expect("nu_log", &[modes], &inputs.nu_log)?;
    expect("theta_log", &[modes], &inputs.theta_log)?;
    expect("phase_direction", &[width + 1], &inputs.phase_direction)?;
    expect("radial_direction", &[width + 1], &inputs.radial_direction)?;
    expect("reset", &[shape.batch, shape.length], &inputs.reset)?;
    if let Some(h0) = &inputs.h0 {
        expect("h0", &shape.states(), h0)?;
    }
    expect("dy", &shape.tokens(), &inputs.dy)?;
    expect("dlast", &shape.states(), &inputs.dlast)
}

fn row_major(inputs: Inputs) -> Inputs {
    Inputs {
        x: standard(inputs.x),
        nu_log: standard(inputs.nu_log),
        theta_log: standard(inputs.theta_log),
        phase_direction: standard(inputs.phase_direction),
        radial_direction: standard(inputs.radial_direction),
        reset: standard(inputs.reset),
        h0: inputs.h0.map(standard),
        dy: standard(inputs.dy),
        dlast: standard(inputs.dlast),
        ..inputs
    }
}
