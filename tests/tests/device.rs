//! A CUDA device against the PTX machine: the same PTX, the same bits. Ignored where it is not asked for, never passed by absence.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use plumbline_conformance::campaign::Campaign;
use plumbline_conformance::executor::{CudaExecutor, Executor, VirtualExecutor, open_device};
use plumbline_conformance::ledger::Ledger;
use plumbline_conformance::report::agreements;
use plumbline_gpu::catalog::KERNELS;
use plumbline_tests::cases;

#[test]
#[ignore = "needs a CUDA device: cargo test --test device -- --ignored"]
fn the_device_gives_the_bits_of_the_machine() {
    let device = open_device(0).unwrap();
    let mut executors: Vec<Box<dyn Executor>> = Vec::new();
    for kernel in KERNELS {
        executors.push(Box::new(CudaExecutor::new(kernel, device.clone())));
        executors.push(Box::new(VirtualExecutor::new(kernel).unwrap()));
    }
    let campaign = Campaign { cases: cases(130), seed: 4, regimes: Vec::new(), golden: true };
    let records = campaign.run(&executors, &Ledger::virtual_device().unwrap(), &|_| {}).unwrap();
    assert!(records.iter().all(|r| !r.deviates()));
    let agreements = agreements(&records);
    assert_eq!(agreements.len(), KERNELS.len());
    for agreement in agreements {
        println!("{agreement}");
        assert!(agreement.tensors > 0 && agreement.equal == agreement.tensors, "{agreement}");
    }
}
