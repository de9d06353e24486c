//! The command line as a user meets it: exit codes, messages, files; the verdicts behind them are tested elsewhere.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod support;

use std::fs;
use std::path::Path;

use plumbline_conformance::cli;
use plumbline_fixtures::{Kind, Tensor, TensorFile};
use plumbline_reference::Quantity;
use proptest::prelude::*;
use support::{case_of, golden, outputs_of, plumbline, scratch};

#[test]
fn oracle_writes_every_output_with_its_envelope_and_check_accepts_it() {
    let (_folder, path) = scratch("truth.safetensors");
    let case = golden("rglru_v06_init_len3_h0_reset");
    let done = plumbline(&["oracle", "--case", &case, "--out", path.to_str().unwrap()]);
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{}", done.out);
    let truth = TensorFile::read(&path).unwrap();
    for name in Kind::RglruProjected.output_names() {
        let value = truth.get(name).unwrap_or_else(|| panic!("{name}"));
        let envelope = truth.get(&format!("envelope.{name}")).unwrap_or_else(|| panic!("envelope.{name}"));
        assert_eq!(value.shape(), envelope.shape(), "{name}");
        assert!(envelope.values().iter().all(|e| *e >= 0.0), "{name}");
    }
    let done = plumbline(&["check", "--case", &case, "--actual", path.to_str().unwrap()]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
}

#[test]
fn check_accepts_the_golden_outputs_and_refuses_changed_ones() {
    let name = "rglru_v14_init_multi16";
    let (_folder, path) = scratch("out.safetensors");
    let mut outputs = outputs_of(name);
    outputs.write(&path).unwrap();
    let check =
        |path: &Path| plumbline(&["check", "--case", &golden(name), "--actual", path.to_str().unwrap()]);
    let done = check(&path);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);

    let gradient = outputs.get("da_gate_b").unwrap().clone();
    let values: Vec<f64> = gradient.values().iter().map(|v| v * 1.001).collect();
    let changed = ndarray::ArrayD::from_shape_vec(gradient.shape(), values).unwrap();
    outputs.insert("da_gate_b", Tensor::from_f64(&changed));
    outputs.write(&path).unwrap();
    let done = check(&path);
    assert_eq!(done.code, 1, "{}{}", done.out, done.err);
    assert!(done.out.contains("da_gate_b BEYOND"), "{}", done.out);
    assert!(done.out.contains("dinput_gate_b within"), "{}", done.out);
}

#[test]
fn check_with_nothing_to_compare_is_no_success() {
    let (_folder, path) = scratch("empty.safetensors");
    TensorFile::new("empty").write(&path).unwrap();
    let case = golden("rglru_v01_init_first");
    let done = plumbline(&["check", "--case", &case, "--actual", path.to_str().unwrap()]);
    assert_eq!(done.code, 4, "{}", done.out);
    assert!(done.out.contains("not judged: y, last_h"), "{}", done.out);
    assert!(done.err.ends_with("no element was compared\n"), "{}", done.err);
    assert_eq!(done.err.lines().count(), 1);
}

#[test]
fn a_wrong_shape_is_named_with_expected_and_found() {
    let (_folder, path) = scratch("out.safetensors");
    let mut outputs = outputs_of("rglru_v01_init_first");
    outputs.insert("last_h", Tensor::from_f64(&ndarray::Array2::<f64>::zeros((8, 1))));
    outputs.write(&path).unwrap();
    let case = golden("rglru_v01_init_first");
    let done = plumbline(&["check", "--case", &case, "--actual", path.to_str().unwrap()]);
    assert_eq!(done.code, 1);
    assert!(done.out.contains("last_h: expected shape [1, 8], found [8, 1]"), "{}", done.out);
}

