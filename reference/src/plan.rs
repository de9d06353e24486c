//! What a kernel declares that it rounds, stage by stage; what follows from it is left to the envelope and to
//! the staged simulation.

/// Unit roundoff of f32, `2^-24`.
pub const U32: f64 = 1.0 / 16_777_216.0;
/// Unit roundoff of bf16, `2^-8`: eight significant bits, rounded to nearest.
pub const UB: f64 = 1.0 / 256.0;
/// Unit roundoff of f16, `2^-11`.
pub const UH: f64 = 1.0 / 2048.0;

/// One rounding: relative to the result, plus an absolute unit where the result underflows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    /// Unit roundoff, relative.
    pub unit: f64,
    /// Absolute error that underflow can leave. For f32 and bf16 the smallest normal number, so that both
    /// flushing and gradual underflow are inside; for f16 half the subnormal spacing.
    pub underflow: f64,
    /// The largest finite number; beyond it an intermediate result may be infinite.
    pub overflow: f64,
}

impl Rounding {
    /// No rounding at all.
    pub const EXACT: Self = Self { unit: 0.0, underflow: 0.0, overflow: f64::INFINITY };
    /// IEEE single precision, with or without flushing of subnormals.
    pub const F32: Self = Self { unit: U32, underflow: f32::MIN_POSITIVE as f64, overflow: f32::MAX as f64 };
    /// Single precision sums of a matrix unit, which truncates instead of rounding.
    pub const F32_TRUNCATED: Self = Self { unit: 2.0 * U32, ..Self::F32 };
    /// Brain float, eight significant bits and the range of f32.
    pub const BF16: Self =
        Self { unit: UB, underflow: f32::MIN_POSITIVE as f64, overflow: 3.389_531_389_251_535_5e38 };
    /// IEEE half precision.
    pub const F16: Self = Self { unit: UH, underflow: 1.0 / 33_554_432.0, overflow: 65504.0 };
    /// IEEE double precision: the plan of the oracle itself.
    pub const F64: Self = Self { unit: f64::EPSILON / 2.0, underflow: f64::MIN_POSITIVE, overflow: f64::MAX };
}

/// How `z = 1 - exp(2 l)` is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormForm {
    /// `-expm1(2 l)`: accurate for decays near 1.
    Expm1,
    /// `1 - exp(2 l)`: cancels for decays near 1, and the envelope says what that costs.
    Naive,
}

/// How `1 - g` in the derivative of a sigmoid is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complement {
    /// `1 - g`: an absolute error in the units of `g`, so the derivative of a saturated gate is noise.
    OneMinus,
    /// `sigmoid(-u)`: relatively accurate everywhere.
    Sigmoid,
}

/// The longest chain of additions through which a term of a sum may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chain {
    /// One addition per term: the weakest promise, and right for every order.
    Terms,
    /// Partial sums of this many tokens, then over the partial sums, then over the batch.
    Blocked(usize),
    /// A balanced tree.
    Tree,
}

impl Chain {
    /// The number of additions for `batch * length` terms, at least 1.
    #[must_use]
    pub fn additions(self, batch: usize, length: usize) -> usize {
        let terms = batch * length;
        let chain = match self {
            Self::Terms => terms,
            Self::Blocked(block) => {
                let block = block.max(1);
                block.min(length) + length.div_ceil(block) + batch
            }
            Self::Tree => terms.next_power_of_two().ilog2() as usize + 1,
        };
        chain.clamp(1, terms.max(1))
    }
}

/// A sum: the rounding of each addition and the longest chain of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reduction {
    /// Rounding of one addition.
    pub rounding: Rounding,
    /// How the additions are arranged.
    pub chain: Chain,
}

