//! Named device buffers: what a kernel reads and writes, byte by byte, and which bytes hold a value; moving them to a device is left to the machines.

use half::bf16;

/// Element type of a buffer in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// IEEE binary32.
    F32,
    /// bfloat16: the upper half of a binary32.
    Bf16,
    /// 32-bit signed integer.
    I32,
}

impl Dtype {
    /// Size of one element in bytes.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::F32 | Self::I32 => 4,
            Self::Bf16 => 2,
        }
    }

    /// The name used in kernel names, reports and ledgers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::I32 => "i32",
        }
    }
}

/// What a launch may do with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Read only: a write is a fault, and the bytes are compared afterwards.
    Input,
    /// Written in full by the kernel; unwritten until then.
    Output,
    /// Working memory that outlives a launch but not the pipeline; unwritten at first.
    Scratch,
}

/// One device allocation with its name, type, role and contents.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Name of the tensor, as in error messages.
    pub name: String,
    /// Element type.
    pub dtype: Dtype,
    /// What a launch may do with it.
    pub role: Role,
    /// The contents. Bytes not yet written hold the poison pattern.
    pub bytes: Vec<u8>,
    /// One flag a byte: whether it holds a value (inputs: all of them).
    pub written: Vec<bool>,
}

/// Fill of every byte not yet written: as f32 and as bf16 it reads as a NaN that no arithmetic produces.
pub const POISON: u8 = 0xFF;

impl Buffer {
    /// An input of f32 values.
    #[must_use]
    pub fn input_f32(name: &str, values: &[f32]) -> Self {
        Self::input(name, Dtype::F32, values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    /// An input of bf16 values.
    #[must_use]
    pub fn input_bf16(name: &str, values: &[bf16]) -> Self {
        Self::input(name, Dtype::Bf16, values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    /// An input of i32 values.
    #[must_use]
    pub fn input_i32(name: &str, values: &[i32]) -> Self {
        Self::input(name, Dtype::I32, values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    fn input(name: &str, dtype: Dtype, bytes: Vec<u8>) -> Self {
        let written = vec![true; bytes.len()];
        Self { name: name.to_owned(), dtype, role: Role::Input, bytes, written }
    }

    /// A poisoned buffer of `len` elements that nothing has written yet.
    #[must_use]
    pub fn poisoned(name: &str, dtype: Dtype, role: Role, len: usize) -> Self {
        let size = len * dtype.size();
        Self { name: name.to_owned(), dtype, role, bytes: vec![POISON; size], written: vec![false; size] }
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / self.dtype.size()
    }

    /// Whether the buffer holds no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Index of the first element of which a byte was never written, if any.
    #[must_use]
    pub fn first_unwritten(&self) -> Option<usize> {
        self.written.iter().position(|w| !w).map(|byte| byte / self.dtype.size())
    }

    /// The contents as raw element bits, zero-extended to 32 bits.
    #[must_use]
    pub fn bits(&self) -> Vec<u32> {
        self.bytes
            .chunks_exact(self.dtype.size())
            .map(|c| c.iter().rev().fold(0, |bits, &byte| (bits << 8) | u32::from(byte)))
            .collect()
    }
}

/// The buffers of one pipeline of launches, addressed by index.
#[derive(Clone, Debug, Default)]
pub struct BufferSet {
    buffers: Vec<Buffer>,
}

/// Index of a buffer in its [`BufferSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferId(pub usize);

impl BufferSet {
    /// Adds a buffer and returns its index.
    pub fn push(&mut self, buffer: Buffer) -> BufferId {
        self.buffers.push(buffer);
        BufferId(self.buffers.len() - 1)
    }

    /// The buffers in order of insertion.
    #[must_use]
    pub fn as_slice(&self) -> &[Buffer] {
        &self.buffers
    }

    /// The buffers in order of insertion, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [Buffer] {
        &mut self.buffers
    }

    /// The buffer of this name, if there is one.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Buffer> {
        self.buffers.iter().find(|b| b.name == name)
    }
}
