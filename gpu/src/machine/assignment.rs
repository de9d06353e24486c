//! Which register uses are proven to follow an assignment on every path; checking the others at run time is left to the warp.

use super::graph::Graph;

/// Registers that one instruction reads and writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    pub(crate) uses: Vec<usize>,
    pub(crate) definitions: Vec<usize>,
    /// Whether some lanes may skip it, so that its definitions prove nothing.
    pub(crate) guarded: bool,
}

/// For each instruction the registers it uses that could not be proven assigned.
pub(crate) fn unproven(graph: &Graph, effects: &[Effects], registers: usize) -> Vec<Vec<usize>> {
    let at_start = at_block_starts(graph, effects, registers);
    let mut unproven = vec![Vec::new(); effects.len()];
    for (block, mut assigned) in graph.blocks.iter().zip(at_start) {
        for at in block.clone() {
            let mut missing: Vec<usize> =
                effects[at].uses.iter().copied().filter(|&r| !assigned.has(r)).collect();
            missing.sort_unstable();
            missing.dedup();
            unproven[at] = missing;
            assigned.add(&effects[at]);
        }
    }
    unproven
}

/// Intersection over all paths, by iteration from "everything" downwards.
fn at_block_starts(graph: &Graph, effects: &[Effects], registers: usize) -> Vec<Set> {
    let predecessors = graph.predecessors();
    let mut starts = vec![Set::full(registers); graph.blocks.len()];
    let mut ends = starts.clone();
    let mut changed = true;
    while changed {
        changed = false;
        for block in 0..graph.blocks.len() {
            let mut start = if block == 0 { Set::empty(registers) } else { Set::full(registers) };
            predecessors[block].iter().for_each(|&before| start.keep(&ends[before]));
            let mut end = start.clone();
            graph.blocks[block].clone().for_each(|at| end.add(&effects[at]));
            changed |= end != ends[block];
            starts[block] = start;
            ends[block] = end;
        }
    }
    starts
}

#[derive(Clone, PartialEq, Eq)]
struct Set(Vec<u64>);

impl Set {
    fn empty(registers: usize) -> Self {
        Self(vec![0; registers.div_ceil(64)])
    }

    fn full(registers: usize) -> Self {
        Self(vec![u64::MAX; registers.div_ceil(64)])
    }

    fn has(&self, register: usize) -> bool {
        self.0[register / 64] >> (register % 64) & 1 == 1
    }

    fn add(&mut self, effects: &Effects) {
        if !effects.guarded {
            effects.definitions.iter().for_each(|r| self.0[r / 64] |= 1 << (r % 64));
        }
    }

    fn keep(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= other);
    }
}
