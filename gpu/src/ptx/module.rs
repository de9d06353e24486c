//! A PTX module as data: entries with resolved registers and labels; meaning is left to the machine.

use super::types::{ScalarType, Space};

/// One PTX file.
#[derive(Clone, Debug)]
pub struct Module {
    /// Name given to [`super::parse`].
    pub source_name: String,
    /// PTX version, major and minor.
    pub version: (u32, u32),
    /// Target architecture, such as `sm_80`.
    pub target: String,
    /// Bits of an address, 64 unless the file says otherwise.
    pub address_size: u32,
    /// Module-scope variables.
    pub variables: Vec<Variable>,
    pub(crate) files: Vec<(u32, String)>,
    pub(crate) kernels: Vec<Entry>,
}

impl Module {
    /// Names of the entry points in order of appearance.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(|e| e.name.as_str())
    }

    /// The entry of this name.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.kernels.iter().find(|e| e.name == name)
    }

    /// Name of a source file by the index that `.loc` uses.
    #[must_use]
    pub fn file(&self, index: u32) -> Option<&str> {
        self.files.iter().find(|(i, _)| *i == index).map(|(_, name)| name.as_str())
    }
}

/// One kernel.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Line of the `.entry` directive.
    pub line: u32,
    /// Parameters in order.
    pub parameters: Vec<Parameter>,
    /// Registers that are used, in order of first use.
    pub registers: Vec<Register>,
    /// Variables declared in the body.
    pub variables: Vec<Variable>,
    /// The instructions; a label operand is an index into them, and may be their number (the end).
    pub instructions: Vec<Instruction>,
    /// `.maxntid`, as written.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`, as written.
    pub required_threads: Option<[u32; 3]>,
}

/// A kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type, or that of its elements.
    pub ty: ScalarType,
    /// Size in bytes.
    pub size: usize,
    /// Whether it is an array, as C structures are.
    pub array: bool,
}

/// A variable in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Where it lives.
    pub space: Space,
    /// Alignment in bytes.
    pub align: usize,
    /// Size in bytes; 0 for dynamic shared memory.
    pub size: usize,
    /// Whether its size is that of the launch's dynamic shared memory.
    pub dynamic: bool,
    /// Initial contents, or fewer bytes than the size: the rest is zero.
    pub initial: Vec<u8>,
    /// Line of the declaration.
    pub line: u32,
}

/// A declared register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// Its name, with the percent sign.
    pub name: String,
    /// Its type.
    pub ty: ScalarType,
}

/// Index into [`Entry::registers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegisterId(pub usize);

/// File, line and column in the CUDA source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Index of the file, see [`Module::file`].
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column.
    pub column: u32,
}

/// What a `.loc` directive says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Where the code was written.
    pub position: Position,
    /// Where the function that holds it was inlined.
    pub inlined_at: Option<Position>,
}

/// `@%p` or `@!%p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate.
    pub register: RegisterId,
    /// Whether the instruction runs where it is false.
    pub negated: bool,
}

/// One instruction, with names resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Line in the PTX text.
    pub line: u32,
    /// The last `.loc` before it.
    pub location: Option<Location>,
    /// Its guard.
    pub guard: Option<Guard>,
    /// First word, such as `ld`.
    pub opcode: String,
    /// The words after it, such as `global`, `nc`, `f32`.
    pub modifiers: Vec<String>,
    /// Operands in order.
    pub operands: Vec<Operand>,
    /// The text, with white space collapsed.
    pub text: String,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register.
    Register(RegisterId),
    /// `!%p`.
    Negated(RegisterId),
    /// `%p|%q`: two results.
    Pair(RegisterId, RegisterId),
    /// A special register, such as `%tid.x`.
    Special(String),
    /// An integer, two's complement.
    Integer(u64),
    /// A float by its binary32 bits.
    Float32(u32),
    /// A float by its binary64 bits.
    Float64(u64),
    /// The address of a variable, displaced by so many bytes.
    Symbol(String, i64),
    /// `{a, b, ...}`.
    Vector(Vec<Operand>),
    /// `[base + offset]`.
    Address(Address),
    /// A branch target: index into [`Entry::instructions`].
    Label(usize),
    /// `_`: a result that nobody wants.
    Sink,
}

/// `[base + offset]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// What the offset is added to.
    pub base: AddressBase,
    /// Offset in bytes.
    pub offset: i64,
}

/// Base of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressBase {
    /// A register.
    Register(RegisterId),
    /// A variable or parameter.
    Symbol(String),
    /// Nothing: the offset is the address.
    Absolute,
}
