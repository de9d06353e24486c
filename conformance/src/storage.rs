//! Storage types: rounding to them, and the set of reals that each stored number stands for; what an error is worth is left to `measure`.

use serde::{Deserialize, Serialize};

/// Type of a stored number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Storage {
    /// IEEE binary64.
    F64,
    /// IEEE binary32.
    F32,
    /// bfloat16.
    Bf16,
    /// IEEE binary16.
    F16,
}

/// The reals that round to one stored number; half-way points belong to both neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Smallest real of the cell.
    pub low: f64,
    /// Largest real of the cell.
    pub high: f64,
}

impl Cell {
    /// Distance from a real to the nearest point of the cell.
    #[must_use]
    pub fn distance(self, real: f64) -> f64 {
        (self.low - real).max(real - self.high).max(0.0)
    }
}

/// What a format's numbers are spaced by.
struct Format {
    /// Bits of the significand, the leading one included.
    precision: i32,
    /// Exponent of the smallest normal number.
    min_exponent: i32,
    /// Largest finite number.
    max: f64,
}

impl Storage {
    /// Name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
        }
    }

    /// The stored number nearest to a real, ties to even.
    ///
    /// In one rounding: the conversions of the crate `half` drop the lower half of an f64 before they round, so
    /// that a real just beyond a half-way point goes the wrong way.
    #[must_use]
    pub fn nearest(self, real: f64) -> f64 {
        if self == Self::F64 || real == 0.0 || !real.is_finite() {
            return real;
        }
        let spacing = self.spacing(real);
        let rounded = (real / spacing).round_ties_even() * spacing;
        if rounded.abs() > self.format().max { f64::INFINITY.copysign(real) } else { rounded }
    }

    const fn format(self) -> Format {
        match self {
            Self::F64 => Format { precision: 53, min_exponent: -1022, max: f64::MAX },
            Self::F32 => Format { precision: 24, min_exponent: -126, max: f32::MAX as f64 },
            // (2 - 2^-7) * 2^127
            Self::Bf16 => Format {
                precision: 8,
                min_exponent: -126,
                max: 338_953_138_925_153_547_590_470_800_371_487_866_880.0,
            },
            Self::F16 => Format { precision: 11, min_exponent: -14, max: 65504.0 },
        }
    }

    /// Distance between a stored number and the next one away from zero.
    #[must_use]
    pub fn spacing(self, stored: f64) -> f64 {
        let format = self.format();
        power_of_two(exponent(stored).max(format.min_exponent) - (format.precision - 1))
    }

    /// The reals that round to a stored number that is not NaN.
    ///
    /// The cell of infinity begins half a spacing beyond the largest finite number: a result up there is rounded
    /// rightly when it overflows.
    #[must_use]
    pub fn cell(self, stored: f64) -> Cell {
        let magnitude = stored.abs();
        let format = self.format();
        let cell = if magnitude.is_infinite() {
            Cell { low: format.max + 0.5 * self.spacing(format.max), high: f64::INFINITY }
        } else {
            Cell { low: self.lower_bound(magnitude), high: magnitude + 0.5 * self.spacing(magnitude) }
        };
        if stored.is_sign_negative() { Cell { low: -cell.high, high: -cell.low } } else { cell }
    }

    /// Below a power of two the spacing is half of that above it, but for the smallest normal number.
    fn lower_bound(self, magnitude: f64) -> f64 {
        let above = self.spacing(magnitude);
        let is_power = magnitude != 0.0 && magnitude.to_bits().trailing_zeros() >= 52;
        let below =
            if is_power && exponent(magnitude) > self.format().min_exponent { 0.5 * above } else { above };
        magnitude - 0.5 * below
    }

    /// Number of representable steps between two stored numbers; NaN is infinitely far.
    #[must_use]
    pub fn steps(self, a: f64, b: f64) -> f64 {
        if a.is_nan() || b.is_nan() {
            return f64::INFINITY;
        }
        (self.rank(a) - self.rank(b)).abs()
    }

    /// Position among the format's numbers, zero at zero. Exact below 2^53, which f64 alone exceeds.
    fn rank(self, stored: f64) -> f64 {
        let format = self.format();
        let magnitude = stored.abs().min(format.max + self.spacing(format.max));
        let e = exponent(magnitude).max(format.min_exponent);
        let per_binade = power_of_two(format.precision - 1);
        let spacing = power_of_two(e - (format.precision - 1));
        let rank = f64::from(e - format.min_exponent) * per_binade + magnitude / spacing;
        if stored < 0.0 { -rank } else { rank }
    }
}

/// Exponent of the leading bit; that of the smallest subnormal for zero.
fn exponent(value: f64) -> i32 {
    let bits = value.abs().to_bits();
    let field = i32::try_from(bits >> 52).unwrap_or(0x7ff);
    if field != 0 {
        return field - 1023;
    }
    let leading = i32::try_from(bits.leading_zeros()).unwrap_or(64);
    (11 - leading - 1023).max(-1074)
}

