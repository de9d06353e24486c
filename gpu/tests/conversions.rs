//! `cvt` in its many pairs: rounding, saturation, extension; expectations derived by hand.

mod common;

use common::{MINUS_ONE, compute, double, float, integer};

fn of(body: &str, x: f32) -> u32 {
    compute(body, [x.to_bits(), 0, 0])
}

#[test]
fn integers_extend_by_the_signs_of_their_types() {
    assert_eq!(integer("cvt.s32.s8 %r20, %r10;", 0x80, 0, 0), 0xffff_ff80);
    assert_eq!(integer("cvt.u32.u8 %r20, %r10;", 0xff80, 0, 0), 0x80);
    assert_eq!(integer("cvt.u16.u32 %rs1, %r10; cvt.s32.s16 %r20, %rs1;", 0x1_8000, 0, 0), 0xffff_8000);
    assert_eq!(integer("cvt.sat.u8.s32 %r20, %r10;", MINUS_ONE, 0, 0), 0);
    assert_eq!(integer("cvt.sat.s8.s32 %r20, %r10;", 300, 0, 0), 127);
    assert_eq!(integer("cvt.s16.s32 %rs1, %r10; cvt.u32.u16 %r20, %rs1;", MINUS_ONE, 0, 0), 0xffff);
}

#[test]
fn floats_saturate_to_integers_and_nan_depends_on_the_width() {
    assert_eq!(of("cvt.rzi.u32.f32 %r20, %f10;", -5.0), 0);
    assert_eq!(of("cvt.rzi.u32.f32 %r20, %f10;", 5e9), MINUS_ONE);
    assert_eq!(of("cvt.rni.s32.f32 %r20, %f10;", 3.5), 4, "ties to even");
    let upper = "shr.u64 %rd9, %rd9, 32; cvt.u32.u64 %r20, %rd9;";
    assert_eq!(of(&format!("cvt.rzi.s64.f32 %rd9, %f10; {upper}"), f32::NAN), 0x8000_0000);
    assert_eq!(of(&format!("cvt.rzi.s64.f32 %rd9, %f10; {upper}"), -4_294_967_296.0), MINUS_ONE);
    assert_eq!(of("cvt.rzi.s32.f32 %r20, %f10;", f32::NAN), 0);
}

#[test]
fn large_integers_round_once() {
    // 2^24 + 1 is a tie of f32; with a bit 40 places below it is not, though f64 cannot hold that bit.
    let text = "mov.u64 %rd9, 0x8000008000000001; cvt.rn.f32.u64 %f20, %rd9;";
    assert_eq!(float(text, 0.0, 0.0, 0.0), 0x5f00_0001);
    let tie = "mov.u64 %rd9, 0x8000008000000000; cvt.rn.f32.u64 %f20, %rd9;";
    assert_eq!(float(tie, 0.0, 0.0, 0.0), 0x5f00_0000);
    assert_eq!(float("cvt.rz.f32.u32 %f20, %r10;", f32::from_bits(MINUS_ONE), 0.0, 0.0), 0x4f7f_ffff);
    assert_eq!(float("cvt.rp.f32.u32 %f20, %r10;", f32::from_bits(MINUS_ONE), 0.0, 0.0), 0x4f80_0000);
    assert_eq!(double("cvt.rn.f64.s32 %fd3, -2;", 0.0, 0.0), (-2f64).to_bits());
}

#[test]
fn floats_change_format() {
    assert_eq!(double("cvt.f64.f32 %fd3, 0f3FC00000;", 0.0, 0.0), 1.5f64.to_bits());
    let narrow = |word: &str, bits: u64| {
        float(&format!("mov.f64 %fd1, 0d{bits:016X}; cvt.{word}.f32.f64 %f20, %fd1;"), 0.0, 0.0, 0.0)
    };
    let above = 1f64.to_bits() + 1;
    assert_eq!(narrow("rn", above), 1f32.to_bits());
    assert_eq!(narrow("rp", above), 1f32.to_bits() + 1);
    assert_eq!(narrow("rm", above), 1f32.to_bits());
    assert_eq!(narrow("rz", f64::MAX.to_bits()), f32::MAX.to_bits());
    assert_eq!(narrow("rn", f64::MAX.to_bits()), f32::INFINITY.to_bits());
}

