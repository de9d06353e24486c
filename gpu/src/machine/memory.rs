//! Loads and stores with every check: bounds, alignment, read-only, never written; addresses come from `space`, races go to `race`.

use super::access::{Access, gather, in_step, little_endian, scatter};
use super::race::{Shadow, Stamp};
use super::registers::{FULL, LANES, Registers};
use super::space::{MOST_BUFFERS, Target, resolve};
use super::trap::{Direction, Place, TrapKind};
use crate::ptx::Space;

/// One allocation with its contents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allocation {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) written: Vec<bool>,
    /// Whether every byte is known to be written, so that loads need not look.
    pub(crate) complete: bool,
    pub(crate) read_only: bool,
}

impl Allocation {
    fn place(&self, space: Space, offset: usize) -> Place {
        let offset = i64::try_from(offset).unwrap_or(i64::MAX);
        Place::Buffer { space, name: self.name.clone(), offset, size: self.bytes.len() }
    }
}

/// All memory that a warp can reach.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    pub(crate) buffers: Vec<Allocation>,
    pub(crate) variables: Vec<Allocation>,
    pub(crate) shared: Vec<Allocation>,
    pub(crate) shadows: Vec<Shadow>,
    /// Of every warp one after the other; each holds the pieces of 32 lanes.
    pub(crate) local: Vec<Allocation>,
    pub(crate) check_written: bool,
    pub(crate) check_races: bool,
}

/// Which warp accesses memory, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accessor {
    pub(crate) warp: usize,
    /// Stamp of lane 0.
    pub(crate) stamp: Stamp,
    /// Local variables of a thread.
    pub(crate) locals: usize,
}

/// What was found, and at which lane.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) lane: usize,
    pub(crate) kind: TrapKind,
}

/// An allocation by vector and index.
#[derive(Clone, Copy)]
struct Handle {
    space: Space,
    index: usize,
    /// First byte that belongs to the lane, and how many do.
    first: usize,
    size: usize,
}

