//! Decoding loads and stores; parameters become moves, because they are rows already.

use super::operands::{bits, describe};
use super::words::Words;
use super::{Decoded, One, expected, small, unsupported};
use crate::machine::access::Access;
use crate::machine::operation::{Bank, Op};
use crate::machine::trap::Direction;
use crate::ptx::{Address, AddressBase, Operand, ScalarType, Space};

/// Hints to caches that change no result.
const HINTS: [&str; 13] = [
    "ca",
    "cg",
    "cs",
    "lu",
    "cv",
    "wb",
    "wt",
    "nc",
    "L1::evict_normal",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
    "L1::evict_unchanged",
];

impl One<'_, '_> {
    pub(super) fn memory(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        let ty = words.ty()?;
        if matches!(ty, ScalarType::Pred | ScalarType::B128) {
            return unsupported(&format!("type .{}", ty.name()));
        }
        let lanes = match words.one_of(&["v2", "v4"]) {
            Some("v2") => 2,
            Some(_) => 4,
            None => 1,
        };
        let ordered = order(words);
        let space = words.find(Space::from_name).unwrap_or(Space::Generic);
        while words.one_of(&HINTS).is_some() || words.find(prefetch).is_some() {}
        let store = self.ptx.opcode == "st";
        let [first, second] = self.operands()?.clone();
        let (address, data) = if store { (first, second) } else { (second, first) };
        let Operand::Address(address) = address else {
            return expected("an address in brackets", &describe(&address));
        };
        let elements = Self::elements(&data);
        if elements.len() != lanes || lanes * ty.size() > 16 {
            return expected(&format!("{lanes} elements of at most 16 bytes"), &elements.len().to_string());
        }
        if space == Space::Param {
            return if store {
                unsupported("a store to a parameter")
            } else {
                self.load_parameter(elements, &address, ty)
            };
        }
        self.access(elements, &address, (space, ty, ordered))
    }

    fn load_parameter(&mut self, elements: &[Operand], address: &Address, ty: ScalarType) -> Decoded<()> {
        let AddressBase::Symbol(name) = &address.base else {
            return unsupported("a parameter read through a register");
        };
        for (k, element) in (0_i64..).zip(elements) {
            let (bank, d, _) = self.loose_destination(element, ty)?;
            let offset = address.offset + k * i64::try_from(ty.size()).unwrap_or(0);
            let Some(a) = self.rows.parameter(name, offset, ty, bank) else {
                return expected(&format!("a parameter with {} bytes at offset {offset}", ty.size()), name);
            };
            self.emit(Op::Move(bank), [d, a, 0, 0]);
        }
        Ok(())
    }

    fn access(
        &mut self,
        elements: &[Operand],
        address: &Address,
        (space, ty, ordered): (Space, ScalarType, bool),
    ) -> Decoded<()> {
        let direction = if self.ptx.opcode == "st" { Direction::Write } else { Direction::Read };
        let base = self.base(address)?;
        let mut register_bits = bits(ty);
        let mut rows = Vec::new();
        for element in elements {
            if direction == Direction::Write {
                rows.push(self.loose_source(element, ty)?);
            } else {
                let (bank, row, width) = self.loose_destination(element, ty)?;
                register_bits = width;
                rows.push((bank, row));
            }
        }
        let access = Access {
            space,
            direction,
            width: ty.size(),
            elements: rows,
            register_bits,
            signed: ty.is_signed(),
            base,
            offset: address.offset,
            ordered,
        };
        let table = &mut self.rows.tables.accesses;
        table.push(access);
        let index = small(table.len() - 1);
        self.emit(Op::Memory(index), [0; 4]);
        Ok(())
    }

    fn base(&mut self, address: &Address) -> Decoded<(Bank, u16)> {
        match &address.base {
            AddressBase::Register(id) => {
                let (bank, _) = self.rows.place(id.0);
                let ty = if bank == Bank::Wide { ScalarType::U64 } else { ScalarType::U32 };
                Ok((bank, self.source(&Operand::Register(*id), ty)?))
            }
            AddressBase::Symbol(name) => match self.rows.address(name) {
                Some(value) => Ok((Bank::Wide, self.rows.constant(Bank::Wide, value))),
                None => expected("a known variable", name),
            },
            AddressBase::Absolute => Ok((Bank::Wide, self.rows.constant(Bank::Wide, 0))),
        }
    }
}

/// Whether the access synchronises by itself.
fn order(words: &mut Words<'_>) -> bool {
    words.flag("weak");
    words.one_of(&["cta", "cluster", "gpu", "sys"]);
    words.one_of(&["volatile", "relaxed", "acquire", "release", "mmio"]).is_some()
}

fn prefetch(word: &str) -> Option<()> {
    matches!(word, "L2::64B" | "L2::128B" | "L2::256B").then_some(())
}
