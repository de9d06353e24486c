//! The scalar functions of the recurrences, each accurate to a few units in the last place of its number type over the
//! whole range; no error bounds and no rounding to a kernel's precision here.

use crate::number::Number;

/// The constant `c` of the log-decay `l = -c r softplus(a_param)`.
pub const C: f64 = 8.0;

/// Below this value of `4 z` the derivative of the square root is clipped.
pub const CLIP: f64 = 1e-6;

/// `1 / (1 + exp(-t))`.
///
/// The exponential is only taken of `-|t|`: it cannot overflow, and the small side keeps its relative accuracy.
#[must_use]
#[inline(always)]
pub fn sigmoid<N: Number>(t: N) -> N {
    sigmoid_pair(t).0
}

/// `sigmoid(t)` and `1 - sigmoid(t)`, both with full relative accuracy, from one exponential.
#[must_use]
#[inline(always)]
pub fn sigmoid_pair<N: Number>(t: N) -> (N, N) {
    let e = (-t.abs()).exp();
    let large = N::one() / (N::one() + e);
    let small = e * large;
    let negative = t.less(N::zero());
    (N::pick(negative, small, large), N::pick(negative, large, small))
}

/// `sigmoid(t) (1 - sigmoid(t))`, the derivative of [`sigmoid`], without the cancellation of `1 - sigmoid(t)`.
#[must_use]
#[inline(always)]
pub fn sigmoid_slope<N: Number>(t: N) -> N {
    let (g, rest) = sigmoid_pair(t);
    g * rest
}

/// `log(1 + exp(t))`.
#[must_use]
#[inline(always)]
pub fn softplus<N: Number>(t: N) -> N {
    // A maximum would turn NaN into 0.
    let ramp = N::pick(t.less(N::zero()), N::zero(), t);
    ramp + (-t.abs()).exp().ln_1p()
}

/// The logarithm of the decay, `l = -c r sp`, never positive; `r` in [0, 1], `sp >= 0`.
#[must_use]
#[inline(always)]
pub fn log_decay<N: Number>(r: N, sp: N) -> N {
    r.times(-C) * sp
}

/// `S(z) = 1 / sqrt(max(4 z, 1e-6))`: the derivative of the square root, clipped at 1000, which *defines*
/// the gradient where `4 z < 1e-6` (as in the official code of the Griffin paper, arXiv 2402.19427).
#[must_use]
#[inline(always)]
pub fn sqrt_slope<N: Number>(z: N) -> N {
    // A NaN must come out as NaN, so this is not a maximum. The root is the one that the norm has taken.
    let (clipped, root) = (N::from_f64(1.0 / CLIP.sqrt()), z.sqrt());
    N::pick(z.less(N::from_f64(CLIP / 4.0)), clipped, N::one() / (root + root))
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::{log_decay, sigmoid, sigmoid_slope, softplus, sqrt_slope};

    #[test]
    fn sigmoid_keeps_its_small_side() {
        assert_relative_eq!(sigmoid(-700.0), (-700.0f64).exp(), max_relative = 1e-15);
        assert_relative_eq!(sigmoid(1.0), 0.731_058_578_630_004_9, max_relative = 1e-15);
        assert!(sigmoid(-1e4) == 0.0 && sigmoid(1e4) == 1.0);
        assert!(sigmoid(f64::NAN).is_nan());
    }

    #[test]
    fn sigmoid_slope_does_not_cancel() {
        assert_relative_eq!(sigmoid_slope(50.0), (-50.0f64).exp(), max_relative = 1e-15);
        assert_relative_eq!(sigmoid_slope(0.0), 0.25);
        assert_relative_eq!(sigmoid_slope(-3.0), sigmoid(3.0) * sigmoid(-3.0), max_relative = 1e-15);
        assert!(sigmoid_slope(f64::NAN).is_nan());
    }

    #[test]
    fn softplus_is_right_at_both_ends() {
        assert_relative_eq!(softplus(0.0), std::f64::consts::LN_2, max_relative = 1e-15);
        assert_relative_eq!(softplus(-100.0), (-100.0f64).exp(), max_relative = 1e-15);
        assert!(softplus(1e4) == 1e4 && softplus(-1e4) == 0.0);
        assert!(softplus(f64::NAN).is_nan());
    }

    #[test]
    fn log_decay_is_eight_times_the_product() {
        assert_relative_eq!(log_decay(0.5, 0.25), -1.0);
        assert!(log_decay(0.0, 3.0) == 0.0);
    }

    #[test]
    fn sqrt_slope_is_clipped_at_a_thousand() {
        assert_relative_eq!(sqrt_slope(0.0), 1000.0, max_relative = 1e-15);
        assert_relative_eq!(sqrt_slope(1e-7), 1000.0, max_relative = 1e-15);
        assert_relative_eq!(sqrt_slope(0.25), 1.0, max_relative = 1e-15);
        assert!(sqrt_slope(f64::NAN).is_nan());
    }
}
