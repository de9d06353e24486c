//! PTX instructions to the machine's own: the order of the passes and the layout of the code; each instruction group has its own file.

mod arithmetic;
mod bits;
mod compare;
mod control;
mod convert;
mod data;
mod integer;
mod memory;
mod operands;
mod words;

use super::assignment::{Effects, unproven};
use super::graph::{Flow, Graph};
use super::operation::{Bank, Guard, Instruction, Op};
use super::program::{LoadError, Origin, Program};
use super::warp::NEVER;
use crate::ptx::{self, Entry, Module};
use operands::Rows;
use words::Words;

/// Why an instruction is refused; its text and line are added at the door.
#[derive(Debug)]
enum Refusal {
    Unsupported(String),
    Operand { expected: String, found: String },
}

type Decoded<T> = Result<T, Refusal>;

fn unsupported<T>(what: &str) -> Decoded<T> {
    Err(Refusal::Unsupported(what.to_owned()))
}

fn expected<T>(expected: &str, found: &str) -> Decoded<T> {
    Err(Refusal::Operand { expected: expected.to_owned(), found: found.to_owned() })
}

/// One PTX instruction decoded; branch targets are still PTX indices.
#[derive(Default)]
struct Item {
    code: Vec<Instruction>,
    effects: Effects,
    flow: Option<Flow>,
}

pub(super) fn program(module: &Module, name: &str) -> Result<Program, LoadError> {
    let entry = module.entry(name).ok_or_else(|| LoadError::NoEntry {
        ptx_name: module.source_name.clone(),
        entry: name.to_owned(),
        available: module.entries().collect::<Vec<_>>().join(", "),
    })?;
    let mut rows = Rows::new(module, entry)?;
    let mut items = Vec::with_capacity(entry.instructions.len() + 1);
    for instruction in &entry.instructions {
        let item = decode(&mut rows, instruction);
        items.push(item.map_err(|refusal| refused(module, instruction, refusal))?);
    }
    items.push(end());
    let (code, origin) = lay_out(&items, &rows);
    let (rows, mut program) = rows.finish(module, entry)?;
    program.rows = rows;
    program.code = code;
    program.origin = origin;
    program.origins = origins(entry);
    Ok(program)
}

/// A body may end without `ret`.
fn end() -> Item {
    let exit = Instruction { op: Op::Exit, guard: Guard::default(), d: 0, a: 0, b: 0, c: 0 };
    Item { code: vec![exit], flow: Some(Flow::Exit { conditional: false }), ..Item::default() }
}

fn origins(entry: &Entry) -> Vec<Origin> {
    let own = entry.instructions.iter().map(|i| Origin {
        line: i.line,
        text: i.text.clone(),
        location: i.location,
    });
    let last = entry.instructions.last();
    let end = Origin {
        line: last.map_or(entry.line, |i| i.line),
        text: "end of the entry".to_owned(),
        location: last.and_then(|i| i.location),
    };
    own.chain([end]).collect()
}

fn refused(module: &Module, instruction: &ptx::Instruction, refusal: Refusal) -> LoadError {
    let ptx_name = module.source_name.clone();
    let (line, instruction) = (instruction.line, instruction.text.clone());
    match refusal {
        Refusal::Unsupported(what) => LoadError::Unsupported { ptx_name, line, instruction, what },
        Refusal::Operand { expected, found } => {
            LoadError::Operand { ptx_name, line, instruction, expected, found }
        }
    }
}

fn decode(rows: &mut Rows<'_>, instruction: &ptx::Instruction) -> Decoded<Item> {
    let mut one = One { rows, item: Item::default(), ptx: instruction };
    let mut words = Words::new(&instruction.modifiers);
    let guard = one.guard()?;
    one.group(&mut words)?;
    words.finish()?;
    for decoded in &mut one.item.code {
        decoded.guard = guard;
    }
    Ok(one.item)
}

/// The instruction being decoded.
struct One<'r, 'm> {
    rows: &'r mut Rows<'m>,
    item: Item,
    ptx: &'r ptx::Instruction,
}

impl One<'_, '_> {
    fn guard(&mut self) -> Decoded<Guard> {
        let Some(guard) = self.ptx.guard else { return Ok(Guard::default()) };
        let row = self.register(guard.register, Bank::Predicate, "a predicate")?;
        self.item.effects.guarded = true;
        Ok(Guard { row, flip: if guard.negated { u32::MAX } else { 0 } })
    }

