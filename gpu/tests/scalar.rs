//! The scalar functions of the kernels, run as PTX, against f64: the errors that their comments state are these.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use plumbline_gpu::artifact::SCALAR;
use plumbline_gpu::buffer::{Buffer, BufferSet, Dtype, Role};
use plumbline_gpu::launch::{Argument, Launch};
use plumbline_gpu::machine::{Machine, Program};
use plumbline_gpu::ptx;

fn evaluate(function: &str, inputs: &[f32]) -> Vec<f32> {
    let entry = format!("scalar_{function}");
    let program = Program::load(&ptx::parse(SCALAR.name, SCALAR.ptx).unwrap(), &entry).unwrap();
    let mut buffers = BufferSet::default();
    let input = buffers.push(Buffer::input_f32("input", inputs));
    let output = buffers.push(Buffer::poisoned("output", Dtype::F32, Role::Output, inputs.len()));
    let n = i64::try_from(inputs.len()).unwrap();
    let launch = Launch {
        entry,
        grid: [u32::try_from(inputs.len().div_ceil(256)).unwrap(), 1, 1],
        block: [256, 1, 1],
        shared_bytes: 0,
        arguments: vec![Argument::Buffer(input), Argument::Buffer(output), Argument::I64(n)],
    };
    Machine::default().run(&program, &launch, &mut buffers).unwrap();
    buffers.as_slice()[1].bits().into_iter().map(f32::from_bits).collect()
}

/// Every 2,003rd f32 in a range, and its ends.
fn sweep(low: f32, high: f32) -> Vec<f32> {
    let all = (0..=u32::MAX / 2003).map(|i| f32::from_bits(i * 2003));
    all.filter(|x| (low..=high).contains(x)).chain([low, high]).collect()
}

/// Spacing of the f32 numbers around a real.
fn ulp(real: f64) -> f64 {
    let exponent = i32::try_from(real.abs().to_bits() >> 52).unwrap() - 1023;
    2f64.powi(exponent.max(-126) - 23)
}

/// Largest error in units in the last place over a range.
fn worst(function: &str, low: f32, high: f32, exact: impl Fn(f64) -> f64) -> f64 {
    let inputs = sweep(low, high);
    let outputs = evaluate(function, &inputs);
    let errors = inputs.iter().zip(&outputs).filter_map(|(&x, &got)| {
        let truth = exact(f64::from(x));
        if truth > f64::from(f32::MAX) {
            assert_eq!(got, f32::INFINITY, "{function}({x})");
            return None;
        }
        let error = (f64::from(got) - truth).abs() / ulp(truth);
        assert!(!error.is_nan(), "{function}({x}) = {got}");
        Some(error)
    });
    let worst = errors.fold(0.0, f64::max);
    println!("{function} on {low}..{high}: {worst:.3} ULP over {} inputs", inputs.len());
    worst
}

fn sigmoid(x: f64) -> f64 {
    let e = (-x.abs()).exp();
    if x < 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
}

#[test]
fn errors_are_as_the_source_states() {
    assert!(worst("exp", -1e4, 1e4, f64::exp) <= 1.1);
    assert!(worst("one_minus_exp", -1e4, -0.0, |x| -x.exp_m1()) <= 1.0);
    assert!(worst("log1p", 0.0, 1.0, f64::ln_1p) <= 1.3);
    assert!(worst("softplus", -1e4, 1e4, |x| x.max(0.0) + (-x.abs()).exp().ln_1p()) <= 2.0);
    assert!(worst("sigmoid", -1e4, 1e4, sigmoid) <= 2.3);
    assert!(worst("complement", -1e4, 1e4, |x| sigmoid(-x)) <= 2.3);
}

#[test]
fn nan_stays_nan_and_infinities_have_limits() {
    let of = |function: &str, x: f32| evaluate(function, &[x])[0];
    for function in ["exp", "one_minus_exp", "log1p", "softplus", "sigmoid", "complement"] {
        assert!(of(function, f32::NAN).is_nan(), "{function}");
    }
    let inf = f32::INFINITY;
    assert_eq!((of("exp", inf), of("exp", -inf)), (inf, 0.0));
    assert_eq!(of("one_minus_exp", -inf), 1.0);
    assert_eq!((of("softplus", inf), of("softplus", -inf)), (inf, 0.0));
    assert_eq!((of("sigmoid", inf), of("sigmoid", -inf)), (1.0, 0.0));
    assert_eq!((of("complement", inf), of("complement", -inf)), (0.0, 1.0));
}
