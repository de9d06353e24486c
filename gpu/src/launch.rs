//! One kernel launch, in the same words for both machines: entry point, grid, block, shared memory and arguments.

use crate::buffer::BufferId;

/// One kernel argument, in the order of the entry's parameter list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument {
    /// The device address of a buffer (64 bits).
    Buffer(BufferId),
    /// A null pointer: an optional tensor that is absent (64 bits).
    Null,
    /// A 32-bit signed integer.
    I32(i32),
    /// A 64-bit signed integer.
    I64(i64),
    /// A 32-bit float.
    F32(f32),
}

/// A launch of one entry point.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// Name of the `.entry`.
    pub entry: String,
    /// Blocks along x, y, z; none may be 0.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z; none may be 0.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// The arguments.
    pub arguments: Vec<Argument>,
}
