//! The PTX machine through its public door: one tiny program an instruction, expectations derived by hand, and every trap.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod common;

use common::{HEAD, MINUS_ONE, QNAN, bits, compute, float, integer, kernel, launch, program, run_on, trap};
use plumbline_gpu::buffer::{Buffer, BufferSet, Dtype, Role};
use plumbline_gpu::launch::{Argument, Launch};
use plumbline_gpu::machine::{LoadError, Machine, Program, TrapKind};
use plumbline_gpu::ptx;

#[test]
fn integer_arithmetic() {
    assert_eq!(integer("add.s32 %r20, %r10, %r11;", u32::MAX, 2, 0), 1);
    assert_eq!(integer("sub.s32 %r20, %r10, %r11;", 1, 2, 0), MINUS_ONE);
    assert_eq!(integer("mul.lo.s32 %r20, %r10, %r11;", 0x1_0001, 0x1_0001, 0), 0x2_0001);
    assert_eq!(integer("mad.lo.s32 %r20, %r10, %r11, %r12;", 3, 5, 7), 22);
    assert_eq!(integer("div.u32 %r20, %r10, %r11;", 7, 2, 0), 3);
    assert_eq!(integer("div.s32 %r20, %r10, %r11;", MINUS_ONE - 6, 2, 0), 0u32.wrapping_sub(3));
    assert_eq!(integer("rem.s32 %r20, %r10, %r11;", MINUS_ONE - 6, 2, 0), MINUS_ONE);
    assert_eq!(integer("min.s32 %r20, %r10, %r11;", MINUS_ONE, 1, 0), MINUS_ONE);
    assert_eq!(integer("min.u32 %r20, %r10, %r11;", MINUS_ONE, 1, 0), 1);
    assert_eq!(integer("neg.s32 %r20, %r10;", 1, 0, 0), MINUS_ONE);
    assert_eq!(integer("abs.s32 %r20, %r10;", MINUS_ONE, 0, 0), 1);
}

#[test]
fn bits_and_shifts() {
    assert_eq!(integer("and.b32 %r20, %r10, %r11;", 0b1100, 0b1010, 0), 0b1000);
    assert_eq!(integer("or.b32 %r20, %r10, %r11;", 0b1100, 0b1010, 0), 0b1110);
    assert_eq!(integer("xor.b32 %r20, %r10, %r11;", 0b1100, 0b1010, 0), 0b0110);
    assert_eq!(integer("not.b32 %r20, %r10;", 0, 0, 0), MINUS_ONE);
    assert_eq!(integer("shl.b32 %r20, %r10, %r11;", 1, 31, 0), 1 << 31);
    assert_eq!(integer("shl.b32 %r20, %r10, %r11;", 1, 32, 0), 0, "clamped, not wrapped");
    assert_eq!(integer("shr.u32 %r20, %r10, %r11;", 1 << 31, 31, 0), 1);
    assert_eq!(integer("shr.s32 %r20, %r10, %r11;", 1 << 31, 77, 0), MINUS_ONE);
}

#[test]
fn float_arithmetic_is_ieee() {
    let tiny = f32::MIN_POSITIVE;
    assert_eq!(
        float("add.rn.f32 %f20, %f10, %f11;", 1.0, 2f32.powi(-24), 0.0),
        1.0f32.to_bits(),
        "ties to even"
    );
    assert_eq!(float("mul.rn.f32 %f20, %f10, %f11;", tiny, 0.5, 0.0), 0x0040_0000, "subnormals are kept");
    assert_eq!(float("sub.rn.f32 %f20, %f10, %f11;", f32::INFINITY, f32::INFINITY, 0.0), QNAN);
    assert_eq!(float("div.rn.f32 %f20, %f10, %f11;", 1.0, 3.0, 0.0), 0x3eaa_aaab);
    assert_eq!(float("div.rn.f32 %f20, %f10, %f11;", 1.0, 0.0, 0.0), f32::INFINITY.to_bits());
    assert_eq!(float("sqrt.rn.f32 %f20, %f10;", 2.0, 0.0, 0.0), 0x3fb5_04f3);
    assert_eq!(float("sqrt.rn.f32 %f20, %f10;", -1.0, 0.0, 0.0), QNAN);
    assert_eq!(float("rcp.rn.f32 %f20, %f10;", 3.0, 0.0, 0.0), 0x3eaa_aaab);
    assert_eq!(float("neg.f32 %f20, %f10;", 0.0, 0.0, 0.0), 0x8000_0000);
    assert_eq!(float("abs.f32 %f20, %f10;", -2.0, 0.0, 0.0), 2.0f32.to_bits());
}

