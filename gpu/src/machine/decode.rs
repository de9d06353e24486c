//! From a resolved instruction to an operation: the slots of its operands and the form its words ask for. What is not in these tables is refused by name.

mod arithmetic;
mod convert;
mod memory;
mod predicate;

use std::collections::BTreeMap;

use super::flow::Node;
use super::op::{Cell, D, Op, P, R, Slot};
use super::program::{Counts, Origin, Preset, Program, Step};
use crate::ptx::{Entry, Instruction, Module, Operand, Parameter, RegisterId, ScalarType, Space};

/// Why an instruction is refused.
pub(super) type Why = String;

pub(super) struct Decoder<'a> {
    entry: &'a Entry,
    slots: Vec<Slot>,
    counts: Counts,
    presets32: BTreeMap<Preset, R>,
    presets64: BTreeMap<u64, D>,
    names: BTreeMap<Slot, String>,
    parameters: Vec<(Parameter, usize)>,
    parameter_bytes: usize,
    shared: BTreeMap<String, usize>,
    shared_bytes: usize,
    dynamic_shared: bool,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(module: &'a Module, entry: &'a Entry) -> Self {
        let mut decoder = Self {
            entry,
            slots: Vec::new(),
            counts: Counts::default(),
            presets32: BTreeMap::new(),
            presets64: BTreeMap::new(),
            names: BTreeMap::new(),
            parameters: Vec::new(),
            parameter_bytes: 0,
            shared: BTreeMap::new(),
            shared_bytes: 0,
            dynamic_shared: false,
        };
        decoder.lay_out_registers();
        decoder.lay_out_parameters();
        decoder.lay_out_memory(module);
        decoder
    }

    fn lay_out_registers(&mut self) {
        for register in &self.entry.registers {
            let slot = match register.ty.size() {
                _ if register.ty == ScalarType::Pred => Slot::P(self.new_p()),
                8 => Slot::D(self.new_d()),
                _ => Slot::R(self.new_r()),
            };
            self.names.insert(slot, register.name.clone());
            self.slots.push(slot);
        }
    }

    fn lay_out_parameters(&mut self) {
        for parameter in &self.entry.parameters {
            let offset = self.parameter_bytes.next_multiple_of(parameter.ty.size());
            self.parameters.push((parameter.clone(), offset));
            self.parameter_bytes = offset + parameter.size;
        }
    }

    fn lay_out_memory(&mut self, module: &Module) {
        let mut dynamic = Vec::new();
        for variable in module.variables.iter().chain(&self.entry.variables) {
            // Others are refused where an instruction names them: compilers also write constants that nothing reads.
            if variable.space != Space::Shared {
                continue;
            }
            if variable.dynamic {
                dynamic.push(variable.name.clone());
                continue;
            }
            let offset = self.shared_bytes.next_multiple_of(variable.align.max(1));
            self.shared.insert(variable.name.clone(), offset);
            self.shared_bytes = offset + variable.size;
        }
        self.shared_bytes = self.shared_bytes.next_multiple_of(16);
        self.dynamic_shared = !dynamic.is_empty();
        for name in dynamic {
            self.shared.insert(name, self.shared_bytes);
        }
    }

    fn new_r(&mut self) -> R {
        self.counts.r += 1;
        R(self.counts.r - 1)
    }

    fn new_d(&mut self) -> D {
        self.counts.d += 1;
        D(self.counts.d - 1)
    }

    fn new_p(&mut self) -> P {
        self.counts.p += 1;
        P(self.counts.p - 1)
    }

    fn preset(&mut self, preset: Preset) -> R {
        if let Some(&slot) = self.presets32.get(&preset) {
            return slot;
        }
        let slot = self.new_r();
        self.presets32.insert(preset, slot);
        slot
    }

    fn constant64(&mut self, value: u64) -> D {
        if let Some(&slot) = self.presets64.get(&value) {
            return slot;
        }
        let slot = self.new_d();
        self.presets64.insert(value, slot);
        slot
    }

    fn register(&self, id: RegisterId) -> Result<Slot, Why> {
        self.slots.get(id.0).copied().ok_or_else(|| "register out of range".to_owned())
    }

    /// A 32-bit source.
    fn r(&mut self, operand: &Operand) -> Result<R, Why> {
        match operand {
            Operand::Register(id) => match self.register(*id)? {
                Slot::R(r) => Ok(r),
                _ => Err("expected a register of at most 32 bits".to_owned()),
            },
            #[expect(clippy::cast_possible_truncation, reason = "a 32-bit operand takes the lower half")]
            Operand::Integer(value) => Ok(self.preset(Preset::Const(*value as u32))),
            Operand::Float32(bits) => Ok(self.preset(Preset::Const(*bits))),
            Operand::Special(name) => self.special(name),
            other => Err(format!("operand {other:?} is not supported here")),
        }
    }

    fn special(&mut self, name: &str) -> Result<R, Why> {
        let (base, axis) = name.split_once('.').unwrap_or((name, "x"));
        let axis = match axis {
            "x" => 0,
            "y" => 1,
            "z" => 2,
            _ => return Err(format!("special register {name} is not supported")),
        };
        let preset = match base {
            "%tid" => Preset::Tid(axis),
            "%ctaid" => Preset::Ctaid(axis),
            "%ntid" => Preset::Ntid(axis),
            "%nctaid" => Preset::Nctaid(axis),
            "%laneid" => Preset::Lane,
            "%warpid" => Preset::Warp,
            _ => return Err(format!("special register {name} is not supported")),
        };
        Ok(self.preset(preset))
    }

    /// A 64-bit source.
    fn d(&mut self, operand: &Operand) -> Result<D, Why> {
        match operand {
            Operand::Register(id) => match self.register(*id)? {
                Slot::D(d) => Ok(d),
                _ => Err("expected a register of 64 bits".to_owned()),
            },
            Operand::Integer(value) | Operand::Float64(value) => Ok(self.constant64(*value)),
            Operand::Symbol(name, offset) => {
                let base =
                    *self.shared.get(name).ok_or_else(|| format!("no variable `{name}` in shared memory"))?;
                Ok(self.constant64((base as u64).wrapping_add_signed(*offset)))
            }
            other => Err(format!("operand {other:?} is not supported here")),
        }
    }

    fn p(&self, operand: &Operand) -> Result<P, Why> {
        match operand {
            Operand::Register(id) => match self.register(*id)? {
                Slot::P(p) => Ok(p),
                _ => Err("expected a predicate".to_owned()),
            },
            other => Err(format!("operand {other:?} is not supported here")),
        }
    }

    pub(super) fn step(&mut self, i: &Instruction) -> Result<Step, Why> {
        let guard = match &i.guard {
            None => None,
            Some(guard) => match self.register(guard.register)? {
                Slot::P(p) => Some((p, guard.negated)),
                _ => return Err("expected a predicate as guard".to_owned()),
            },
        };
        let op = self.op(i)?;
        if guard.is_some() && matches!(op, Op::Barrier) {
            return Err("a guarded barrier is not supported".to_owned());
        }
        Ok(Step { op, guard, check: Vec::new(), mark: Vec::new() })
    }

    fn op(&mut self, i: &Instruction) -> Result<Op, Why> {
        match i.opcode.as_str() {
            "ld" | "st" => self.access(i),
            "cvt" => self.convert(i),
            "cvta" => self.address(i),
            "setp" => self.compare(i),
            "selp" => self.select(i),
            "bra" => branch(i),
            "ret" | "exit" => Ok(Op::Exit),
            "trap" => Ok(Op::Trap),
            "bar" | "barrier" => barrier(i),
            "membar" | "fence" => Ok(Op::Nothing),
            _ => self.arithmetic(i),
        }
    }

    pub(super) fn into_program(self, steps: Vec<Step>, origins: Vec<Origin>) -> Program {
        Program {
            entry: self.entry.name.clone(),
            parameters: self.parameters,
            parameter_bytes: self.parameter_bytes,
            steps,
            origins,
            presets32: self.presets32.into_iter().map(|(preset, slot)| (slot, preset)).collect(),
            presets64: self.presets64.into_iter().map(|(value, slot)| (slot, value)).collect(),
            counts: self.counts,
            names: self.names,
            shared_bytes: self.shared_bytes,
            dynamic_shared: self.dynamic_shared,
            max_threads: self.entry.max_threads,
            required_threads: self.entry.required_threads,
        }
    }
}

