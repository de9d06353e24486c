//! Control flow of one entry: basic blocks, their successors, immediate post-dominators; what instructions do is left to others.

use std::ops::Range;

/// Where control goes after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Next,
    Branch { target: usize, conditional: bool },
    Exit { conditional: bool },
}

#[derive(Debug)]
pub(crate) struct Graph {
    /// Instructions of each block, in order.
    pub(crate) blocks: Vec<Range<usize>>,
    /// Blocks that may follow; the number of blocks stands for the exit.
    pub(crate) successors: Vec<Vec<usize>>,
}

impl Graph {
    /// The last instruction must leave: an unconditional exit or branch.
    pub(crate) fn new(flow: &[Flow]) -> Self {
        let mut leader = vec![false; flow.len() + 1];
        leader[0] = true;
        leader[flow.len()] = true;
        for (at, flow) in flow.iter().enumerate() {
            if *flow != Flow::Next {
                leader[at + 1] = true;
            }
            if let Flow::Branch { target, .. } = flow {
                leader[*target] = true;
            }
        }
        let starts: Vec<usize> = (0..=flow.len()).filter(|&at| leader[at]).collect();
        let blocks: Vec<Range<usize>> = starts.windows(2).map(|pair| pair[0]..pair[1]).collect();
        let block_at = |at: usize| starts.partition_point(|&start| start <= at) - 1;
        let exit = blocks.len();
        let successors = blocks.iter().map(|block| match flow[block.end - 1] {
            Flow::Next => vec![block_at(block.end)],
            Flow::Branch { target, conditional: false } => vec![block_at(target)],
            Flow::Branch { target, conditional: true } => vec![block_at(block.end), block_at(target)],
            Flow::Exit { conditional: false } => vec![exit],
            Flow::Exit { conditional: true } => vec![block_at(block.end), exit],
        });
        let successors = successors.collect();
        Self { blocks, successors }
    }

    pub(crate) fn predecessors(&self) -> Vec<Vec<usize>> {
        let mut predecessors = vec![Vec::new(); self.blocks.len() + 1];
        for (block, successors) in self.successors.iter().enumerate() {
            for &successor in successors {
                predecessors[successor].push(block);
            }
        }
        predecessors
    }

    /// For each block the block in which all its paths to the exit first meet; `None` where that is the exit
    /// itself, or where no path leads out. Algorithm of Cooper, Harvey and Kennedy on the reversed graph.
    pub(crate) fn post_dominators(&self) -> Vec<Option<usize>> {
        let exit = self.blocks.len();
        let order = self.reverse_post_order();
        let mut rank = vec![usize::MAX; exit + 1];
        order.iter().enumerate().for_each(|(r, &block)| rank[block] = r);
        let mut dominator = vec![usize::MAX; exit + 1];
        dominator[exit] = exit;
        let mut changed = true;
        while changed {
            changed = false;
            for &block in order.iter().skip(1) {
                let known = self.successors[block].iter().copied().filter(|&s| dominator[s] != usize::MAX);
                let meet = known.reduce(|a, b| intersect(a, b, &dominator, &rank));
                if let Some(meet) = meet.filter(|&meet| meet != dominator[block]) {
                    dominator[block] = meet;
                    changed = true;
                }
            }
        }
        dominator.truncate(exit);
        dominator.into_iter().map(|block| (block < exit).then_some(block)).collect()
    }

    /// From the exit backwards, each block before those that lead to it where possible.
    fn reverse_post_order(&self) -> Vec<usize> {
        let exit = self.blocks.len();
        let predecessors = self.predecessors();
        let mut seen = vec![false; exit + 1];
        let mut order = Vec::new();
        let mut stack = vec![(exit, 0)];
        seen[exit] = true;
        while let Some((block, next)) = stack.pop() {
            let Some(&before) = predecessors[block].get(next) else {
                order.push(block);
                continue;
            };
            stack.push((block, next + 1));
            if !seen[before] {
                seen[before] = true;
                stack.push((before, 0));
            }
        }
        order.reverse();
        order
    }
}

fn intersect(mut a: usize, mut b: usize, dominator: &[usize], rank: &[usize]) -> usize {
    while a != b {
        if rank[a] > rank[b] {
            a = dominator[a];
        } else {
            b = dominator[b];
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::{Flow, Graph};

    const EXIT: Flow = Flow::Exit { conditional: false };

    fn branch(target: usize) -> Flow {
        Flow::Branch { target, conditional: true }
    }

    #[test]
    fn two_arms_meet_behind_the_second() {
        let jump = Flow::Branch { target: 4, conditional: false };
        let graph = Graph::new(&[branch(3), Flow::Next, jump, Flow::Next, EXIT]);
        assert_eq!(graph.blocks, [0..1, 1..3, 3..4, 4..5]);
        assert_eq!(graph.post_dominators(), [Some(3), Some(3), Some(3), None]);
    }

    #[test]
    fn a_loop_meets_at_its_end_and_an_endless_one_nowhere() {
        let graph = Graph::new(&[Flow::Next, branch(0), EXIT]);
        assert_eq!(graph.post_dominators(), [Some(1), None]);
        let endless = Graph::new(&[Flow::Branch { target: 0, conditional: false }]);
        assert_eq!(endless.post_dominators(), [None]);
    }

    #[test]
    fn an_early_exit_meets_nowhere() {
        let graph = Graph::new(&[branch(2), EXIT, Flow::Next, EXIT]);
        assert_eq!(graph.post_dominators(), [None, None, None]);
    }
}
