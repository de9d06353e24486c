//! The `plumbline` command; everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    plumbline_conformance::cli::main()
}
