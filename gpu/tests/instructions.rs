//! Instructions beyond those of the committed kernels: one tiny program each, expectations derived by hand.

mod common;

use common::{MINUS_ONE, QNAN, compute, double, float, integer, kernel, run_on};

#[test]
fn directed_roundings_bracket_the_exact_result() {
    // 1 + 2^-24 lies halfway between 1 and the next float.
    let (one, next) = (1.0f32.to_bits(), 1.0f32.to_bits() + 1);
    let tiny = 2f32.powi(-24);
    assert_eq!(float("add.rm.f32 %f20, %f10, %f11;", 1.0, tiny, 0.0), one);
    assert_eq!(float("add.rz.f32 %f20, %f10, %f11;", 1.0, tiny, 0.0), one);
    assert_eq!(float("add.rp.f32 %f20, %f10, %f11;", 1.0, tiny, 0.0), next);
    assert_eq!(float("add.rz.f32 %f20, %f10, %f11;", -1.0, -tiny, 0.0), (-1.0f32).to_bits());
    // Far below f64's own precision: two-sum keeps what the f64 sum drops.
    let dust = 2f32.powi(-120);
    assert_eq!(float("add.rp.f32 %f20, %f10, %f11;", 1.0, dust, 0.0), next);
    assert_eq!(float("sub.rm.f32 %f20, %f10, %f11;", 1.0, dust, 0.0), one - 1);
    // 1/3 = 0x3eaaaaaa.aaa...: down and toward zero keep the last bit, up adds one.
    assert_eq!(float("div.rz.f32 %f20, %f10, %f11;", 1.0, 3.0, 0.0), 0x3eaa_aaaa);
    assert_eq!(float("rcp.rp.f32 %f20, %f10;", 3.0, 0.0, 0.0), 0x3eaa_aaab);
    // sqrt(2) = 0x3fb504f3.33...
    assert_eq!(float("sqrt.rm.f32 %f20, %f10;", 2.0, 0.0, 0.0), 0x3fb5_04f3);
    assert_eq!(float("sqrt.rp.f32 %f20, %f10;", 2.0, 0.0, 0.0), 0x3fb5_04f4);
    assert_eq!(float("sqrt.rp.f32 %f20, %f10;", 4.0, 0.0, 0.0), 2.0f32.to_bits(), "exact results stay");
    assert_eq!(float("fma.rp.f32 %f20, %f10, %f11, %f12;", 1.0, 1.0, dust), next);
    assert_eq!(float("mul.rz.f32 %f20, %f10, %f11;", f32::MAX, 2.0, 0.0), f32::MAX.to_bits());
    assert_eq!(
        float("add.rm.f32 %f20, %f10, %f11;", 1.0, -1.0, 0.0),
        0x8000_0000,
        "cancelled, rounding down"
    );
    assert_eq!(float("add.rp.f32 %f20, %f10, %f11;", 1.0, -1.0, 0.0), 0);
}

#[test]
fn flushing_and_saturation() {
    let tiny = f32::MIN_POSITIVE;
    assert_eq!(float("mul.rn.ftz.f32 %f20, %f10, %f11;", tiny, -0.5, 0.0), 0x8000_0000);
    assert_eq!(float("add.rn.ftz.f32 %f20, %f10, %f11;", f32::from_bits(1), 0.0, 0.0), 0);
    assert_eq!(float("fma.rn.ftz.f32 %f20, %f10, %f11, %f12;", 1e-45, 1e30, 1.0), 1.0f32.to_bits());
    assert_eq!(float("add.rn.sat.f32 %f20, %f10, %f11;", 0.75, 0.5, 0.0), 1.0f32.to_bits());
    assert_eq!(float("add.rn.sat.f32 %f20, %f10, %f11;", -0.75, 0.5, 0.0), 0);
    assert_eq!(float("add.rn.sat.f32 %f20, %f10, %f11;", f32::NAN, 0.5, 0.0), 0);
    assert_eq!(float("neg.ftz.f32 %f20, %f10;", f32::from_bits(1), 0.0, 0.0), 0x8000_0000);
    let less = "setp.lt.ftz.f32 %p1, %f10, %f11; selp.b32 %r20, 1, 0, %p1;";
    assert_eq!(compute(less, [0, 1, 0]), 0, "both are zeros");
    assert_eq!(integer("add.sat.s32 %r20, %r10, %r11;", 0x7fff_ffff, 1, 0), 0x7fff_ffff);
    assert_eq!(integer("sub.sat.s32 %r20, %r10, %r11;", 0x8000_0000, 1, 0), 0x8000_0000);
}

