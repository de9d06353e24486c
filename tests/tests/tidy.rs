//! Rules of the house, held by a test: who may know whom, where `unsafe` may stand, what every file begins with.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Names under `[dependencies]` of a member.
fn dependencies(member: &str) -> Vec<String> {
    let manifest = fs::read_to_string(top().join(member).join("Cargo.toml")).unwrap();
    let section = manifest.split("\n[dependencies]\n").nth(1).unwrap();
    section
        .lines()
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

fn files(extension: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                walk(&path, extension, found);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&top(), extension, &mut found);
    assert!(!found.is_empty());
    found
}

#[test]
fn the_oracle_cannot_know_what_it_judges() {
    assert_eq!(dependencies("reference"), ["ndarray", "num-complex", "num-traits", "pulp", "rayon"]);
}

#[test]
fn the_kernels_cannot_know_that_they_are_compared() {
    assert!(!dependencies("gpu").iter().any(|name| name.starts_with("plumbline-")));
    assert!(!dependencies("fixtures").contains(&"plumbline-conformance".to_owned()));
    assert!(!dependencies("fixtures").contains(&"plumbline-gpu".to_owned()));
}

#[test]
fn unsafe_stands_at_the_cudarc_door_alone() {
    for path in files("rs") {
        if path.starts_with(top().join("gpu/src/cuda")) || path.ends_with("tidy.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains("unsafe {") && !text.contains("unsafe fn"), "{}", path.display());
        assert!(
            !text.contains("allow(unsafe_code") && !text.contains("expect(unsafe_code"),
            "{}",
            path.display()
        );
    }
    for member in ["reference", "conformance", "fixtures"] {
        let lib = fs::read_to_string(top().join(member).join("src/lib.rs")).unwrap();
        assert!(lib.contains("#![forbid(unsafe_code)]"), "{member}");
    }
}

#[test]
fn every_source_file_says_first_what_it_is() {
    for path in files("rs") {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//! "), "{}", path.display());
    }
}

#[test]
fn files_stay_readable_in_one_sitting() {
    for path in files("rs").into_iter().chain(files("cu")).chain(files("cuh")) {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= 450, "{}: {lines} lines", path.display());
    }
}

#[test]
fn every_ignored_test_says_why() {
    let bare = ["#[ignore", "]"].concat();
    for path in files("rs") {
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&bare), "{}", path.display());
    }
}
