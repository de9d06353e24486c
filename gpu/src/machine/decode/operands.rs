//! Operands to rows: registers, constants, special registers, addresses of variables, parameters; instructions are left to the groups.

use std::collections::HashMap;

use super::{Decoded, One, Refusal, expected, unsupported};
use crate::machine::operation::Bank;
use crate::machine::program::{Content, LoadError, Preset, Program, Special, Tables};
use crate::machine::space::{MOST_BUFFERS, MOST_VARIABLES, block_address, global_address};
use crate::ptx::{Entry, Module, Operand, RegisterId, ScalarType, Space, Variable};

const MOST_ROWS: usize = 1 << 16;
/// Local memory of a thread and static data of a module, in bytes.
const MOST_LOCAL: usize = 512 << 10;
const MOST_GLOBAL: usize = 1 << 30;

/// The rows handed out so far, and all tables.
pub(super) struct Rows<'m> {
    places: Vec<(Bank, u16)>,
    entry: &'m Entry,
    counts: [usize; 3],
    presets: Vec<Preset>,
    /// Rows of presets that exist already; the number tells banks apart.
    known: HashMap<(u8, u64), u16>,
    addresses: HashMap<&'m str, u64>,
    pub(super) tables: Tables,
    shared: Vec<Variable>,
    local: Vec<Variable>,
    global: Vec<Variable>,
}

pub(super) fn bank_of(ty: ScalarType) -> Option<Bank> {
    match ty {
        ScalarType::Pred => Some(Bank::Predicate),
        ScalarType::B128 => None,
        _ if ty.size() == 8 => Some(Bank::Wide),
        _ => Some(Bank::Narrow),
    }
}

impl<'m> Rows<'m> {
    pub(super) fn new(module: &'m Module, entry: &'m Entry) -> Result<Self, LoadError> {
        let mut rows = Self {
            places: Vec::new(),
            entry,
            // Predicate row 0 is always true.
            counts: [0, 0, 1],
            presets: Vec::new(),
            known: HashMap::new(),
            addresses: HashMap::new(),
            tables: Tables::default(),
            shared: Vec::new(),
            local: Vec::new(),
            global: Vec::new(),
        };
        for register in &entry.registers {
            // A 128-bit register gets a row, and every use of it is refused by its size.
            let bank = bank_of(register.ty).unwrap_or(Bank::Narrow);
            let row = rows.fresh(bank);
            rows.places.push((bank, row));
        }
        for variable in entry.variables.iter().chain(&module.variables) {
            rows.place_variable(variable);
        }
        rows.check_variables(module)?;
        Ok(rows)
    }

    /// Past the limit rows repeat; the count then refuses the program.
    fn fresh(&mut self, bank: Bank) -> u16 {
        let count = &mut self.counts[bank as usize];
        *count += 1;
        u16::try_from(*count - 1).unwrap_or(u16::MAX)
    }

    fn place_variable(&mut self, variable: &'m Variable) {
        let (list, address) = match variable.space {
            Space::Shared => (&mut self.shared, block_address as fn(usize) -> u64),
            Space::Local => (&mut self.local, block_address as fn(usize) -> u64),
            _ => (&mut self.global, module_address as fn(usize) -> u64),
        };
        self.addresses.entry(&variable.name).or_insert(address(list.len()));
        list.push(variable.clone());
    }

    fn check_variables(&self, module: &Module) -> Result<(), LoadError> {
        let total = |list: &[Variable]| list.iter().fold(0, |sum: usize, v| sum.saturating_add(v.size));
        let found = [
            ("shared variables", self.shared.len(), MOST_VARIABLES),
            ("local variables", self.local.len(), MOST_VARIABLES),
            ("bytes of local memory", total(&self.local), MOST_LOCAL),
            ("bytes of shared memory", total(&self.shared), 227 << 10),
            ("bytes of module variables", total(&self.global), MOST_GLOBAL),
        ];
        found.into_iter().try_for_each(|item| self.limit(module, item))
    }

