//! Decoding moves, packing, selection and address-space conversion; loads and stores are left to `memory`.

use super::operands::{bank_of, bits};
use super::words::Words;
use super::{Decoded, One, unsupported};
use crate::machine::operation::{Bank, IntegerOp, Op};
use crate::machine::space::{LOCAL_WINDOW, SHARED_WINDOW};
use crate::machine::step::data::Repack;
use crate::ptx::{Operand, ScalarType, Space};

impl One<'_, '_> {
    pub(super) fn mov(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        let ty = words.ty()?;
        let [d, a] = self.operands()?.clone();
        if matches!(d, Operand::Vector(_)) || matches!(a, Operand::Vector(_)) {
            return self.pack(&d, &a, ty);
        }
        let Some(bank) = bank_of(ty) else { return unsupported(&format!("type .{}", ty.name())) };
        let a = self.source(&a, ty)?;
        let d = self.destination(&d, ty)?;
        self.emit(Op::Move(bank), [d, a, 0, 0]);
        Ok(())
    }

    /// One register into several of equal width, or the reverse.
    fn pack(&mut self, d: &Operand, a: &Operand, ty: ScalarType) -> Decoded<()> {
        let (to, from) = (Self::elements(d), Self::elements(a));
        let parts = to.len().max(from.len());
        let part = match (parts, ty.size()) {
            _ if to.len().min(from.len()) != 1 => None,
            (2, 8) => Some(ScalarType::B32),
            (2, 4) | (4, 8) => Some(ScalarType::B16),
            _ => None,
        };
        let Some(part) = part else {
            return unsupported(&format!("a move between .{} and {parts} parts", ty.name()));
        };
        let (to_ty, from_ty) = if to.len() == 1 { (ty, part) } else { (part, ty) };
        let bank = |ty| bank_of(ty).unwrap_or(Bank::Narrow);
        let mut sources = Vec::new();
        for element in from {
            sources.push((bank(from_ty), self.source(element, from_ty)?));
        }
        let mut destinations = Vec::new();
        for element in to {
            let wanted = *element != Operand::Sink;
            let row = self.destination(element, to_ty)?;
            destinations.push(wanted.then_some((bank(to_ty), row)));
        }
        self.repack(Repack { sources, destinations, part_bits: bits(part) });
        Ok(())
    }

    pub(super) fn selp(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        let ty = words.ty()?;
        let bank = match bank_of(ty) {
            Some(bank) if bank != Bank::Predicate && ty.size() > 1 => bank,
            _ => return unsupported(&format!("type .{}", ty.name())),
        };
        let [d, a, b, c] = self.operands()?.clone();
        let (a, b) = (self.source(&a, ty)?, self.source(&b, ty)?);
        let c = self.source(&c, ScalarType::Pred)?;
        let d = self.destination(&d, ty)?;
        self.emit(Op::Select(bank), [d, a, b, c]);
        Ok(())
    }

    /// Global and constant addresses are generic ones; shared and local ones lie in a window.
    pub(super) fn cvta(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        let ty = words.ty()?;
        if ty != ScalarType::U64 {
            return unsupported(&format!("type .{}", ty.name()));
        }
        let to = words.flag("to");
        let window = match words.find(Space::from_name) {
            Some(Space::Global | Space::Const) => 0,
            Some(Space::Shared) => SHARED_WINDOW,
            Some(Space::Local) => LOCAL_WINDOW,
            _ => return unsupported("an address of this space"),
        };
        let [d, a] = self.operands()?.clone();
        let a = self.source(&a, ty)?;
        let d = self.destination(&d, ty)?;
        if window == 0 {
            self.emit(Op::Move(Bank::Wide), [d, a, 0, 0]);
        } else {
            let window = self.rows.constant(Bank::Wide, window);
            let op = if to { IntegerOp::Sub } else { IntegerOp::Add };
            self.emit(Op::I64(op), [d, a, window, 0]);
        }
        Ok(())
    }
}
