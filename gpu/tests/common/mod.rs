//! Tiny kernels around the instructions under test; what they should give is left to the tests.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "every test file uses a part; a test may stop at the first surprise"
)]

use plumbline_gpu::buffer::{Buffer, BufferSet, Dtype, Role};
use plumbline_gpu::launch::{Argument, Launch};
use plumbline_gpu::machine::{Machine, Program, Statistics, Trap};
use plumbline_gpu::ptx;

pub(crate) const HEAD: &str = ".version 8.5\n.target sm_80\n.address_size 64\n";
pub(crate) const QNAN: u32 = 0x7fff_ffff;
pub(crate) const MINUS_ONE: u32 = u32::MAX;

/// A kernel with two pointers: `%rd1` the input plus 4 bytes a thread, `%rd2` the output plus 4 bytes a thread.
pub(crate) fn kernel(body: &str) -> String {
    format!(
        "{HEAD}.visible .entry k(.param .u64 a, .param .u64 b)\n{{\n\
         .reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<33>; .reg .f32 %f<33>; .reg .b64 %rd<17>; .reg .f64 %fd<9>;\n\
         .shared .align 4 .b8 tile[512];\n\
         ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];\n\
         mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;\n\
         {body}\nret;\n}}\n"
    )
}

pub(crate) fn program(text: &str) -> Program {
    Program::load(&ptx::parse("test.ptx", text).unwrap(), "k").unwrap()
}

pub(crate) fn bits(values: &[u32]) -> Buffer {
    Buffer::input_f32("input", &values.iter().map(|&b| f32::from_bits(b)).collect::<Vec<_>>())
}

pub(crate) fn launch(threads: u32) -> Launch {
    Launch {
        entry: "k".to_owned(),
        grid: [1, 1, 1],
        block: [threads, 1, 1],
        shared_bytes: 0,
        arguments: Vec::new(),
    }
}

pub(crate) fn run_on(
    text: &str,
    input: &[u32],
    outputs: usize,
    threads: u32,
) -> Result<(Vec<u32>, Statistics), Trap> {
    run_with(
        &Machine { instruction_budget: 100_000, ..Machine::default() },
        text,
        input,
        outputs,
        &launch(threads),
    )
}

pub(crate) fn run_with(
    machine: &Machine,
    text: &str,
    input: &[u32],
    outputs: usize,
    launch: &Launch,
) -> Result<(Vec<u32>, Statistics), Trap> {
    let mut buffers = BufferSet::default();
    let a = buffers.push(bits(input));
    let b = buffers.push(Buffer::poisoned("output", Dtype::F32, Role::Output, outputs));
    let launch = Launch { arguments: vec![Argument::Buffer(a), Argument::Buffer(b)], ..launch.clone() };
    let statistics = machine.run(&program(text), &launch, &mut buffers)?;
    Ok((buffers.as_slice()[1].bits(), statistics))
}

/// One thread that loads `x`, `y`, `z` into `%r10..12` and as floats into `%f10..12`, and stores `%r20`.
pub(crate) fn compute(body: &str, inputs: [u32; 3]) -> u32 {
    let text = kernel(&format!(
        "ld.global.u32 %r10, [%rd1]; ld.global.u32 %r11, [%rd1+4]; ld.global.u32 %r12, [%rd1+8];\n\
         mov.b32 %f10, %r10; mov.b32 %f11, %r11; mov.b32 %f12, %r12;\n{body}\nst.global.u32 [%rd2], %r20;"
    ));
    run_on(&text, &inputs, 1, 1).unwrap().0[0]
}

pub(crate) fn integer(body: &str, x: u32, y: u32, z: u32) -> u32 {
    compute(body, [x, y, z])
}

pub(crate) fn float(body: &str, x: f32, y: f32, z: f32) -> u32 {
    compute(&format!("{body}\nmov.b32 %r20, %f20;"), [x.to_bits(), y.to_bits(), z.to_bits()])
}

/// One f64 operation on `%fd1`, `%fd2` into `%fd3`, operands by their bits, whole result.
pub(crate) fn double(body: &str, x: f64, y: f64) -> u64 {
    let [x, y] = [x.to_bits(), y.to_bits()];
    let half = |word: &str| {
        compute(
            &format!(
                "mov.f64 %fd1, 0d{x:016X}; mov.f64 %fd2, 0d{y:016X}; {body} mov.b64 {{%r13, %r14}}, %fd3; mov.b32 %r20, {word};"
            ),
            [0; 3],
        )
    };
    u64::from(half("%r14")) << 32 | u64::from(half("%r13"))
}

pub(crate) fn trap(body: &str, threads: u32) -> Trap {
    run_on(&kernel(body), &[1, 2, 3, 4], 4, threads).unwrap_err()
}