#[test]
fn nan_propagating_extrema_and_signs() {
    assert_eq!(float("min.NaN.f32 %f20, %f10, %f11;", f32::NAN, 1.0, 0.0), QNAN);
    assert_eq!(float("max.NaN.f32 %f20, %f10, %f11;", 1.0, 2.0, 0.0), 2.0f32.to_bits());
    // The second operand gives the magnitude, the first the sign.
    assert_eq!(float("copysign.f32 %f20, %f10, %f11;", -1.0, 3.0, 0.0), (-3.0f32).to_bits());
    let subnormal = "testp.subnormal.f32 %p1, %f10; selp.b32 %r20, 1, 0, %p1;";
    assert_eq!(compute(subnormal, [1, 0, 0]), 1);
    assert_eq!(compute("testp.finite.f32 %p1, %f10; selp.b32 %r20, 1, 0, %p1;", [0x7f80_0000, 0, 0]), 0);
}

#[test]
fn approximate_functions_are_ideal() {
    assert_eq!(float("ex2.approx.ftz.f32 %f20, %f10;", -3.0, 0.0, 0.0), 0.125f32.to_bits());
    assert_eq!(float("ex2.approx.f32 %f20, %f10;", 0.5, 0.0, 0.0), 0x3fb5_04f3);
    assert_eq!(float("lg2.approx.f32 %f20, %f10;", 8.0, 0.0, 0.0), 3.0f32.to_bits());
    assert_eq!(float("rsqrt.approx.f32 %f20, %f10;", 0.25, 0.0, 0.0), 2.0f32.to_bits());
    assert_eq!(float("rcp.approx.ftz.f32 %f20, %f10;", 3.0, 0.0, 0.0), 0x3eaa_aaab);
    assert_eq!(float("sqrt.approx.f32 %f20, %f10;", 2.0, 0.0, 0.0), 0x3fb5_04f3);
    assert_eq!(float("div.full.f32 %f20, %f10, %f11;", 1.0, 4.0, 0.0), 0.25f32.to_bits());
    assert_eq!(float("sin.approx.f32 %f20, %f10;", 0.0, 0.0, 0.0), 0);
    assert_eq!(float("cos.approx.f32 %f20, %f10;", 0.0, 0.0, 0.0), 1.0f32.to_bits());
    assert_eq!(float("tanh.approx.f32 %f20, %f10;", 20.0, 0.0, 0.0), 1.0f32.to_bits());
    assert_eq!(float("ex2.approx.f32 %f20, %f10;", f32::NAN, 0.0, 0.0), QNAN);
}

#[test]
fn f64_arithmetic() {
    assert_eq!(double("add.rn.f64 %fd3, %fd1, %fd2;", 1.0, 2f64.powi(-53)), 1f64.to_bits(), "ties to even");
    assert_eq!(double("div.rn.f64 %fd3, %fd1, %fd2;", 1.0, 3.0), 0x3fd5_5555_5555_5555);
    assert_eq!(double("fma.rn.f64 %fd3, %fd1, %fd1, %fd2;", 3.0, 1.0), 10f64.to_bits());
    assert_eq!(double("sqrt.rn.f64 %fd3, %fd1;", 4.0, 0.0), 2f64.to_bits());
    assert_eq!(double("rcp.rn.f64 %fd3, %fd1;", 4.0, 0.0), 0.25f64.to_bits());
    assert_eq!(double("min.f64 %fd3, %fd1, %fd2;", f64::NAN, 1.0), 1f64.to_bits());
    assert_eq!(double("max.f64 %fd3, %fd1, %fd2;", -0.0, 0.0), 0);
    assert_eq!(double("min.f64 %fd3, %fd1, %fd2;", 0.0, -0.0), 1 << 63);
    assert_eq!(double("neg.f64 %fd3, %fd1;", 1.0, 0.0), (-1f64).to_bits());
    assert_eq!(double("abs.f64 %fd3, %fd1;", -1.0, 0.0), 1f64.to_bits());
    assert_eq!(double("sub.rn.f64 %fd3, %fd1, %fd2;", f64::INFINITY, f64::INFINITY), 0xfff8 << 48);
}

