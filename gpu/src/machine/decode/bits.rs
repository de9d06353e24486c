//! Decoding operations on bit patterns: counts, fields, permutations, funnel shifts; plain logic is left to `integer`.

use super::integer::sized;
use super::words::Words;
use super::{Decoded, One, expected, unsupported};
use crate::machine::operation::{BitsOp, FloatClass, IntegerOp, Op};
use crate::ptx::{Operand, ScalarType};

use ScalarType::{B32, B64, F32, S32, U32};

impl One<'_, '_> {
    pub(super) fn bits(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        match self.ptx.opcode.as_str() {
            "popc" => self.count(IntegerOp::PopCount, words),
            "clz" => self.count(IntegerOp::LeadingZeros, words),
            "brev" => match words.ty()? {
                ty @ (B32 | B64) => self.uniform(sized(IntegerOp::Reverse, ty), ty, 1),
                ty => unsupported(&format!("type .{}", ty.name())),
            },
            "bfe" => match words.ty()? {
                U32 => self.uniform(Op::Bits(BitsOp::ExtractUnsigned), U32, 3),
                S32 => self.uniform(Op::Bits(BitsOp::ExtractSigned), S32, 3),
                ty => unsupported(&format!("type .{}", ty.name())),
            },
            "bfi" => self.insert(words),
            "lop3" => self.lop3(words),
            "prmt" => {
                Self::only(words, B32)?;
                self.uniform(Op::Bits(BitsOp::Permute), B32, 3)
            }
            "shf" => self.funnel(words),
            "slct" => self.slct(words),
            _ => self.testp(words),
        }
    }

    fn only(words: &mut Words<'_>, wanted: ScalarType) -> Decoded<()> {
        let ty = words.ty()?;
        if ty == wanted { Ok(()) } else { unsupported(&format!("type .{}", ty.name())) }
    }

    fn count(&mut self, op: IntegerOp, words: &mut Words<'_>) -> Decoded<()> {
        let ty = words.ty()?;
        if !matches!(ty, B32 | B64) {
            return unsupported(&format!("type .{}", ty.name()));
        }
        let [d, a] = self.operands()?.clone();
        let a = self.source(&a, ty)?;
        let d = self.destination(&d, U32)?;
        self.emit(sized(op, ty), [d, a, 0, 0]);
        Ok(())
    }

    fn insert(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        Self::only(words, B32)?;
        let [d, a, b, position, length] = self.operands()?.clone();
        let rows = [&a, &b, &position, &length].map(|operand| self.source(operand, B32));
        let [a, b, position, length] = rows;
        let (a, b, c, length) = (a?, b?, position?, length?);
        let d = self.destination(&d, B32)?;
        self.emit(Op::Bits(BitsOp::Insert { length }), [d, a, b, c]);
        Ok(())
    }

    fn lop3(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        Self::only(words, B32)?;
        let [d, a, b, c, table] = self.operands()?.clone();
        let table = match table {
            Operand::Integer(value) if value < 256 => u8::try_from(value).unwrap_or(0),
            other => return expected("a table of 0 to 255", &super::operands::describe(&other)),
        };
        let [a, b, c] = [&a, &b, &c].map(|operand| self.source(operand, B32));
        let (a, b, c) = (a?, b?, c?);
        let d = self.destination(&d, B32)?;
        self.emit(Op::Bits(BitsOp::Lop3(table)), [d, a, b, c]);
        Ok(())
    }

    fn funnel(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        Self::only(words, B32)?;
        let wrap = words.flag("wrap");
        if !wrap && !words.flag("clamp") {
            return unsupported("a funnel shift without `.wrap` or `.clamp`");
        }
        let op = if words.flag("l") {
            BitsOp::FunnelLeft { wrap }
        } else if words.flag("r") {
            BitsOp::FunnelRight { wrap }
        } else {
            return unsupported("a funnel shift without `.l` or `.r`");
        };
        self.uniform(Op::Bits(op), B32, 3)
    }

    fn slct(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        Self::only(words, S32)?;
        match words.ty()? {
            B32 | U32 | S32 | F32 => self.uniform(Op::Bits(BitsOp::SelectBySign), B32, 3),
            ty => unsupported(&format!("type .{}", ty.name())),
        }
    }

    fn testp(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        Self::only(words, F32)?;
        let class = words.find(|word| {
            Some(match word {
                "finite" => FloatClass::Finite,
                "infinite" => FloatClass::Infinite,
                "number" => FloatClass::Number,
                "notanumber" => FloatClass::NotANumber,
                "normal" => FloatClass::Normal,
                "subnormal" => FloatClass::Subnormal,
                _ => return None,
            })
        });
        let Some(class) = class else { return unsupported("`testp` without a class") };
        let [d, a] = self.operands()?.clone();
        let a = self.source(&a, F32)?;
        let d = self.destination(&d, ScalarType::Pred)?;
        self.emit(Op::Bits(BitsOp::TestFloat(class)), [d, a, 0, 0]);
        Ok(())
    }
}