fn branch(i: &Instruction) -> Result<Op, Why> {
    match i.operands.as_slice() {
        [Operand::Label(target)] => Ok(Op::Branch { target: *target, meet: usize::MAX }),
        _ => Err("expected one label".to_owned()),
    }
}

fn barrier(i: &Instruction) -> Result<Op, Why> {
    let all = matches!(i.operands.as_slice(), [Operand::Integer(0)]);
    let sync = i.modifiers.iter().any(|m| m == "sync");
    if all && sync {
        Ok(Op::Barrier)
    } else {
        Err("only a sync of barrier 0 by all threads is supported".to_owned())
    }
}

fn slot(cell: Cell) -> Slot {
    match cell {
        Cell::R(r) => Slot::R(r),
        Cell::D(d) => Slot::D(d),
    }
}

/// The place of a step in the flow graph of a program that ends at `end`.
pub(super) fn node(index: usize, step: &Step, end: usize) -> Node {
    let (mut reads, writes) = uses(&step.op);
    reads.extend(step.guard.map(|(p, _)| Slot::P(p)));
    let next = match (&step.op, step.guard) {
        (Op::Branch { target, .. }, None) => vec![*target],
        (Op::Branch { target, .. }, Some(_)) => vec![index + 1, *target],
        (Op::Exit | Op::Trap, None) => vec![end],
        (Op::Exit | Op::Trap, Some(_)) => vec![index + 1, end],
        _ => vec![index + 1],
    };
    Node { next, reads, writes, guarded: step.guard.is_some() }
}

