//! What the machine watches besides results: memory of every kind, vectors, races, barriers, divergence, determinism.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod common;

use common::{HEAD, kernel, launch, run_on, run_with, trap};
use plumbline_gpu::launch::Launch;
use plumbline_gpu::machine::{Checks, Machine, TrapKind};
use plumbline_gpu::ptx;

#[test]
fn vectors_and_narrow_elements() {
    let text = kernel("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1]; st.global.v2.u32 [%rd2], {%r5, %r2};");
    assert_eq!(run_on(&text, &[1, 2, 3, 4], 2, 1).unwrap().0, [4, 1]);
    let bytes = kernel(
        "ld.global.s8 %r2, [%rd1+1]; ld.global.u16 %rs1, [%rd1+2]; cvt.u32.u16 %r3, %rs1; st.global.v2.b32 [%rd2], {%r2, %r3};",
    );
    assert_eq!(run_on(&bytes, &[0xabcd_80ff], 2, 1).unwrap().0, [0xffff_ff80, 0xabcd]);
    let signed = kernel("ld.global.s8 %rs1, [%rd1]; cvt.u32.u16 %r2, %rs1; st.global.b32 [%rd2], %r2;");
    assert_eq!(run_on(&signed, &[0x80], 1, 1).unwrap().0, [0xff80], "extended to the register, not beyond");
    let crooked = trap("ld.global.v2.u32 {%r2, %r3}, [%rd1+4];", 1);
    assert!(matches!(crooked.kind, TrapKind::Misaligned { size: 8, .. }), "{crooked}");
    let past = trap("ld.global.v2.u32 {%r2, %r3}, [%rd1+16];", 1);
    assert!(matches!(past.kind, TrapKind::OutOfBounds { size: 8, .. }), "{past}");
}

#[test]
fn every_shape_of_access_gives_the_same() {
    // Reversed, uniform, scattered and holed addresses go other ways than consecutive ones.
    let of = |index: &str| {
        let text = kernel(&format!(
            "ld.param.u64 %rd5, [a]; {index} mul.wide.u32 %rd6, %r2, 4; add.s64 %rd5, %rd5, %rd6;\n\
             ld.global.nc.u32 %r20, [%rd5]; st.global.u32 [%rd2], %r20;"
        ));
        run_on(&text, &(0..40).map(|i| i * 3).collect::<Vec<_>>(), 40, 40).unwrap().0
    };
    let expect = |f: fn(u32) -> u32| (0..40).map(|i| f(i) * 3).collect::<Vec<_>>();
    assert_eq!(of("mov.u32 %r2, %r1;"), expect(|i| i));
    assert_eq!(of("sub.s32 %r2, 39, %r1;"), expect(|i| 39 - i));
    assert_eq!(of("mov.u32 %r2, 7;"), expect(|_| 7));
    assert_eq!(of("mul.lo.s32 %r2, %r1, 7; rem.u32 %r2, %r2, 40;"), expect(|i| i * 7 % 40));
    let holed = kernel(
        "and.b32 %r2, %r1, 1; setp.eq.s32 %p1, %r2, 0; mov.u32 %r3, 9; @%p1 ld.global.u32 %r3, [%rd1]; @%p1 st.global.u32 [%rd2], %r3;",
    );
    let output = run_on(&holed, &(0..32).collect::<Vec<_>>(), 32, 32).unwrap().0;
    assert!((0..32).all(|i| output[i as usize] == if i % 2 == 0 { i } else { u32::MAX }), "{output:?}");
}

#[test]
fn module_variables_and_local_memory() {
    let text = kernel(
        "mov.u64 %rd5, table; ld.const.u32 %r2, [table+4]; cvta.const.u64 %rd6, %rd5; ld.u32 %r3, [%rd6+8];\n\
         st.local.u32 [stack], %r1; ld.local.u32 %r4, [stack]; add.s32 %r2, %r2, %r3; add.s32 %r2, %r2, %r4; st.global.u32 [%rd2], %r2;",
    )
    .replace(HEAD, &format!("{HEAD}.const .align 4 .u32 table[3] = {{1, 20, 300}};\n"))
    .replace(".shared", ".local .align 4 .b8 stack[4]; .shared");
    assert_eq!(run_on(&text, &[0], 3, 3).unwrap().0, [320, 321, 322]);
    let into = text.replace("st.local.u32 [stack], %r1;", "st.u32 [%rd6], %r1;");
    let refused = run_on(&into, &[0], 3, 3).unwrap_err();
    assert!(matches!(refused.kind, TrapKind::WriteToInput { .. }), "{refused}");
    let early = text.replace("st.local.u32 [stack], %r1;", "");
    let early = run_on(&early, &[0], 3, 3).unwrap_err();
    assert!(matches!(early.kind, TrapKind::UninitialisedMemory { .. }), "{early}");
    assert!(early.to_string().contains("`stack`"), "{early}");
}