#[test]
fn floats_round_to_integral_values() {
    assert_eq!(float("cvt.rni.f32.f32 %f20, %f10;", 2.5, 0.0, 0.0), 2f32.to_bits());
    assert_eq!(float("cvt.rmi.f32.f32 %f20, %f10;", -0.5, 0.0, 0.0), (-1f32).to_bits());
    assert_eq!(float("cvt.rpi.f32.f32 %f20, %f10;", -0.5, 0.0, 0.0), 0x8000_0000, "the sign stays");
    assert_eq!(float("cvt.sat.f32.f32 %f20, %f10;", 7.0, 0.0, 0.0), 1f32.to_bits());
}

#[test]
fn half_precision_rounds_once_in_every_direction() {
    let f16 = |rounding: &str, x: f32| {
        of(&format!("cvt.{rounding}.f16.f32 %rs1, %f10; cvt.u32.u16 %r20, %rs1;"), x)
    };
    // One unit of f16 at 1 is 2^-10.
    let half_unit = 1.0 + 2f32.powi(-11);
    assert_eq!(f16("rn", half_unit), 0x3c00, "ties to even");
    assert_eq!(f16("rn", f32::from_bits(half_unit.to_bits() + 1)), 0x3c01);
    assert_eq!(f16("rz", 1.0 + 1.9 * 2f32.powi(-11)), 0x3c00);
    assert_eq!(f16("rn", 65_520.0), 0x7c00, "the first value that overflows");
    assert_eq!(f16("rn", 65_519.0), 0x7bff);
    assert_eq!(f16("rz", 1e9), 0x7bff);
    assert_eq!(f16("rz", f32::INFINITY), 0x7c00);
    assert_eq!(f16("rn", 2f32.powi(-24)), 1, "the smallest subnormal");
    assert_eq!(f16("rn", 2f32.powi(-25)), 0, "a tie with zero");
    assert_eq!(f16("rn", -2f32.powi(-14)), 0x8400, "the smallest normal");
    assert_eq!(f16("rn", f32::NAN), 0x7fff);
    assert_eq!(
        float("mov.u16 %rs1, 0x3c01; cvt.f32.f16 %f20, %rs1;", 0.0, 0.0, 0.0),
        (1.0 + 2f32.powi(-10)).to_bits()
    );
}

#[test]
fn bfloat_pairs_and_relu() {
    assert_eq!(
        of("cvt.rn.bf16x2.f32 %r20, %f10, 0f40000000;", 1.0),
        0x3f80_4000,
        "the first is the upper half"
    );
    assert_eq!(of("cvt.rn.f16x2.f32 %r20, %f10, 0f40000000;", 1.0), 0x3c00_4000);
    assert_eq!(of("cvt.rn.relu.bf16.f32 %rs1, %f10; cvt.u32.u16 %r20, %rs1;", -1.0), 0);
    assert_eq!(
        of("cvt.rz.bf16.f32 %rs1, %f10; cvt.u32.u16 %r20, %rs1;", f32::from_bits(0x3f80_ffff)),
        0x3f80
    );
    assert_eq!(float("mov.b16 %rs1, 0x3f81; cvt.f32.bf16 %f20, %rs1;", 0.0, 0.0, 0.0), 0x3f81_0000);
    // The frequent conversion by bits and the general one by arithmetic agree.
    for bits in (0..0x7f80_0000_u32).step_by(0x12_3457) {
        let x = f32::from_bits(bits);
        let fast = half::bf16::from_f32(x).to_bits();
        assert_eq!(of("cvt.rn.bf16.f32 %rs1, %f10; cvt.u32.u16 %r20, %rs1;", x), u32::from(fast));
        assert_eq!(of("cvt.rn.relu.bf16.f32 %rs1, %f10; cvt.u32.u16 %r20, %rs1;", x), u32::from(fast));
    }
}
