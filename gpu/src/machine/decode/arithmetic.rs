//! Integer, logic and floating-point arithmetic: which words ask for which operation.

use super::{Decoder, Why};
use crate::machine::op::{Bin32, Bin64, Op, Shift64, Tern32, Tern64, Un32, Un64};
use crate::ptx::{Instruction, Operand, ScalarType};

/// The words of an instruction: its type and what is left.
pub(super) struct Words<'a> {
    pub(super) ty: ScalarType,
    pub(super) rest: Vec<&'a str>,
}

pub(super) fn words(i: &Instruction) -> Result<Words<'_>, Why> {
    let mut rest: Vec<&str> = i.modifiers.iter().map(String::as_str).collect();
    let ty = rest
        .pop()
        .and_then(ScalarType::from_name)
        .ok_or_else(|| "expected a type as last word".to_owned())?;
    Ok(Words { ty, rest })
}

impl Words<'_> {
    /// Refuses words other than these.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), Why> {
        match self.rest.iter().find(|word| !known.contains(word)) {
            None => Ok(()),
            Some(word) => Err(format!("`.{word}` is not supported here")),
        }
    }

    fn has(&self, word: &str) -> bool {
        self.rest.contains(&word)
    }
}

fn operands<const N: usize>(i: &Instruction) -> Result<&[Operand; N], Why> {
    let found = i.operands.len();
    i.operands.as_slice().try_into().map_err(|_| format!("expected {N} operands, found {found}"))
}

impl Decoder<'_> {
    pub(super) fn arithmetic(&mut self, i: &Instruction) -> Result<Op, Why> {
        let w = words(i)?;
        if w.ty == ScalarType::Pred {
            return self.logic(i, &w);
        }
        match i.opcode.as_str() {
            "mov" | "not" | "neg" | "abs" | "rcp" | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos"
            | "tanh" | "popc" | "clz" | "brev" => self.unary(i, &w),
            "fma" | "mad" | "bfe" | "shf" | "prmt" | "lop3" => self.ternary(i, &w),
            "shl" | "shr" => self.shift(i, &w),
            _ => self.binary(i, &w),
        }
    }

    fn unary(&mut self, i: &Instruction, w: &Words) -> Result<Op, Why> {
        let [d, a] = operands::<2>(i)?;
        if w.ty.size() == 8 {
            let f = unary64(&i.opcode, w)?;
            return Ok(Op::Un64 { f, d: self.d(d)?, a: self.d(a)? });
        }
        let f = unary32(&i.opcode, w)?;
        Ok(Op::Un32 { f, d: self.r(d)?, a: self.r(a)? })
    }

    fn binary(&mut self, i: &Instruction, w: &Words) -> Result<Op, Why> {
        let [d, a, b] = operands::<3>(i)?;
        if i.opcode == "mul" && w.has("wide") {
            w.only(&["wide"])?;
            let signed = wide(w.ty)?;
            return Ok(Op::MulWide { signed, d: self.d(d)?, a: self.r(a)?, b: self.r(b)? });
        }
        if w.ty.size() == 8 {
            let f = binary64(&i.opcode, w)?;
            return Ok(Op::Bin64 { f, d: self.d(d)?, a: self.d(a)?, b: self.d(b)? });
        }
        let f = binary32(&i.opcode, w)?;
        Ok(Op::Bin32 { f, d: self.r(d)?, a: self.r(a)?, b: self.r(b)? })
    }

    fn shift(&mut self, i: &Instruction, w: &Words) -> Result<Op, Why> {
        w.only(&[])?;
        let [d, a, b] = operands::<3>(i)?;
        let signed = w.ty.is_signed();
        let left = i.opcode == "shl";
        let b = self.r(b)?;
        if w.ty.size() == 8 {
            let f = if left {
                Shift64::Shl
            } else if signed {
                Shift64::ShrS
            } else {
                Shift64::ShrU
            };
            return Ok(Op::Shift64 { f, d: self.d(d)?, a: self.d(a)?, b });
        }
        if w.ty.size() != 4 {
            return Err(format!("shifts of {} are not supported", w.ty.name()));
        }
        let f = if left {
            Bin32::Shl
        } else if signed {
            Bin32::ShrS
        } else {
            Bin32::ShrU
        };
        Ok(Op::Bin32 { f, d: self.r(d)?, a: self.r(a)?, b })
    }

    fn ternary(&mut self, i: &Instruction, w: &Words) -> Result<Op, Why> {
        if i.opcode == "lop3" {
            let [d, a, b, c, table] = operands::<5>(i)?;
            let Operand::Integer(table) = table else {
                return Err("expected a constant truth table".to_owned());
            };
            let f = Tern32::Lop3((table & 0xff) as u8);
            return Ok(Op::Tern32 { f, d: self.r(d)?, a: self.r(a)?, b: self.r(b)?, c: self.r(c)? });
        }
        let [d, a, b, c] = operands::<4>(i)?;
        if i.opcode == "mad" && w.has("wide") {
            w.only(&["wide"])?;
            let signed = wide(w.ty)?;
            return Ok(Op::MadWide { signed, d: self.d(d)?, a: self.r(a)?, b: self.r(b)?, c: self.d(c)? });
        }
        if w.ty.size() == 8 {
            let f = match (i.opcode.as_str(), w.ty) {
                ("fma", ScalarType::F64) => {
                    w.only(&["rn"])?;
                    Tern64::Fma
                }
                ("mad", ty) if !ty.is_float() => {
                    w.only(&["lo"])?;
                    Tern64::MadLo
                }
                _ => return Err(unknown(i, w)),
            };
            return Ok(Op::Tern64 { f, d: self.d(d)?, a: self.d(a)?, b: self.d(b)?, c: self.d(c)? });
        }
        let f = ternary32(i, w)?;
        Ok(Op::Tern32 { f, d: self.r(d)?, a: self.r(a)?, b: self.r(b)?, c: self.r(c)? })
    }
}

