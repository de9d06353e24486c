//! Numbers as PTX has them: canonical NaN, flushing, saturation, directed rounding, small float formats; registers are left to `step`.

use super::operation::{FloatMode, Rounding};

/// The NaN that f32 arithmetic returns.
pub(crate) const NAN_F32: u32 = 0x7fff_ffff;
/// The NaN that f64 arithmetic returns where no operand is one.
pub(crate) const NAN_F64: u64 = 0xfff8_0000_0000_0000;

/// Told by the bits: LLVM takes all NaN of an operation for equal and folds `is_nan` behind a square root away.
#[inline]
pub(crate) fn canonical(value: f32) -> f32 {
    let bits = value.to_bits();
    f32::from_bits(if bits << 1 > 0xff00_0000 { NAN_F32 } else { bits })
}

/// Subnormals become zeros of their sign.
#[inline]
pub(crate) fn flush(value: f32) -> f32 {
    let bits = value.to_bits();
    if bits & 0x7f80_0000 == 0 { f32::from_bits(bits & 0x8000_0000) } else { value }
}

impl FloatMode {
    pub(crate) const fn is_plain(self) -> bool {
        !self.flush && !self.saturate
    }

    #[inline]
    pub(crate) fn before(self, value: f32) -> f32 {
        if self.flush { flush(value) } else { value }
    }

    #[inline]
    pub(crate) fn after(self, value: f32) -> f32 {
        let value = if self.flush { flush(value) } else { value };
        if self.saturate { saturate(value) } else { canonical(value) }
    }
}

/// To [0, 1], a NaN and -0 to +0.
#[inline]
pub(crate) fn saturate(value: f32) -> f32 {
    if value > 0.0 { if value < 1.0 { value } else { 1.0 } } else { 0.0 }
}

/// The smaller one; a NaN loses, and -0 is below +0.
#[inline]
pub(crate) fn min_f32(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        canonical(b)
    } else if b.is_nan() || a < b || (a == b && a.is_sign_negative()) {
        a
    } else {
        b
    }
}

#[inline]
pub(crate) fn max_f32(a: f32, b: f32) -> f32 {
    -min_f32(-a, -b)
}

#[inline]
pub(crate) fn min_f64(a: f64, b: f64) -> f64 {
    if a.is_nan() || b < a || (a == b && b.is_sign_negative()) { b } else { a }
}

#[inline]
pub(crate) fn max_f64(a: f64, b: f64) -> f64 {
    if a.is_nan() || b > a || (a == b && b.is_sign_positive()) { b } else { a }
}

/// f64 arithmetic keeps the payload of its first NaN operand and makes it quiet.
#[inline]
pub(crate) fn canonical_f64(result: f64, operands: &[f64]) -> f64 {
    let is_nan = |bits: u64| bits << 1 > 0xffe0_0000_0000_0000;
    if !is_nan(result.to_bits()) {
        return result;
    }
    let first = operands.iter().map(|v| v.to_bits()).find(|&bits| is_nan(bits));
    f64::from_bits(first.map_or(NAN_F64, |bits| bits | 1 << 51))
}

/// A binary64 value and the sign of what is missing to the exact result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact {
    pub(crate) value: f64,
    pub(crate) rest: f64,
}

impl Exact {
    pub(crate) const fn of(value: f64) -> Self {
        Self { value, rest: 0.0 }
    }

    /// Knuth's two-sum; no range of f32 operands and their products makes it overflow.
    pub(crate) fn sum(a: f64, b: f64) -> Self {
        let value = a + b;
        let back = value - a;
        let rest = (a - (value - back)) + (b - back);
        Self { value, rest: if rest.is_nan() { 0.0 } else { rest } }
    }

    pub(crate) fn quotient(a: f64, b: f64) -> Self {
        let value = a / b;
        let rest = (-value).mul_add(b, a) * b.signum();
        Self { value, rest: if rest.is_finite() { rest } else { 0.0 } }
    }

    pub(crate) fn root(a: f64) -> Self {
        let value = a.sqrt();
        let rest = (-value).mul_add(value, a);
        Self { value, rest: if rest.is_finite() { rest } else { 0.0 } }
    }

    /// Whether the exact value lies above, on or below a finite `x`.
    fn compare(self, x: f64) -> std::cmp::Ordering {
        let order = self.value.partial_cmp(&x).unwrap_or(std::cmp::Ordering::Equal);
        order.then(self.rest.partial_cmp(&0.0).unwrap_or(std::cmp::Ordering::Equal))
    }

