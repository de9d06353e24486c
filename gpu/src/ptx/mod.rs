//! PTX text to a resolved module: registers, labels and scopes are looked up here; what an instruction does is left to the machine.
//!
//! Accepted is what NVRTC and nvcc write for `.entry` kernels. `.func`, calls and address initialisers are refused
//! by name; no input makes the parser panic.
//!
//! ```
//! let text = ".version 8.5\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }";
//! let module = plumbline_gpu::ptx::parse("nothing.ptx", text)?;
//! assert_eq!(module.entries().collect::<Vec<_>>(), ["nothing"]);
//! # Ok::<(), plumbline_gpu::ptx::PtxError>(())
//! ```

mod body;
mod cursor;
mod directive;
mod error;
mod lexer;
mod module;
mod operand;
mod types;
mod variable;

pub use error::{PtxError, PtxErrorKind};
pub use module::{
    Address, AddressBase, Entry, Guard, Instruction, Location, Module, Operand, Parameter, Position,
    Register, RegisterId, Variable,
};
pub use types::{ScalarType, Space};

/// Reads PTX text. `source_name` is only used in messages.
///
/// # Errors
/// At the first line that is malformed or not supported.
pub fn parse(source_name: &str, text: &str) -> Result<Module, PtxError> {
    let located = |(line, kind): (u32, PtxErrorKind)| PtxError {
        source_name: source_name.to_owned(),
        line,
        text: source_line(text, line),
        kind,
    };
    let tokens = lexer::tokenize(text).map_err(located)?;
    let cursor = cursor::Cursor::new(text, &tokens);
    directive::module(source_name, cursor).map_err(located)
}

fn source_line(text: &str, line: u32) -> String {
    let index = (line as usize).saturating_sub(1);
    let whole = text.lines().nth(index).unwrap_or("").trim();
    whole.chars().take(160).collect()
}
