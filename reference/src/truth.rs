//! The answer of the oracle: every output with its envelope, looked up by quantity; how a kernel's numbers
//! are measured against it is left to others.

use ndarray::ArrayD;

/// The outputs and gradients of the recurrences. "Gradient of P" is `d(sum(y * dy) + sum(last * dlast)) / dP`.
///
/// Shapes are those of RG-LRU; in its complex form there is one logit and one parameter for two numbers: `[B, L, M]` and
/// `[M]` with `M = W / 2`, `[H, K, K/2]` and `[H, K/2]` of the projections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// Output `y = h`, `[B, L, W]`.
    Y,
    /// Final state, `[B, W]`; the initial state if there are no tokens.
    Last,
    /// Projected input-gate logits, `[B, L, W]`; only with projections.
    U,
    /// Projected recurrence-gate logits, `[B, L, W]`; only with projections.
    V,
    /// Gradient of `x` through the write alone, the logits held fixed, `[B, L, W]`.
    Dx,
    /// Gradient of `x` through the write and both projections, `[B, L, W]`; only with projections.
    DxTotal,
    /// Gradient of the input-gate logits, `[B, L, W]`.
    Du,
    /// Gradient of the recurrence-gate logits, `[B, L, W]`.
    Dv,
    /// Gradient of the decay parameter, `[W]`, summed over batch and length.
    DaParam,
    /// Gradient of the initial state, `[B, W]`; also if it was absent (then: of the zeros in its place).
    Dh0,
    /// Gradient of the input-gate weights, `[H, K, K]`; only with projections.
    Dwi,
    /// Gradient of the input-gate bias, `[H, K]`; only with projections.
    Dbi,
    /// Gradient of the recurrence-gate weights, `[H, K, K]`; only with projections.
    Dwr,
    /// Gradient of the recurrence-gate bias, `[H, K]`; only with projections.
    Dbr,
    /// State before the output function, `[B, L, W]`; SAMU only, where `y` is its positive part.
    H,
    /// Radial control, `[B, L]`; SAMU only.
    Eta,
    /// Phase control in radians, `[B, L]`; SAMU only.
    Delta,
    /// Gradient of the radial control, `[B, L]`; SAMU only.
    Deta,
    /// Gradient of the phase control, `[B, L]`; SAMU only.
    Ddelta,
    /// Gradient of the logarithm of the decay rate, `[M]`; SAMU only.
    DnuLog,
    /// Gradient of the logarithm of the angle, `[M]`; SAMU only.
    DthetaLog,
    /// Gradient of the direction of the phase control, `[W + 1]`; SAMU only.
    DphaseDirection,
    /// Gradient of the direction of the radial control, `[W + 1]`; SAMU only.
    DradialDirection,
    /// Gradient of the amplitude of the phase control, a scalar; SAMU only.
    DphaseAmplitude,
    /// Gradient of the amplitude of the radial control, a scalar; SAMU only.
    DradialAmplitude,
    /// Gradient of the phase parameter, `[M]`, summed over batch and length; complex RG-LRU only.
    DaImag,
    /// Gradient of the decays of a scan, `[B, L, W]`.
    Da,
    /// Gradient of the writes of a scan, `[B, L, W]`.
    Dw,
}

impl Quantity {
    /// Every quantity, in the order in which [`Truth::iter`] yields them.
    pub const ALL: [Self; 28] = [
        Self::Y,
        Self::Last,
        Self::U,
        Self::V,
        Self::Dx,
        Self::DxTotal,
        Self::Du,
        Self::Dv,
        Self::DaParam,
        Self::Dh0,
        Self::Dwi,
        Self::Dbi,
        Self::Dwr,
        Self::Dbr,
        Self::H,
        Self::Eta,
        Self::Delta,
        Self::Deta,
        Self::Ddelta,
        Self::DnuLog,
        Self::DthetaLog,
        Self::DphaseDirection,
        Self::DradialDirection,
        Self::DphaseAmplitude,
        Self::DradialAmplitude,
        Self::DaImag,
        Self::Da,
        Self::Dw,
    ];

