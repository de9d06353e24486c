//! Integer and logic arithmetic of 16, 32 and 64 bits; field and funnel operations are left to `bits`.
#![expect(clippy::inline_always, reason = "must be compiled for the instruction set of the caller")]
#![expect(clippy::cast_lossless, reason = "one text for three widths, wrapping as PTX does")]

use super::lanes::{map1, map2, map3};
use crate::machine::operation::{Instruction, IntegerOp, WideningOp};
use crate::machine::registers::Registers;

/// A quotient by zero is all ones and leaves the dividend as remainder: PTX leaves both open, GPUs do this.
macro_rules! integer {
    ($name:ident, $unsigned:ident, $signed:ident, $double:ident, $signed_double:ident) => {
        #[inline(always)]
        pub(super) fn $name(op: IntegerOp, r: &mut Registers, i: &Instruction, mask: u32) {
            type U = $unsigned;
            type S = $signed;
            const BITS: u32 = U::BITS;
            let high_signed = |a: S, b: S| ((a as $signed_double * b as $signed_double) >> BITS) as S;
            let high_unsigned = |a: U, b: U| ((a as $double * b as $double) >> BITS) as U;
            match op {
                IntegerOp::Add => map2(r, i, mask, U::wrapping_add),
                IntegerOp::Sub => map2(r, i, mask, U::wrapping_sub),
                IntegerOp::AddSaturating => map2(r, i, mask, S::saturating_add),
                IntegerOp::SubSaturating => map2(r, i, mask, S::saturating_sub),
                IntegerOp::MulLow => map2(r, i, mask, U::wrapping_mul),
                IntegerOp::MulHighSigned => map2(r, i, mask, high_signed),
                IntegerOp::MulHighUnsigned => map2(r, i, mask, high_unsigned),
                IntegerOp::MadLow => map3(r, i, mask, |a: U, b: U, c: U| a.wrapping_mul(b).wrapping_add(c)),
                IntegerOp::MadHighSigned => {
                    map3(r, i, mask, |a: S, b: S, c: S| high_signed(a, b).wrapping_add(c))
                }
                IntegerOp::MadHighUnsigned => {
                    map3(r, i, mask, |a: U, b: U, c: U| high_unsigned(a, b).wrapping_add(c))
                }
                IntegerOp::DivSigned => {
                    map2(r, i, mask, |a: S, b: S| if b == 0 { -1 } else { a.wrapping_div(b) })
                }
                IntegerOp::DivUnsigned => map2(r, i, mask, |a: U, b: U| a.checked_div(b).unwrap_or(U::MAX)),
                IntegerOp::RemSigned => {
                    map2(r, i, mask, |a: S, b: S| if b == 0 { a } else { a.wrapping_rem(b) })
                }
                IntegerOp::RemUnsigned => map2(r, i, mask, |a: U, b: U| a.checked_rem(b).unwrap_or(a)),
                IntegerOp::MinSigned => map2(r, i, mask, S::min),
                IntegerOp::MinUnsigned => map2(r, i, mask, U::min),
                IntegerOp::MaxSigned => map2(r, i, mask, S::max),
                IntegerOp::MaxUnsigned => map2(r, i, mask, U::max),
                IntegerOp::Abs => map1(r, i, mask, S::wrapping_abs),
                IntegerOp::Neg => map1(r, i, mask, S::wrapping_neg),
                IntegerOp::And => map2(r, i, mask, |a: U, b: U| a & b),
                IntegerOp::Or => map2(r, i, mask, |a: U, b: U| a | b),
                IntegerOp::Xor => map2(r, i, mask, |a: U, b: U| a ^ b),
                IntegerOp::Not => map1(r, i, mask, |a: U| !a),
                IntegerOp::Cnot => map1(r, i, mask, |a: U| U::from(a == 0)),
                // Distances of the width and more shift everything out.
                IntegerOp::ShiftLeft => map2(r, i, mask, |a: U, n: u32| if n < BITS { a << n } else { 0 }),
                IntegerOp::ShiftRightSigned => map2(r, i, mask, |a: S, n: u32| a >> n.min(BITS - 1)),
                IntegerOp::ShiftRightUnsigned => {
                    map2(r, i, mask, |a: U, n: u32| if n < BITS { a >> n } else { 0 })
                }
                IntegerOp::Reverse => map1(r, i, mask, U::reverse_bits),
                IntegerOp::PopCount => map1(r, i, mask, U::count_ones),
                IntegerOp::LeadingZeros => map1(r, i, mask, U::leading_zeros),
            }
        }
    };
}

integer!(step16, u16, i16, u32, i32);
integer!(step32, u32, i32, u64, i64);
integer!(step64, u64, i64, u128, i128);

#[inline(always)]
pub(super) fn widening(op: WideningOp, r: &mut Registers, i: &Instruction, mask: u32) {
    let signed = |a: i32, b: i32| i64::from(a) * i64::from(b);
    let unsigned = |a: u32, b: u32| u64::from(a) * u64::from(b);
    let signed16 = |a: i16, b: i16| i32::from(a) * i32::from(b);
    let unsigned16 = |a: u16, b: u16| u32::from(a) * u32::from(b);
    match op {
        WideningOp::MulSigned => map2(r, i, mask, signed),
        WideningOp::MulUnsigned => map2(r, i, mask, unsigned),
        WideningOp::MadSigned => map3(r, i, mask, |a, b, c: i64| signed(a, b).wrapping_add(c)),
        WideningOp::MadUnsigned => map3(r, i, mask, |a, b, c: u64| unsigned(a, b).wrapping_add(c)),
        WideningOp::MulSigned16 => map2(r, i, mask, signed16),
        WideningOp::MulUnsigned16 => map2(r, i, mask, unsigned16),
        WideningOp::MadSigned16 => map3(r, i, mask, |a, b, c: i32| signed16(a, b).wrapping_add(c)),
        WideningOp::MadUnsigned16 => map3(r, i, mask, |a, b, c: u32| unsigned16(a, b).wrapping_add(c)),
    }
}