#[test]
fn a_fused_product_rounds_once() {
    let x = 1.0 + f32::EPSILON;
    // (1 + e)^2 - (1 + 2 e) = e^2 exactly; two roundings would give 0.
    let expected = (f32::EPSILON * f32::EPSILON).to_bits();
    assert_eq!(float("fma.rn.f32 %f20, %f10, %f11, %f12;", x, x, -(1.0 + 2.0 * f32::EPSILON)), expected);
}

#[test]
fn min_and_max_prefer_numbers_and_know_signed_zeros() {
    assert_eq!(float("max.f32 %f20, %f10, %f11;", f32::NAN, 1.0, 0.0), 1.0f32.to_bits());
    assert_eq!(float("min.f32 %f20, %f10, %f11;", f32::NAN, f32::NAN, 0.0), QNAN);
    assert_eq!(float("min.f32 %f20, %f10, %f11;", 0.0, -0.0, 0.0), 0x8000_0000);
    assert_eq!(float("max.f32 %f20, %f10, %f11;", -0.0, 0.0, 0.0), 0);
}

#[test]
fn conversions() {
    let to_s32 = "cvt.rzi.s32.f32 %r20, %f10;";
    let of = |body, x: f32| compute(body, [x.to_bits(), 0, 0]);
    assert_eq!(of(to_s32, -1.9), MINUS_ONE);
    assert_eq!(of(to_s32, 1e20), 0x7fff_ffff);
    assert_eq!(of(to_s32, f32::NAN), 0);
    assert_eq!(of("cvt.rni.s32.f32 %r20, %f10;", 2.5), 2);
    assert_eq!(of("cvt.rpi.s32.f32 %r20, %f10;", 2.1), 3);
    assert_eq!(of("cvt.rmi.s32.f32 %r20, %f10;", -2.1), 0u32.wrapping_sub(3));
    assert_eq!(
        integer("cvt.rn.f32.s32 %f20, %r10; mov.b32 %r20, %f20;", MINUS_ONE, 0, 0),
        (-1.0f32).to_bits()
    );
    assert_eq!(
        integer("cvt.rn.f32.u32 %f20, %r10; mov.b32 %r20, %f20;", 16_777_217, 0, 0),
        16_777_216f32.to_bits()
    );
    let bf16 = "cvt.rn.bf16.f32 %rs1, %f10; cvt.u32.u16 %r20, %rs1;";
    assert_eq!(of(bf16, 1.0), 0x3f80);
    assert_eq!(of(bf16, f32::from_bits(0x3f80_8000)), 0x3f80, "a tie goes to even");
    assert_eq!(of(bf16, f32::from_bits(0x3f80_8001)), 0x3f81);
    assert_eq!(of(bf16, f32::NAN), 0x7fff);
    let wide = "cvt.s64.s32 %rd9, %r10; shr.s64 %rd9, %rd9, 32; cvt.u32.u64 %r20, %rd9;";
    assert_eq!(integer(wide, MINUS_ONE, 0, 0), MINUS_ONE);
    let zero = "cvt.u64.u32 %rd9, %r10; shr.u64 %rd9, %rd9, 32; cvt.u32.u64 %r20, %rd9;";
    assert_eq!(integer(zero, MINUS_ONE, 0, 0), 0);
}

#[test]
fn comparisons_and_selections() {
    let choose = |setp: &str, x: f32, y: f32| {
        let body = format!("{setp} %p1, %f10, %f11; selp.b32 %r20, 1, 0, %p1;");
        compute(&body, [x.to_bits(), y.to_bits(), 0])
    };
    assert_eq!(choose("setp.lt.f32", 1.0, 2.0), 1);
    assert_eq!(choose("setp.lt.f32", f32::NAN, 2.0), 0);
    assert_eq!(choose("setp.ltu.f32", f32::NAN, 2.0), 1);
    assert_eq!(choose("setp.ne.f32", f32::NAN, 2.0), 0);
    assert_eq!(choose("setp.neu.f32", f32::NAN, 2.0), 1);
    assert_eq!(choose("setp.eq.f32", 0.0, -0.0), 1);
    assert_eq!(choose("setp.nan.f32", 0.0, f32::NAN), 1);
    assert_eq!(integer("setp.lt.s32 %p1, %r10, %r11; selp.b32 %r20, 1, 0, %p1;", MINUS_ONE, 0, 0), 1);
    assert_eq!(integer("setp.lt.u32 %p1, %r10, %r11; selp.b32 %r20, 1, 0, %p1;", MINUS_ONE, 0, 0), 0);
    let wide = "mul.wide.s32 %rd9, %r10, %r11; setp.lt.s64 %p1, %rd9, 0; selp.b32 %r20, 1, 0, %p1;";
    assert_eq!(integer(wide, MINUS_ONE, 1 << 30, 0), 1);
}

