//! Cases a second on the PTX machine, one core: buffers assembled, kernel run, outputs taken; nothing is judged.

use std::time::Instant;

use plumbline_conformance::case::Case;
use plumbline_conformance::executor::{Executor, VirtualExecutor};
use plumbline_conformance::strategy::Spec;
use plumbline_gpu::catalog::KERNELS;

/// Rounds of each measurement; the median is printed.
const ROUNDS: usize = 9;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{:<28} {:>14} {:>16} {:>18}", "kernel", "ms a case", "cases/s", "lane-instr/s");
    for text in ["init:packed:nonzero:1x256x64:1", "init:packed:nonzero:4x512x256:1"] {
        let spec: Spec = text.parse()?;
        println!("{spec}");
        for kernel in KERNELS {
            let executor = VirtualExecutor::new(kernel)?;
            let case = Case::generated(spec, executor.subject().storage)?;
            let mut seconds = Vec::new();
            let mut lanes = 0;
            for _ in 0..ROUNDS {
                let start = Instant::now();
                let statistics = executor.count(&case).map_err(|outcome| format!("{outcome:?}"))?;
                seconds.push(start.elapsed().as_secs_f64());
                lanes = statistics.iter().map(|s| s.lane_instructions).sum();
            }
            seconds.sort_by(f64::total_cmp);
            let median = seconds[ROUNDS / 2];
            println!(
                "{:<28} {:>14.3} {:>16.1} {:>18.3e}",
                kernel.name,
                1e3 * median,
                1.0 / median,
                f64::from(u32::try_from(lanes / 1000)?) * 1000.0 / median
            );
        }
    }
    Ok(())
}
