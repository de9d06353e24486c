//! The fake address map: which address belongs to which allocation, with gaps that no overrun crosses; contents are left to `memory`.

use crate::ptx::Space;

/// Every global allocation has 2^40 addresses to itself and stands in their middle, so that an offset that went
/// negative, or wrapped at 32 bits, still names the right buffer.
const GLOBAL_BITS: u32 = 40;
const GLOBAL_MIDDLE: u64 = 1 << (GLOBAL_BITS - 1);

/// Module variables come after this many buffers, so their addresses are known when the program is loaded.
pub(crate) const MOST_BUFFERS: usize = 1 << 16;

/// Shared and local variables have 2^20 addresses each; the block's limit is below.
const BLOCK_BITS: u32 = 20;
/// Most variables of a kernel in one of these spaces; their addresses fit in 32 bits.
pub(crate) const MOST_VARIABLES: usize = 1 << 11;

/// Generic addresses of shared and local memory.
pub(crate) const SHARED_WINDOW: u64 = 1 << 60;
pub(crate) const LOCAL_WINDOW: u64 = 1 << 61;
const WINDOW_SIZE: u64 = 1 << 32;

/// Address of a buffer, or of a module variable counted from [`MOST_BUFFERS`].
pub(crate) const fn global_address(index: usize) -> u64 {
    (index as u64 + 1) << GLOBAL_BITS | GLOBAL_MIDDLE
}

/// Address within its own space of a shared or local variable.
pub(crate) const fn block_address(index: usize) -> u64 {
    (index as u64 + 2) << BLOCK_BITS
}

/// What an address means: a space, the index of a variable in it, an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) space: Space,
    pub(crate) index: usize,
    pub(crate) offset: i64,
}

/// Takes an address apart; `None` where no allocation can be. Whether there is one is left to the caller.
#[inline]
pub(crate) fn resolve(space: Space, address: u64) -> Option<Target> {
    match space {
        Space::Shared => block(Space::Shared, address),
        Space::Local => block(Space::Local, address),
        Space::Generic if address.wrapping_sub(SHARED_WINDOW) < WINDOW_SIZE => {
            block(Space::Shared, address - SHARED_WINDOW)
        }
        Space::Generic if address.wrapping_sub(LOCAL_WINDOW) < WINDOW_SIZE => {
            block(Space::Local, address - LOCAL_WINDOW)
        }
        Space::Global | Space::Const | Space::Generic => global(address),
        Space::Param => None,
    }
}

#[inline]
fn global(address: u64) -> Option<Target> {
    let index = usize::try_from(address >> GLOBAL_BITS).ok()?.checked_sub(1)?;
    let offset = address & ((1 << GLOBAL_BITS) - 1);
    Some(Target { space: Space::Global, index, offset: offset.cast_signed() - GLOBAL_MIDDLE.cast_signed() })
}

#[inline]
fn block(space: Space, address: u64) -> Option<Target> {
    let slot = usize::try_from(address >> BLOCK_BITS).ok()?;
    let offset = address & ((1 << BLOCK_BITS) - 1);
    // The last quarter of a range reads as "before the next variable".
    let near_next = offset >= 3 << (BLOCK_BITS - 2);
    let signed = offset.cast_signed() - if near_next { 1 << BLOCK_BITS } else { 0 };
    let index = (slot + usize::from(near_next)).checked_sub(2)?;
    Some(Target { space, index, offset: signed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_of_either_sign_name_the_same_buffer() {
        let at = |address| resolve(Space::Generic, address).map(|t| (t.space, t.index, t.offset));
        assert_eq!(at(global_address(2)), Some((Space::Global, 2, 0)));
        assert_eq!(at(global_address(2) - 4), Some((Space::Global, 2, -4)));
        assert_eq!(at(global_address(2) - (1 << 31)), Some((Space::Global, 2, -(1 << 31))));
        assert_eq!(at(SHARED_WINDOW + block_address(0) - 4), Some((Space::Shared, 0, -4)));
        assert_eq!(at(LOCAL_WINDOW + block_address(0) + 8), Some((Space::Local, 0, 8)));
        assert_eq!(at(16), None);
    }
}
