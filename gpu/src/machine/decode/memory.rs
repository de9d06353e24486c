//! Loads and stores: space, width, vector, address.

use super::{Decoder, Why};
use crate::machine::op::{Cell, D, Op, Region, Slot};
use crate::ptx::{Address, AddressBase, Instruction, Operand, ScalarType, Space};

/// Words about caching and ordering: they change when data moves, not which data.
const HINTS: [&str; 18] = [
    "nc",
    "ca",
    "cg",
    "cs",
    "lu",
    "cv",
    "wb",
    "wt",
    "relaxed",
    "weak",
    "volatile",
    "L1::no_allocate",
    "L1::evict_last",
    "L1::evict_first",
    "L2::128B",
    "L2::64B",
    "L2::256B",
    "gpu",
];

impl Decoder<'_> {
    pub(super) fn access(&mut self, i: &Instruction) -> Result<Op, Why> {
        let load = i.opcode == "ld";
        let mut space = Space::Generic;
        let mut ty = None;
        for word in &i.modifiers {
            if let Some(found) = Space::from_name(word) {
                space = found;
            } else if let Some(found) = ScalarType::from_name(word) {
                ty = Some(found);
            } else if !HINTS.contains(&word.as_str()) && !matches!(word.as_str(), "v2" | "v4") {
                return Err(format!("`.{word}` is not supported here"));
            }
        }
        let ty = ty.ok_or_else(|| "expected a type".to_owned())?;
        let [first, second] = i.operands.as_slice() else { return Err("expected 2 operands".to_owned()) };
        let (value, address) = if load { (first, second) } else { (second, first) };
        let Operand::Address(address) = address else { return Err("expected an address".to_owned()) };
        let cells = self.cells(value, load)?;
        self.form(space, load, cells, address, ty)
    }

    fn form(
        &mut self,
        space: Space,
        load: bool,
        cells: Vec<Cell>,
        at: &Address,
        ty: ScalarType,
    ) -> Result<Op, Why> {
        let width = ty.size();
        let region = match (space, load) {
            (Space::Param, true) => return self.parameter(cells, at, width),
            (Space::Global | Space::Generic, _) => Region::Global,
            (Space::Shared, _) => Region::Shared,
            _ => return Err(format!("{} memory is not supported here", space.name())),
        };
        let (address, offset) = self.base(at)?;
        Ok(if load {
            Op::Load { region, cells, address, offset, width, signed: ty.is_signed() }
        } else {
            Op::Store { region, cells, address, offset, width }
        })
    }

    fn base(&mut self, at: &Address) -> Result<(D, i64), Why> {
        match &at.base {
            AddressBase::Register(id) => match self.register(*id)? {
                Slot::D(d) => Ok((d, at.offset)),
                _ => Err("expected a 64-bit address".to_owned()),
            },
            AddressBase::Symbol(name) => Ok((self.d(&Operand::Symbol(name.clone(), 0))?, at.offset)),
            AddressBase::Absolute => Ok((self.constant64(0), at.offset)),
        }
    }

    fn parameter(&self, cells: Vec<Cell>, at: &Address, width: usize) -> Result<Op, Why> {
        let AddressBase::Symbol(name) = &at.base else {
            return Err("expected a parameter's name".to_owned());
        };
        let (parameter, offset) = self
            .parameters
            .iter()
            .find(|(p, _)| p.name == *name)
            .ok_or_else(|| format!("no parameter `{name}`"))?;
        let within = usize::try_from(at.offset).map_err(|_| "negative offset into a parameter".to_owned())?;
        if within + width * cells.len() > parameter.size {
            return Err(format!(
                "parameter `{name}` has {} bytes, read up to {}",
                parameter.size,
                within + width * cells.len()
            ));
        }
        Ok(Op::LoadParam { cells, offset: offset + within, width })
    }

    fn cells(&mut self, value: &Operand, load: bool) -> Result<Vec<Cell>, Why> {
        let parts: &[Operand] =
            if let Operand::Vector(parts) = value { parts } else { std::slice::from_ref(value) };
        parts.iter().map(|part| self.cell(part, load)).collect()
    }

    fn cell(&mut self, part: &Operand, load: bool) -> Result<Cell, Why> {
        match part {
            Operand::Register(id) => match self.register(*id)? {
                Slot::R(r) => Ok(Cell::R(r)),
                Slot::D(d) => Ok(Cell::D(d)),
                Slot::P(_) => Err("a predicate cannot be loaded or stored".to_owned()),
            },
            constant if !load => self.r(constant).map(Cell::R),
            _ => Err("expected a register to load into".to_owned()),
        }
    }
}
