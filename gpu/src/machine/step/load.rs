//! Loads and stores: a whole warp at once where its lanes are neighbours, one lane after the other elsewhere.

use super::LaneFault;
use crate::machine::memory::Memory;
use crate::machine::op::{Cell, D, Region};
use crate::machine::warp::{LANES, Warp};

/// Address of an access before the lanes' own registers are added.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) region: Region,
    pub(super) address: D,
    pub(super) offset: i64,
    pub(super) width: usize,
}

impl Access {
    #[inline(always)]
    fn addresses(self, warp: &Warp) -> [u64; LANES] {
        let base = warp.d(self.address);
        std::array::from_fn(|i| base[i].wrapping_add_signed(self.offset))
    }
}

/// Whether 32 lanes access neighbouring elements in order.
#[inline(always)]
fn contiguous(addresses: &[u64; LANES], size: usize) -> bool {
    let first = addresses[0];
    addresses.iter().enumerate().fold(true, |all, (i, &a)| all & (a == first.wrapping_add((i * size) as u64)))
}

fn lanes(active: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| active >> lane & 1 == 1)
}

/// A lane's index, below 32, as the number in a fault.
#[expect(clippy::cast_possible_truncation, reason = "below 32")]
fn number(lane: usize) -> u32 {
    lane as u32
}

#[inline(always)]
fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| (value << 8) | u64::from(byte))
}

#[inline(always)]
fn extend(value: u64, width: usize, signed: bool) -> u64 {
    let unused = 64 - 8 * width;
    if signed { ((value << unused).cast_signed() >> unused).cast_unsigned() } else { value }
}

#[expect(clippy::cast_possible_truncation, reason = "a 32-bit register takes the lower half")]
#[inline(always)]
fn put(warp: &mut Warp, cell: Cell, lane: usize, value: u64) {
    match cell {
        Cell::R(r) => warp.r[usize::from(r.0)][lane] = value as u32,
        Cell::D(d) => warp.d[usize::from(d.0)][lane] = value,
    }
}

#[inline(always)]
fn get(warp: &Warp, cell: Cell, lane: usize) -> u64 {
    match cell {
        Cell::R(r) => u64::from(warp.r[usize::from(r.0)][lane]),
        Cell::D(d) => warp.d[usize::from(d.0)][lane],
    }
}

pub(super) fn parameter(
    warp: &mut Warp,
    active: u32,
    cells: &[Cell],
    offset: usize,
    width: usize,
    parameters: &[u8],
) {
    for (k, &cell) in cells.iter().enumerate() {
        // The decoder has checked the range against the parameter's size.
        let start = offset + k * width;
        let value = parameters.get(start..start + width).map_or(0, little_endian);
        for lane in lanes(active) {
            put(warp, cell, lane, value);
        }
    }
}

#[inline(always)]
pub(super) fn load(
    warp: &mut Warp,
    memory: &Memory,
    active: u32,
    cells: &[Cell],
    access: Access,
    signed: bool,
) -> Result<(), LaneFault> {
    let addresses = access.addresses(warp);
    let width = access.width;
    if let ([Cell::R(r)], u32::MAX, true) = (cells, active, contiguous(&addresses, width))
        && let Ok(place) = memory.place(access.region, addresses[0], width * LANES, width, "load")
        && let Ok(bytes) = memory.read(place, width * LANES, width)
        && spread(bytes, width, signed, &mut warp.r[usize::from(r.0)])
    {
        return Ok(());
    }
    let size = width * cells.len();
    for lane in lanes(active) {
        let fault = |kind| (number(lane), kind);
        let place = memory.place(access.region, addresses[lane], size, size, "load").map_err(fault)?;
        let bytes = memory.read(place, size, width).map_err(fault)?;
        for (k, &cell) in cells.iter().enumerate() {
            put(warp, cell, lane, extend(little_endian(&bytes[k * width..(k + 1) * width]), width, signed));
        }
    }
    Ok(())
}

/// Fills a register from 32 elements of 4 bytes, or of 2 without a sign; says whether it did.
#[inline(always)]
fn spread(bytes: &[u8], width: usize, signed: bool, register: &mut [u32; LANES]) -> bool {
    match width {
        4 => {
            for (lane, element) in register.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *lane = u32::from_le_bytes(*element);
            }
        }
        2 if !signed => {
            for (lane, element) in register.iter_mut().zip(bytes.as_chunks::<2>().0) {
                *lane = u32::from(u16::from_le_bytes(*element));
            }
        }
        _ => return false,
    }
    true
}

#[inline(always)]
pub(super) fn store(
    warp: &Warp,
    memory: &mut Memory,
    active: u32,
    cells: &[Cell],
    access: Access,
) -> Result<(), LaneFault> {
    let addresses = access.addresses(warp);
    let width = access.width;
    if let ([Cell::R(r)], u32::MAX, true, 2 | 4) = (cells, active, contiguous(&addresses, width), width)
        && let Ok(place) = memory.place(access.region, addresses[0], width * LANES, width, "store")
        && let Ok(bytes) = memory.write(place, width * LANES, width)
    {
        for (value, element) in warp.r(*r).iter().zip(bytes.chunks_exact_mut(width)) {
            element.copy_from_slice(&value.to_le_bytes()[..width]);
        }
        return Ok(());
    }
    let size = width * cells.len();
    for lane in lanes(active) {
        let fault = |kind| (number(lane), kind);
        let place = memory.place(access.region, addresses[lane], size, size, "store").map_err(fault)?;
        let bytes = memory.write(place, size, width).map_err(fault)?;
        for (k, &cell) in cells.iter().enumerate() {
            bytes[k * width..(k + 1) * width].copy_from_slice(&get(warp, cell, lane).to_le_bytes()[..width]);
        }
    }
    Ok(())
}