/// Slots read and written.
fn uses(op: &Op) -> (Vec<Slot>, Vec<Slot>) {
    use Slot::{D as D_, P as P_, R as R_};
    match op {
        Op::Un32 { d, a, .. } => (vec![R_(*a)], vec![R_(*d)]),
        Op::Bin32 { d, a, b, .. } => (vec![R_(*a), R_(*b)], vec![R_(*d)]),
        Op::Tern32 { d, a, b, c, .. } => (vec![R_(*a), R_(*b), R_(*c)], vec![R_(*d)]),
        Op::Un64 { d, a, .. } => (vec![D_(*a)], vec![D_(*d)]),
        Op::Bin64 { d, a, b, .. } => (vec![D_(*a), D_(*b)], vec![D_(*d)]),
        Op::Tern64 { d, a, b, c, .. } => (vec![D_(*a), D_(*b), D_(*c)], vec![D_(*d)]),
        Op::Shift64 { d, a, b, .. } => (vec![D_(*a), R_(*b)], vec![D_(*d)]),
        Op::Widen { d, a, .. } => (vec![R_(*a)], vec![D_(*d)]),
        Op::Narrow { d, a, .. } => (vec![D_(*a)], vec![R_(*d)]),
        Op::MulWide { d, a, b, .. } => (vec![R_(*a), R_(*b)], vec![D_(*d)]),
        Op::MadWide { d, a, b, c, .. } => (vec![R_(*a), R_(*b), D_(*c)], vec![D_(*d)]),
        Op::Set32 { d, a, b, .. } => (vec![R_(*a), R_(*b)], vec![P_(*d)]),
        Op::Set64 { d, a, b, .. } => (vec![D_(*a), D_(*b)], vec![P_(*d)]),
        Op::Logic { d, a, b, .. } => (vec![P_(*a), P_(*b)], vec![P_(*d)]),
        Op::Select32 { d, a, b, p } => (vec![R_(*a), R_(*b), P_(*p)], vec![R_(*d)]),
        Op::Select64 { d, a, b, p } => (vec![D_(*a), D_(*b), P_(*p)], vec![D_(*d)]),
        Op::LoadParam { cells, .. } => (Vec::new(), cells.iter().map(|&c| slot(c)).collect()),
        Op::Load { cells, address, .. } => (vec![D_(*address)], cells.iter().map(|&c| slot(c)).collect()),
        Op::Store { cells, address, .. } => {
            (cells.iter().map(|&c| slot(c)).chain([D_(*address)]).collect(), Vec::new())
        }
        Op::Branch { .. } | Op::Exit | Op::Barrier | Op::Trap | Op::Nothing => (Vec::new(), Vec::new()),
    }
}