    fn group(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        match self.ptx.opcode.as_str() {
            "add" | "sub" | "mul" | "mad" | "fma" | "div" | "rem" | "min" | "max" | "abs" | "neg" | "rcp"
            | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" | "copysign" => {
                self.arithmetic(words)
            }
            "and" | "or" | "xor" | "not" | "cnot" | "shl" | "shr" => self.logic(words),
            "popc" | "clz" | "brev" | "bfe" | "bfi" | "lop3" | "prmt" | "shf" | "slct" | "testp" => {
                self.bits(words)
            }
            "setp" => self.setp(words),
            "cvt" => self.cvt(words),
            "mov" => self.mov(words),
            "selp" => self.selp(words),
            "cvta" => self.cvta(words),
            "ld" | "ldu" | "st" => self.memory(words),
            _ => self.control(words),
        }
    }

    fn emit(&mut self, op: Op, [d, a, b, c]: [u16; 4]) {
        self.item.code.push(Instruction { op, guard: Guard::default(), d, a, b, c });
    }

    /// Exactly `N` operands.
    fn operands<const N: usize>(&self) -> Decoded<&[ptx::Operand; N]> {
        let found = self.ptx.operands.as_slice();
        found.try_into().map_err(|_| Refusal::Operand {
            expected: format!("{N} operands"),
            found: found.len().to_string(),
        })
    }
}

/// Puts marks for meeting points, register checks and assignments between the instructions, and gives branches
/// their final targets.
fn lay_out(items: &[Item], rows: &Rows<'_>) -> (Vec<Instruction>, Vec<u32>) {
    let flow: Vec<Flow> = items.iter().map(|item| item.flow.unwrap_or(Flow::Next)).collect();
    let graph = Graph::new(&flow);
    let effects: Vec<Effects> = items.iter().map(|item| item.effects.clone()).collect();
    let unproven = unproven(&graph, &effects, rows.registers());
    let mut watched = vec![false; rows.registers()];
    unproven.iter().flatten().for_each(|&register| watched[register] = true);
    let meeting = meeting_points(&graph, &flow);
    let meets: std::collections::HashSet<usize> = meeting.iter().flatten().copied().collect();
    let mut layout = Layout { code: Vec::new(), origin: Vec::new(), start: Vec::new() };
    for (at, item) in items.iter().enumerate() {
        layout.start.push(layout.code.len());
        if meets.contains(&at) {
            layout.mark(Op::Reconverge, 0, Guard::default(), at);
        }
        layout.item(item, at, rows, (&unproven[at], &watched));
    }
    layout.resolve(&meeting);
    (layout.code, layout.origin)
}

/// For each instruction that may send lanes both ways, the instruction at which they meet.
fn meeting_points(graph: &Graph, flow: &[Flow]) -> Vec<Option<usize>> {
    let mut meeting = vec![None; flow.len()];
    for (block, dominator) in graph.blocks.iter().zip(graph.post_dominators()) {
        let last = block.end - 1;
        if matches!(flow[last], Flow::Branch { conditional: true, .. }) {
            meeting[last] = dominator.map(|d| graph.blocks[d].start);
        }
    }
    meeting
}

struct Layout {
    code: Vec<Instruction>,
    origin: Vec<u32>,
    /// Where each PTX instruction begins.
    start: Vec<usize>,
}

impl Layout {
    fn push(&mut self, instruction: Instruction, at: usize) {
        self.code.push(instruction);
        self.origin.push(small(at));
    }

    fn mark(&mut self, op: Op, row: u16, guard: Guard, at: usize) {
        self.push(Instruction { op, guard, d: row, a: row, b: 0, c: 0 }, at);
    }

    fn item(&mut self, item: &Item, at: usize, rows: &Rows<'_>, (unproven, watched): (&[usize], &[bool])) {
        let guard = item.code.first().map_or(Guard::default(), |i| i.guard);
        for &register in unproven {
            let (bank, row) = rows.place(register);
            // The guard itself is read by every active lane.
            let reads_guard = bank == Bank::Predicate && row == guard.row;
            self.mark(Op::Check(bank), row, if reads_guard { Guard::default() } else { guard }, at);
        }
        item.code.iter().for_each(|&instruction| self.push(instruction, at));
        for &register in item.effects.definitions.iter().filter(|&&r| watched[r]) {
            let (bank, row) = rows.place(register);
            self.mark(Op::Assign(bank), row, guard, at);
        }
    }

    fn resolve(&mut self, meeting: &[Option<usize>]) {
        let start = |at: usize| small(self.start.get(at).copied().unwrap_or(self.code.len()));
        let targets: Vec<Op> = self
            .code
            .iter()
            .zip(&self.origin)
            .map(|(instruction, &origin)| match instruction.op {
                Op::Branch { target, .. } => Op::Branch {
                    target: start(target as usize),
                    reconvergence: meeting.get(origin as usize).copied().flatten().map_or(NEVER, start),
                },
                op => op,
            })
            .collect();
        self.code.iter_mut().zip(targets).for_each(|(instruction, op)| instruction.op = op);
    }
}

/// A file of 2^32 instructions does not fit in memory.
fn small(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