#[test]
fn dynamic_shared_memory_is_as_large_as_the_launch_says() {
    let text = kernel("mov.u32 %r2, room; mad.lo.s32 %r2, %r1, 4, %r2; st.shared.u32 [%r2], %r1; ld.shared.u32 %r3, [%r2]; st.global.u32 [%rd2], %r3;")
        .replace(HEAD, &format!("{HEAD}.extern .shared .align 16 .b8 room[];\n"));
    let machine = Machine::default();
    let enough = Launch { shared_bytes: 16, ..launch(4) };
    assert_eq!(run_with(&machine, &text, &[0], 4, &enough).unwrap().0, [0, 1, 2, 3]);
    let short = run_with(&machine, &text, &[0], 4, &Launch { shared_bytes: 12, ..launch(4) }).unwrap_err();
    let message = short.to_string();
    assert!(
        message.contains("shared memory `room`, byte 12 of 12") && message.contains("thread [3, 0, 0]"),
        "{message}"
    );
}

#[test]
fn generic_addresses_reach_shared_memory() {
    let text = kernel(
        "mov.u64 %rd5, tile; cvta.shared.u64 %rd6, %rd5; st.u32 [%rd6+4], 77; cvta.to.shared.u64 %rd7, %rd6; ld.shared.u32 %r2, [%rd7+4]; st.global.u32 [%rd2], %r2;",
    );
    assert_eq!(run_on(&text, &[0], 1, 1).unwrap().0, [77]);
}

/// Thread t stores to slot t and reads slot t ^ `distance`; `between` stands in the middle.
fn exchange(distance: u32, between: &str) -> String {
    kernel(&format!(
        "mov.u64 %rd5, tile; add.s64 %rd6, %rd5, %rd3; xor.b32 %r5, %r1, {distance}; mul.wide.u32 %rd7, %r5, 4; add.s64 %rd7, %rd5, %rd7;\n\
         mov.u32 %r7, 5; st.shared.u32 [%rd6], %r7; bar.sync 0; st.shared.u32 [%rd6], %r1; {between}\n\
         ld.shared.u32 %r6, [%rd7]; st.global.u32 [%rd2], %r6;"
    ))
}

#[test]
fn races_are_found_and_barriers_end_them() {
    let run = |distance, between| run_on(&exchange(distance, between), &[0], 64, 64);
    let race = run(32, "").unwrap_err();
    assert!(matches!(race.kind, TrapKind::DataRace { thread: [0, 0, 0], .. }), "{race}");
    assert!(race.to_string().contains("`tile`"), "{race}");
    assert!(run(32, "bar.sync 0;").is_ok());
    assert!(run(32, "bar.warp.sync -1;").is_err(), "a warp barrier orders one warp only");
    assert!(run(1, "").is_err(), "lanes of one warp are threads too");
    assert!(run(1, "bar.warp.sync -1;").is_ok());
    assert!(run(0, "").is_ok(), "a thread does not race with itself");
    let unwatched = Machine { checks: Checks { races: false, uninitialised: true }, ..Machine::default() };
    assert!(run_with(&unwatched, &exchange(32, ""), &[0], 64, &launch(64)).is_ok());
}

#[test]
fn a_store_after_a_foreign_read_is_a_race() {
    let text = |between: &str| {
        kernel(&format!(
            "mov.u64 %rd5, tile; setp.eq.s32 %p1, %r1, 0; @%p1 st.shared.u32 [%rd5], 1; bar.sync 0; ld.shared.u32 %r2, [%rd5]; {between}\n\
         setp.eq.s32 %p1, %r1, 40; @%p1 st.shared.u32 [%rd5], 2; st.global.u32 [%rd2], %r2;"
        ))
    };
    let race = run_on(&text(""), &[0], 64, 64).unwrap_err();
    assert!(race.to_string().contains("after a read"), "{race}");
    assert_eq!(run_on(&text("bar.sync 0;"), &[0], 64, 64).unwrap().0, [1; 64]);
}

#[test]
fn barriers_want_every_warp() {
    let exits = trap("setp.ge.u32 %p1, %r1, 32; @%p1 ret; bar.sync 0;", 64);
    assert!(matches!(exits.kind, TrapKind::DivergentBarrier { .. }), "{exits}");
    assert!(exits.to_string().contains("bar.sync 0") && exits.to_string().contains("exited"), "{exits}");
    let other = trap("setp.ge.u32 %p1, %r1, 32; @%p1 bra B; bar.sync 0; bra C; B: bar.sync 1; C:", 64);
    assert!(other.to_string().contains("barrier 1"), "{other}");
    let lane = trap("setp.eq.u32 %p1, %r1, 3; @%p1 exit; bar.sync 0;", 32);
    assert!(lane.to_string().contains("lane 3 has exited"), "{lane}");
    assert!(run_on(&kernel("bar.sync 0; bar.sync 0; st.global.u32 [%rd2], %r1;"), &[0], 70, 70).is_ok());
}