    fn limit(
        &self,
        module: &Module,
        (what, found, limit): (&'static str, usize, usize),
    ) -> Result<(), LoadError> {
        if found <= limit {
            return Ok(());
        }
        let (ptx_name, entry) = (module.source_name.clone(), self.entry.name.clone());
        Err(LoadError::TooMany { ptx_name, entry, what, found, limit })
    }

    pub(super) fn registers(&self) -> usize {
        self.places.len()
    }

    /// Row of a PTX register.
    pub(super) fn place(&self, register: usize) -> (Bank, u16) {
        self.places.get(register).copied().unwrap_or((Bank::Predicate, 0))
    }

    /// A row that no PTX register has, for results between two steps.
    pub(super) fn scratch(&mut self, bank: Bank) -> u16 {
        self.fresh(bank)
    }

    fn preset(&mut self, bank: Bank, content: Content) -> u16 {
        if let Some(preset) = self.presets.iter().find(|p| p.bank == bank && p.content == content) {
            return preset.row;
        }
        let row = self.fresh(bank);
        self.presets.push(Preset { bank, row, content });
        row
    }

    pub(super) fn constant(&mut self, bank: Bank, value: u64) -> u16 {
        if let Some(&row) = self.known.get(&(bank as u8, value)) {
            return row;
        }
        let row = self.fresh(bank);
        self.presets.push(Preset { bank, row, content: Content::Constant(value) });
        self.known.insert((bank as u8, value), row);
        row
    }

    pub(super) fn address(&self, symbol: &str) -> Option<u64> {
        self.addresses.get(symbol).copied()
    }

    /// A row with bytes of a parameter, if it has them.
    pub(super) fn parameter(&mut self, name: &str, offset: i64, ty: ScalarType, bank: Bank) -> Option<u16> {
        let index = self.entry.parameters.iter().position(|p| p.name == name)?;
        let (offset, width) = (usize::try_from(offset).ok()?, ty.size());
        let inside = offset.checked_add(width)? <= self.entry.parameters.get(index)?.size;
        let signed = ty.is_signed();
        inside.then(|| self.preset(bank, Content::Parameter { index, offset, width, signed }))
    }

    pub(super) fn finish(self, module: &Module, entry: &Entry) -> Result<([usize; 3], Program), LoadError> {
        for (what, found) in ["narrow rows", "wide rows", "predicate rows"].into_iter().zip(self.counts) {
            self.limit(module, (what, found, MOST_ROWS))?;
        }
        let tables = self.tables.repacks.len().max(self.tables.conversions.len());
        self.limit(module, ("table entries", tables, MOST_ROWS))?;
        let names =
            self.places.iter().zip(&entry.registers).map(|(&(b, r), register)| (b, r, register.name.clone()));
        let program = Program {
            entry: entry.name.clone(),
            ptx_name: module.source_name.clone(),
            code: Vec::new(),
            origin: Vec::new(),
            origins: Vec::new(),
            files: module.files.clone(),
            rows: self.counts,
            names: names.collect(),
            tables: self.tables,
            presets: self.presets,
            parameters: entry.parameters.clone(),
            shared: self.shared,
            local: self.local,
            global: self.global,
            max_threads: entry.max_threads,
            required_threads: entry.required_threads,
        };
        Ok((self.counts, program))
    }
}

fn module_address(index: usize) -> u64 {
    global_address(MOST_BUFFERS + index)
}

impl One<'_, '_> {
    fn declared(&self, id: RegisterId) -> (ScalarType, &str) {
        self.rows.entry.registers.get(id.0).map_or((ScalarType::Pred, "?"), |r| (r.ty, r.name.as_str()))
    }

    /// The row of a register in the wanted bank; the use is noted.
    pub(super) fn register(&mut self, id: RegisterId, bank: Bank, expected: &str) -> Decoded<u16> {
        let (found, row) = self.rows.place(id.0);
        if found != bank {
            return Err(self.mismatch(id, expected));
        }
        self.item.effects.uses.push(id.0);
        Ok(row)
    }

    fn mismatch(&self, id: RegisterId, expected: &str) -> Refusal {
        let (ty, name) = self.declared(id);
        Refusal::Operand { expected: expected.to_owned(), found: format!("{name}, which is .{}", ty.name()) }
    }

    /// A source of exactly the size of this type.
    pub(super) fn source(&mut self, operand: &Operand, ty: ScalarType) -> Decoded<u16> {
        if let Operand::Register(id) = operand {
            self.check_size(*id, ty)?;
        }
        self.loose_source(operand, ty).map(|(_, row)| row)
    }

    fn check_size(&self, id: RegisterId, ty: ScalarType) -> Decoded<()> {
        let (found, _) = self.declared(id);
        if found.size() == ty.size() && (found == ScalarType::Pred) == (ty == ScalarType::Pred) {
            return Ok(());
        }
        Err(self.mismatch(id, &format!("a register for .{}", ty.name())))
    }

    /// A source whose register may be wider than the type.
    pub(super) fn loose_source(&mut self, operand: &Operand, ty: ScalarType) -> Decoded<(Bank, u16)> {
        let Some(bank) = bank_of(ty) else { return unsupported(&format!("type .{}", ty.name())) };
        let constant = match operand {
            Operand::Register(id) => {
                let (found, row) = self.rows.place(id.0);
                let wide_enough = self.declared(*id).0.size() >= ty.size();
                let predicates = (found == Bank::Predicate) == (bank == Bank::Predicate);
                if !wide_enough || !predicates {
                    return Err(self.mismatch(*id, &format!("a register for .{}", ty.name())));
                }
                self.item.effects.uses.push(id.0);
                return Ok((found, row));
            }
            Operand::Special(name) => {
                return Ok((bank, self.special(name, ty, bank)?));
            }
            Operand::Symbol(name, offset) => match self.rows.address(name) {
                Some(address) => address.wrapping_add(offset.cast_unsigned()),
                None => return expected("a known variable", name),
            },
            other => match constant(other, ty) {
                Some(bits) => bits,
                None => return expected(&format!("a source of type .{}", ty.name()), &describe(other)),
            },
        };
        let bits = if bank == Bank::Predicate { u64::from(constant != 0) } else { truncate(constant, ty) };
        Ok((bank, self.rows.constant(bank, bits)))
    }

