//! Instructions in which lanes of a warp see each other: votes and shuffles; memory is left to `memory`.

use super::memory::Fault;
use super::operation::{CollectiveOp, Instruction, Shuffle, Vote};
use super::registers::{FULL, LANES, Registers, Row};
use super::trap::TrapKind;

pub(crate) fn run(op: CollectiveOp, r: &mut Registers, i: &Instruction, mask: u32) -> Result<(), Fault> {
    match op {
        CollectiveOp::ActiveMask => r.narrow[usize::from(i.d)] = merged(r, i.d, mask, |_| mask),
        CollectiveOp::Vote { vote, flip } => {
            members(r, i.b, mask)?;
            cast_vote(vote, r.predicates[usize::from(i.a)] ^ flip, r, i, mask);
        }
        CollectiveOp::Shuffle { shuffle, predicate, members: row } => {
            members(r, row, mask)?;
            exchange(shuffle, predicate, r, i, mask);
        }
    }
    Ok(())
}

fn merged(r: &Registers, row: u16, mask: u32, f: impl Fn(usize) -> u32) -> Row<u32> {
    let mut out = r.narrow[usize::from(row)];
    for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
        out.0[lane] = f(lane);
    }
    out
}

/// Every lane named by the member mask must be here: in lock-step nobody comes later.
fn members(r: &Registers, row: u16, mask: u32) -> Result<(), Fault> {
    for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
        let named = r.narrow[usize::from(row)].0[lane];
        if named != mask && !(named == FULL && mask == FULL) {
            let why = format!("member mask {named:#010x}, but the lanes here are {mask:#010x}");
            return Err(Fault { lane, kind: TrapKind::DivergentBarrier { why } });
        }
    }
    Ok(())
}

fn cast_vote(vote: Vote, votes: u32, r: &mut Registers, i: &Instruction, mask: u32) {
    let yes = votes & mask;
    let holds = match vote {
        Vote::Ballot => {
            r.narrow[usize::from(i.d)] = merged(r, i.d, mask, |_| yes);
            return;
        }
        Vote::All => yes == mask,
        Vote::Any => yes != 0,
        Vote::Uniform => yes == 0 || yes == mask,
    };
    let row = &mut r.predicates[usize::from(i.d)];
    *row = if holds { *row | mask } else { *row & !mask };
}

/// A lane whose source lies outside its segment keeps its own value, and its predicate is false.
fn exchange(shuffle: Shuffle, predicate: u16, r: &mut Registers, i: &Instruction, mask: u32) {
    let [value, distance, clamp] = [i.a, i.b, i.c].map(|row| r.narrow[usize::from(row)].0);
    let source = |lane: usize| {
        let (own, distance, clamp) = (u32::try_from(lane).unwrap_or(0), distance[lane] & 31, clamp[lane]);
        let (limit, segment) = (clamp & 31, clamp >> 8 & 31);
        let (first, last) = (own & segment, own & segment | limit & !segment);
        let (wanted, inside) = match shuffle {
            Shuffle::Up => (own.wrapping_sub(distance), own >= last + distance),
            Shuffle::Down => (own + distance, own + distance <= last),
            Shuffle::Butterfly => (own ^ distance, (own ^ distance) <= last),
            Shuffle::Index => (first | distance & !segment, (first | distance & !segment) <= last),
        };
        if inside { (wanted as usize % LANES, true) } else { (lane, false) }
    };
    r.narrow[usize::from(i.d)] = merged(r, i.d, mask, |lane| value[source(lane).0]);
    if predicate != 0 {
        let inside = (0..LANES).fold(0, |bits, lane| bits | u32::from(source(lane).1) << lane);
        let row = &mut r.predicates[usize::from(predicate)];
        *row = *row & !mask | inside & mask;
    }
}
