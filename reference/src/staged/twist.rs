//! The catalogue of deliberate faults, each one mistake that a kernel author could make; where a fault is
//! built in is left to the simulation.

/// One deliberate fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Twist {
    /// A reset token is normalized like any other: `n = m` instead of 1.
    NormKeptOnReset,
    /// No token is a reset.
    ResetIgnored,
    /// The token after a reset is taken for it.
    ResetOffByOne,
    /// A reset changes the write, but the state still comes through.
    ResetWriteOnly,
    /// A reset multiplies the state by zero instead of discarding it: NaN and infinity cross.
    ResetByMultiplication,
    /// The forward pass starts from zeros.
    H0Ignored,
    /// The initial state has a gradient although the first token discards it.
    Dh0NotZeroedByReset,
    /// The cotangent of the final state is not added.
    DlastDropped,
    /// The derivative of the square root is not clipped.
    SqrtClipMissing,
    /// It is clipped at 10000 instead of 1000.
    SqrtClipWrong,
    /// `c` is 7.99 instead of 8.
    CEightWrong,
    /// `exp` in place of softplus.
    SoftplusIsExp,
    /// The derivative of the input gate's sigmoid is left out.
    SigmoidPrimeMissing,
    /// The gradient of the decay parameter has only the first sequence in it.
    DaParamOneBatch,
    /// The state is rounded to bf16 at every step.
    CarryBf16EveryStep,
    /// The adjoint decays by `A_t` where it should by `A_{t+1}`.
    ReverseUsesOwnDecay,
    /// The final state is the one before.
    LastIsPenultimate,
    /// `z` is `1 - exp(2 l)` in f32, whatever the plan says.
    DecayNormCancellation,
    /// The adjoint decays by `A` where it should by its conjugate.
    ConjugateMissing,
    /// `da = lambda h_{t-1}` in place of `lambda conj(h_{t-1})`.
    DaConjugateMissing,
    /// `da` is made from `h_t` in place of `h_{t-1}`.
    DaFromOwnState,
    /// The gradient of the initial state is `lambda_0`, without the decay of the first token.
    Dh0NotDecayed,
    /// Real and imaginary parts are taken to alternate; they stand in two halves.
    HalvesInterleaved,
    /// Every chunk but the first starts from zeros.
    ChunkBorderForgotten,
    /// The phase is `a_imag`, not `a_imag r`.
    PhaseNotGated,
    /// The norm is `sqrt(|1 - a^2|)` of the complex decay, not of its modulus.
    NormFromComplexSquare,
    /// The norm is `sqrt(1 - (Re a)^2)`.
    NormFromRealPart,
    /// The gradient of the recurrence logits goes through the modulus alone.
    PhasePathMissing,
    /// The gradient of the phase has the wrong sign.
    PhaseGradientNegated,
    /// The gradient of the phase parameter is a sum of `dphi`, not of `r dphi`.
    DaImagNotGated,
    /// An inner product of complex numbers has the real parts only.
    ImaginaryHalfDropped,
    /// Two steps are composed in the wrong order: `(A1, w1) o (A2, w2)` for `(A2, w2) o (A1, w1)`.
    CompositionSwapped,
    /// The real part of a complex product is `re re + im im`.
    CrossTermAdded,
    /// `k = lambda a h_{t-1}` in place of `conj(lambda) a h_{t-1}`.
    LogDecayConjugateMissing,
    /// The cotangent passes the ReLU everywhere.
    ReluMaskMissing,
    /// Real parts are masked by imaginary ones, and the other way round.
    ReluMaskOfOtherHalf,
    /// The final state is taken after the ReLU.
    LastAfterRelu,
    /// The write is normalized with the token's own decay rate instead of the base rate.
    GammaOfToken,
    /// The gradient of the decay rate leaves out the norm of the write.
    GammaGradientDropped,
    /// A reset token writes `x` itself.
    WriteRawOnReset,
    /// The directions are used as they are.
    DirectionNotNormalized,
    /// The gradient of a direction keeps its component along the direction.
    DirectionNotProjected,
    /// The last element of a direction, its bias, is left out.
    DirectionBiasIgnored,
    /// The angle is `theta` alone.
    DeltaIgnored,
    /// The decay rate is `nu` alone.
    EtaIgnored,
    /// The controls are not divided by `sqrt(M)`.
    ControlNotScaled,
    /// The gradients of the controls are summed over the first half of the modes only.
    ControlOfOneBlock,
    /// The gradient of `x` leaves out the controls.
    ControlDxDropped,
    /// The derivative of the phase control's `tanh` is left out.
    TanhPrimeMissing,
    /// The derivative of `q / (1 + q^2)` is left out.
    FoldPrimeMissing,
    /// The gradients of the directions have only the first sequence in them.
    DirectionOneBatch,
}