/// The rounding that a kernel declares at each named stage. The store of an output has no stage: it is the
/// judge who measures to the rounding cell of a stored number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundingPlan {
    /// Sigmoid and softplus.
    pub gates: Rounding,
    /// `l` and `a = exp(l)`.
    pub decay: Rounding,
    /// `z`, `n = sqrt(z)` and `S(z)`.
    pub norm: Rounding,
    /// The form in which `z` is computed.
    pub norm_form: NormForm,
    /// Elementwise products: the write `x g n` and the gradients.
    pub products: Rounding,
    /// Decay and write as they enter the scan, and their cotangents as they leave it, if stored in between.
    pub boundary: Option<Rounding>,
    /// The state and every partial product or sum of the scan, in both directions.
    pub carry: Rounding,
    /// The states that the backward pass reads again; exact if it recomputes them in the carry's precision.
    pub saved: Rounding,
    /// Sums over batch and length.
    pub reduce: Reduction,
    /// The dot products of the gate projections and of their gradient to `x`; the chain runs along a block.
    /// A kernel on tensor cores declares [`Rounding::F32_TRUNCATED`] here, and in `reduce` if it forms the
    /// weight gradients there.
    pub projection: Reduction,
    /// `u`, `v`, `du` and `dv` where they are stored between projection and recurrence; unused if the logits
    /// are inputs.
    pub logits: Rounding,
    /// The form of `1 - g` in the derivative of the sigmoid.
    pub complement: Complement,
    /// Error of `exp`, `expm1` and `log1p`, in unit roundoffs: 4 is two units in the last place.
    pub function: f64,
    /// Additional relative error of `exp(t)` for each unit of `|t|`, in unit roundoffs: 0 for a library
    /// function, 2 for a base-2 exponential of a rounded product.
    pub depth: f64,
}

impl RoundingPlan {
    /// Everything in f32 with library functions. Inputs and outputs stored in bf16 change nothing here.
    #[must_use]
    pub const fn f32() -> Self {
        Self::uniform(Rounding::F32)
    }

    /// The same as [`RoundingPlan::f32`], for kernels that load and store bf16: a store has no term.
    #[must_use]
    pub const fn f32_io_bf16() -> Self {
        Self::f32()
    }

    /// f32 with hardware base-2 exponentials of a rounded product.
    #[must_use]
    pub const fn f32_fast() -> Self {
        Self { depth: 2.0, ..Self::f32() }
    }

    /// f32, with decay and write stored in bf16 between the gates and the scan.
    #[must_use]
    pub const fn bf16_boundary() -> Self {
        Self { boundary: Some(Rounding::BF16), ..Self::f32() }
    }

    /// No rounding anywhere: every envelope is zero.
    #[must_use]
    pub const fn exact() -> Self {
        Self::uniform(Rounding::EXACT)
    }

    /// Everything in f64: the envelope of the oracle's own error.
    #[must_use]
    pub const fn f64() -> Self {
        Self::uniform(Rounding::F64)
    }

    /// The same plan with another arrangement of the sums over batch and length.
    #[must_use]
    pub const fn with_chain(self, chain: Chain) -> Self {
        Self { reduce: Reduction { rounding: self.reduce.rounding, chain }, ..self }
    }

    const fn uniform(rounding: Rounding) -> Self {
        let sum = Reduction { rounding, chain: Chain::Terms };
        Self {
            gates: rounding,
            decay: rounding,
            norm: rounding,
            norm_form: NormForm::Expm1,
            products: rounding,
            boundary: None,
            carry: rounding,
            saved: Rounding::EXACT,
            reduce: sum,
            projection: sum,
            logits: Rounding::EXACT,
            complement: Complement::OneMinus,
            function: 4.0,
            depth: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Chain, UB, UH};

    #[test]
    fn chains_count_additions() {
        assert_eq!(Chain::Terms.additions(4, 100), 400);
        assert_eq!(Chain::Blocked(32).additions(4, 100), 32 + 4 + 4);
        assert_eq!(Chain::Tree.additions(1, 1024), 11);
        assert_eq!(Chain::Blocked(32).additions(1, 0), 1);
        assert_eq!(Chain::Blocked(32).additions(1, 2), 2);
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "both are powers of two")]
    fn a_unit_roundoff_is_half_the_spacing_above_one() {
        let spacing_bf16 = f64::from(f32::from_bits(0x3f81_0000)) - 1.0;
        assert_eq!(UB, spacing_bf16 / 2.0);
        assert_eq!(UH, 2.0f64.powi(-10) / 2.0);
    }
}