#[test]
fn wide_and_high_products() {
    let upper = "shr.u64 %rd9, %rd9, 32; cvt.u32.u64 %r20, %rd9;";
    assert_eq!(
        integer(&format!("mul.wide.u32 %rd9, %r10, %r11; {upper}"), MINUS_ONE, MINUS_ONE, 0),
        0xffff_fffe
    );
    assert_eq!(integer(&format!("mul.wide.s32 %rd9, %r10, %r11; {upper}"), MINUS_ONE, 1, 0), MINUS_ONE);
    assert_eq!(integer("mul.hi.u32 %r20, %r10, %r11;", 1 << 31, 6, 0), 3);
    assert_eq!(integer("mul.hi.s32 %r20, %r10, %r11;", MINUS_ONE, 6, 0), MINUS_ONE);
    assert_eq!(integer("mad.hi.u32 %r20, %r10, %r11, %r12;", 1 << 31, 6, 4), 7);
    let mad = "mov.u64 %rd8, 5; mad.wide.u32 %rd9, %r10, %r11, %rd8; cvt.u32.u64 %r20, %rd9;";
    assert_eq!(integer(mad, 3, 4, 0), 17);
    let short = "cvt.u16.u32 %rs1, %r10; cvt.u16.u32 %rs2, %r11; mul.wide.s16 %r20, %rs1, %rs2;";
    assert_eq!(integer(short, 0xffff, 3, 0), 0u32.wrapping_sub(3));
    let high = "mov.u64 %rd9, -1; mul.hi.u64 %rd9, %rd9, 16; cvt.u32.u64 %r20, %rd9;";
    assert_eq!(integer(high, 0, 0, 0), 15);
}

#[test]
fn sixteen_bit_integers_wrap_at_sixteen_bits() {
    let two = "cvt.u16.u32 %rs1, %r10; cvt.u16.u32 %rs2, %r11;";
    let of =
        |op: &str, x, y| integer(&format!("{two} {op} %rs3, %rs1, %rs2; cvt.u32.u16 %r20, %rs3;"), x, y, 0);
    assert_eq!(of("add.s16", 0xffff, 2), 1);
    assert_eq!(of("mul.lo.s16", 0x100, 0x101), 0x100);
    assert_eq!(of("min.s16", 0xffff, 1), 0xffff);
    assert_eq!(of("div.s16", 0xfffa, 2), 0xfffd);
    let shifted =
        integer("cvt.u16.u32 %rs1, %r10; shr.s16 %rs2, %rs1, 4; cvt.u32.u16 %r20, %rs2;", 0x8000, 0, 0);
    assert_eq!(shifted, 0xf800);
    let signed = "cvt.u16.u32 %rs1, %r10; setp.lt.s16 %p1, %rs1, 0; selp.b32 %r20, 1, 0, %p1;";
    assert_eq!(integer(signed, 0x8000, 0, 0), 1);
}

