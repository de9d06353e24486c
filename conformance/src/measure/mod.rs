//! How far a tensor is from the truth, in every figure that is reported; whether that is too far is left to `judge`.

mod figures;
mod profile;

pub use figures::{Expected, Measure, Worst, measure};
pub use profile::{Growth, Profile, profile};

use plumbline_fixtures::sha256_hex;

use crate::storage::Storage;

/// A tensor that somebody computed: storage type, shape, and the stored numbers widened to f64.
#[derive(Clone, Debug, PartialEq)]
pub struct Computed {
    /// Type in which it was stored.
    pub storage: Storage,
    /// Extents, row-major.
    pub shape: Vec<usize>,
    /// The numbers.
    pub values: Vec<f64>,
}

impl Computed {
    /// First sixteen hexadecimal digits of the SHA-256 of the stored numbers, NaN payloads included.
    #[must_use]
    pub fn digest(&self) -> String {
        let bytes: Vec<u8> = self.values.iter().flat_map(|value| value.to_bits().to_le_bytes()).collect();
        sha256_hex(&bytes)[..16].to_owned()
    }
}

/// Distance of a stored number from the truth, as the verdict sees it.
///
/// f32 and f64 are judged by the plain difference; bf16 and f16 by the distance from the truth to the cell of reals
/// that round to the stored number, so that the rounding of the store costs nothing. A NaN against a number, a
/// number against a NaN, or the wrong infinity is infinitely far.
#[must_use]
pub fn distance(storage: Storage, got: f64, truth: f64) -> f64 {
    if truth.is_nan() || got.is_nan() {
        return if truth.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if truth.is_infinite() {
        return if got == truth { 0.0 } else { f64::INFINITY };
    }
    let has_cell = got.is_infinite() || matches!(storage, Storage::Bf16 | Storage::F16);
    if has_cell {
        let distance = storage.cell(got).distance(truth);
        // Overflow is forgiven where rounding asks for it, never as being near.
        return if got.is_infinite() && distance > 0.0 { f64::INFINITY } else { distance };
    }
    (got - truth).abs()
}

/// `distance / envelope` with `0 / 0 = 0`.
#[must_use]
pub fn ratio(distance: f64, envelope: f64) -> f64 {
    if distance == 0.0 { 0.0 } else { distance / envelope }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn non_finite_values_match_only_themselves() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        for storage in [Storage::F32, Storage::Bf16, Storage::F16] {
            assert_eq!(distance(storage, nan, nan), 0.0);
            assert_eq!(distance(storage, inf, inf), 0.0);
            for (got, truth) in
                [(nan, 1.0), (1.0, nan), (inf, -inf), (inf, nan), (nan, inf), (1.0, inf), (inf, 1.0)]
            {
                assert_eq!(distance(storage, got, truth), inf, "{got} for {truth}");
            }
        }
    }

    #[test]
    fn the_store_itself_costs_nothing() {
        let truth = 1.0 + 0.5f64.powi(9);
        assert_eq!(distance(Storage::Bf16, 1.0, truth), 0.0);
        assert!(distance(Storage::F32, 1.0, truth) > 0.0);
        let truncated = 1.0 + 0.9 * 0.5f64.powi(7);
        assert!(distance(Storage::Bf16, 1.0, truncated) > 0.0);
    }

    #[test]
    fn zero_over_zero_is_zero() {
        assert_eq!(ratio(0.0, 0.0), 0.0);
        assert_eq!(ratio(1.0, 0.0), f64::INFINITY);
    }

    proptest! {
        #[test]
        fn more_error_never_scores_better(truth in -1e3f64..1e3, a in 0.0f64..10.0, b in 0.0f64..10.0) {
            let (near, far) = (a.min(b), a.max(b));
            for storage in [Storage::F32, Storage::Bf16, Storage::F16] {
                let d = |by: f64| distance(storage, storage.nearest(truth + by), truth);
                // A further stored number may share the nearer one's cell, so compare stored numbers.
                if storage.nearest(truth + near) <= storage.nearest(truth + far) {
                    prop_assert!(d(far) >= d(near) || storage.nearest(truth + near) < truth);
                }
            }
        }
    }
}