#[test]
fn trap_instructions_and_budgets() {
    let explicit = trap("setp.eq.u32 %p1, %r1, 2; @%p1 trap;", 4);
    assert!(matches!(explicit.kind, TrapKind::Explicit), "{explicit}");
    assert!(explicit.to_string().contains("thread [2, 0, 0]"), "{explicit}");
    let line = kernel("trap;").lines().position(|l| l.contains("trap;")).unwrap() + 1;
    assert!(trap("trap;", 1).to_string().contains(&format!("test.ptx:{line} `trap`")));
}

#[test]
fn nested_divergence_meets_again() {
    // Four ways by two bits of the lane, then a warp-wide vote that all lanes must reach together.
    let text = kernel(
        "and.b32 %r2, %r1, 1; and.b32 %r3, %r1, 2; setp.eq.s32 %p1, %r2, 0; setp.eq.s32 %p2, %r3, 0; mov.u32 %r20, 0;\n\
         @%p1 bra EVEN; @%p2 bra ODD0; add.s32 %r20, %r20, 1000; bra ODDEND; ODD0: add.s32 %r20, %r20, 100; ODDEND: add.s32 %r20, %r20, 1; bra END;\n\
         EVEN: @%p2 bra EVEN0; add.s32 %r20, %r20, 2000; bra EVENEND; EVEN0: add.s32 %r20, %r20, 200; EVENEND: add.s32 %r20, %r20, 2;\n\
         END: vote.sync.ballot.b32 %r4, %p1, -1; add.s32 %r20, %r20, %r4; st.global.u32 [%rd2], %r20;",
    );
    let output = run_on(&text, &[0], 32, 32).unwrap().0;
    for (i, value) in output.iter().enumerate() {
        let expected = [202, 101, 2002, 1001][i % 4] + 0x5555_5555;
        assert_eq!(*value, expected, "lane {i}");
    }
}

#[test]
fn exits_inside_loops_leave_the_others_running() {
    let text = kernel(
        "mov.u32 %r20, 0;\nL: add.s32 %r20, %r20, 1; setp.eq.s32 %p1, %r20, 50; setp.gt.u32 %p2, %r20, %r1;\n\
         st.global.u32 [%rd2], %r20; @%p2 exit; @!%p1 bra L;",
    );
    let output = run_on(&text, &[0], 40, 40).unwrap().0;
    assert!(output.iter().enumerate().all(|(i, &v)| v as usize == i + 1), "{output:?}");
}

#[test]
fn grids_run_every_block_once_and_alike() {
    let text = kernel(
        "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ctaid.y; mov.u32 %r4, %nctaid.x; mad.lo.s32 %r5, %r3, %r4, %r2; mov.u32 %r6, %ntid.x;\n\
         mul.lo.s32 %r7, %r5, %r6; mul.wide.u32 %rd5, %r7, 4; add.s64 %rd2, %rd2, %rd5; add.s32 %r7, %r7, %r1; st.global.u32 [%rd2], %r7;",
    );
    let launch = Launch { grid: [3, 2, 1], ..launch(5) };
    let machine = Machine::default();
    let first = run_with(&machine, &text, &[0], 30, &launch).unwrap();
    assert_eq!(first.0, (0..30).collect::<Vec<_>>());
    assert_eq!(first.1.blocks, 6);
    assert_eq!(run_with(&machine, &text, &[0], 30, &launch).unwrap(), first);
}

#[test]
fn scopes_hide_names_and_labels() {
    let text = kernel(
        "mov.u32 %r2, 1;\n// begin inline asm\n{ .reg .b32 t; .reg .pred q; mov.u32 t, 5; setp.eq.u32 q, t, 5; @q bra done; trap; done: add.u32 %r2, %r2, t; }\n// end inline asm\n\
         { .reg .b32 t; mov.u32 t, 7; bra done; trap; done: add.u32 %r2, %r2, t; }\nst.global.u32 [%rd2], %r2;",
    );
    assert_eq!(run_on(&text, &[0], 1, 1).unwrap().0, [13]);
    let leak = kernel("{ .reg .b32 t; } mov.u32 t, 1;");
    assert!(
        ptx::parse("leak.ptx", &leak).is_ok_and(|m| plumbline_gpu::machine::Program::load(&m, "k").is_err())
    );
}
