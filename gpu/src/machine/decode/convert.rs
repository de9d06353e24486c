//! Conversions between types: which pairs there are, and how they round.

use super::arithmetic::words;
use super::{Decoder, Why};
use crate::machine::op::{Narrow, Op, Rounding, Slot, Un32, Un64, Widen};
use crate::ptx::{Instruction, Operand, ScalarType as T};

impl Decoder<'_> {
    pub(super) fn convert(&mut self, i: &Instruction) -> Result<Op, Why> {
        let mut w = words(i)?;
        let from = w.ty;
        let to = w.rest.pop().and_then(T::from_name).ok_or_else(|| "expected two types".to_owned())?;
        let [d, a] = i.operands.as_slice() else { return Err("expected 2 operands".to_owned()) };
        let rounding = rounding(&w.rest)?;
        let pair = format!("conversion from {} to {}", from.name(), to.name());
        let refuse = || format!("{pair} with `{}` is not supported", w.rest.join("."));
        let wide = |operand: &Operand, decoder: &Self| match operand {
            Operand::Register(id) => matches!(decoder.register(*id), Ok(Slot::D(_))),
            _ => false,
        };
        match (wide(d, self), wide(a, self)) {
            (false, false) => {
                let f = convert32(to, from, rounding).ok_or_else(refuse)?;
                Ok(Op::Un32 { f, d: self.r(d)?, a: self.r(a)? })
            }
            (true, false) => {
                let f = widen(to, from, rounding).ok_or_else(refuse)?;
                Ok(Op::Widen { f, d: self.d(d)?, a: self.r(a)? })
            }
            (false, true) => {
                let f = narrow(to, from, rounding).ok_or_else(refuse)?;
                Ok(Op::Narrow { f, d: self.r(d)?, a: self.d(a)? })
            }
            (true, true) if to.size() == 8 && from.size() == 8 && !to.is_float() && !from.is_float() => {
                Ok(Op::Un64 { f: Un64::Mov, d: self.d(d)?, a: self.d(a)? })
            }
            _ => Err(refuse()),
        }
    }

    /// Addresses are the same in every space that the machine has, so a conversion moves them.
    pub(super) fn address(&mut self, i: &Instruction) -> Result<Op, Why> {
        if !i.modifiers.iter().any(|m| m == "global") {
            return Err("only addresses of global memory can be converted".to_owned());
        }
        let [d, a] = i.operands.as_slice() else { return Err("expected 2 operands".to_owned()) };
        Ok(Op::Un64 { f: Un64::Mov, d: self.d(d)?, a: self.d(a)? })
    }
}

/// The rounding words: nothing, to an integer, or to nearest in the target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Absent,
    Integer(Rounding),
    Nearest,
}

fn rounding(words: &[&str]) -> Result<Mode, Why> {
    Ok(match words {
        [] => Mode::Absent,
        ["rn"] => Mode::Nearest,
        ["rni"] => Mode::Integer(Rounding::Nearest),
        ["rzi"] => Mode::Integer(Rounding::Zero),
        ["rmi"] => Mode::Integer(Rounding::Down),
        ["rpi"] => Mode::Integer(Rounding::Up),
        other => return Err(format!("`.{}` is not supported", other.join("."))),
    })
}

fn convert32(to: T, from: T, mode: Mode) -> Option<Un32> {
    Some(match (to, from, mode) {
        (T::S32, T::F32, Mode::Integer(r)) => Un32::F32ToS32(r),
        (T::U32, T::F32, Mode::Integer(r)) => Un32::F32ToU32(r),
        (T::F32, T::F32, Mode::Integer(r)) => Un32::F32ToF32(r),
        (T::F32, T::S32, Mode::Nearest) => Un32::S32ToF32,
        (T::F32, T::U32, Mode::Nearest) => Un32::U32ToF32,
        (T::Bf16, T::F32, Mode::Nearest) => Un32::F32ToBf16,
        (T::F32, T::Bf16, Mode::Absent) => Un32::Bf16ToF32,
        (T::F16, T::F32, Mode::Nearest) => Un32::F32ToF16,
        (T::F32, T::F16, Mode::Absent) => Un32::F16ToF32,
        (T::U32 | T::S32, T::U32 | T::S32, Mode::Absent) => Un32::Mov,
        (T::U32 | T::S32 | T::U16 | T::S16, T::U16, Mode::Absent)
        | (T::U16 | T::S16, T::U32 | T::S32, Mode::Absent) => Un32::Low16,
        (T::U32 | T::S32, T::S16, Mode::Absent) => Un32::SignExtend16,
        (T::U32 | T::S32 | T::U16 | T::S16, T::U8, Mode::Absent) => Un32::Low8,
        (T::U32 | T::S32, T::S8, Mode::Absent) => Un32::SignExtend8,
        _ => return None,
    })
}

fn widen(to: T, from: T, mode: Mode) -> Option<Widen> {
    Some(match (to, from, mode) {
        (T::U64 | T::S64, T::U32, Mode::Absent) => Widen::Zero,
        (T::U64 | T::S64, T::S32, Mode::Absent) => Widen::Sign,
        (T::F64, T::F32, Mode::Absent) => Widen::F32ToF64,
        (T::F64, T::S32, Mode::Nearest) => Widen::S32ToF64,
        (T::F64, T::U32, Mode::Nearest) => Widen::U32ToF64,
        (T::S64, T::F32, Mode::Integer(r)) => Widen::F32ToS64(r),
        _ => return None,
    })
}

fn narrow(to: T, from: T, mode: Mode) -> Option<Narrow> {
    Some(match (to, from, mode) {
        (T::U32 | T::S32, T::U64 | T::S64, Mode::Absent) => Narrow::Low,
        (T::F32, T::F64, Mode::Nearest) => Narrow::F64ToF32,
        (T::F32, T::S64, Mode::Nearest) => Narrow::S64ToF32,
        (T::F32, T::U64, Mode::Nearest) => Narrow::U64ToF32,
        (T::S32, T::F64, Mode::Integer(r)) => Narrow::F64ToS32(r),
        _ => return None,
    })
}
