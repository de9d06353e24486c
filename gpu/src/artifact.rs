//! The committed PTX and the sources it came from: the header that ties them together, regeneration and the freshness check; running PTX is left to the machines.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::cuda::{self, CompileError};

/// The pinned compiler: another one gives other PTX, so a difference would say nothing about the sources.
pub const COMPILER: &str = "nvrtc 12.6.85";

/// Flags of every compilation. `--fmad=false` keeps products and sums apart; fusing is written as `fmaf` where meant.
pub const FLAGS: [&str; 4] = ["--gpu-architecture=compute_80", "-lineinfo", "--fmad=false", "--std=c++17"];

/// Headers that any source may include, with their texts.
const HEADERS: [(&str, &str); 1] = [("common.cuh", include_str!("../kernels/common.cuh"))];

/// One CUDA source and the PTX made from it, both inside the binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// File name of the source without extension, and of the PTX.
    pub name: &'static str,
    /// CUDA C++ text.
    pub source: &'static str,
    /// PTX text, header included.
    pub ptx: &'static str,
}

/// `rglru_serial`: the canonical kernels, forward and backward.
pub const RGLRU_SERIAL: Artifact = Artifact {
    name: "rglru_serial",
    source: include_str!("../kernels/rglru_serial.cu"),
    ptx: include_str!("../ptx/rglru_serial.ptx"),
};

/// `scalar`: the scalar functions that every kernel shares, alone, for the tests that measure them.
pub const SCALAR: Artifact = Artifact {
    name: "scalar",
    source: include_str!("../kernels/scalar.cu"),
    ptx: include_str!("../ptx/scalar.ptx"),
};

/// Every artifact.
pub const ALL: [Artifact; 2] = [RGLRU_SERIAL, SCALAR];

/// Why PTX could not be made, or is not what its sources give.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The compiler failed.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// Another compiler than the pinned one answered.
    #[error("{name}: expected {COMPILER}, found nvrtc {found}")]
    Compiler {
        /// Name of the artifact.
        name: &'static str,
        /// The version that answered.
        found: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The PTX differs from what its sources give.
    #[error("{path} is stale: {why}; run `plumbline kernels compile`")]
    Stale {
        /// The PTX file.
        path: PathBuf,
        /// What differs.
        why: String,
    },
}

impl Artifact {
    /// SHA-256 over the source and the headers, in hexadecimal.
    #[must_use]
    pub fn source_hash(&self) -> String {
        source_hash(self.source, HEADERS.iter().map(|(_, text)| *text))
    }

    /// SHA-256 of the PTX, in hexadecimal.
    #[must_use]
    pub fn ptx_hash(&self) -> String {
        hex(&Sha256::digest(self.ptx))
    }

    /// Whether the PTX names the hash of the sources beside it. A change of compiler or flags is seen by [`check`].
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.ptx.lines().any(|line| line == hash_line(&self.source_hash()))
    }
}

/// Compiles every source under `root/kernels` and writes `root/ptx`; returns the paths written.
///
/// # Errors
/// If a file cannot be read or written, or the compiler is absent, another one, or refuses a source.
pub fn compile_all(root: &Path) -> Result<Vec<PathBuf>, ArtifactError> {
    ALL.iter()
        .map(|artifact| {
            let path = ptx_path(root, artifact);
            let text = compile_one(root, artifact)?;
            fs::write(&path, text).map_err(file_error(&path))?;
            Ok(path)
        })
        .collect()
}

/// Compiles every source under `root/kernels` and compares with `root/ptx`, changing nothing.
///
/// # Errors
/// As [`compile_all`], and if a PTX file differs, naming its first differing line.
pub fn check(root: &Path) -> Result<Vec<PathBuf>, ArtifactError> {
    ALL.iter()
        .map(|artifact| {
            let path = ptx_path(root, artifact);
            let expected = compile_one(root, artifact)?;
            let found = fs::read_to_string(&path).map_err(file_error(&path))?;
            match first_difference(&expected, &found) {
                None => Ok(path),
                Some(why) => Err(ArtifactError::Stale { path, why }),
            }
        })
        .collect()
}

fn ptx_path(root: &Path, artifact: &Artifact) -> PathBuf {
    root.join("ptx").join(format!("{}.ptx", artifact.name))
}

