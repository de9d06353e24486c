//! Case files and files of outputs as users make them: what is said of their shapes, kinds and types.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod support;

use ndarray::ArrayD;
use plumbline_fixtures::{Dtype, Kind, Tensor, TensorFile};
use support::{case_of, golden, outputs_of, plumbline, scratch};

/// What `oracle` writes for a case.
fn truth_of(case: &str, out: &str) -> TensorFile {
    let done = plumbline(&["oracle", "--case", case, "--out", out]);
    assert_eq!(done.code, 0, "{}", done.err);
    TensorFile::read(out).unwrap()
}

#[test]
fn a_complex_scan_has_the_width_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let case = case_of(Kind::ScanComplex, folder.path());
    let (case, out) = (case.to_str().unwrap(), folder.path().join("out.safetensors"));
    let out = out.to_str().unwrap();
    let mut truth = truth_of(case, out);
    assert_eq!(truth.require("y_re").unwrap().shape(), [2, 19, 3]);
    for half in ["last_re", "last_im"] {
        truth.insert(half, Tensor::from_f64(&ArrayD::<f64>::zeros(vec![2, 4])));
    }
    truth.write(out).unwrap();
    let done = plumbline(&["check", "--case", case, "--actual", out]);
    assert_eq!(done.code, 1, "{}", done.err);
    assert!(done.out.contains("B 2, L 19, W 3, f32)"), "{}", done.out);
    assert!(done.out.contains("last_re/last_im: expected shape [2, 3], found [2, 4]"), "{}", done.out);
}

#[test]
fn an_empty_complex_scan_is_refused_under_the_names_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.safetensors");
    let mut file = TensorFile::new("empty");
    for name in Kind::ScanComplex.required() {
        let shape = if name.starts_with("dlast") { vec![0, 3] } else { vec![0, 2, 3] };
        file.insert(name, Tensor::from_f64(&ArrayD::<f64>::zeros(shape)));
    }
    file.write(&path).unwrap();
    let done = plumbline(&["oracle", "--case", path.to_str().unwrap(), "--out", "unused"]);
    assert_eq!(done.code, 2, "{}", done.out);
    assert!(done.err.contains("tensor `w_re`: expected at least one sequence"), "{}", done.err);
    assert!(done.err.contains("found shape [0, 2, 3]"), "{}", done.err);
}

#[test]
fn kinds_that_contradict_each_other_are_named() {
    let (_folder, path) = scratch("case.safetensors");
    let mut case = TensorFile::read(golden("rglru_v06_init_len3_h0_reset")).unwrap();
    let (path, other) = (path.to_str().unwrap(), golden("samu_v01_init_len1"));
    let oracle = |case: &TensorFile, more: &[&str]| {
        case.write(path).unwrap();
        plumbline(&[&["oracle", "--case", path, "--out", "/dev/null"], more].concat())
    };
    let refused = |case: &TensorFile, more: &[&str], message: &str| {
        let done = oracle(case, more);
        assert_eq!((done.code, done.err), (2, format!("error: {path}: {message}\n")));
    };
    case.set_metadata("kind", "samu");
    let message =
        "expected a case of kind samu, as its metadata say, found the tensors of kind rglru_projected";
    refused(&case, &[], message);
    let message = "expected a case of kind rglru_logits, as asked for, found kind samu in its metadata";
    refused(&case, &["--kind", "rglru_logits"], message);
    let done = plumbline(&["check", "--case", &other, "--actual", path, "--kind", "scan"]);
    let message = "expected a case of kind scan, as asked for, found kind samu in its metadata";
    assert_eq!((done.code, done.err), (2, format!("error: {other}: {message}\n")));
    case.set_metadata("kind", "the first of a series");
    let message = "expected a case of kind scan, as asked for, found the tensors of kind rglru_projected";
    refused(&case, &["--kind", "scan"], message);
    assert!(oracle(&case, &[]).out.starts_with("rglru_projected, "));
    case.remove("x");
    let done = oracle(&case, &["--kind", "rglru_projected"]);
    assert!(done.err.contains("tensor `x`: expected it to be present"), "{}", done.err);
}

#[test]
fn metadata_choose_where_weights_stand_beside_logits() {
    let (_folder, path) = scratch("case.safetensors");
    let mut case = TensorFile::read(golden("rglru_v06_init_len3_h0_reset")).unwrap();
    let path = path.to_str().unwrap();
    case.set_metadata("kind", "rglru_logits");
    case.write(path).unwrap();
    let oracle =
        |more: &[&str]| plumbline(&[&["oracle", "--case", path, "--out", "/dev/null"], more].concat());
    assert!(oracle(&[]).out.starts_with("rglru_logits, "));
    assert!(oracle(&["--kind", "rglru_projected"]).out.starts_with("rglru_projected, "));
    case.remove("a_gate_logits");
    case.write(path).unwrap();
    let done = oracle(&[]);
    assert!(done.err.contains("found the tensors of kind rglru_projected"), "{}", done.err);
}

/// Exporters give a scalar an axis, or take it away.
#[test]
fn a_scalar_may_have_an_axis() {
    let name = "samu_v05_init_first_h0";
    let (folder, path) = scratch("case.safetensors");
    let (path, out) = (path.to_str().unwrap(), folder.path().join("out.safetensors"));
    let out = out.to_str().unwrap();
    let check = |case: &str| plumbline(&["check", "--case", case, "--actual", out, "--all"]);
    let scalars = ["phase_amplitude", "radial_amplitude", "dphase_amplitude", "dradial_amplitude"];
    let mut file = TensorFile::read(golden(name)).unwrap();
    let reshaped = |file: &mut TensorFile, shape: &[usize]| {
        for name in scalars {
            let bytes = file.require(name).unwrap().bytes().to_vec();
            file.insert(name, Tensor::from_bytes(Dtype::F64, shape, bytes).unwrap());
        }
    };
    reshaped(&mut file, &[1]);
    file.write(path).unwrap();
    file.write(out).unwrap();
    for case in [path, &golden(name)] {
        let done = check(case);
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{}", done.out);
    }
    let scalar = ArrayD::from_elem(vec![1], 7.0);
    file.insert("dphase_amplitude", Tensor::from_f64(&scalar));
    file.write(out).unwrap();
    let done = check(path);
    assert_eq!(done.code, 1, "{}", done.err);
    assert!(done.out.contains("wrong   dphase_amplitude[0]: got 7e0"), "{}", done.out);

    let mut outputs = outputs_of(name);
    outputs.insert("dphase_amplitude", Tensor::from_f64(&scalar.insert_axis(ndarray::Axis(0))));
    outputs.write(out).unwrap();
    let done = check(path);
    assert!(done.out.contains("dphase_amplitude: expected shape [], found [1, 1]"), "{}", done.out);
    TensorFile::read(golden(name)).unwrap().write(out).unwrap();
    assert_eq!(check(path).code, 0, "a case with an axis, outputs without");
    reshaped(&mut file, &[1, 1]);
    file.write(path).unwrap();
    let done = check(path);
    assert!(done.err.contains("tensor `phase_amplitude`: expected shape [], found [1, 1]"), "{}", done.err);
}
