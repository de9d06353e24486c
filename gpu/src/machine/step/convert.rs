//! Conversions between integers and floats: the frequent ones over whole rows, the rest lane by lane; arithmetic is left to its own files.
#![expect(clippy::inline_always, reason = "must be compiled for the instruction set of the caller")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "conversions narrow, saturate and round on purpose"
)]

use super::lanes::map1;
use crate::machine::number::{
    Exact, Half, bf16_from_f32, canonical, canonical_f64, flush, round_to_integer, saturate,
};
use crate::machine::operation::{Bank, ConvertOp, Instruction, Rounding};
use crate::machine::program::Tables;
use crate::machine::registers::{LANES, Registers};
use crate::ptx::ScalarType;

#[inline(always)]
pub(super) fn step(op: ConvertOp, tables: &Tables, r: &mut Registers, i: &Instruction, mask: u32) {
    match op {
        ConvertOp::U64FromU32 => map1(r, i, mask, |a: u32| u64::from(a)),
        ConvertOp::S64FromS32 => map1(r, i, mask, |a: i32| i64::from(a)),
        ConvertOp::U32FromU64 => map1(r, i, mask, |a: u64| a as u32),
        // Rust's cast truncates, saturates and turns NaN into 0, as PTX does for these two types.
        ConvertOp::S32FromF32TowardZero => map1(r, i, mask, |a: f32| a as i32),
        ConvertOp::F32FromS32 => map1(r, i, mask, |a: i32| a as f32),
        ConvertOp::F32FromU32 => map1(r, i, mask, |a: u32| a as f32),
        ConvertOp::F32FromBf16 => map1(r, i, mask, |a: u32| canonical(f32::from_bits(a << 16))),
        ConvertOp::Bf16FromF32 => map1(r, i, mask, bf16_from_f32),
        ConvertOp::Table(index) => table(index, tables, r, i, mask),
    }
}

/// A conversion without a name of its own.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a modifier of the instruction")]
pub(crate) struct Conversion {
    pub(crate) from: ScalarType,
    pub(crate) to: ScalarType,
    pub(crate) source: Bank,
    pub(crate) destination: Bank,
    /// Width of the destination register, to which integers are extended.
    pub(crate) register_bits: u32,
    pub(crate) rounding: Rounding,
    /// `.rni` and its kin between floats of the same size: to an integral value.
    pub(crate) integral: bool,
    pub(crate) flush: bool,
    pub(crate) saturate: bool,
    pub(crate) relu: bool,
}

fn table(index: u16, tables: &Tables, r: &mut Registers, i: &Instruction, mask: u32) {
    let Some(conversion) = tables.conversions.get(usize::from(index)) else { return };
    for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
        let value = conversion.apply(r.lane(conversion.source, i.a, lane));
        r.set_lane(conversion.destination, i.d, lane, value);
    }
}

impl Conversion {
    pub(crate) fn apply(&self, cell: u64) -> u64 {
        match (self.from.is_float(), self.to.is_float()) {
            (false, false) => self.extend(self.integer(read_integer(self.from, cell))),
            (false, true) => self.float_from_integer(read_integer(self.from, cell)),
            (true, false) => self.extend(self.integer_from_float(self.read_float(cell))),
            (true, true) => self.float(self.read_float(cell)),
        }
    }

    fn bits(&self) -> u32 {
        8 * self.to.size() as u32
    }

    /// Low bits, or the nearest representable value with `.sat`.
    fn integer(&self, value: i128) -> u64 {
        let (least, most) = range(self.to);
        if self.saturate { value.clamp(least, most) as u64 } else { value as u64 }
    }

    fn integer_from_float(&self, value: f64) -> u64 {
        let (least, most) = range(self.to);
        if value.is_nan() {
            let indefinite = self.from == ScalarType::F64 || self.bits() == 64;
            return if indefinite { 1 << (self.bits() - 1) } else { 0 };
        }
        (round_to_integer(value, self.rounding) as i128).clamp(least, most) as u64
    }

    fn extend(&self, value: u64) -> u64 {
        let unused = 64 - self.bits();
        let value = value << unused;
        let value = if self.to.is_signed() {
            (value.cast_signed() >> unused).cast_unsigned()
        } else {
            value >> unused
        };
        value & u64::MAX >> (64 - self.register_bits)
    }

    fn read_float(&self, cell: u64) -> f64 {
        match self.from {
            ScalarType::F64 => f64::from_bits(cell),
            ScalarType::F32 => {
                let value = f32::from_bits(cell as u32);
                f64::from(if self.flush { flush(value) } else { value })
            }
            ScalarType::F16 => f64::from(Half::F16.widen(cell as u16)),
            _ => f64::from(Half::Bf16.widen(cell as u16)),
        }
    }

    fn float_from_integer(&self, value: i128) -> u64 {
        let near = value as f64;
        // 64-bit integers do not fit in f64: the remainder decides where f64 alone would have tied.
        let rest = (value - near as i128) as f64;
        self.write_float(Exact { value: near, rest }, value)
    }

    fn float(&self, value: f64) -> u64 {
        let value = if self.integral { round_to_integer(value, self.rounding) } else { value };
        self.write_float(Exact::of(value), 0)
    }

    fn write_float(&self, exact: Exact, integer: i128) -> u64 {
        let rounding = if self.integral { Rounding::Nearest } else { self.rounding };
        let value = if self.relu && exact.value < 0.0 { 0.0 } else { exact.value };
        match self.to {
            ScalarType::F64 => self.write_f64(value),
            ScalarType::F32 => {
                let nearest = if integer == 0 { value as f32 } else { integer as f32 };
                let rounded = if rounding == Rounding::Nearest {
                    nearest
                } else {
                    Exact { value, ..exact }.round(rounding)
                };
                self.write_f32(rounded)
            }
            ScalarType::F16 => u64::from(Half::F16.round(self.clamped(value), rounding)),
            _ => u64::from(Half::Bf16.round(self.clamped(value), rounding)),
        }
    }

    fn clamped(&self, value: f64) -> f64 {
        if !self.saturate {
            value
        } else if value > 0.0 {
            value.min(1.0)
        } else {
            0.0
        }
    }

    fn write_f32(&self, value: f32) -> u64 {
        let value = if self.flush { flush(value) } else { value };
        let value = if self.saturate { saturate(value) } else { value };
        u64::from(canonical(value).to_bits())
    }

    fn write_f64(&self, value: f64) -> u64 {
        let value = self.clamped(value);
        canonical_f64(value, &[]).to_bits()
    }
}

fn range(ty: ScalarType) -> (i128, i128) {
    let bits = 8 * ty.size() as u32;
    if ty.is_signed() {
        (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
    } else {
        (0, (1_i128 << bits) - 1)
    }
}

/// The value of the low bits of a register, with its sign if the type has one.
fn read_integer(ty: ScalarType, cell: u64) -> i128 {
    let unused = 64 - 8 * ty.size() as u32;
    let top = cell << unused;
    if ty.is_signed() { i128::from(top.cast_signed() >> unused) } else { i128::from(top >> unused) }
}
