//! A program: one entry decoded, with its registers laid out, its branches told where threads meet again, and its reads proven or marked; running it is left to `block`.

use std::collections::{BTreeMap, BTreeSet};

use super::decode::{self, Decoder};
use super::error::LoadError;
use super::flow::{self, Node};
use super::op::{D, Op, P, R, Slot};
use crate::ptx::{Instruction, Module, Parameter};

/// Where a constant slot's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Preset {
    Const(u32),
    /// Thread, block, block size, grid size along an axis.
    Tid(u8),
    Ctaid(u8),
    Ntid(u8),
    Nctaid(u8),
    Lane,
    Warp,
}

/// A decoded instruction.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) op: Op,
    /// Predicate and whether it is negated.
    pub(super) guard: Option<(P, bool)>,
    /// Registers whose reads are not proven to follow a write.
    pub(super) check: Vec<Slot>,
    /// Registers of that kind that this instruction writes.
    pub(super) mark: Vec<Slot>,
}

/// Where an instruction stands, for messages.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) line: u32,
    pub(super) source: Option<String>,
    pub(super) text: String,
}

/// One entry point, ready to run.
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) entry: String,
    pub(super) parameters: Vec<(Parameter, usize)>,
    pub(super) parameter_bytes: usize,
    pub(super) steps: Vec<Step>,
    pub(super) origins: Vec<Origin>,
    pub(super) presets32: Vec<(R, Preset)>,
    pub(super) presets64: Vec<(D, u64)>,
    pub(super) counts: Counts,
    pub(super) names: BTreeMap<Slot, String>,
    pub(super) shared_bytes: usize,
    pub(super) dynamic_shared: bool,
    pub(super) max_threads: Option<[u32; 3]>,
    pub(super) required_threads: Option<[u32; 3]>,
}

/// Registers of each bank.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) r: u16,
    pub(super) d: u16,
    pub(super) p: u16,
}

impl Program {
    /// Decodes one entry of a module.
    ///
    /// # Errors
    /// If there is no such entry, or an instruction of it is not supported.
    pub fn load(module: &Module, entry: &str) -> Result<Self, LoadError> {
        let found = module.entry(entry).ok_or_else(|| LoadError::NoEntry {
            module: module.source_name.clone(),
            entry: entry.to_owned(),
            known: module.entries().collect::<Vec<_>>().join(", "),
        })?;
        let mut decoder = Decoder::new(module, found);
        let steps = found
            .instructions
            .iter()
            .map(|i| decoder.step(i).map_err(|why| unsupported(module, i, why)))
            .collect::<Result<Vec<_>, _>>()?;
        let origins = found.instructions.iter().map(|i| origin(module, i)).collect();
        Ok(Self::finish(decoder, steps, origins))
    }

    fn finish(decoder: Decoder, steps: Vec<Step>, origins: Vec<Origin>) -> Self {
        let mut program = decoder.into_program(steps, origins);
        let end = program.steps.len();
        let nodes: Vec<Node> =
            program.steps.iter().enumerate().map(|(i, s)| decode::node(i, s, end)).collect();
        let meets = flow::post_dominators(&nodes);
        let mut given: BTreeSet<Slot> = program.presets32.iter().map(|(r, _)| Slot::R(*r)).collect();
        given.extend(program.presets64.iter().map(|(d, _)| Slot::D(*d)));
        let unproven = flow::unproven(&nodes, &given);
        for ((step, node), meet) in program.steps.iter_mut().zip(&nodes).zip(meets) {
            if let Op::Branch { meet: slot, .. } = &mut step.op {
                *slot = meet;
            }
            step.check = node.reads.iter().copied().filter(|s| unproven.contains(s)).collect();
            step.mark = node.writes.iter().copied().filter(|s| unproven.contains(s)).collect();
        }
        program
    }

    /// Name of the entry.
    #[must_use]
    pub fn entry(&self) -> &str {
        &self.entry
    }
}

fn unsupported(module: &Module, instruction: &Instruction, why: String) -> LoadError {
    LoadError::Unsupported {
        module: module.source_name.clone(),
        line: instruction.line,
        text: instruction.text.clone(),
        why,
    }
}

fn origin(module: &Module, instruction: &Instruction) -> Origin {
    let source = instruction.location.and_then(|location| {
        let position = location.position;
        Some(format!("{}:{}", module.file(position.file)?, position.line))
    });
    Origin { line: instruction.line, source, text: instruction.text.clone() }
}
