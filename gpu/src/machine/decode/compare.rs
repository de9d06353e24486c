//! Decoding `setp` with its second result and its boolean combination; other uses of predicates are left to others.

use super::words::Words;
use super::{Decoded, One, expected, unsupported};
use crate::machine::operation::{Bank, Combine, CompareType, Comparison, Op};
use crate::ptx::{Operand, ScalarType};

impl One<'_, '_> {
    pub(super) fn setp(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        let ty = words.ty()?;
        let flush = words.flag("ftz");
        let Some((comparison, unsigned)) = words.find(comparison) else {
            return unsupported("a comparison operator");
        };
        let join = words.one_of(&["and", "or", "xor"]);
        let Some(kind) = compare_type(ty, flush, unsigned) else {
            return unsupported(&format!("a comparison of .{}", ty.name()));
        };
        let (d, a, b, c) = match (self.ptx.operands.as_slice(), join) {
            ([d, a, b], None) => (d, a, b, None),
            ([d, a, b, c], Some(_)) => (d, a, b, Some(c)),
            (other, _) => {
                return expected("3 operands, or 4 with a boolean operator", &other.len().to_string());
            }
        };
        let (a, b) = (self.source(a, ty)?, self.source(b, ty)?);
        let (c, flip) = c.map_or(Ok((0, 0)), |c| self.combined(c))?;
        let combine = match join {
            None => Combine::Alone,
            Some("and") => Combine::And { flip },
            Some("or") => Combine::Or { flip },
            Some(_) => Combine::Xor { flip },
        };
        self.results(d, (kind, comparison, combine), [a, b, c])
    }

    fn combined(&mut self, operand: &Operand) -> Decoded<(u16, u32)> {
        match operand {
            Operand::Negated(id) => Ok((self.register(*id, Bank::Predicate, "a predicate")?, u32::MAX)),
            other => Ok((self.source(other, ScalarType::Pred)?, 0)),
        }
    }

    /// `p|q`: q is the inverse comparison joined with the same predicate. The one that overwrites that predicate
    /// comes last.
    fn results(
        &mut self,
        operand: &Operand,
        (kind, comparison, combine): (CompareType, Comparison, Combine),
        [a, b, c]: [u16; 3],
    ) -> Decoded<()> {
        let Operand::Pair(p, q) = operand else {
            let d = self.destination(operand, ScalarType::Pred)?;
            self.emit(Op::Compare(kind, comparison, combine), [d, a, b, c]);
            return Ok(());
        };
        let p = self.destination(&Operand::Register(*p), ScalarType::Pred)?;
        let q = self.destination(&Operand::Register(*q), ScalarType::Pred)?;
        let mut both = [(p, comparison), (q, comparison.inverse())];
        if p == c {
            both.reverse();
        }
        for (d, comparison) in both {
            self.emit(Op::Compare(kind, comparison, combine), [d, a, b, c]);
        }
        Ok(())
    }
}

/// The comparison, and whether its name says that the operands are unsigned.
fn comparison(word: &str) -> Option<(Comparison, bool)> {
    Some(match word {
        "eq" => (Comparison::Eq, false),
        "ne" => (Comparison::Ne, false),
        "lt" => (Comparison::Lt, false),
        "le" => (Comparison::Le, false),
        "gt" => (Comparison::Gt, false),
        "ge" => (Comparison::Ge, false),
        "lo" => (Comparison::Lt, true),
        "ls" => (Comparison::Le, true),
        "hi" => (Comparison::Gt, true),
        "hs" => (Comparison::Ge, true),
        "equ" => (Comparison::Equ, false),
        "neu" => (Comparison::Neu, false),
        "ltu" => (Comparison::Ltu, false),
        "leu" => (Comparison::Leu, false),
        "gtu" => (Comparison::Gtu, false),
        "geu" => (Comparison::Geu, false),
        "num" => (Comparison::Num, false),
        "nan" => (Comparison::Nan, false),
        _ => return None,
    })
}

fn compare_type(ty: ScalarType, flush: bool, unsigned: bool) -> Option<CompareType> {
    use ScalarType::{B16, B32, B64, F32, F64, S16, S32, S64, U16, U32, U64};
    Some(match ty {
        F32 if flush => CompareType::F32Flushed,
        F32 => CompareType::F32,
        F64 if !flush => CompareType::F64,
        _ if flush => return None,
        U16 | B16 => CompareType::U16,
        U32 | B32 => CompareType::U32,
        U64 | B64 => CompareType::U64,
        S16 | S32 | S64 if unsigned => return None,
        S16 => CompareType::S16,
        S32 => CompareType::S32,
        S64 => CompareType::S64,
        _ => return None,
    })
}
