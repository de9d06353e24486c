//! Operations with 64-bit operands or results.

use crate::machine::number::{bits, bits64, float, round, round64};
use crate::machine::op::{Bin64, Narrow, Shift64, Tern64, Un64, Widen};
use crate::machine::warp::LANES;

type Wide = [u64; LANES];
type Thin = [u32; LANES];

#[inline(always)]
fn map(a: &Wide, b: &Wide, f: impl Fn(u64, u64) -> u64) -> Wide {
    std::array::from_fn(|i| f(a[i], b[i]))
}

#[inline(always)]
fn signed(a: &Wide, b: &Wide, f: impl Fn(i64, i64) -> i64) -> Wide {
    map(a, b, |x, y| f(x.cast_signed(), y.cast_signed()).cast_unsigned())
}

#[inline(always)]
fn floats(a: &Wide, b: &Wide, f: impl Fn(f64, f64) -> f64) -> Wide {
    map(a, b, |x, y| bits64(f(f64::from_bits(x), f64::from_bits(y))))
}

#[inline(always)]
pub(super) fn unary(f: Un64, a: &Wide) -> Wide {
    const SIGN: u64 = 1 << 63;
    let one = |f: &dyn Fn(u64) -> u64| -> Wide { std::array::from_fn(|i| f(a[i])) };
    match f {
        Un64::Mov => *a,
        Un64::Not => one(&|x| !x),
        Un64::Neg => one(&u64::wrapping_neg),
        Un64::Abs => one(&|x| x.cast_signed().wrapping_abs().cast_unsigned()),
        Un64::NegF => one(&|x| x ^ SIGN),
        Un64::AbsF => one(&|x| x & !SIGN),
        Un64::SqrtF => one(&|x| bits64(f64::from_bits(x).sqrt())),
        Un64::RcpF => one(&|x| bits64(1.0 / f64::from_bits(x))),
    }
}

#[inline(always)]
pub(super) fn binary(f: Bin64, a: &Wide, b: &Wide) -> Wide {
    match f {
        Bin64::Add => map(a, b, u64::wrapping_add),
        Bin64::Sub => map(a, b, u64::wrapping_sub),
        Bin64::MulLo => map(a, b, u64::wrapping_mul),
        Bin64::And => map(a, b, |x, y| x & y),
        Bin64::Or => map(a, b, |x, y| x | y),
        Bin64::Xor => map(a, b, |x, y| x ^ y),
        Bin64::MinU => map(a, b, u64::min),
        Bin64::MaxU => map(a, b, u64::max),
        Bin64::MinS => signed(a, b, i64::min),
        Bin64::MaxS => signed(a, b, i64::max),
        Bin64::DivU => map(a, b, |x, y| x.checked_div(y).unwrap_or(u64::MAX)),
        Bin64::DivS => signed(a, b, |x, y| if y == 0 { -1 } else { x.wrapping_div(y) }),
        Bin64::RemU => map(a, b, |x, y| x.checked_rem(y).unwrap_or(x)),
        Bin64::RemS => signed(a, b, |x, y| if y == 0 { x } else { x.wrapping_rem(y) }),
        Bin64::AddF => floats(a, b, |x, y| x + y),
        Bin64::SubF => floats(a, b, |x, y| x - y),
        Bin64::MulF => floats(a, b, |x, y| x * y),
        Bin64::DivF => floats(a, b, |x, y| x / y),
    }
}

#[inline(always)]
pub(super) fn ternary(f: Tern64, a: &Wide, b: &Wide, c: &Wide) -> Wide {
    match f {
        Tern64::MadLo => std::array::from_fn(|i| a[i].wrapping_mul(b[i]).wrapping_add(c[i])),
        Tern64::Fma => std::array::from_fn(|i| {
            bits64(f64::from_bits(a[i]).mul_add(f64::from_bits(b[i]), f64::from_bits(c[i])))
        }),
    }
}

#[inline(always)]
pub(super) fn shift(f: Shift64, a: &Wide, b: &Thin) -> Wide {
    match f {
        Shift64::Shl => std::array::from_fn(|i| if b[i] > 63 { 0 } else { a[i] << b[i] }),
        Shift64::ShrU => std::array::from_fn(|i| if b[i] > 63 { 0 } else { a[i] >> b[i] }),
        Shift64::ShrS => std::array::from_fn(|i| (a[i].cast_signed() >> b[i].min(63)).cast_unsigned()),
    }
}

#[inline(always)]
pub(super) fn multiply(is_signed: bool, a: &Thin, b: &Thin, c: &Wide) -> Wide {
    if is_signed {
        let product =
            |x: u32, y: u32| (i64::from(x.cast_signed()) * i64::from(y.cast_signed())).cast_unsigned();
        std::array::from_fn(|i| product(a[i], b[i]).wrapping_add(c[i]))
    } else {
        std::array::from_fn(|i| (u64::from(a[i]) * u64::from(b[i])).wrapping_add(c[i]))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "saturation is meant")]
#[inline(always)]
pub(super) fn widen(f: Widen, a: &Thin) -> Wide {
    match f {
        Widen::Zero => std::array::from_fn(|i| u64::from(a[i])),
        Widen::Sign => std::array::from_fn(|i| i64::from(a[i].cast_signed()).cast_unsigned()),
        Widen::F32ToF64 => std::array::from_fn(|i| bits64(f64::from(float(a[i])))),
        Widen::S32ToF64 => std::array::from_fn(|i| f64::from(a[i].cast_signed()).to_bits()),
        Widen::U32ToF64 => std::array::from_fn(|i| f64::from(a[i]).to_bits()),
        // A NaN becomes the most negative number in the 64-bit conversion.
        Widen::F32ToS64(r) => std::array::from_fn(|i| {
            let value = float(a[i]);
            if value.is_nan() { 1 << 63 } else { (round(value, r) as i64).cast_unsigned() }
        }),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rounding, saturation and the lower half are meant")]
#[inline(always)]
pub(super) fn narrow(f: Narrow, a: &Wide) -> Thin {
    match f {
        Narrow::Low => std::array::from_fn(|i| a[i] as u32),
        Narrow::F64ToF32 => std::array::from_fn(|i| bits(f64::from_bits(a[i]) as f32)),
        Narrow::S64ToF32 => std::array::from_fn(|i| (a[i].cast_signed() as f32).to_bits()),
        Narrow::U64ToF32 => std::array::from_fn(|i| (a[i] as f32).to_bits()),
        Narrow::F64ToS32(r) => {
            std::array::from_fn(|i| (round64(f64::from_bits(a[i]), r) as i32).cast_unsigned())
        }
    }
}
