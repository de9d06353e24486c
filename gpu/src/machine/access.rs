//! One load or store as decoded, and moving its bytes between registers and memory; where they lie and whether they may be touched is left to `memory`.

use super::operation::Bank;
use super::registers::{FULL, LANES, Registers};
use super::trap::Direction;
use crate::ptx::Space;

/// What a load or store instruction asks for.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) space: Space,
    pub(crate) direction: Direction,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub(crate) width: usize,
    /// Registers that elements come from or go to.
    pub(crate) elements: Vec<(Bank, u16)>,
    /// Width of these registers in bits; loaded integers are extended to it.
    pub(crate) register_bits: u32,
    pub(crate) signed: bool,
    pub(crate) base: (Bank, u16),
    pub(crate) offset: i64,
    /// Volatile and ordered accesses synchronise by themselves and are no races.
    pub(crate) ordered: bool,
}

impl Access {
    pub(crate) const fn size(&self) -> usize {
        self.width * self.elements.len()
    }

    /// Narrow addresses wrap in 32 bits, as the hardware's do.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "see above")]
    pub(super) fn addresses(&self, registers: &Registers) -> [u64; LANES] {
        let mut out = [0; LANES];
        let row = usize::from(self.base.1);
        if self.base.0 == Bank::Wide {
            for (out, base) in out.iter_mut().zip(&registers.wide[row].0) {
                *out = base.wrapping_add(self.offset.cast_unsigned());
            }
        } else {
            for (out, base) in out.iter_mut().zip(&registers.narrow[row].0) {
                *out = u64::from(base.wrapping_add(self.offset as u32));
            }
        }
        out
    }

    /// A loaded integer, extended to the width of its register.
    #[expect(clippy::cast_possible_truncation, reason = "a width of at most 8 bytes")]
    #[inline]
    pub(super) fn extend(&self, value: u64) -> u64 {
        if !self.signed {
            return value;
        }
        let unused = 64 - 8 * self.width as u32;
        ((value << unused).cast_signed() >> unused).cast_unsigned() & u64::MAX >> (64 - self.register_bits)
    }
}

/// Whether the addresses of the active lanes go up by `stride` a lane.
#[inline]
pub(super) fn in_step(addresses: &[u64; LANES], low: usize, stride: u64, mask: u32) -> bool {
    let first = addresses[low].wrapping_sub(low as u64 * stride);
    let mut astray = 0_u32;
    for (n, &address) in addresses.iter().enumerate() {
        astray |= u32::from(address != first.wrapping_add(n as u64 * stride)) << n;
    }
    astray & mask == 0
}

#[inline]
pub(super) fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Loads lanes from `low` on out of consecutive bytes, or all of them out of the same ones.
pub(super) fn gather(
    access: &Access,
    registers: &mut Registers,
    (bank, row): (Bank, u16),
    bytes: &[u8],
    (low, spread, mask): (usize, bool, u32),
) {
    if access.width == 4 && bank == Bank::Narrow && mask == FULL && spread {
        let row = &mut registers.narrow[usize::from(row)].0;
        for (cell, part) in row.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *cell = u32::from_le_bytes(*part);
        }
        return;
    }
    if access.width == 2 && bank == Bank::Narrow && mask == FULL && spread && !access.signed {
        let row = &mut registers.narrow[usize::from(row)].0;
        for (cell, part) in row.iter_mut().zip(bytes.as_chunks::<2>().0) {
            *cell = u32::from(u16::from_le_bytes(*part));
        }
        return;
    }
    if spread {
        for (lane, part) in (low..LANES).zip(bytes.chunks_exact(access.width)) {
            if mask >> lane & 1 == 1 {
                registers.set_lane(bank, row, lane, access.extend(little_endian(part)));
            }
        }
    } else {
        let value = access.extend(little_endian(bytes));
        for lane in (low..LANES).filter(|lane| mask >> lane & 1 == 1) {
            registers.set_lane(bank, row, lane, value);
        }
    }
}

/// Stores lanes from `low` on to consecutive bytes.
pub(super) fn scatter(
    access: &Access,
    registers: &Registers,
    (bank, row): (Bank, u16),
    bytes: &mut [u8],
    low: usize,
) {
    if access.width == 4 && bank == Bank::Narrow {
        let row = &registers.narrow[usize::from(row)].0;
        for (cell, part) in row.iter().skip(low).zip(bytes.as_chunks_mut::<4>().0) {
            *part = cell.to_le_bytes();
        }
        return;
    }
    for (lane, part) in (low..LANES).zip(bytes.chunks_exact_mut(access.width)) {
        let value = registers.lane(bank, row, lane).to_le_bytes();
        part.copy_from_slice(&value[..access.width]);
    }
}