#[test]
fn counts_fields_and_permutations() {
    assert_eq!(integer("popc.b32 %r20, %r10;", 0xf0f0, 0, 0), 8);
    assert_eq!(integer("clz.b32 %r20, %r10;", 1, 0, 0), 31);
    assert_eq!(integer("clz.b32 %r20, %r10;", 0, 0, 0), 32);
    assert_eq!(integer("brev.b32 %r20, %r10;", 1, 0, 0), 1 << 31);
    assert_eq!(integer("mov.b64 %rd9, {%r10, %r11}; popc.b64 %r20, %rd9;", MINUS_ONE, 1, 0), 33);
    assert_eq!(integer("bfe.u32 %r20, %r10, 4, 8;", 0xabcd, 0, 0), 0xbc);
    assert_eq!(integer("bfe.s32 %r20, %r10, 4, 8;", 0xabcd, 0, 0), 0xffff_ffbc);
    assert_eq!(integer("bfe.s32 %r20, %r10, 28, 8;", 0x8000_0000, 0, 0), 0xffff_fff8, "the field sticks out");
    assert_eq!(integer("bfe.u32 %r20, %r10, 40, 8;", MINUS_ONE, 0, 0), 0);
    assert_eq!(integer("bfi.b32 %r20, %r10, %r11, 8, 4;", 0xff, 0x1111_1111, 0), 0x1111_1f11);
    assert_eq!(integer("lop3.b32 %r20, %r10, %r11, %r12, 0x96;", 0b1100, 0b1010, 0b1111), 0b1001, "parity");
    assert_eq!(
        integer("lop3.b32 %r20, %r10, %r11, %r12, 0xCA;", 0xff00, 0x1234, 0xabcd),
        0x12cd,
        "a ? b : c"
    );
    assert_eq!(integer("prmt.b32 %r20, %r10, %r11, 0x5410;", 0x3322_1100, 0x7766_5544, 0), 0x5544_1100);
    assert_eq!(integer("prmt.b32 %r20, %r10, %r11, 0x000B;", 0x8000_0000, 0, 0), 0x0000_00ff, "a sign");
    assert_eq!(integer("shf.l.wrap.b32 %r20, %r10, %r11, 36;", 0xf000_0000, 1, 0), 0x1f);
    assert_eq!(integer("shf.l.clamp.b32 %r20, %r10, %r11, 36;", 0xf000_0000, 1, 0), 0xf000_0000);
    assert_eq!(integer("shf.r.wrap.b32 %r20, %r10, %r11, 4;", 0x10, 0xf, 0), 0xf000_0001);
    assert_eq!(integer("cnot.b32 %r20, %r10;", 0, 0, 0), 1);
    assert_eq!(integer("slct.b32.s32 %r20, %r10, %r11, %r12;", 7, 8, MINUS_ONE), 8);
    assert_eq!(integer("slct.b32.s32 %r20, %r10, %r11, %r12;", 7, 8, 0), 7);
}

#[test]
fn division_by_zero_gives_ones_and_the_dividend() {
    assert_eq!(integer("div.u32 %r20, %r10, %r11;", 7, 0, 0), MINUS_ONE);
    assert_eq!(integer("rem.u32 %r20, %r10, %r11;", 7, 0, 0), 7);
    assert_eq!(integer("div.s32 %r20, %r10, %r11;", 0x8000_0000, MINUS_ONE, 0), 0x8000_0000);
}

#[test]
fn predicates_combine() {
    let of = |join: &str, c: &str, x, y, z| {
        let body = format!(
            "setp.ne.s32 %p3, %r12, 0; setp.lt.{join}.s32 %p1|%p2, %r10, %r11, {c};\n\
             selp.b32 %r13, 1, 0, %p1; selp.b32 %r14, 2, 0, %p2; or.b32 %r20, %r13, %r14;"
        );
        integer(&body, x, y, z)
    };
    assert_eq!(of("and", "%p3", 1, 2, 1), 1);
    assert_eq!(of("and", "!%p3", 1, 2, 1), 0, "both results are joined");
    assert_eq!(of("or", "%p3", 2, 1, 0), 2);
    assert_eq!(of("xor", "%p3", 1, 2, 1), 2);
    let logic = "setp.eq.s32 %p1, %r10, 1; setp.eq.s32 %p2, %r11, 1; not.pred %p3, %p1; or.pred %p4, %p3, %p2;\n\
                 mov.pred %p5, %p4; and.pred %p6, %p5, %p1; xor.pred %p7, %p6, %p2; selp.b32 %r20, 1, 0, %p7;";
    assert_eq!(integer(logic, 1, 0, 0), 0);
    assert_eq!(integer(logic, 0, 1, 0), 1);
    let unsigned = "setp.hi.u32 %p1, %r10, %r11; selp.b32 %r20, 1, 0, %p1;";
    assert_eq!(integer(unsigned, MINUS_ONE, 1, 0), 1);
}