impl Twist {
    /// The faults of SAMU.
    pub const SAMU: [Self; 33] = [
        Self::ConjugateMissing,
        Self::LogDecayConjugateMissing,
        Self::CrossTermAdded,
        Self::HalvesInterleaved,
        Self::ReluMaskMissing,
        Self::ReluMaskOfOtherHalf,
        Self::LastAfterRelu,
        Self::LastIsPenultimate,
        Self::GammaOfToken,
        Self::GammaGradientDropped,
        Self::WriteRawOnReset,
        Self::DecayNormCancellation,
        Self::DirectionNotNormalized,
        Self::DirectionNotProjected,
        Self::DirectionBiasIgnored,
        Self::DeltaIgnored,
        Self::EtaIgnored,
        Self::ControlNotScaled,
        Self::ControlOfOneBlock,
        Self::ControlDxDropped,
        Self::TanhPrimeMissing,
        Self::FoldPrimeMissing,
        Self::DirectionOneBatch,
        Self::ResetIgnored,
        Self::ResetOffByOne,
        Self::ResetByMultiplication,
        Self::H0Ignored,
        Self::Dh0NotZeroedByReset,
        Self::DlastDropped,
        Self::CarryBf16EveryStep,
        Self::ReverseUsesOwnDecay,
        Self::ChunkBorderForgotten,
        Self::CompositionSwapped,
    ];
    /// The faults of RG-LRU.
    pub const RGLRU: [Self; 18] = [
        Self::NormKeptOnReset,
        Self::ResetIgnored,
        Self::ResetOffByOne,
        Self::ResetWriteOnly,
        Self::ResetByMultiplication,
        Self::H0Ignored,
        Self::Dh0NotZeroedByReset,
        Self::DlastDropped,
        Self::SqrtClipMissing,
        Self::SqrtClipWrong,
        Self::CEightWrong,
        Self::SoftplusIsExp,
        Self::SigmoidPrimeMissing,
        Self::DaParamOneBatch,
        Self::CarryBf16EveryStep,
        Self::ReverseUsesOwnDecay,
        Self::LastIsPenultimate,
        Self::DecayNormCancellation,
    ];

    /// The faults of the linear scan, some of them of complex numbers only.
    pub const SCAN: [Self; 14] = [
        Self::ConjugateMissing,
        Self::DaConjugateMissing,
        Self::CrossTermAdded,
        Self::HalvesInterleaved,
        Self::CompositionSwapped,
        Self::ChunkBorderForgotten,
        Self::ReverseUsesOwnDecay,
        Self::DaFromOwnState,
        Self::H0Ignored,
        Self::Dh0NotDecayed,
        Self::DlastDropped,
        Self::LastIsPenultimate,
        Self::CarryBf16EveryStep,
        Self::ResetByMultiplication,
    ];

    /// The faults of the complex form of RG-LRU.
    pub const RGLRU_COMPLEX: [Self; 28] = [
        Self::ConjugateMissing,
        Self::DaConjugateMissing,
        Self::CrossTermAdded,
        Self::HalvesInterleaved,
        Self::PhaseNotGated,
        Self::NormFromComplexSquare,
        Self::NormFromRealPart,
        Self::PhasePathMissing,
        Self::PhaseGradientNegated,
        Self::DaImagNotGated,
        Self::ImaginaryHalfDropped,
        Self::NormKeptOnReset,
        Self::ResetIgnored,
        Self::ResetOffByOne,
        Self::ResetWriteOnly,
        Self::ResetByMultiplication,
        Self::H0Ignored,
        Self::Dh0NotZeroedByReset,
        Self::DlastDropped,
        Self::SqrtClipMissing,
        Self::SqrtClipWrong,
        Self::CEightWrong,
        Self::SoftplusIsExp,
        Self::SigmoidPrimeMissing,
        Self::DaParamOneBatch,
        Self::CarryBf16EveryStep,
        Self::ReverseUsesOwnDecay,
        Self::LastIsPenultimate,
    ];
}
