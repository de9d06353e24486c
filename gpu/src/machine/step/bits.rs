//! Operations on 32-bit patterns: lookup, permutation, funnel shifts, fields; plain logic is left to `integer`.

use super::lanes::{map3, write_predicate};
use crate::machine::operation::{BitsOp, FloatClass, Instruction};
use crate::machine::registers::{LANES, Registers};

pub(super) fn step(op: BitsOp, r: &mut Registers, i: &Instruction, mask: u32) {
    match op {
        BitsOp::Lop3(table) => map3(r, i, mask, |a, b, c| lop3(a, b, c, table)),
        BitsOp::Permute => map3(r, i, mask, permute),
        BitsOp::FunnelLeft { wrap } => map3(r, i, mask, |a, b, n| funnel_left(a, b, distance(n, wrap))),
        BitsOp::FunnelRight { wrap } => map3(r, i, mask, |a, b, n| funnel_right(a, b, distance(n, wrap))),
        BitsOp::ExtractSigned => map3(r, i, mask, extract_signed),
        BitsOp::ExtractUnsigned => map3(r, i, mask, extract_unsigned),
        BitsOp::Insert { length } => insert(length, r, i, mask),
        BitsOp::SelectBySign => map3(r, i, mask, |a: u32, b: u32, c: i32| if c >= 0 { a } else { b }),
        BitsOp::TestFloat(class) => test(class, r, i, mask),
    }
}

fn lop3(a: u32, b: u32, c: u32, table: u8) -> u32 {
    let minterm = |k: u32| {
        let pick = |x: u32, bit: u32| if k >> bit & 1 == 1 { x } else { !x };
        pick(a, 2) & pick(b, 1) & pick(c, 0)
    };
    (0..8).filter(|k| table >> k & 1 == 1).fold(0, |bits, k| bits | minterm(k))
}

/// Each selector nibble names one byte of `b:a`, or, with its top bit, that byte's sign eight times.
fn permute(a: u32, b: u32, selectors: u32) -> u32 {
    let pool = u64::from(b) << 32 | u64::from(a);
    (0..4).fold(0, |word, k| {
        let selector = selectors >> (4 * k) & 0xf;
        let byte = u32::try_from(pool >> (8 * (selector & 7)) & 0xff).unwrap_or(0);
        let byte = if selector & 8 == 0 { byte } else { 0xff * (byte >> 7) };
        word | byte << (8 * k)
    })
}

fn distance(n: u32, wrap: bool) -> u32 {
    if wrap { n & 31 } else { n.min(32) }
}

fn funnel_left(a: u32, b: u32, n: u32) -> u32 {
    let whole = u64::from(b) << 32 | u64::from(a);
    u32::try_from(whole << n >> 32 & 0xffff_ffff).unwrap_or(0)
}

fn funnel_right(a: u32, b: u32, n: u32) -> u32 {
    let whole = u64::from(b) << 32 | u64::from(a);
    u32::try_from(whole >> n & 0xffff_ffff).unwrap_or(0)
}

fn field(length: u32) -> u32 {
    1_u32.checked_shl(length).map_or(u32::MAX, |bit| bit - 1)
}

fn extract_unsigned(a: u32, position: u32, length: u32) -> u32 {
    let (position, length) = (position & 0xff, length & 0xff);
    a.checked_shr(position).unwrap_or(0) & field(length)
}

/// The sign is the field's top bit, or the value's where the field sticks out.
fn extract_signed(a: u32, position: u32, length: u32) -> u32 {
    let (position, length) = (position & 0xff, length & 0xff);
    if length == 0 {
        return 0;
    }
    let top = (position + length - 1).min(31);
    let sign = if a >> top & 1 == 1 { u32::MAX } else { 0 };
    let valid = field(length.min(32_u32.saturating_sub(position)));
    a.checked_shr(position).unwrap_or(0) & valid | sign & !valid
}

/// `bfi`: a into b at position c.
fn insert(length: u16, r: &mut Registers, i: &Instruction, mask: u32) {
    let rows = [i.a, i.b, i.c, length].map(|row| r.narrow[usize::from(row)].0);
    for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
        let (position, length) = (rows[2][lane] & 0xff, rows[3][lane] & 0xff);
        let place = field(length).checked_shl(position).unwrap_or(0);
        let moved = rows[0][lane].checked_shl(position).unwrap_or(0);
        r.narrow[usize::from(i.d)].0[lane] = moved & place | rows[1][lane] & !place;
    }
}

fn test(class: FloatClass, r: &mut Registers, i: &Instruction, mask: u32) {
    let row = &r.narrow[usize::from(i.a)].0;
    let holds = |bits: u32| {
        let value = f32::from_bits(bits);
        match class {
            FloatClass::Finite => value.is_finite(),
            FloatClass::Infinite => value.is_infinite(),
            FloatClass::Number => !value.is_nan(),
            FloatClass::NotANumber => value.is_nan(),
            FloatClass::Normal => value.is_normal(),
            // PTX counts the zeros among the subnormal numbers.
            FloatClass::Subnormal => bits & 0x7f80_0000 == 0,
        }
    };
    let bits = row.iter().enumerate().fold(0, |bits, (n, &cell)| bits | u32::from(holds(cell)) << n);
    write_predicate(r, i.d, mask, bits);
}