fn compile_one(root: &Path, artifact: &Artifact) -> Result<String, ArtifactError> {
    let folder = root.join("kernels");
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(file_error(&path))
    };
    let file = format!("{}.cu", artifact.name);
    let source = read(&file)?;
    let headers = HEADERS.iter().map(|(name, _)| read(name)).collect::<Result<Vec<_>, _>>()?;
    let mut flags: Vec<String> = FLAGS.iter().map(|&flag| flag.to_owned()).collect();
    flags.push(format!("--include-path={}", folder.display()));
    let ptx = cuda::compile(&file, &source, &flags)?;
    let found = compiler_version(&ptx);
    if format!("nvrtc {found}") != COMPILER {
        return Err(ArtifactError::Compiler { name: artifact.name, found });
    }
    let hash = source_hash(&source, headers.iter().map(String::as_str));
    Ok(format!("{}{}", header(&file, &hash), without_machine_paths(&ptx)))
}

fn source_hash<'a>(source: &str, headers: impl Iterator<Item = &'a str>) -> String {
    let mut hasher = Sha256::new();
    hasher.update(source);
    headers.for_each(|text| hasher.update(text));
    hex(&hasher.finalize())
}

fn hash_line(hash: &str) -> String {
    format!("// sources sha256 {hash}")
}

fn header(file: &str, hash: &str) -> String {
    format!(
        "// Generated from gpu/kernels/{file} by `plumbline kernels compile`; do not edit.\n{}\n\
         // compiler {COMPILER}\n// flags {}\n",
        hash_line(hash),
        FLAGS.join(" ")
    )
}

/// The version in the compiler's own banner, `... release 12.6, V12.6.85`.
fn compiler_version(ptx: &str) -> String {
    ptx.lines()
        .find_map(|line| line.split_once(", V").map(|(_, version)| version.trim().to_owned()))
        .unwrap_or_else(|| "of unknown version".to_owned())
}

/// `.file` directives name the folder of the machine that compiled; the repository's own path replaces it.
fn without_machine_paths(ptx: &str) -> String {
    let clean = |line: &str| match line.trim_start().strip_prefix(".file") {
        None => line.to_owned(),
        Some(rest) => {
            let index = rest.split_whitespace().next().unwrap_or("1");
            let name = rest.trim_end_matches('"').rsplit(['/', '"']).next().unwrap_or(rest);
            format!("\t.file\t{index} \"gpu/kernels/{name}\"")
        }
    };
    let lines: Vec<String> = ptx.trim_end_matches(['\0', '\n']).lines().map(clean).collect();
    format!("{}\n", lines.join("\n"))
}

fn first_difference(expected: &str, found: &str) -> Option<String> {
    if expected == found {
        return None;
    }
    let pairs = expected
        .lines()
        .map(Some)
        .chain(std::iter::repeat(None))
        .zip(found.lines().map(Some).chain(std::iter::repeat(None)));
    pairs
        .enumerate()
        .take(expected.lines().count().max(found.lines().count()))
        .find(|(_, (a, b))| a != b)
        .map(|(i, (a, b))| {
            let quote =
                |line: Option<&str>| line.map_or("end of file".to_owned(), |l| format!("`{}`", l.trim()));
            format!("line {}: expected {}, found {}", i + 1, quote(a), quote(b))
        })
        .or_else(|| Some("line ends differ".to_owned()))
}

fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> ArtifactError {
    let path = path.to_owned();
    move |source| ArtifactError::File { path, source }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_ptx_names_the_hash_of_its_sources() {
        for artifact in ALL {
            assert!(artifact.is_fresh(), "{}: run `plumbline kernels compile`", artifact.name);
        }
    }

    #[test]
    fn committed_ptx_is_ascii_and_leaves_nothing_to_contraction() {
        for artifact in ALL {
            assert!(artifact.ptx.is_ascii(), "{}", artifact.name);
            for (i, line) in artifact.ptx.lines().enumerate() {
                let word = line.split_whitespace().find(|w| !w.starts_with('@')).unwrap_or("");
                let free = ["add.f", "sub.f", "mul.f", "add.ftz.f", "sub.ftz.f", "mul.ftz.f"];
                assert!(!free.iter().any(|p| word.starts_with(p)), "{}:{}: {line}", artifact.name, i + 1);
            }
        }
    }

    #[test]
    fn machine_paths_are_replaced() {
        let ptx = "//\n\t.file\t1 \"/home/someone/gpu/x.cu\"\n\t.file\t2 \"y.cuh\"\n\n\0";
        let clean = "//\n\t.file\t1 \"gpu/kernels/x.cu\"\n\t.file\t2 \"gpu/kernels/y.cuh\"\n";
        assert_eq!(without_machine_paths(ptx), clean);
    }

    #[test]
    fn a_difference_names_its_line() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n").unwrap(), "line 2: expected `b`, found `c`");
        assert_eq!(first_difference("a\nb\n", "a\n").unwrap(), "line 2: expected `b`, found end of file");
    }
}
