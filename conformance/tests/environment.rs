//! What the command takes from the environment; only a process of its own may change that.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::process::{Command, Output};

fn gate(variable: Option<&str>, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plumbline"));
    command.args(["gate", "rglru_forward_serial_f32", "--no-golden"]).args(more);
    command.env_remove("PLUMBLINE_CASES");
    if let Some(text) = variable {
        command.env("PLUMBLINE_CASES", text);
    }
    command.output().unwrap()
}

#[test]
fn the_number_of_cases_may_stand_in_the_environment() {
    let usual = [(None, 130), (Some(""), 130), (Some("3"), 3)];
    for (variable, cases) in usual {
        let done = gate(variable, &[]);
        let (out, err) = (String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap());
        assert_eq!(done.status.code(), Some(0), "{variable:?}: {out}{err}");
        assert!(out.contains(&format!("\n{cases} cases: {cases} conform")), "{variable:?}: {out}");
    }
    let done = gate(Some("many"), &["--cases", "2"]);
    assert!(String::from_utf8(done.stdout).unwrap().contains("\n2 cases: 2 conform"));
}

#[test]
fn a_number_that_is_none_is_an_error_which_names_the_variable() {
    for text in ["many", " ", "-1", "1000001"] {
        let done = gate(Some(text), &[]);
        assert_eq!((done.status.code(), done.stdout.len()), (Some(2), 0), "{text}");
        let expected =
            format!("error: PLUMBLINE_CASES: expected a number from 0 to 1000000, found `{text}`\n");
        assert_eq!(String::from_utf8(done.stderr).unwrap(), expected);
    }
}
