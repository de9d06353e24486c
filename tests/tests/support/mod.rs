//! The command and its files, for the targets that use them as a user does; what must come out is left to the tests.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![allow(unreachable_pub, dead_code, reason = "each test target uses its part")]

use std::path::{Path, PathBuf};

use plumbline_conformance::case::Case;
use plumbline_conformance::cli;
use plumbline_conformance::storage::Storage;
use plumbline_conformance::strategy::Spec;
use plumbline_fixtures::{Kind, TensorFile, problem_to_file, root};

/// How the command ended, and what it said.
pub struct Done {
    pub code: u8,
    pub out: String,
    pub err: String,
}

/// Runs the command.
pub fn plumbline(arguments: &[&str]) -> Done {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = cli::run(std::iter::once(&"plumbline").chain(arguments), &mut out, &mut err);
    Done { code, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}

/// The file of a golden case.
pub fn golden(name: &str) -> String {
    root().join("golden").join(format!("{name}.safetensors")).display().to_string()
}

/// A file that does not exist yet, in a folder of its own.
pub fn scratch(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

/// The outputs of a golden case without its inputs.
pub fn outputs_of(name: &str) -> TensorFile {
    let stored = TensorFile::read(golden(name)).unwrap();
    let mut outputs = TensorFile::new("out");
    for output in Kind::recognise(&stored).unwrap().output_names() {
        if let Some(tensor) = stored.get(output) {
            outputs.insert(output, tensor.clone());
        }
    }
    outputs
}

/// A file of a generated case of each kind.
pub fn case_of(kind: Kind, folder: &Path) -> PathBuf {
    let word = if kind == Kind::RglruLogits { String::new() } else { format!("{kind}/") };
    let spec: Spec = format!("{word}init:packed:nonzero:2x19x6:5").parse().unwrap();
    let path = folder.join(format!("{kind}.safetensors"));
    let case = Case::generated(spec, Storage::F32).unwrap();
    problem_to_file("case", &case.problem).write(&path).unwrap();
    path
}
