//! Comparisons, selections and logic on predicates.

use super::arithmetic::{Words, words};
use super::{Decoder, Why};
use crate::machine::op::{Compare, Logic, Op, Reading};
use crate::ptx::{Instruction, ScalarType};

impl Decoder<'_> {
    pub(super) fn compare(&mut self, i: &Instruction) -> Result<Op, Why> {
        let w = words(i)?;
        let [word] = w.rest.as_slice() else {
            return Err(format!("`.{}` is not supported", w.rest.join(".")));
        };
        let [d, a, b] = i.operands.as_slice() else { return Err("expected 3 operands".to_owned()) };
        let d = self.p(d)?;
        let reading = match w.ty {
            ScalarType::F32 | ScalarType::F64 => Reading::Float,
            ty if ty.is_signed() => Reading::Signed,
            ScalarType::U32 | ScalarType::U64 | ScalarType::B32 | ScalarType::B64 => Reading::Unsigned,
            ty => return Err(format!("comparing {} is not supported", ty.name())),
        };
        let compare =
            comparison(word, reading).ok_or_else(|| format!("comparison `{word}` is not supported"))?;
        Ok(match w.ty.size() {
            8 => Op::Set64 { compare, reading, d, a: self.d(a)?, b: self.d(b)? },
            4 => Op::Set32 { compare, reading, d, a: self.r(a)?, b: self.r(b)? },
            _ => return Err(format!("comparing {} is not supported", w.ty.name())),
        })
    }

    pub(super) fn select(&mut self, i: &Instruction) -> Result<Op, Why> {
        let w = words(i)?;
        w.only(&[])?;
        let [d, a, b, p] = i.operands.as_slice() else { return Err("expected 4 operands".to_owned()) };
        let p = self.p(p)?;
        Ok(if w.ty.size() == 8 {
            Op::Select64 { d: self.d(d)?, a: self.d(a)?, b: self.d(b)?, p }
        } else {
            Op::Select32 { d: self.r(d)?, a: self.r(a)?, b: self.r(b)?, p }
        })
    }

    pub(super) fn logic(&self, i: &Instruction, w: &Words) -> Result<Op, Why> {
        w.only(&[])?;
        let f = match i.opcode.as_str() {
            "and" => Logic::And,
            "or" => Logic::Or,
            "xor" => Logic::Xor,
            "mov" => Logic::First,
            "not" => Logic::NotFirst,
            other => return Err(format!("`{other}` on pred is not supported")),
        };
        let [d, a, rest @ ..] = i.operands.as_slice() else { return Err("expected operands".to_owned()) };
        let (d, a) = (self.p(d)?, self.p(a)?);
        let b = match (f, rest) {
            (Logic::First | Logic::NotFirst, []) => a,
            (Logic::And | Logic::Or | Logic::Xor, [b]) => self.p(b)?,
            _ => return Err("wrong number of operands".to_owned()),
        };
        Ok(Op::Logic { f, d, a, b })
    }
}

fn comparison(word: &str, reading: Reading) -> Option<Compare> {
    let float = reading == Reading::Float;
    Some(match word {
        "eq" => Compare::Eq,
        "ne" => Compare::Ne,
        "lt" | "lo" => Compare::Lt,
        "le" | "ls" => Compare::Le,
        "gt" | "hi" => Compare::Gt,
        "ge" | "hs" => Compare::Ge,
        "equ" if float => Compare::Equ,
        "neu" if float => Compare::Neu,
        "ltu" if float => Compare::Ltu,
        "leu" if float => Compare::Leu,
        "gtu" if float => Compare::Gtu,
        "geu" if float => Compare::Geu,
        "num" if float => Compare::Num,
        "nan" if float => Compare::Nan,
        _ => return None,
    })
}