    /// A destination register of exactly this type's size.
    pub(super) fn destination(&mut self, operand: &Operand, ty: ScalarType) -> Decoded<u16> {
        if let Operand::Register(id) = operand {
            self.check_size(*id, ty)?;
        }
        self.loose_destination(operand, ty).map(|(_, row, _)| row)
    }

    /// A destination register at least as wide as the type: bank, row, width in bits.
    pub(super) fn loose_destination(
        &mut self,
        operand: &Operand,
        ty: ScalarType,
    ) -> Decoded<(Bank, u16, u32)> {
        let Some(bank) = bank_of(ty) else { return unsupported(&format!("type .{}", ty.name())) };
        let id = match operand {
            Operand::Register(id) => *id,
            Operand::Sink => return Ok((bank, self.rows.scratch(bank), bits(ty))),
            other => return expected("a register", &describe(other)),
        };
        let ((found, row), declared) = (self.rows.place(id.0), self.declared(id).0);
        let predicates = (found == Bank::Predicate) == (bank == Bank::Predicate);
        if declared.size() < ty.size() || !predicates || bank_of(declared).is_none() {
            return Err(self.mismatch(id, &format!("a register for .{}", ty.name())));
        }
        self.item.effects.definitions.push(id.0);
        Ok((found, row, bits(declared)))
    }

    fn special(&mut self, name: &str, ty: ScalarType, bank: Bank) -> Decoded<u16> {
        let special =
            special(name).ok_or_else(|| Refusal::Unsupported(format!("special register `{name}`")))?;
        if ty.size() < 4 || ty.is_float() {
            return expected(&format!("a source of type .{}", ty.name()), name);
        }
        Ok(self.rows.preset(bank, Content::Special(special)))
    }
}

pub(super) fn bits(ty: ScalarType) -> u32 {
    u32::try_from(8 * ty.size()).unwrap_or(64)
}

fn truncate(value: u64, ty: ScalarType) -> u64 {
    value & u64::MAX.checked_shr(64_u32.saturating_sub(bits(ty))).unwrap_or(u64::MAX)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a decimal constant of an f32 instruction is rounded to f32"
)]
fn constant(operand: &Operand, ty: ScalarType) -> Option<u64> {
    match (operand, ty) {
        (Operand::Integer(value), ScalarType::F32) => Some(u64::from((value.cast_signed() as f32).to_bits())),
        (Operand::Integer(value), ScalarType::F64) => Some((value.cast_signed() as f64).to_bits()),
        (Operand::Integer(value), _) => Some(*value),
        (Operand::Float32(bits), ScalarType::F64) => Some(f64::from(f32::from_bits(*bits)).to_bits()),
        (Operand::Float32(bits), _) if ty.size() == 4 => Some(u64::from(*bits)),
        (Operand::Float64(bits), ScalarType::F32) => {
            Some(u64::from((f64::from_bits(*bits) as f32).to_bits()))
        }
        (Operand::Float64(bits), _) if ty.size() == 8 => Some(*bits),
        _ => None,
    }
}

pub(super) fn describe(operand: &Operand) -> String {
    match operand {
        Operand::Register(_) => "a register".to_owned(),
        Operand::Negated(_) => "a negated predicate".to_owned(),
        Operand::Pair(..) => "a pair of registers".to_owned(),
        Operand::Special(name) | Operand::Symbol(name, _) => format!("`{name}`"),
        Operand::Integer(value) => value.cast_signed().to_string(),
        Operand::Float32(bits) => format!("0f{bits:08X}"),
        Operand::Float64(bits) => format!("0d{bits:016X}"),
        Operand::Vector(elements) => format!("a vector of {}", elements.len()),
        Operand::Address(_) => "an address".to_owned(),
        Operand::Label(_) => "a label".to_owned(),
        Operand::Sink => "`_`".to_owned(),
    }
}

fn special(name: &str) -> Option<Special> {
    let axis = |word: &str| ["x", "y", "z"].iter().position(|axis| *axis == word);
    if let Some((stem, word)) = name.split_once('.') {
        let axis = axis(word)?;
        return Some(match stem {
            "%tid" => Special::Thread(axis),
            "%ntid" => Special::ThreadCount(axis),
            "%ctaid" => Special::Block(axis),
            "%nctaid" => Special::BlockCount(axis),
            _ => return None,
        });
    }
    Some(match name {
        "%laneid" => Special::Lane,
        "%warpid" => Special::Warp,
        "%nwarpid" => Special::WarpCount,
        "%lanemask_eq" => Special::LanesEqual,
        "%lanemask_lt" => Special::LanesBelow,
        "%lanemask_le" => Special::LanesBelowOrEqual,
        "%lanemask_gt" => Special::LanesAbove,
        "%lanemask_ge" => Special::LanesAboveOrEqual,
        "%dynamic_smem_size" => Special::DynamicShared,
        "%total_smem_size" => Special::TotalShared,
        "%smid" | "%gridid" => Special::Zero,
        "%nsmid" => Special::One,
        _ => return None,
    })
}