    /// The symbol of the mathematics, as used in reports and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Y => "y",
            Self::Last => "last",
            Self::U => "u",
            Self::V => "v",
            Self::Dx => "dx",
            Self::DxTotal => "dx_total",
            Self::Du => "du",
            Self::Dv => "dv",
            Self::DaParam => "da_param",
            Self::Dh0 => "dh0",
            Self::Dwi => "dWi",
            Self::Dbi => "dbi",
            Self::Dwr => "dWr",
            Self::Dbr => "dbr",
            Self::H => "h",
            Self::Eta => "eta",
            Self::Delta => "delta",
            Self::Deta => "deta",
            Self::Ddelta => "ddelta",
            Self::DnuLog => "dnu_log",
            Self::DthetaLog => "dtheta_log",
            Self::DphaseDirection => "dphase_direction",
            Self::DradialDirection => "dradial_direction",
            Self::DphaseAmplitude => "dphase_amplitude",
            Self::DradialAmplitude => "dradial_amplitude",
            Self::DaImag => "da_imag",
            Self::Da => "da",
            Self::Dw => "dw",
        }
    }

    /// True for sums over batch and length: the gradients of parameters.
    #[must_use]
    pub fn is_reduced(self) -> bool {
        use Quantity::{
            DaImag, DaParam, Dbi, Dbr, DnuLog, DphaseAmplitude, DphaseDirection, DradialAmplitude,
            DradialDirection, DthetaLog, Dwi, Dwr,
        };
        matches!(
            self,
            DaParam
                | DaImag
                | Dwi
                | Dbi
                | Dwr
                | Dbr
                | DnuLog
                | DthetaLog
                | DphaseDirection
                | DradialDirection
                | DphaseAmplitude
                | DradialAmplitude
        )
    }
}

/// What an envelope promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Holds for every rounding within the plan.
    Rigorous,
    /// A long chain of additions is bounded by `6 sqrt(n) u` instead of `n u` (Higham and Mary, SIAM J. Sci.
    /// Comput. 41(5), 2019): holds with overwhelming probability if roundings are independent with mean 0.
    Probabilistic,
}

/// One tensor of the truth: values and, element by element, the largest honest error.
///
/// Where a value is not finite the envelope means nothing: the class (NaN, `+inf`, `-inf`) is what must
/// match. Where a value is finite and its envelope is infinite, an intermediate result may overflow in the
/// plan's arithmetic, so nothing that a kernel stores there can be held against it; count such elements.
#[derive(Clone, Debug)]
pub struct Bounded {
    /// The true value, to about the accuracy of f64.
    pub value: ArrayD<f64>,
    /// The envelope, same shape, never negative, never NaN.
    pub envelope: ArrayD<f64>,
    /// What the envelope promises.
    pub bound: Bound,
}

/// Every output and gradient of a problem, as [`crate::solve`] returns them.
#[derive(Clone, Debug)]
pub struct Truth {
    entries: Vec<(Quantity, Bounded)>,
    undecided: usize,
}

impl Truth {
    pub(crate) fn new(mut entries: Vec<(Quantity, Bounded)>) -> Self {
        entries.sort_by_key(|(quantity, _)| *quantity);
        Self { entries, undecided: 0 }
    }

    pub(crate) fn with_undecided(self, undecided: usize) -> Self {
        Self { undecided, ..self }
    }

    /// Elements of `h` so near the kink of the ReLU that an honest kernel may see either side: there the cotangent is
    /// known only up to itself, and the envelopes of the gradients say so. 0 without a ReLU.
    #[must_use]
    pub fn undecided(&self) -> usize {
        self.undecided
    }

    /// The tensor of one quantity, if the problem has it.
    #[must_use]
    pub fn get(&self, quantity: Quantity) -> Option<&Bounded> {
        self.entries.iter().find(|(q, _)| *q == quantity).map(|(_, bounded)| bounded)
    }

    /// All tensors, in the order of [`Quantity::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Quantity, &Bounded)> {
        self.entries.iter().map(|(quantity, bounded)| (*quantity, bounded))
    }
}

impl Truth {
    /// The values alone.
    #[must_use]
    pub fn into_values(self) -> Tensors {
        Tensors::new(self.entries.into_iter().map(|(quantity, bounded)| (quantity, bounded.value)).collect())
    }
}

/// Values by quantity, without envelopes: what a witness saw, or a simulated kernel wrote.
#[derive(Clone, Debug)]
pub struct Tensors {
    entries: Vec<(Quantity, ArrayD<f64>)>,
}

impl Tensors {
    pub(crate) fn new(mut entries: Vec<(Quantity, ArrayD<f64>)>) -> Self {
        entries.sort_by_key(|(quantity, _)| *quantity);
        Self { entries }
    }

    /// One tensor, in the shape that [`Quantity`] states; present as in [`Truth`].
    #[must_use]
    pub fn get(&self, quantity: Quantity) -> Option<&ArrayD<f64>> {
        self.entries.iter().find(|(q, _)| *q == quantity).map(|(_, values)| values)
    }

    /// All tensors, in the order of [`Quantity::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Quantity, &ArrayD<f64>)> {
        self.entries.iter().map(|(quantity, values)| (*quantity, values))
    }
}
