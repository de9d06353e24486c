//! The forward pass, written once over any number type: the oracle runs it in f64, tests with derivatives or in higher
//! precision; error bounds and gradients are left to [`super::envelope`] and [`super::backward`].

use super::problem::Problem;
use crate::number::Number;
use crate::pair::Pair;
use crate::shape::Shape;

/// What is added to the norm `sqrt(1 - exp(-2 nu))`.
pub(crate) const GAMMA_FLOOR: f64 = 1e-8;
/// The least norm by which a direction is divided.
pub(crate) const NORM_FLOOR: f64 = 1e-12;

/// Names one input tensor in which a derivative can be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// `x`, `[B, L, W]`.
    X,
    /// `nu_log`, `[M]`.
    NuLog,
    /// `theta_log`, `[M]`.
    ThetaLog,
    /// Direction of the phase control, `[W + 1]`.
    PhaseDirection,
    /// Direction of the radial control, `[W + 1]`.
    RadialDirection,
    /// Amplitude of the phase control, one number.
    PhaseAmplitude,
    /// Amplitude of the radial control, one number.
    RadialAmplitude,
    /// Initial state, `[B, W]`; zeros if it is absent.
    H0,
}

impl Input {
    /// Every input.
    pub const ALL: [Self; 8] = [
        Self::X,
        Self::NuLog,
        Self::ThetaLog,
        Self::PhaseDirection,
        Self::RadialDirection,
        Self::PhaseAmplitude,
        Self::RadialAmplitude,
        Self::H0,
    ];
}

impl Problem {
    /// One number of an input, by its row-major index; 0 for an initial state that is absent.
    ///
    /// # Panics
    ///
    /// If the index is beyond the end.
    #[must_use]
    pub fn number(&self, input: Input, index: usize) -> f64 {
        let inputs = self.inputs();
        let slice = match input {
            Input::X => inputs.x.as_slice(),
            Input::NuLog => inputs.nu_log.as_slice(),
            Input::ThetaLog => inputs.theta_log.as_slice(),
            Input::PhaseDirection => inputs.phase_direction.as_slice(),
            Input::RadialDirection => inputs.radial_direction.as_slice(),
            Input::PhaseAmplitude => inputs.phase_amplitude.as_slice(),
            Input::RadialAmplitude => inputs.radial_amplitude.as_slice(),
            Input::H0 => match &inputs.h0 {
                Some(h0) => h0.as_slice(),
                None => return 0.0,
            },
        };
        slice.map_or(0.0, |numbers| numbers[index])
    }
}

/// One complex mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode<N> {
    /// `nu = exp(nu_log)`.
    pub(crate) nu: N,
    /// `theta = exp(theta_log)`.
    pub(crate) theta: N,
    /// `gamma = sqrt(1 - exp(-2 nu))` and a floor.
    pub(crate) gamma: N,
}

impl<N: Number> Mode<N> {
    pub(crate) fn new(nu_log: N, theta_log: N) -> Self {
        let (nu, theta) = (nu_log.exp(), theta_log.exp());
        let root = (-(-(nu + nu)).exp_m1()).sqrt();
        Self { nu, theta, gamma: root + N::from_f64(GAMMA_FLOOR) }
    }

    /// `a_t = exp(-nu exp(eta)) exp(i (theta + delta))`.
    #[inline(always)]
    pub(crate) fn decay(&self, control: &Control<N>) -> Decay<N> {
        let radius = (-(self.nu * control.swell)).exp();
        let phase = self.theta + control.delta;
        Decay { radius, phase, a: Pair::polar(radius, phase) }
    }

    /// `w_t = gamma x_t`.
    #[inline(always)]
    pub(crate) fn write(&self, x: Pair<N>) -> Pair<N> {
        x.scaled(self.gamma)
    }
}

/// The decay of one token in one mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decay<N> {
    /// `exp(-nu exp(eta))`.
    pub(crate) radius: N,
    /// `theta + delta`.
    pub(crate) phase: N,
    pub(crate) a: Pair<N>,
}

/// A direction scaled to length 1. Where its norm is below [`NORM_FLOOR`] it is divided by the floor, a constant: then
/// its derivative has no projection.
#[derive(Clone, Debug)]
pub(crate) struct Direction<N> {
    /// `d^`, `[W + 1]`, bias last.
    pub(crate) unit: Vec<N>,
    /// The norm itself, without the floor.
    pub(crate) norm: N,
}

impl<N: Number> Direction<N> {
    pub(crate) fn new(direction: &[N]) -> Self {
        let square = direction.iter().fold(N::zero(), |sum, &d| sum + d * d);
        let norm = square.sqrt();
        let floor = N::from_f64(NORM_FLOOR);
        // A NaN is no less than the floor, and stays.
        let divisor = N::pick(norm.less(floor), floor, norm);
        Self { unit: direction.iter().map(|&d| d / divisor).collect(), norm }
    }

    /// `x . d^[:W] + d^[W]`.
    pub(crate) fn project(&self, x: &[N]) -> N {
        let width = x.len();
        let dot = x.iter().zip(&self.unit).fold(N::zero(), |sum, (&x, &d)| sum + x * d);
        dot + self.unit[width]
    }
}

/// What the two controls say at one token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Control<N> {
    /// The two projections.
    pub(crate) p_phase: N,
    pub(crate) p_radial: N,
    pub(crate) delta: N,
    pub(crate) eta: N,
    /// `exp(eta)`.
    pub(crate) swell: N,
}