    /// Rounds once to f32 in a direction. To nearest is the host's own conversion and not done here.
    #[expect(clippy::cast_possible_truncation, reason = "the direction is repaired afterwards")]
    pub(crate) fn round(self, rounding: Rounding) -> f32 {
        let near = self.value as f32;
        if self.value.is_nan() || self.value.is_infinite() {
            return canonical(near);
        }
        if self.value == 0.0 {
            return near;
        }
        let order = self.compare(f64::from(near));
        let down = match rounding {
            Rounding::Nearest => return near,
            Rounding::Down => true,
            Rounding::Up => false,
            Rounding::Zero => self.value > 0.0,
        };
        match order {
            std::cmp::Ordering::Less if down => near.next_down(),
            std::cmp::Ordering::Greater if !down => near.next_up(),
            _ => near,
        }
    }
}

/// A binary format of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    F16,
    Bf16,
}

impl Half {
    const fn fraction_bits(self) -> i32 {
        if matches!(self, Self::F16) { 10 } else { 7 }
    }

    const fn bias(self) -> i32 {
        if matches!(self, Self::F16) { 15 } else { 127 }
    }

    const fn infinity(self) -> u16 {
        if matches!(self, Self::F16) { 0x7c00 } else { 0x7f80 }
    }

    /// Widens exactly.
    pub(crate) fn widen(self, bits: u16) -> f32 {
        match self {
            Self::Bf16 => f32::from_bits(u32::from(bits) << 16),
            Self::F16 => half::f16::from_bits(bits).to_f32(),
        }
    }

    /// Rounds once, whatever the direction. The value scaled to units in the last place of the result is exact
    /// in f64, so the rounding itself is one of the host's.
    pub(crate) fn round(self, value: f64, rounding: Rounding) -> u16 {
        if value.is_nan() {
            return 0x7fff;
        }
        let sign = u16::from(value.is_sign_negative()) << 15;
        if value.is_infinite() {
            return sign | self.infinity();
        }
        let magnitude = value.abs();
        let least = 1 - self.bias();
        let exponent = exponent_of(magnitude).max(least);
        let unit = power_of_two(exponent - self.fraction_bits());
        let units = round_to_integer(magnitude / unit, toward_magnitude(rounding, value));
        let top = power_of_two(self.fraction_bits() + 1);
        let (units, exponent) = if units >= top { (units / 2.0, exponent + 1) } else { (units, exponent) };
        if exponent > self.bias() {
            return sign | self.overflow(toward_magnitude(rounding, value));
        }
        sign | self.assemble(units, exponent - least)
    }

    const fn overflow(self, rounding: Rounding) -> u16 {
        match rounding {
            Rounding::Nearest | Rounding::Up => self.infinity(),
            Rounding::Zero | Rounding::Down => self.infinity() - 1,
        }
    }

    /// The leading one of a normal number adds itself to the exponent field.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most 2^11, never negative"
    )]
    const fn assemble(self, units: f64, above_least: i32) -> u16 {
        units as u16 + ((above_least as u16) << self.fraction_bits())
    }
}

/// A direction for a value as a direction for its magnitude.
fn toward_magnitude(rounding: Rounding, value: f64) -> Rounding {
    match (rounding, value.is_sign_negative()) {
        (Rounding::Up, true) => Rounding::Down,
        (Rounding::Down, true) => Rounding::Up,
        (same, _) => same,
    }
}

/// Floor of the binary logarithm; below the normal range of f64 any small number will do.
fn exponent_of(magnitude: f64) -> i32 {
    i32::try_from(magnitude.to_bits() >> 52 & 0x7ff).unwrap_or(0) - 1023
}

pub(crate) fn power_of_two(exponent: i32) -> f64 {
    let field = u64::try_from(exponent.clamp(-1022, 1023) + 1023).unwrap_or(0);
    f64::from_bits(field << 52)
}

pub(crate) fn round_to_integer(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

/// To nearest even; the frequent conversion, on the bits alone.
#[inline]
pub(crate) fn bf16_from_f32(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    let bits = if value.is_nan() { 0x7fff } else { rounded };
    u16::try_from(bits & 0xffff).unwrap_or(0)
}