#[test]
fn guards_keep_values() {
    let body =
        "mov.u32 %r20, 7; setp.eq.s32 %p1, %r10, 0; @%p1 mov.u32 %r20, 8; @!%p1 add.s32 %r20, %r20, 1;";
    assert_eq!(integer(body, 0, 0, 0), 8);
    assert_eq!(integer(body, 1, 0, 0), 8);
    let only = "mov.u32 %r20, 7; setp.eq.s32 %p1, %r10, 0; @%p1 mov.u32 %r20, 9;";
    assert_eq!(integer(only, 1, 0, 0), 7);
}

#[test]
fn diverged_threads_meet_again() {
    // Every lane loops as often as its index says; one more branch inside depends on parity.
    let text = kernel(
        "mov.u32 %r20, 0; mov.u32 %r21, 0;\n\
         LOOP: setp.ge.u32 %p1, %r21, %r1; @%p1 bra DONE;\n\
         and.b32 %r22, %r21, 1; setp.eq.s32 %p2, %r22, 0; @%p2 bra EVEN;\n\
         add.s32 %r20, %r20, 100; bra NEXT;\n\
         EVEN: add.s32 %r20, %r20, 1;\n\
         NEXT: add.s32 %r21, %r21, 1; bra LOOP;\n\
         DONE: st.global.u32 [%rd2], %r20;",
    );
    let (output, statistics) = run_on(&text, &[0; 32], 32, 32).unwrap();
    for (i, value) in output.iter().enumerate() {
        let i = u32::try_from(i).unwrap();
        assert_eq!(*value, i.div_ceil(2) + i / 2 * 100, "thread {i}");
    }
    // On average half of the threads are still in the loop; had they not met again after the inner branch, far fewer.
    assert!(statistics.lane_instructions > 12 * statistics.warp_instructions);
}

#[test]
fn barriers_order_warps() {
    // Thread t stores to slot t, and reads the slot of the thread half a block away.
    let text = kernel(
        "mov.u64 %rd5, tile; add.s64 %rd6, %rd5, %rd3; st.shared.u32 [%rd6], %r1; bar.sync 0;\n\
         add.s32 %r5, %r1, 64; and.b32 %r5, %r5, 127; mul.wide.u32 %rd7, %r5, 4; add.s64 %rd7, %rd5, %rd7;\n\
         ld.shared.u32 %r6, [%rd7]; st.global.u32 [%rd2], %r6;",
    );
    let (output, _) = run_on(&text, &[0; 128], 128, 128).unwrap();
    assert!(output.iter().enumerate().all(|(i, &v)| v as usize == (i + 64) % 128), "{output:?}");
    let without = text.replace("bar.sync 0;", "");
    assert!(run_on(&without, &[0; 128], 128, 128).is_err());
}

#[test]
fn accesses_outside_a_buffer_trap_and_name_it() {
    let past = trap("ld.global.u32 %r20, [%rd1+16];", 1);
    assert!(matches!(past.kind, TrapKind::OutOfBounds { .. }), "{past}");
    let text = past.to_string();
    assert!(text.contains("`input`") && text.contains("16") && text.contains("ld.global.u32"), "{text}");
    let before = trap("st.global.u32 [%rd2+-4], %r1;", 1).to_string();
    assert!(before.contains("`output`") && before.contains("-4"), "{before}");
    let last_lane = trap("st.global.u32 [%rd2], %r1;", 5).to_string();
    assert!(last_lane.contains("[4, 0, 0]"), "{last_lane}");
    let null = trap("mov.u64 %rd9, 0; ld.global.u32 %r20, [%rd9+8];", 1).to_string();
    assert!(null.contains("null"), "{null}");
    // A 32-bit wrap of a 64-bit address leaves every buffer.
    let wrapped = trap("cvt.u32.u64 %r9, %rd1; cvt.u64.u32 %rd9, %r9; ld.global.u32 %r20, [%rd9];", 1);
    assert!(matches!(wrapped.kind, TrapKind::OutOfBounds { .. }), "{wrapped}");
    let shared = trap("mov.u64 %rd9, tile; st.shared.u32 [%rd9+512], %r1;", 1);
    assert!(matches!(shared.kind, TrapKind::OutOfBounds { .. }), "{shared}");
}

#[test]
fn misaligned_accesses_trap() {
    let odd = trap("ld.global.u32 %r20, [%rd1+2];", 1);
    assert!(matches!(odd.kind, TrapKind::Misaligned { .. }), "{odd}");
}