fn power_of_two(exponent: i32) -> f64 {
    2f64.powi(exponent.max(-1074))
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};
    use proptest::prelude::*;

    const NARROW: [Storage; 3] = [Storage::F32, Storage::Bf16, Storage::F16];

    #[test]
    fn cells_at_corners() {
        let one = Storage::Bf16.cell(1.0);
        assert_eq!((one.low, one.high), (1.0 - 0.5f64.powi(9), 1.0 + 0.5f64.powi(8)));
        let zero = Storage::F16.cell(0.0);
        assert_eq!((zero.low, zero.high), (-(0.5f64.powi(25)), 0.5f64.powi(25)));
        let largest = Storage::F16.cell(65504.0);
        assert_eq!((largest.low, largest.high), (65488.0, 65520.0));
        let overflow = Storage::F16.cell(f64::NEG_INFINITY);
        assert_eq!((overflow.low, overflow.high), (f64::NEG_INFINITY, -65520.0));
        let smallest_normal = Storage::Bf16.cell(2f64.powi(-126));
        assert_eq!(smallest_normal.low, 2f64.powi(-126) - 2f64.powi(-134));
    }

    #[test]
    fn rounding_is_done_once() {
        let beyond_half_way = 0.751_953_125 + 1e-9;
        assert_eq!(Storage::Bf16.nearest(beyond_half_way), 0.753_906_25);
        assert_eq!(Storage::Bf16.nearest(0.751_953_125), 0.75);
        assert_eq!(Storage::Bf16.nearest(-3.4e38), f64::NEG_INFINITY);
        assert_eq!(Storage::F16.nearest(65519.9), 65504.0);
        assert_eq!(Storage::F16.nearest(65520.0), f64::INFINITY);
        assert!(Storage::F16.nearest(-1e-9).is_sign_negative());
    }

    #[test]
    fn distance_is_from_the_nearer_end() {
        let cell = Storage::Bf16.cell(1.0);
        assert_eq!(cell.distance(1.0), 0.0);
        assert_eq!(cell.distance(1.5), 1.5 - cell.high);
        assert_eq!(cell.distance(0.5), cell.low - 0.5);
    }

    #[test]
    fn steps_count_representable_numbers() {
        assert_eq!(Storage::F32.steps(1.0, f64::from(1.0f32.next_up())), 1.0);
        assert_eq!(Storage::F32.steps(1.0, f64::from(1.0f32.next_down())), 1.0);
        assert_eq!(Storage::F32.steps(-f64::from(f32::from_bits(1)), f64::from(f32::from_bits(1))), 2.0);
        assert_eq!(Storage::F32.steps(f64::from(f32::MAX), f64::INFINITY), 1.0);
        assert_eq!(Storage::F32.steps(f64::NAN, 0.0), f64::INFINITY);
    }

    proptest! {
        #[test]
        fn a_real_lies_in_the_cell_of_its_rounding(bits in any::<u64>(), small in -60i32..60) {
            let wide = f64::from_bits(bits);
            let real = if wide.is_finite() { wide } else { 1.5 } ;
            let scaled = (real.to_bits() & 0x800f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000;
            for real in [real, f64::from_bits(scaled) * 2f64.powi(small)] {
                for storage in NARROW {
                    let stored = storage.nearest(real);
                    prop_assert_eq!(storage.cell(stored).distance(real), 0.0, "{} {} {}", storage.name(), real, stored);
                }
            }
        }

        #[test]
        fn rounding_to_f32_is_the_processors(bits in any::<u64>()) {
            let real = f64::from_bits(bits);
            #[expect(clippy::cast_possible_truncation, reason = "the processor's own rounding is the reference")]
            let expected = f64::from(real as f32);
            prop_assert!(Storage::F32.nearest(real) == expected || real.is_nan());
        }

        #[test]
        fn outside_the_cell_rounds_elsewhere(pattern in any::<u16>(), by in 1.001f64..3.0) {
            let value = bf16::from_bits(pattern).to_f64();
            prop_assume!(value.is_finite());
            let cell = Storage::Bf16.cell(value);
            let half = cell.high - value;
            prop_assert_ne!(Storage::Bf16.nearest(value + by * half), value);
        }

        #[test]
        fn steps_agree_with_bit_patterns(a in any::<u16>(), b in any::<u16>()) {
            let (x, y) = (f16::from_bits(a & 0x7fff), f16::from_bits(b & 0x7fff));
            prop_assume!(x.is_finite() && y.is_finite());
            let expected = f64::from((i32::from(a & 0x7fff) - i32::from(b & 0x7fff)).abs());
            prop_assert_eq!(Storage::F16.steps(x.to_f64(), y.to_f64()), expected);
        }
    }
}