#[test]
fn bad_arguments_end_with_two_and_a_message() {
    let cases: [(&[&str], &str); 10] = [
        (&["gate", "no_such_kernel"], "kernel `no_such_kernel`: expected one of rglru_forward_serial_f32"),
        (&["gate", "--device", "tpu"], "expected virtual, cuda, cuda:INDEX or auto, found `tpu`"),
        (&["gate", "--regime", "warm"], "expected one of init"),
        (&["gate", "--cases", "many"], "expected a number from 0 to 1000000, found `many`"),
        (&["gate", "--cases", "18446744073709551615"], "expected a number from 0 to 1000000"),
        (&["ledger", "record", "--cases", "0"], "expected a number from 13"),
        (&["replay", "init:none"], "expected [KIND/]REGIME:LAYOUT:H0:BxLxW:SEED"),
        (&["replay", "golden:nothing"], "nothing"),
        (&["oracle", "--case", "/nonexistent.safetensors", "--out", "/tmp/x"], "/nonexistent.safetensors"),
        (&["frobnicate"], "unrecognized subcommand"),
    ];
    for (arguments, message) in cases {
        let done = plumbline(arguments);
        assert_eq!(done.code, 2, "{arguments:?}: {}{}", done.out, done.err);
        assert!(done.err.contains(message), "{arguments:?}: {}", done.err);
        assert_eq!(done.out, "", "{arguments:?}");
    }
}

/// A stream whose reader has left.
struct Closed;

impl std::io::Write for Closed {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }
}

#[test]
fn a_reader_that_leaves_does_not_change_the_verdict() {
    let (_folder, path) = scratch("out.safetensors");
    let mut outputs = outputs_of("rglru_v01_init_first");
    outputs.insert("last_h", Tensor::from_f64(&ndarray::Array2::<f64>::zeros((1, 8))));
    outputs.write(&path).unwrap();
    let case = golden("rglru_v01_init_first");
    let arguments = ["plumbline", "check", "--case", &case, "--actual", path.to_str().unwrap()];
    assert_eq!(cli::run(arguments, &mut Closed, &mut Vec::new()), 1);
}