/// Everything that is shared by all tokens, as far as the controls need it.
#[derive(Clone, Debug)]
pub(crate) struct Controller<N> {
    pub(crate) phase: Direction<N>,
    pub(crate) radial: Direction<N>,
    /// `tanh(phase_amplitude)`.
    pub(crate) phase_gain: N,
    /// `tanh(radial_amplitude)`.
    pub(crate) radial_gain: N,
    /// `sqrt(M)`.
    root_modes: N,
}

impl<N: Number> Controller<N> {
    pub(crate) fn new(problem: &Problem, lift: &impl Fn(Input, usize) -> N) -> Self {
        let direction = |input| {
            let numbers: Vec<N> = (0..=problem.shape().width).map(|i| lift(input, i)).collect();
            Direction::new(&numbers)
        };
        Self {
            phase: direction(Input::PhaseDirection),
            radial: direction(Input::RadialDirection),
            phase_gain: lift(Input::PhaseAmplitude, 0).tanh(),
            radial_gain: lift(Input::RadialAmplitude, 0).tanh(),
            root_modes: N::from_f64(problem.modes() as f64).sqrt(),
        }
    }

    /// The controls of a token, from all its channels.
    pub(crate) fn control(&self, x: &[N]) -> Control<N> {
        let (p_phase, p_radial) = (self.phase.project(x), self.radial.project(x));
        let (s_phase, q) = (p_phase.tanh(), p_radial.tanh());
        let s_radial = q / (N::one() + q * q);
        let delta = self.phase_gain * s_phase / self.root_modes;
        let eta = self.radial_gain * s_radial / self.root_modes;
        Control { p_phase, p_radial, delta, eta, swell: eta.exp() }
    }
}

/// `h_t = A_t h_{t-1} + w_t`; without a decay the state is discarded, whatever it is.
#[inline(always)]
pub(crate) fn step<N: Number>(before: Pair<N>, decay: Option<Pair<N>>, write: Pair<N>) -> Pair<N> {
    decay.map_or(write, |a| a * before + write)
}

/// `max(h, 0)`, with derivative 0 at 0; a NaN stays one.
#[inline(always)]
pub(crate) fn relu<N: Number>(h: N) -> N {
    // The least positive number: zero is below it too, with whatever derivative it carries, and NaN is not.
    N::pick(h.less(N::from_f64(f64::from_bits(1))), N::zero(), h)
}

/// What the forward pass gives, row-major.
#[derive(Clone, Debug)]
pub struct Outputs<N> {
    /// Output, `[B, L, W]`.
    pub y: Vec<N>,
    /// Final state, `[B, W]`, real parts in the first half and imaginary parts in the second.
    pub last: Vec<N>,
    /// States before the output function, `[B, L, W]`, in the same layout.
    pub h: Vec<N>,
    /// Radial control, `[B, L]`.
    pub eta: Vec<N>,
    /// Phase control in radians, `[B, L]`.
    pub delta: Vec<N>,
}

/// Runs the mixer over any number type. `lift` gives the number of an input tensor at a row-major index, usually that of
/// [`Problem::number`], with a derivative where one is wanted; an absent `h0` is asked for like any other.
///
/// ```
/// # use ndarray::{arr0, Array1, Array2, Array3};
/// # use plumbline_reference::samu::{Inputs, Problem, forward};
/// # let (states, direction) = (Array2::<f64>::zeros((1, 2)), Array1::<f64>::ones(3));
/// # let problem = Problem::new(Inputs {
/// #     x: Array3::ones((1, 4, 2)), nu_log: Array1::zeros(1), theta_log: Array1::zeros(1),
/// #     phase_direction: direction.clone(), radial_direction: direction, phase_amplitude: arr0(1.0),
/// #     radial_amplitude: arr0(1.0), reset: Array2::from_elem((1, 4), false), h0: None,
/// #     dy: Array3::ones((1, 4, 2)), dlast: states,
/// # }).expect("shapes agree");
/// let outputs = forward(&problem, |input, index| problem.number(input, index));
/// assert_eq!(outputs.last, outputs.h[6..]);
/// ```
pub fn forward<N: Number>(problem: &Problem, lift: impl Fn(Input, usize) -> N) -> Outputs<N> {
    let Shape { batch, length, width } = problem.shape();
    let half = problem.modes();
    let modes: Vec<_> =
        (0..half).map(|m| Mode::new(lift(Input::NuLog, m), lift(Input::ThetaLog, m))).collect();
    let controller = Controller::new(problem, &lift);
    let merged =
        |input, base: usize, m: usize| Pair { re: lift(input, base + m), im: lift(input, base + half + m) };
    let mut out = Outputs { y: vec![], last: vec![], h: vec![], eta: vec![], delta: vec![] };
    for b in 0..batch {
        let mut states: Vec<_> = (0..half).map(|m| merged(Input::H0, b * width, m)).collect();
        for t in 0..length {
            let base = (b * length + t) * width;
            let x: Vec<N> = (0..width).map(|w| lift(Input::X, base + w)).collect();
            let control = controller.control(&x);
            for (m, (mode, state)) in modes.iter().zip(&mut states).enumerate() {
                let decay = (!problem.reset()[[b, t]]).then(|| mode.decay(&control).a);
                *state = step(*state, decay, mode.write(Pair { re: x[m], im: x[half + m] }));
            }
            push(&mut out.h, &states);
            out.eta.push(control.eta);
            out.delta.push(control.delta);
        }
        push(&mut out.last, &states);
    }
    out.y = out.h.iter().map(|&h| relu(h)).collect();
    out
}

/// Appends all real parts, then all imaginary ones.
fn push<N: Number>(to: &mut Vec<N>, states: &[Pair<N>]) {
    to.extend(states.iter().map(|state| state.re));
    to.extend(states.iter().map(|state| state.im));
}
