//! Speed of the PTX machine on one core: lane-instructions a second for the serial RG-LRU kernels; nothing is judged.

use std::time::Instant;

use plumbline_gpu::artifact::RGLRU_SERIAL;
use plumbline_gpu::buffer::{Buffer, Dtype};
use plumbline_gpu::catalog::{self, Dimensions};
use plumbline_gpu::machine::{Checks, Machine, Program};
use plumbline_gpu::ptx;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let dimensions = Dimensions { batch: 2, length: 512, width: 128 };
    println!("B = 2, L = 512, W = 128; the best of five runs");
    println!("{:<28} {:>12} {:>18} {:>14}", "kernel", "checks", "lane instructions", "G a second");
    for name in ["rglru_forward_serial_f32", "rglru_forward_serial_bf16", "rglru_backward_serial_f32"] {
        for (label, on) in [("bounds", false), ("all", true)] {
            let machine = Machine { checks: Checks { uninitialised: on, races: on }, ..Machine::default() };
            let (lanes, rate) = measure(name, dimensions, &machine)?;
            println!("{name:<28} {label:>12} {lanes:>18} {rate:>14.3}");
        }
    }
    Ok(())
}

/// Lane-instructions of a run, and billions of them a second.
fn measure(name: &str, dimensions: Dimensions, machine: &Machine) -> Result<(u64, f64), Failure> {
    let kernel = catalog::find(name).ok_or("no such kernel")?;
    let module = ptx::parse("rglru_serial.ptx", RGLRU_SERIAL.ptx)?;
    let mut best = (0, 0.0_f64);
    for _ in 0..5 {
        let mut pipeline = kernel.assemble(dimensions, inputs(name, dimensions))?;
        let programs = pipeline.launches.iter().map(|launch| Program::load(&module, &launch.entry));
        let programs = programs.collect::<Result<Vec<_>, _>>()?;
        let start = Instant::now();
        let mut lanes = 0;
        for (program, launch) in programs.iter().zip(&pipeline.launches) {
            lanes += machine.run(program, launch, &mut pipeline.buffers)?.lane_instructions;
        }
        best = (lanes, best.1.max(lanes as f64 / start.elapsed().as_secs_f64() / 1e9));
    }
    Ok(best)
}

/// Every input that a kernel could ask for; values between -2 and 2, a document start every 100 tokens.
fn inputs(name: &str, d: Dimensions) -> Vec<Buffer> {
    let storage = if name.ends_with("bf16") { Dtype::Bf16 } else { Dtype::F32 };
    let noise = |len: usize, seed: u32| -> Vec<f32> {
        let mix = |i: u32| i.wrapping_add(seed).wrapping_mul(2_654_435_761) >> 16;
        (0..len).map(|i| mix(u32::try_from(i).unwrap_or(0)) as f32 / 16384.0 - 2.0).collect()
    };
    let tensor = |name: &str, len: usize, seed: u32| match storage {
        Dtype::Bf16 => {
            let values: Vec<half::bf16> = noise(len, seed).into_iter().map(half::bf16::from_f32).collect();
            Buffer::input_bf16(name, &values)
        }
        _ => Buffer::input_f32(name, &noise(len, seed)),
    };
    let (all, state) = (d.batch * d.length * d.width, d.batch * d.width);
    let positions: Vec<i32> = (0..d.batch * d.length).map(|i| i32::try_from(i % 100).unwrap_or(0)).collect();
    let mut inputs = vec![
        tensor("x", all, 1),
        tensor("u", all, 2),
        tensor("v", all, 3),
        Buffer::input_f32("a_param", &noise(d.width, 4)),
        Buffer::input_i32("segment_pos", &positions),
        Buffer::input_f32("h0", &noise(state, 5)),
    ];
    if name.contains("backward") {
        inputs.push(tensor("dy", all, 6));
        inputs.push(Buffer::input_f32("dlast", &noise(state, 7)));
    }
    inputs
}
