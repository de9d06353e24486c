//! Wrong kernels, as PTX with one edit each: the gate catches every one, names the tensors, and says where.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use plumbline_conformance::campaign::Campaign;
use plumbline_conformance::case::Case;
use plumbline_conformance::examine::Record;
use plumbline_conformance::executor::{Executor, VirtualExecutor};
use plumbline_conformance::judge::Verdict;
use plumbline_conformance::ledger::Ledger;
use plumbline_conformance::report::failure_text;
use plumbline_gpu::catalog;

/// An edit of one entry's PTX: every line that holds all of `find` has `from` replaced by `to`, or is dropped.
struct Fault {
    name: &'static str,
    kernel: &'static str,
    find: &'static [&'static str],
    from: &'static str,
    to: &'static str,
    /// How many lines the edit must change: one that no longer fits the PTX is itself an error.
    lines: usize,
    /// What the reasons must name.
    names: &'static [&'static str],
}

const FORWARD: &str = "rglru_forward_serial_f32";
const BACKWARD: &str = "rglru_backward_serial_f32";

const FAULTS: [Fault; 8] = [
    Fault {
        name: "c is 7.98 instead of 8",
        kernel: FORWARD,
        find: &["mul.rn.f32", "0fC1000000"],
        from: "0fC1000000",
        to: "0fC0FF5C29",
        lines: 1,
        names: &["y[", "last["],
    },
    Fault {
        name: "no token is a reset",
        kernel: FORWARD,
        find: &["setp.eq.s32"],
        from: ", 0;",
        to: ", -1;",
        lines: 1,
        names: &["y["],
    },
    Fault {
        name: "the norm is z instead of its root",
        kernel: FORWARD,
        find: &["sqrt.rn.f32"],
        from: "sqrt.rn.f32",
        to: "abs.f32",
        lines: 1,
        names: &["y["],
    },
    Fault {
        name: "one channel too many",
        kernel: FORWARD,
        find: &["setp.ge.s64"],
        from: "setp.ge.s64",
        to: "setp.gt.s64",
        lines: 1,
        names: &["out of bounds: buffer `"],
    },
    Fault {
        name: "nothing is stored",
        kernel: FORWARD,
        find: &["st.global.f32"],
        from: "",
        to: "",
        lines: 2,
        names: &["y: element 0 of", "was never written"],
    },
    Fault {
        name: "the root's derivative is clipped elsewhere",
        kernel: BACKWARD,
        find: &["0f358637BD"],
        from: "0f358637BD",
        to: "0f34D6BF95",
        lines: 2,
        names: &["dv["],
    },
    Fault {
        name: "the states are not kept in shared memory",
        kernel: BACKWARD,
        find: &["st.shared.f32"],
        from: "",
        to: "",
        lines: 1,
        names: &["never written: shared memory", "gpu/kernels/rglru_serial.cu:"],
    },
    Fault {
        name: "resets are ignored in the adjoint pass",
        kernel: BACKWARD,
        find: &["setp.eq.s32"],
        from: ", 0;",
        to: ", -1;",
        lines: 3,
        names: &["dx["],
    },
];

/// The module with the entry edited, and the number of lines changed.
fn edited(fault: &Fault) -> (String, usize) {
    let text = catalog::find(fault.kernel).unwrap().artifact.ptx;
    let start = text.find(&format!(".entry {}(", fault.kernel)).unwrap();
    let end = start + text[start..].find("\n}\n").unwrap();
    let mut changed = 0;
    let lines = text[start..end].lines().filter_map(|line| {
        if !fault.find.iter().all(|part| line.contains(part)) {
            return Some(line.to_owned());
        }
        changed += 1;
        (!fault.from.is_empty()).then(|| line.replace(fault.from, fault.to))
    });
    let body = lines.collect::<Vec<_>>().join("\n");
    (format!("{}{body}{}", &text[..start], &text[end..]), changed)
}

fn reasons(record: &Record) -> String {
    match &record.verdict {
        Verdict::Deviates(reasons) => reasons.join("\n"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_planted_fault_is_caught_and_named() {
    let campaign = Campaign { cases: 39, seed: 5, regimes: Vec::new(), golden: false };
    for fault in &FAULTS {
        let (text, changed) = edited(fault);
        assert_eq!(changed, fault.lines, "{}: the edit no longer fits the PTX", fault.name);
        let kernel = catalog::find(fault.kernel).unwrap();
        let executor = VirtualExecutor::with_ptx(kernel, fault.name, &text).unwrap();
        let records = campaign.run(&[Box::new(executor)], &Ledger::default(), &|_| {}).unwrap();
        let failing: Vec<&Record> = records.iter().filter(|r| r.deviates()).collect();
        println!("{}: caught by {} of {} cases", fault.name, failing.len(), records.len());
        assert!(!failing.is_empty(), "{} slips through", fault.name);
        let all: String = failing.iter().map(|r| reasons(r) + "\n").collect();
        for name in fault.names {
            assert!(all.contains(name), "{}: expected `{name}` in\n{all}", fault.name);
        }
    }
}

/// The whole text of a failure, shrunk: who, where, how far, how it goes on, what is near, which stage, how to replay.
#[test]
fn a_failure_text_is_as_reviewed() {
    let fault = &FAULTS[1];
    let kernel = catalog::find(fault.kernel).unwrap();
    let executor = VirtualExecutor::with_ptx(kernel, fault.name, &edited(fault).0).unwrap();
    let campaign = Campaign { cases: 39, seed: 5, regimes: Vec::new(), golden: false };
    let ledger = Ledger::default();
    let shrunk = (0..campaign.cases).find_map(|i| campaign.shrink(i, &executor, &ledger).unwrap()).unwrap();
    let case = Case::generated(shrunk.spec, executor.subject().storage).unwrap();
    insta::assert_snapshot!(failure_text(&shrunk.record, &case, executor.subject()));
}