fn unknown(i: &Instruction, w: &Words) -> Why {
    format!("`{}` on {} is not supported", i.opcode, w.ty.name())
}

fn wide(ty: ScalarType) -> Result<bool, Why> {
    match ty {
        ScalarType::S32 => Ok(true),
        ScalarType::U32 => Ok(false),
        _ => Err(format!("`.wide` on {} is not supported", ty.name())),
    }
}

fn ternary32(i: &Instruction, w: &Words) -> Result<Tern32, Why> {
    Ok(match (i.opcode.as_str(), w.ty) {
        ("fma", ScalarType::F32) => {
            w.only(&["rn"])?;
            Tern32::Fma
        }
        ("mad", ScalarType::S32 | ScalarType::U32) => {
            w.only(&["lo"])?;
            Tern32::MadLo
        }
        ("bfe", ScalarType::U32) => Tern32::BfeU,
        ("shf", ScalarType::B32) if w.has("wrap") => {
            w.only(&["wrap", "l", "r"])?;
            if w.has("l") { Tern32::ShfL } else { Tern32::ShfR }
        }
        ("prmt", ScalarType::B32) => {
            w.only(&[])?;
            Tern32::Prmt
        }
        _ => return Err(unknown(i, w)),
    })
}

fn unary32(opcode: &str, w: &Words) -> Result<Un32, Why> {
    use ScalarType as T;
    let refuse = || Err(format!("`{opcode}` on {} is not supported", w.ty.name()));
    let f = match (opcode, w.ty) {
        ("mov", ty) if ty.size() == 4 => Un32::Mov,
        ("mov", ty) if ty.size() == 2 => Un32::Low16,
        ("not", T::B32) => Un32::Not,
        ("neg", T::S32) => Un32::Neg,
        ("abs", T::S32) => Un32::Abs,
        ("neg", T::F32) => Un32::NegF,
        ("abs", T::F32) => Un32::AbsF,
        ("popc", T::B32) => Un32::Popc,
        ("clz", T::B32) => Un32::Clz,
        ("brev", T::B32) => Un32::Brev,
        ("rcp", T::F32) if w.rest == ["rn"] => return Ok(Un32::RcpF),
        ("sqrt", T::F32) if w.rest == ["rn"] => return Ok(Un32::SqrtF),
        (_, T::F32) if w.rest.first() == Some(&"approx") => return approximate(opcode, w),
        _ => return refuse(),
    };
    w.only(&[])?;
    Ok(f)
}

fn approximate(opcode: &str, w: &Words) -> Result<Un32, Why> {
    w.only(&["approx"])?;
    Ok(match opcode {
        "ex2" => Un32::Ex2Approx,
        "lg2" => Un32::Lg2Approx,
        "sin" => Un32::SinApprox,
        "cos" => Un32::CosApprox,
        "tanh" => Un32::TanhApprox,
        "rsqrt" => Un32::RsqrtApprox,
        _ => return Err(format!("`{opcode}.approx` is not supported")),
    })
}

