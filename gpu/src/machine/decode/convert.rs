//! Decoding `cvt`: which pair, how rounded, into which width of register; the conversions themselves are left to `step`.

use super::operands::bits;
use super::words::Words;
use super::{Decoded, One, unsupported};
use crate::machine::operation::{Bank, ConvertOp, Op, Rounding};
use crate::machine::step::convert::Conversion;
use crate::machine::step::data::Repack;
use crate::ptx::{Operand, ScalarType};

use ScalarType::{B16, Bf16, Bf16x2, F16, F16x2, F32, S32, S64, U16, U32, U64};

impl One<'_, '_> {
    pub(super) fn cvt(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        let from = words.ty()?;
        let to = words.ty()?;
        let rounding = words.rounding();
        let integral = words.find(integral_rounding);
        let template = Conversion {
            from,
            to,
            source: Bank::Narrow,
            destination: Bank::Narrow,
            register_bits: bits(to),
            rounding: integral.or(rounding).unwrap_or(Rounding::Nearest),
            integral: integral.is_some() && to.is_float(),
            flush: words.flag("ftz"),
            saturate: words.flag("sat"),
            relu: words.flag("relu"),
        };
        if matches!(to, Bf16x2 | F16x2) && from == F32 {
            return self.cvt_pair(template);
        }
        Self::check_pair(&template, rounding.is_some(), integral.is_some())?;
        let [d, a] = self.operands()?.clone();
        let (source, a) = self.loose_source(&a, from)?;
        let (destination, d, register_bits) = self.loose_destination(&d, to)?;
        let conversion = Conversion { source, destination, register_bits, ..template };
        let op = self.conversion(conversion);
        self.emit(op, [d, a, 0, 0]);
        Ok(())
    }

    /// Roundings where PTX wants one and nowhere else, so that nothing is rounded by a guess.
    fn check_pair(c: &Conversion, rounding: bool, integral: bool) -> Decoded<()> {
        let known = |ty: ScalarType| {
            ty.is_float() || !matches!(ty.name().as_bytes().first(), Some(b'b' | b'p' | b'f'))
        };
        if !known(c.from) || !known(c.to) {
            return unsupported(&format!("conversion of .{} to .{}", c.from.name(), c.to.name()));
        }
        let narrows = c.to.is_float()
            && (!c.from.is_float()
                || c.from.size() > c.to.size()
                || (c.from.size() == c.to.size() && c.from != c.to));
        let (wants, wants_integral) = (narrows, c.from.is_float() && !c.to.is_float());
        if wants && !rounding {
            return unsupported("a conversion without a rounding modifier");
        }
        if wants_integral && !integral {
            return unsupported("a conversion to an integer without an integer rounding modifier");
        }
        let same_float = c.from.is_float() && c.from == c.to;
        if (rounding && !wants) || (integral && !wants_integral && !same_float) {
            return unsupported("a rounding modifier on an exact conversion");
        }
        if c.relu && !(c.from == F32 && matches!(c.to, Bf16 | F16)) {
            return unsupported("`.relu` on this conversion");
        }
        Ok(())
    }

    fn conversion(&mut self, c: Conversion) -> Op {
        let plain = !c.saturate && !c.flush && !c.relu && c.register_bits == bits(c.to);
        let nearest = c.rounding == Rounding::Nearest;
        let exact_source = (c.source == Bank::Wide) == (c.from.size() == 8);
        let named = match (c.from, c.to) {
            _ if !plain || !exact_source => None,
            // Registers below 32 bits are zero-extended already.
            (U16 | U32, U32) => return Op::Move(Bank::Narrow),
            (U16 | U32, U64 | S64) => Some(ConvertOp::U64FromU32),
            (S32, U64 | S64) => Some(ConvertOp::S64FromS32),
            (U64 | S64, U32 | S32) => Some(ConvertOp::U32FromU64),
            (F32, S32) if c.rounding == Rounding::Zero => Some(ConvertOp::S32FromF32TowardZero),
            (S32, F32) if nearest => Some(ConvertOp::F32FromS32),
            (U32, F32) if nearest => Some(ConvertOp::F32FromU32),
            (Bf16, F32) => Some(ConvertOp::F32FromBf16),
            (F32, Bf16) if nearest => Some(ConvertOp::Bf16FromF32),
            _ => None,
        };
        named.map_or_else(|| self.tabled(c), Op::Convert)
    }

    fn tabled(&mut self, conversion: Conversion) -> Op {
        let table = &mut self.rows.tables.conversions;
        table.push(conversion);
        // Past the limit the program is refused by the size of the table.
        Op::Convert(ConvertOp::Table(u16::try_from(table.len() - 1).unwrap_or(u16::MAX)))
    }

    /// `cvt.rn.bf16x2.f32 d, a, b`: a becomes the upper half.
    fn cvt_pair(&mut self, template: Conversion) -> Decoded<()> {
        if template.saturate {
            return unsupported("`.sat` on this conversion");
        }
        let [d, a, b] = self.operands()?.clone();
        let to = if template.to == Bf16x2 { Bf16 } else { F16 };
        let conversion = Conversion { to, register_bits: 16, ..template };
        let (a, b) = (self.source(&a, F32)?, self.source(&b, F32)?);
        let d = self.destination(&d, template.to)?;
        let halves = [b, a].map(|source| {
            let half = self.rows.scratch(Bank::Narrow);
            let op = self.conversion(conversion);
            self.emit(op, [half, source, 0, 0]);
            (Bank::Narrow, half)
        });
        let destinations = vec![Some((Bank::Narrow, d))];
        self.repack(Repack { sources: halves.to_vec(), destinations, part_bits: bits(B16) });
        Ok(())
    }

    pub(super) fn repack(&mut self, repack: Repack) {
        let table = &mut self.rows.tables.repacks;
        table.push(repack);
        let index = u16::try_from(table.len() - 1).unwrap_or(u16::MAX);
        self.emit(Op::Repack(index), [0; 4]);
    }

    /// Elements of `{...}`, or the operand itself.
    pub(super) fn elements(operand: &Operand) -> &[Operand] {
        match operand {
            Operand::Vector(elements) => elements,
            other => std::slice::from_ref(other),
        }
    }
}

fn integral_rounding(word: &str) -> Option<Rounding> {
    Some(match word {
        "rni" => Rounding::Nearest,
        "rzi" => Rounding::Zero,
        "rmi" => Rounding::Down,
        "rpi" => Rounding::Up,
        _ => return None,
    })
}
