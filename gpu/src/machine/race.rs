//! Data races in shared memory: who last touched each byte, and when; what to report is left to `memory`.
//!
//! Two accesses by different threads are ordered if a block barrier lies between, or, in one warp, a warp barrier.
//! Of several earlier readers one is remembered, which is enough to find a race but not to name every party.
//! Lanes of one warp that write equal bytes are let through: it cannot matter which of them wins.

use super::trap::Direction;

/// A thread of the block at a point of its order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Linear index of the thread in its block.
    pub(crate) thread: u32,
    /// Block barriers passed, from 1; 0 means never.
    pub(crate) block_epoch: u32,
    /// Warp barriers passed.
    pub(crate) warp_epoch: u32,
}

impl Stamp {
    const fn warp(self) -> u32 {
        self.thread / 32
    }

    /// Whether `self`, which came first, is not ordered before `now`.
    fn races_with(self, now: Self) -> bool {
        self.block_epoch == now.block_epoch
            && self.thread != now.thread
            && (self.warp() != now.warp() || self.warp_epoch == now.warp_epoch)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    write: Stamp,
    read: Stamp,
    /// A second reader: of another warp if there was one, else of the same warp.
    second: Stamp,
}

/// The history of one shared variable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shadow {
    cells: Vec<Cell>,
}

impl Shadow {
    pub(crate) fn new(size: usize) -> Self {
        Self { cells: vec![Cell::default(); size] }
    }

    pub(crate) fn forget(&mut self) {
        self.cells.fill(Cell::default());
    }

    /// The thread that wrote before, unordered.
    pub(crate) fn read(&mut self, start: usize, size: usize, now: Stamp) -> Result<(), (Direction, u32)> {
        for cell in self.cells.iter_mut().skip(start).take(size) {
            if cell.write.races_with(now) {
                return Err((Direction::Write, cell.write.thread));
            }
            if cell.read.races_with(now) {
                if !cell.second.races_with(now) || cell.second.warp() == cell.read.warp() {
                    cell.second = now;
                }
            } else {
                cell.read = now;
            }
        }
        Ok(())
    }

    /// The thread that read or wrote before, unordered. `same` says whether the bytes stay as they are.
    pub(crate) fn write(
        &mut self,
        start: usize,
        size: usize,
        now: Stamp,
        same: bool,
    ) -> Result<(), (Direction, u32)> {
        for cell in self.cells.iter_mut().skip(start).take(size) {
            let harmless = same && cell.write.warp() == now.warp();
            if cell.write.races_with(now) && !harmless {
                return Err((Direction::Write, cell.write.thread));
            }
            for reader in [cell.read, cell.second] {
                if reader.races_with(now) {
                    return Err((Direction::Read, reader.thread));
                }
            }
            cell.write = now;
        }
        Ok(())
    }
}