fn unary64(opcode: &str, w: &Words) -> Result<Un64, Why> {
    use ScalarType as T;
    let f = match (opcode, w.ty) {
        ("mov", _) => Un64::Mov,
        ("not", T::B64) => Un64::Not,
        ("neg", T::S64) => Un64::Neg,
        ("abs", T::S64) => Un64::Abs,
        ("neg", T::F64) => Un64::NegF,
        ("abs", T::F64) => Un64::AbsF,
        ("sqrt", T::F64) if w.rest == ["rn"] => return Ok(Un64::SqrtF),
        ("rcp", T::F64) if w.rest == ["rn"] => return Ok(Un64::RcpF),
        _ => return Err(format!("`{opcode}` on {} is not supported", w.ty.name())),
    };
    w.only(&[])?;
    Ok(f)
}

fn binary32(opcode: &str, w: &Words) -> Result<Bin32, Why> {
    use ScalarType as T;
    let signed = w.ty.is_signed();
    let pick = |s, u| if signed { s } else { u };
    let (f, allowed): (Bin32, &[&str]) = match (opcode, w.ty) {
        ("and", T::B32 | T::B16) => (Bin32::And, &[]),
        ("or", T::B32 | T::B16) => (Bin32::Or, &[]),
        ("xor", T::B32 | T::B16) => (Bin32::Xor, &[]),
        ("add", T::F32) => (Bin32::AddF, &["rn"]),
        ("sub", T::F32) => (Bin32::SubF, &["rn"]),
        ("mul", T::F32) => (Bin32::MulF, &["rn"]),
        ("div", T::F32) if w.rest == ["rn"] => (Bin32::DivF, &["rn"]),
        ("min", T::F32) => (Bin32::MinF, &[]),
        ("max", T::F32) => (Bin32::MaxF, &[]),
        ("add", T::S32 | T::U32) => (Bin32::Add, &[]),
        ("sub", T::S32 | T::U32) => (Bin32::Sub, &[]),
        ("mul", T::S32 | T::U32) if w.has("hi") => (pick(Bin32::MulHiS, Bin32::MulHiU), &["hi"]),
        ("mul", T::S32 | T::U32) => (Bin32::MulLo, &["lo"]),
        ("min", T::S32 | T::U32) => (pick(Bin32::MinS, Bin32::MinU), &[]),
        ("max", T::S32 | T::U32) => (pick(Bin32::MaxS, Bin32::MaxU), &[]),
        ("div", T::S32 | T::U32) => (pick(Bin32::DivS, Bin32::DivU), &[]),
        ("rem", T::S32 | T::U32) => (pick(Bin32::RemS, Bin32::RemU), &[]),
        _ => return Err(format!("`{opcode}` on {} is not supported", w.ty.name())),
    };
    w.only(allowed)?;
    Ok(f)
}

fn binary64(opcode: &str, w: &Words) -> Result<Bin64, Why> {
    use ScalarType as T;
    let signed = w.ty.is_signed();
    let pick = |s, u| if signed { s } else { u };
    let (f, allowed): (Bin64, &[&str]) = match (opcode, w.ty) {
        ("and", T::B64) => (Bin64::And, &[]),
        ("or", T::B64) => (Bin64::Or, &[]),
        ("xor", T::B64) => (Bin64::Xor, &[]),
        ("add", T::F64) => (Bin64::AddF, &["rn"]),
        ("sub", T::F64) => (Bin64::SubF, &["rn"]),
        ("mul", T::F64) => (Bin64::MulF, &["rn"]),
        ("div", T::F64) if w.rest == ["rn"] => (Bin64::DivF, &["rn"]),
        ("add", T::S64 | T::U64) => (Bin64::Add, &[]),
        ("sub", T::S64 | T::U64) => (Bin64::Sub, &[]),
        ("mul", T::S64 | T::U64) => (Bin64::MulLo, &["lo"]),
        ("min", T::S64 | T::U64) => (pick(Bin64::MinS, Bin64::MinU), &[]),
        ("max", T::S64 | T::U64) => (pick(Bin64::MaxS, Bin64::MaxU), &[]),
        ("div", T::S64 | T::U64) => (pick(Bin64::DivS, Bin64::DivU), &[]),
        ("rem", T::S64 | T::U64) => (pick(Bin64::RemS, Bin64::RemU), &[]),
        _ => return Err(format!("`{opcode}` on {} is not supported", w.ty.name())),
    };
    w.only(allowed)?;
    Ok(f)
}
