//! Control flow of a program: where diverged threads meet again, and which reads are not proven to follow a write.

use std::collections::BTreeSet;

use super::op::Slot;

/// Successors of one instruction; the number of instructions is the end.
pub(super) struct Node {
    pub(super) next: Vec<usize>,
    pub(super) reads: Vec<Slot>,
    pub(super) writes: Vec<Slot>,
    /// Whether a guard may keep the writes from happening.
    pub(super) guarded: bool,
}

/// Immediate post-dominator of every instruction; the end for those that only the end follows.
///
/// The iteration of Cooper, Harvey and Kennedy (2001) on the reversed graph.
pub(super) fn post_dominators(nodes: &[Node]) -> Vec<usize> {
    let end = nodes.len();
    let mut previous = vec![Vec::new(); end + 1];
    for (i, node) in nodes.iter().enumerate() {
        node.next.iter().for_each(|&n| previous[n].push(i));
    }
    let order = post_order(end, &previous);
    let mut rank = vec![usize::MAX; end + 1];
    order.iter().enumerate().for_each(|(r, &i)| rank[i] = r);
    let mut meet = vec![usize::MAX; end + 1];
    meet[end] = end;
    let mut changed = true;
    while changed {
        changed = false;
        for &i in order.iter().rev().filter(|&&i| i != end) {
            let known = nodes[i].next.iter().copied().filter(|&n| meet[n] != usize::MAX);
            let Some(new) = known.reduce(|a, b| common(a, b, &meet, &rank)) else { continue };
            changed |= meet[i] != new;
            meet[i] = new;
        }
    }
    // Instructions from which the end cannot be reached (endless loops) meet there all the same.
    meet.truncate(end);
    meet.iter().map(|&m| if m == usize::MAX { end } else { m }).collect()
}

fn common(mut a: usize, mut b: usize, meet: &[usize], rank: &[usize]) -> usize {
    while a != b {
        if rank[a] < rank[b] {
            a = meet[a];
        } else {
            b = meet[b];
        }
    }
    a
}

/// Instructions in post-order of a walk from the end against the arrows.
fn post_order(end: usize, previous: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; previous.len()];
    let mut order = Vec::new();
    let mut stack = vec![(end, 0)];
    seen[end] = true;
    while let Some((i, done)) = stack.pop() {
        match previous[i].get(done) {
            None => order.push(i),
            Some(&p) => {
                stack.push((i, done + 1));
                if !seen[p] {
                    seen[p] = true;
                    stack.push((p, 0));
                }
            }
        }
    }
    order
}

/// Slots read at some instruction on a path that has not written them. `given` holds those set before the start.
pub(super) fn unproven(nodes: &[Node], given: &BTreeSet<Slot>) -> BTreeSet<Slot> {
    let mut known: Vec<Option<BTreeSet<Slot>>> = vec![None; nodes.len()];
    let mut work = vec![(0, given.clone())];
    while let Some((i, incoming)) = work.pop() {
        let Some(node) = nodes.get(i) else { continue };
        let merged = match &known[i] {
            Some(old) => old.intersection(&incoming).copied().collect(),
            None => incoming,
        };
        if known[i].as_ref() == Some(&merged) {
            continue;
        }
        let mut after = merged.clone();
        if !node.guarded {
            after.extend(&node.writes);
        }
        known[i] = Some(merged);
        work.extend(node.next.iter().map(|&n| (n, after.clone())));
    }
    let missing = |(node, known): (&Node, &Option<BTreeSet<Slot>>)| -> Vec<Slot> {
        let Some(known) = known else { return Vec::new() };
        node.reads.iter().copied().filter(|slot| !known.contains(slot)).collect()
    };
    nodes.iter().zip(&known).flat_map(missing).collect()
}