#[test]
fn reads_of_nothing_trap() {
    let output = trap("ld.global.u32 %r20, [%rd2];", 1);
    assert!(matches!(output.kind, TrapKind::UninitialisedMemory { .. }), "{output}");
    assert!(output.to_string().contains("`output`"), "{output}");
    let shared = trap("mov.u64 %rd9, tile; ld.shared.u32 %r20, [%rd9];", 1);
    assert!(matches!(shared.kind, TrapKind::UninitialisedMemory { .. }), "{shared}");
    let register = trap("add.s32 %r20, %r25, 1; st.global.u32 [%rd2], %r20;", 1);
    assert!(matches!(register.kind, TrapKind::UninitialisedRegister { .. }), "{register}");
    assert!(register.to_string().contains("%r25"), "{register}");
    let sometimes = "setp.eq.s32 %p1, %r1, 0; @%p1 mov.u32 %r20, 1; st.global.u32 [%rd2], %r20;";
    let thread = trap(sometimes, 2).to_string();
    assert!(thread.contains("[1, 0, 0]"), "{thread}");
    assert!(run_on(&kernel(sometimes), &[0; 4], 4, 1).is_ok(), "the one thread that runs has written it");
}

#[test]
fn stores_to_inputs_trap() {
    let store = trap("st.global.u32 [%rd1], %r1;", 1);
    assert!(matches!(store.kind, TrapKind::WriteToInput { .. }), "{store}");
}

#[test]
fn endless_loops_trap() {
    let endless = trap("LOOP: bra LOOP;", 1);
    assert!(matches!(endless.kind, TrapKind::BudgetExceeded { .. }), "{endless}");
}

#[test]
fn a_barrier_for_some_threads_of_a_warp_traps() {
    let divergent = trap("setp.eq.s32 %p1, %r1, 0; @%p1 bra SKIP; bar.sync 0; SKIP:", 4);
    assert!(matches!(divergent.kind, TrapKind::DivergentBarrier { .. }), "{divergent}");
}

#[test]
fn launches_that_do_not_fit_are_refused() {
    let text = kernel("st.global.u32 [%rd2], %r1;");
    let refuse = |change: &dyn Fn(&mut Launch)| {
        let mut buffers = BufferSet::default();
        let a = buffers.push(bits(&[0]));
        let b = buffers.push(Buffer::poisoned("output", Dtype::F32, Role::Output, 1));
        let mut launch = Launch { arguments: vec![Argument::Buffer(a), Argument::Buffer(b)], ..launch(1) };
        change(&mut launch);
        Machine::default().run(&program(&text), &launch, &mut buffers).unwrap_err()
    };
    let changes: [&dyn Fn(&mut Launch); 6] = [
        &|l| l.entry = "other".to_owned(),
        &|l| l.grid[1] = 0,
        &|l| l.block = [1025, 1, 1],
        &|l| l.shared_bytes = 232_449,
        &|l| l.arguments.truncate(1),
        &|l| l.arguments[0] = Argument::I32(7),
    ];
    for change in changes {
        let trap = refuse(change);
        assert!(trap.to_string().contains("expected"), "{trap}");
    }
}

#[test]
fn what_the_machine_cannot_do_is_refused_at_load_time() {
    for (body, word) in [
        ("tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];", "tex"),
        ("add.rz.f64 %fd1, %fd2, %fd3;", "not rounded to nearest"),
        ("add.rn.f16 %rs1, %rs2, %rs3;", "f16"),
        ("setp.lt.wrong.f32 %p1, %f10, %f11;", "wrong"),
        ("add.s32 %rd1, %r2, %r3;", "%rd1, which is .b64"),
        ("atom.global.add.u32 %r2, [%rd1], 1;", "atom"),
    ] {
        let text = kernel(body);
        let Ok(module) = ptx::parse("test.ptx", &text) else { continue };
        let error = Program::load(&module, "k").unwrap_err();
        let message = error.to_string();
        assert!(message.contains("test.ptx:") && message.contains(word), "{message}");
    }
    let module = ptx::parse("test.ptx", &kernel("")).unwrap();
    let error = Program::load(&module, "other").unwrap_err();
    assert!(matches!(error, LoadError::NoEntry { .. }));
    assert!(error.to_string().contains("no entry `other`; it has k"), "{error}");
}

#[test]
fn the_source_line_is_named() {
    let text = kernel(".loc 1 42 7\nld.global.u32 %r20, [%rd1+16];")
        .replace(HEAD, &format!("{HEAD}.file 1 \"gpu/kernels/some.cu\"\n"));
    let trap = run_on(&text, &[1, 2, 3, 4], 4, 1).unwrap_err();
    assert!(trap.to_string().contains("gpu/kernels/some.cu:42"), "{trap}");
}