#[test]
fn registers_pack_and_unpack() {
    assert_eq!(integer("mov.b64 %rd9, {%r10, %r11}; mov.b64 {%r12, %r20}, %rd9;", 1, 2, 0), 2);
    assert_eq!(
        integer("mov.b32 {%rs1, %rs2}, %r10; mov.b32 %r20, {%rs2, %rs1};", 0x1234_5678, 0, 0),
        0x5678_1234
    );
    assert_eq!(integer("mov.b32 {_, %rs2}, %r10; cvt.u32.u16 %r20, %rs2;", 0x1234_5678, 0, 0), 0x1234);
    // A register may be both source and part of the destination.
    assert_eq!(
        integer("mov.b64 %rd9, {%r10, %r11}; mov.b64 {%r11, %r10}, %rd9; mov.b32 %r20, %r11;", 1, 2, 0),
        1
    );
}

#[test]
fn lanes_vote_and_shuffle() {
    let of = |body: &str| {
        run_on(&kernel(&format!("{body}\nst.global.u32 [%rd2], %r20;")), &[0], 32, 32).unwrap().0
    };
    let odd = "and.b32 %r2, %r1, 1; setp.eq.s32 %p1, %r2, 1;";
    assert_eq!(of(&format!("{odd} vote.sync.ballot.b32 %r20, %p1, -1;")), [0xaaaa_aaaa; 32]);
    assert_eq!(of(&format!("{odd} vote.sync.any.pred %p2, %p1, -1; selp.b32 %r20, 1, 0, %p2;")), [1; 32]);
    assert_eq!(of(&format!("{odd} vote.sync.all.pred %p2, !%p1, -1; selp.b32 %r20, 1, 0, %p2;")), [0; 32]);
    assert_eq!(of("activemask.b32 %r20;"), [MINUS_ONE; 32]);
    let lanes = |f: &dyn Fn(u32) -> u32| (0..32).map(f).collect::<Vec<_>>();
    assert_eq!(of("shfl.sync.bfly.b32 %r20, %r1, 1, 31, -1;"), lanes(&|i| i ^ 1));
    assert_eq!(of("shfl.sync.idx.b32 %r20, %r1, 5, 31, -1;"), [5; 32]);
    assert_eq!(
        of("shfl.sync.down.b32 %r20|%p1, %r1, 4, 31, -1;"),
        lanes(&|i| if i < 28 { i + 4 } else { i })
    );
    assert_eq!(of("shfl.sync.up.b32 %r20|%p1, %r1, 4, 0, -1;"), lanes(&|i| if i >= 4 { i - 4 } else { i }));
    let inside = "shfl.sync.up.b32 %r2|%p1, %r1, 4, 0, -1; selp.b32 %r20, 1, 0, %p1;";
    assert_eq!(of(inside), lanes(&|i| u32::from(i >= 4)));
    // Segments of 8 lanes: mask 0x18 in the upper byte.
    assert_eq!(
        of("shfl.sync.down.b32 %r20, %r1, 4, 0x1807, -1;"),
        lanes(&|i| if i % 8 < 4 { i + 4 } else { i })
    );
}

#[test]
fn special_registers_tell_the_place() {
    let text = kernel(
        "mov.u32 %r2, %laneid; mov.u32 %r3, %warpid; mov.u32 %r4, %ntid.x; mov.u32 %r5, %nctaid.x; mov.u32 %r6, %lanemask_lt;\n\
         mad.lo.s32 %r20, %r3, 1000, %r2; mad.lo.s32 %r20, %r4, 10000, %r20; mad.lo.s32 %r20, %r5, 10000000, %r20;\n\
         popc.b32 %r6, %r6; sub.s32 %r6, %r6, %r2; add.s32 %r20, %r20, %r6; st.global.u32 [%rd2], %r20;",
    );
    let (output, statistics) = run_on(&text, &[0], 40, 40).unwrap();
    assert_eq!((output[31], output[32], output[39]), (10_400_031, 10_401_000, 10_401_007));
    assert_eq!(statistics.blocks, 1);
}
