//! Memory as the kernel sees it: every buffer alone in its own terabyte, shared memory per block, each byte with a flag that says whether it was written.

use super::error::TrapKind;
use super::op::Region;
use crate::buffer::{BufferSet, POISON, Role};

/// Bits of an address that are an offset; the bits above say which buffer, from 1. Overruns end in a gap.
const OFFSET_BITS: u32 = 40;

/// Address of a buffer's first byte.
pub(super) fn base_address(buffer: usize) -> u64 {
    (buffer as u64 + 1) << OFFSET_BITS
}

/// Global and shared memory of one block.
pub(super) struct Memory<'a> {
    pub(super) buffers: &'a mut BufferSet,
    pub(super) shared: Vec<u8>,
    pub(super) shared_written: Vec<bool>,
}

/// A checked place: which buffer (none: shared memory), and the offset.
#[derive(Clone, Copy)]
pub(super) struct Place {
    buffer: Option<usize>,
    pub(super) offset: usize,
}

impl<'a> Memory<'a> {
    pub(super) fn new(buffers: &'a mut BufferSet, shared_bytes: usize) -> Self {
        Self { buffers, shared: vec![POISON; shared_bytes], shared_written: vec![false; shared_bytes] }
    }

    /// Shared memory does not outlive a block.
    pub(super) fn next_block(&mut self) {
        self.shared.fill(POISON);
        self.shared_written.fill(false);
    }

    /// Checks that `size` bytes at an address lie in one buffer and are aligned to `width`.
    #[inline]
    pub(super) fn place(
        &self,
        region: Region,
        address: u64,
        size: usize,
        width: usize,
        access: &'static str,
    ) -> Result<Place, TrapKind> {
        let (buffer, offset, len) = match region {
            Region::Shared => (None, usize::try_from(address).unwrap_or(usize::MAX), self.shared.len()),
            Region::Global => {
                let index = (address >> OFFSET_BITS).wrapping_sub(1);
                let index = usize::try_from(index).unwrap_or(usize::MAX);
                let offset = (address & ((1 << OFFSET_BITS) - 1)) as usize;
                (Some(index), offset, self.buffers.as_slice().get(index).map_or(0, |b| b.bytes.len()))
            }
        };
        if offset.checked_add(size).is_none_or(|end| end > len) {
            return Err(TrapKind::OutOfBounds { access, size: width, place: self.describe(region, address) });
        }
        if offset % width != 0 {
            return Err(TrapKind::Misaligned { access, size: width, place: self.describe(region, address) });
        }
        Ok(Place { buffer, offset })
    }

    /// The bytes of a place, all of them written before.
    #[inline]
    pub(super) fn read(&self, place: Place, size: usize, width: usize) -> Result<&[u8], TrapKind> {
        let (bytes, written): (&[u8], &[bool]) = match place.buffer {
            None => (&self.shared, &self.shared_written),
            Some(index) => {
                let buffer = &self.buffers.as_slice()[index];
                (&buffer.bytes, &buffer.written)
            }
        };
        let range = place.offset..place.offset + size;
        if let Some(gap) = written[range.clone()].iter().position(|w| !w) {
            let at = Place { offset: (place.offset + gap) / width * width, ..place };
            return Err(TrapKind::UninitialisedMemory { size: width, place: self.name(at) });
        }
        Ok(&bytes[range])
    }

    /// The bytes of a place, to be written; they count as written from now on.
    #[inline]
    pub(super) fn write(&mut self, place: Place, size: usize, width: usize) -> Result<&mut [u8], TrapKind> {
        let range = place.offset..place.offset + size;
        match place.buffer {
            None => {
                self.shared_written[range.clone()].fill(true);
                Ok(&mut self.shared[range])
            }
            Some(index) => {
                if self.buffers.as_slice()[index].role == Role::Input {
                    return Err(TrapKind::WriteToInput { size: width, place: self.name(place) });
                }
                let buffer = &mut self.buffers.as_mut_slice()[index];
                buffer.written[range.clone()].fill(true);
                Ok(&mut buffer.bytes[range])
            }
        }
    }

    fn name(&self, place: Place) -> String {
        match place.buffer {
            None => format!("shared memory, byte {} of {}", place.offset, self.shared.len()),
            Some(index) => {
                let buffer = &self.buffers.as_slice()[index];
                format!("buffer `{}`, byte {} of {}", buffer.name, place.offset, buffer.bytes.len())
            }
        }
    }

    /// Names an address that may lie outside everything: the nearest buffer before it, or after it if it lies just below.
    fn describe(&self, region: Region, address: u64) -> String {
        if region == Region::Shared {
            return format!("shared memory, byte {} of {}", address.cast_signed(), self.shared.len());
        }
        let half = 1u64 << (OFFSET_BITS - 1);
        let index = (address.wrapping_add(half) >> OFFSET_BITS).wrapping_sub(1);
        let buffer = usize::try_from(index).ok().and_then(|i| Some((i, self.buffers.as_slice().get(i)?)));
        match buffer {
            Some((i, buffer)) => {
                let offset = address.wrapping_sub(base_address(i)).cast_signed();
                format!("buffer `{}`, byte {offset} of {}", buffer.name, buffer.bytes.len())
            }
            None if address < half => format!("null pointer plus {address}"),
            None => format!("address {address:#x} in no buffer"),
        }
    }
}