impl Memory {
    pub(crate) fn run(
        &mut self,
        access: &Access,
        registers: &mut Registers,
        mask: u32,
        who: Accessor,
    ) -> Result<(), Fault> {
        if mask == 0 {
            return Ok(());
        }
        let addresses = access.addresses(registers);
        if self.fast(access, registers, (&addresses, mask), who) {
            return Ok(());
        }
        for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
            self.one(access, registers, addresses[lane], lane, who).map_err(|kind| Fault { lane, kind })?;
        }
        Ok(())
    }

    fn handle(&self, target: Target, lane: usize, who: Accessor) -> Option<Handle> {
        let Target { space, index, .. } = target;
        let (index, lanes) = match space {
            Space::Local if index < who.locals => (who.warp * who.locals + index, LANES),
            Space::Local => return None,
            _ => (index, 1),
        };
        let size = self.allocation(space, index)?.bytes.len() / lanes;
        let first = if lanes == 1 { 0 } else { lane * size };
        Some(Handle { space, index, first, size })
    }

    fn allocation(&self, space: Space, index: usize) -> Option<&Allocation> {
        match space {
            Space::Shared => self.shared.get(index),
            Space::Local => self.local.get(index),
            _ if index < MOST_BUFFERS => self.buffers.get(index),
            _ => self.variables.get(index - MOST_BUFFERS),
        }
    }

    fn allocation_mut(&mut self, space: Space, index: usize) -> Option<&mut Allocation> {
        match space {
            Space::Shared => self.shared.get_mut(index),
            Space::Local => self.local.get_mut(index),
            _ if index < MOST_BUFFERS => self.buffers.get_mut(index),
            _ => self.variables.get_mut(index - MOST_BUFFERS),
        }
    }

    fn one(
        &mut self,
        access: &Access,
        registers: &mut Registers,
        address: u64,
        lane: usize,
        who: Accessor,
    ) -> Result<(), TrapKind> {
        let (direction, size) = (access.direction, access.size());
        let outside = |place| TrapKind::OutOfBounds { direction, size, space: access.space, place };
        let lost =
            || outside(if address < 1 << 20 { Place::Null { address } } else { Place::Nowhere { address } });
        let target = resolve(access.space, address).ok_or_else(lost)?;
        let handle = self.handle(target, lane, who).ok_or_else(lost)?;
        let start = usize::try_from(target.offset).ok().filter(|s| s + size <= handle.size);
        let allocation = self.allocation(handle.space, handle.index).ok_or_else(lost)?;
        let place = || Place::Buffer {
            space: handle.space,
            name: allocation.name.clone(),
            offset: target.offset,
            size: handle.size,
        };
        let Some(start) = start else { return Err(outside(place())) };
        if !address.is_multiple_of(size as u64) {
            return Err(TrapKind::Misaligned { direction, size, place: place() });
        }
        let start = handle.first + start;
        if handle.space == Space::Shared {
            self.race(access, registers, handle.index, start, lane, who)?;
        }
        match direction {
            Direction::Read => self.read(access, registers, handle, start, lane),
            Direction::Write => self.write(access, registers, handle, start, lane),
        }
    }

    fn read(
        &self,
        access: &Access,
        registers: &mut Registers,
        handle: Handle,
        start: usize,
        lane: usize,
    ) -> Result<(), TrapKind> {
        let Some(allocation) = self.allocation(handle.space, handle.index) else { return Ok(()) };
        let range = start..start + access.size();
        if self.check_written && !allocation.complete && !all(&allocation.written[range.clone()]) {
            let offset = i64::try_from(start - handle.first).unwrap_or(i64::MAX);
            let place = Place::Buffer {
                space: handle.space,
                name: allocation.name.clone(),
                offset,
                size: handle.size,
            };
            return Err(TrapKind::UninitialisedMemory { size: access.size(), place });
        }
        let parts = allocation.bytes[range].chunks_exact(access.width);
        for (&(bank, row), part) in access.elements.iter().zip(parts) {
            registers.set_lane(bank, row, lane, access.extend(little_endian(part)));
        }
        Ok(())
    }

    fn write(
        &mut self,
        access: &Access,
        registers: &Registers,
        handle: Handle,
        start: usize,
        lane: usize,
    ) -> Result<(), TrapKind> {
        let Some(allocation) = self.allocation_mut(handle.space, handle.index) else { return Ok(()) };
        if allocation.read_only {
            let place = allocation.place(handle.space, start);
            return Err(TrapKind::WriteToInput { size: access.size(), place });
        }
        let range = start..start + access.size();
        allocation.written[range.clone()].fill(true);
        let parts = allocation.bytes[range].chunks_exact_mut(access.width);
        for (&(bank, row), part) in access.elements.iter().zip(parts) {
            let value = registers.lane(bank, row, lane).to_le_bytes();
            part.copy_from_slice(&value[..access.width]);
        }
        Ok(())
    }

    fn race(
        &mut self,
        access: &Access,
        registers: &Registers,
        index: usize,
        start: usize,
        lane: usize,
        who: Accessor,
    ) -> Result<(), TrapKind> {
        let (Some(shadow), Some(allocation)) = (self.shadows.get_mut(index), self.shared.get(index)) else {
            return Ok(());
        };
        if !self.check_races || access.ordered {
            return Ok(());
        }
        let now = Stamp { thread: who.stamp.thread + u32::try_from(lane).unwrap_or(0), ..who.stamp };
        let size = access.size();
        let found = match access.direction {
            Direction::Read => shadow.read(start, size, now),
            Direction::Write => {
                let old = allocation.bytes[start..start + size].chunks_exact(access.width);
                let same = access.elements.iter().zip(old).all(|(&(bank, row), part)| {
                    registers.lane(bank, row, lane).to_le_bytes()[..access.width] == *part
                });
                shadow.write(start, size, now, same)
            }
        };
        found.map_err(|(other, thread)| TrapKind::DataRace {
            direction: access.direction,
            place: allocation.place(Space::Shared, start),
            other,
            // The block's shape turns it into three coordinates where the trap is made.
            thread: [thread, 0, 0],
        })
    }

    /// One element a lane, addresses in step: one check for all lanes. False where the slow way is needed or would
    /// find a fault; then nothing was moved, and races that were noted are found again.
    fn fast(
        &mut self,
        access: &Access,
        registers: &mut Registers,
        (addresses, mask): (&[u64; LANES], u32),
        who: Accessor,
    ) -> bool {
        let [(bank, row)] = access.elements[..] else { return false };
        let Some(run) = Run::of(access, addresses, mask) else { return false };
        let Some(size) = self.allocation(run.space, run.index).map(|a| a.bytes.len()) else { return false };
        if run.start.saturating_add(run.span) > size {
            return false;
        }
        if run.space == Space::Shared && self.check_races && !access.ordered {
            let mut lanes = (0..LANES).filter(|lane| mask >> lane & 1 == 1);
            let offset =
                |lane: usize| run.start + if run.spread { (lane - run.low) * access.width } else { 0 };
            if lanes.any(|lane| self.race(access, registers, run.index, offset(lane), lane, who).is_err()) {
                return false;
            }
        }
        let check_written = self.check_written;
        let Some(allocation) = self.allocation_mut(run.space, run.index) else { return false };
        let range = run.start..run.start.saturating_add(run.span);
        let Some(written) = allocation.written.get_mut(range.clone()) else { return false };
        let Some(bytes) = allocation.bytes.get_mut(range) else { return false };
        if access.direction == Direction::Read {
            if check_written && !allocation.complete && !all(written) {
                return false;
            }
            gather(access, registers, (bank, row), bytes, (run.low, run.spread, mask));
            return true;
        }
        if allocation.read_only || !run.spread || !run.dense {
            return false;
        }
        written.fill(true);
        scatter(access, registers, (bank, row), bytes, run.low);
        true
    }
}

/// An access whose lanes touch consecutive elements, or all the same one.
struct Run {
    space: Space,
    index: usize,
    start: usize,
    span: usize,
    /// First active lane.
    low: usize,
    spread: bool,
    /// Whether no lane between the first and the last is missing.
    dense: bool,
}

impl Run {
    #[inline]
    fn of(access: &Access, addresses: &[u64; LANES], mask: u32) -> Option<Self> {
        let (low, high) = (mask.trailing_zeros() as usize, 31 - mask.leading_zeros() as usize);
        let width = access.width as u64;
        let spread = low == high || addresses[low + 1] != addresses[low];
        let stride = if spread { width } else { 0 };
        if !in_step(addresses, low, stride, mask) || !addresses[low].is_multiple_of(width) {
            return None;
        }
        let Target { space, index, offset } = resolve(access.space, addresses[low])?;
        let start = usize::try_from(offset).ok().filter(|_| space != Space::Local)?;
        let span = if spread { (high - low + 1) * access.width } else { access.width };
        let dense = mask >> low == FULL >> (31 - (high - low));
        Some(Self { space, index, start, span, low, spread, dense })
    }
}

#[inline]
fn all(flags: &[bool]) -> bool {
    flags.iter().fold(true, |all, &flag| all & flag)
}