#[cfg(unix)]
#[test]
fn links_are_followed() {
    let (folder, path) = scratch("target.safetensors");
    fs::write(&path, "old").unwrap();
    let link = folder.path().join("link.safetensors");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let case = golden("rglru_v01_init_first");
    let done = plumbline(&["oracle", "--case", &case, "--out", link.to_str().unwrap()]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(TensorFile::read(&path).unwrap().contains("envelope.y"));
}

#[test]
fn the_case_is_never_overwritten() {
    let (_folder, path) = scratch("case.safetensors");
    let bytes = fs::read(golden("rglru_v06_init_len3_h0_reset")).unwrap();
    fs::write(&path, &bytes).unwrap();
    let case = path.to_str().unwrap();
    let done = plumbline(&["oracle", "--case", case, "--out", case]);
    assert_eq!(done.code, 2);
    assert!(done.err.contains("found the case itself"), "{}", done.err);
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn oracle_and_check_take_every_kind() {
    for kind in Kind::ALL {
        let folder = tempfile::tempdir().unwrap();
        let case = case_of(kind, folder.path());
        let (case, out) = (case.to_str().unwrap(), folder.path().join("out.safetensors"));
        let out = out.to_str().unwrap();
        let done = plumbline(&["oracle", "--case", case, "--out", out]);
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{}", done.out);
        // Each of the two tensors of a complex scan has half the channels.
        let w = if kind == Kind::ScanComplex { 3 } else { 6 };
        let start = format!("{kind}, B 2, L 19, W {w}: {} tensors", kind.outputs().len());
        assert!(done.out.starts_with(&start), "{}", done.out);

        let mut truth = TensorFile::read(out).unwrap();
        let names = kind.output_names();
        for name in &names {
            let (value, envelope) = (truth.require(name), truth.require(&format!("envelope.{name}")));
            assert_eq!(value.unwrap().shape(), envelope.unwrap().shape(), "{kind} {name}");
        }
        let check = |file: &TensorFile| {
            file.write(out).unwrap();
            plumbline(&["check", "--case", case, "--actual", out, "--kind", kind.name()])
        };
        let done = check(&truth);
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{}", done.out);
        assert!(!done.out.contains("not judged:"), "{}", done.out);

        let changed = *names.last().unwrap();
        let tensor = truth.require(changed).unwrap();
        let values: Vec<f64> = tensor.values().iter().map(|value| value * 1.01).collect();
        let values = ndarray::ArrayD::from_shape_vec(tensor.shape(), values).unwrap();
        truth.insert(changed, Tensor::from_f64(&values));
        let done = check(&truth);
        assert_eq!(done.code, 1, "{}{}", done.out, done.err);
        assert!(done.out.contains(&format!("{changed} BEYOND")), "{}", done.out);
        let y: Vec<_> = kind.names_of(Quantity::Y).unwrap().iter().collect();
        assert!(done.out.contains(&format!("{} within", y.join("/"))), "{}", done.out);
    }
}

/// The line that a failure gives reproduces it, whatever the options and the file's name.
#[test]
fn a_failed_check_says_how_to_run_it_again() {
    let name = "samu_v05_init_first_h0";
    let (_folder, path) = scratch("it's out.safetensors");
    let mut outputs = outputs_of(name);
    let half = outputs.require("dh0_im").unwrap();
    let mut values = ndarray::ArrayD::from_shape_vec(half.shape(), half.values()).unwrap();
    values[[0, 1]] += 1.0;
    outputs.insert("dh0_im", Tensor::from_f64(&values));
    outputs.write(&path).unwrap();
    let path = path.to_str().unwrap();
    let done = plumbline(&["check", "--case", &golden(name), "--actual", path, "--plan", "bf16"]);
    assert_eq!(done.code, 1, "{}{}", done.out, done.err);
    assert!(done.out.contains("dh0_im[0, 1]: got"), "{}", done.out);
    let line = done.out.lines().find_map(|line| line.strip_prefix("  replay  ")).unwrap();
    let script = format!("printf '%s\\n' {line}");
    let words = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    let words = String::from_utf8(words.stdout).unwrap();
    let again = plumbline(&words.lines().skip(1).collect::<Vec<_>>());
    assert_eq!((again.code, again.out), (1, done.out));
}

#[test]
fn missing_outputs_count_if_all_are_demanded() {
    let (_folder, path) = scratch("out.safetensors");
    let mut outputs = outputs_of("rglru_v01_init_first");
    let (case, path) = (golden("rglru_v01_init_first"), path.to_str().unwrap());
    let check = |outputs: &TensorFile| {
        outputs.write(path).unwrap();
        plumbline(&["check", "--case", &case, "--actual", path, "--all"])
    };
    let done = check(&outputs);
    assert_eq!(done.code, 0, "{}", done.err);
    outputs.remove("last_h");
    let done = check(&outputs);
    assert_eq!(done.code, 4, "{}", done.out);
    assert!(done.err.contains("expected every output, 1 of them missing: last_h"), "{}", done.err);
}

#[test]
fn outputs_of_another_case_are_no_outputs_of_this_one() {
    let (case, other) = (golden("rglru_v01_init_first"), golden("rglru_v07_init_every"));
    let done = plumbline(&["check", "--case", &case, "--actual", &case]);
    assert_eq!(done.code, 0, "{}", done.err);
    let done = plumbline(&["check", "--case", &case, "--actual", &other]);
    assert_eq!(done.code, 2, "{}", done.out);
    assert!(done.err.contains("tensor `x`: expected"), "{}", done.err);
    assert!(done.err.contains("are these outputs of another case?"), "{}", done.err);
}

#[test]
fn a_record_that_could_not_be_written_costs_no_run() {
    let done = plumbline(&["gate", "--json", "/nonexistent/run.json"]);
    assert_eq!((done.code, done.out.as_str()), (2, ""));
    assert!(done.err.contains("/nonexistent/run.json: expected a folder `/nonexistent`"), "{}", done.err);
}

#[test]
fn what_is_no_file_is_refused_before_it_is_read() {
    let case = golden("rglru_v01_init_first");
    let done = plumbline(&["check", "--case", &case, "--actual", "/dev/null"]);
    assert_eq!(done.code, 2);
    assert!(done.err.contains("/dev/null: expected a regular file, found a device"), "{}", done.err);
    let (folder, _) = scratch("x");
    let done = plumbline(&["oracle", "--case", folder.path().to_str().unwrap(), "--out", "unused"]);
    assert!(done.err.contains("expected a regular file, found a directory"), "{}", done.err);
}

#[test]
fn half_a_complex_tensor_is_named() {
    let name = "samu_v05_init_first_h0";
    let (_folder, path) = scratch("out.safetensors");
    let mut outputs = outputs_of(name);
    let check = |outputs: &TensorFile| {
        outputs.write(&path).unwrap();
        plumbline(&["check", "--case", &golden(name), "--actual", path.to_str().unwrap()])
    };
    let done = check(&outputs);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    outputs.remove("last_im");
    let done = check(&outputs);
    assert_eq!(done.code, 2, "{}", done.out);
    assert!(done.err.contains("tensor `last_im`: expected it to be present"), "{}", done.err);
    outputs.remove("last_re");
    let done = check(&outputs);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    assert!(done.out.contains("not judged: last_re, last_im"), "{}", done.out);
}

#[test]
fn kernels_do_not_take_cases_of_another_kind() {
    let kernel = "rglru_forward_serial_f32";
    let done = plumbline(&["replay", "golden:samu_v01_init_len1", "--kernel", kernel]);
    assert_eq!(done.code, 4, "{}", done.out);
    assert!(done.err.contains("takes cases of kind rglru_logits, this one is samu"), "{}", done.err);
    let done = plumbline(&["replay", "scan/init:none:zero:1x2x3:4", "--kernel", kernel]);
    assert_eq!(done.code, 4, "{}", done.out);
    assert!(done.err.contains("this one is scan"), "{}", done.err);
}

#[test]
fn an_absent_device_that_was_asked_for_is_an_error_of_its_own() {
    if plumbline_gpu::cuda::driver_present() {
        println!("not run: this machine has a CUDA driver");
        return;
    }
    let done = plumbline(&["gate", "--device", "cuda"]);
    assert_eq!((done.code, done.out.as_str()), (3, ""));
    assert!(done.err.contains("libcuda was not found"), "{}", done.err);
    let done =
        plumbline(&["gate", "rglru_forward_serial_f32", "--device", "auto", "--cases", "2", "--no-golden"]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    assert!(done.out.contains("not run: cuda:0: no CUDA driver"), "{}", done.out);
}

#[test]
fn doctor_and_kernels_speak() {
    let done = plumbline(&["doctor"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.contains("ptx       rglru_serial: fresh"), "{}", done.out);
    let done = plumbline(&["kernels"]);
    assert_eq!(done.code, 0);
    assert!(done.out.contains("rglru_backward_serial_bf16"), "{}", done.out);
}

#[test]
fn gate_writes_its_records() {
    let (_folder, path) = scratch("run.json");
    let json = path.to_str().unwrap();
    let kernel = "rglru_forward_serial_bf16";
    let done = plumbline(&["gate", kernel, "--cases", "13", "--no-golden", "--json", json]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    let run: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(run["counters"]["cases"], 13);
    assert_eq!(run["records"].as_array().unwrap().len(), 13);
    assert_eq!(run["records"][0]["kernel"], kernel);
    assert_eq!(run["records"][0]["verdict"]["word"], "conforms");
    assert_eq!(run["ptx_sha256"]["rglru_serial"].as_str().unwrap().len(), 64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever a file holds, the command ends with a verdict or with a message that names the file.
    #[test]
    fn damaged_case_files_are_errors(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut bytes = fs::read(golden("rglru_v06_init_len3_h0_reset")).unwrap();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] ^= byte }
        let (folder, path) = scratch("damaged.safetensors");
        fs::write(&path, bytes).unwrap();
        let out = folder.path().join("out.safetensors");
        let path = path.to_str().unwrap();
        for arguments in [
            vec!["oracle", "--case", path, "--out", out.to_str().unwrap()],
            vec!["check", "--case", path, "--actual", path],
            vec!["replay", path, "--kernel", "rglru_forward_serial_f32"],
        ] {
            let done = plumbline(&arguments);
            prop_assert!(matches!(done.code, 0..=2 | 4), "{arguments:?}: {}", done.code);
            if done.code == 2 {
                prop_assert!(done.err.contains("damaged.safetensors"), "{}", done.err);
                prop_assert_eq!(done.err.lines().count(), 1);
            }
        }
    }
}
