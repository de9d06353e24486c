//! Operands of an instruction: registers, constants, vectors, addresses; whether they fit it is left to the machine.

use super::body::Body;
use super::cursor::{Cursor, Number};
use super::error::{Failure, PtxErrorKind};
use super::module::{Address, AddressBase, Operand, RegisterId};

pub(super) fn operand(body: &mut Body<'_>, cursor: &mut Cursor<'_>) -> Result<Operand, Failure> {
    if cursor.take_mark("{") {
        return vector(body, cursor);
    }
    if cursor.take_mark("[") {
        return address(body, cursor);
    }
    if cursor.take_mark("!") {
        return register(body, cursor).map(Operand::Negated);
    }
    if cursor.peek_word().is_some() {
        return name(body, cursor);
    }
    let negative = cursor.take_mark("-");
    if !cursor.peek_number() {
        return Err(cursor.unexpected("an operand"));
    }
    Ok(constant(cursor.number()?, negative))
}

fn constant(number: Number, negative: bool) -> Operand {
    match number {
        Number::Integer(value) if negative => Operand::Integer(value.wrapping_neg()),
        Number::Integer(value) => Operand::Integer(value),
        Number::Float32(bits) => Operand::Float32(bits ^ (u32::from(negative) << 31)),
        Number::Float64(bits) => Operand::Float64(bits ^ (u64::from(negative) << 63)),
    }
}

fn register(body: &mut Body<'_>, cursor: &mut Cursor<'_>) -> Result<RegisterId, Failure> {
    let here = *cursor;
    let name = cursor.word("a register")?;
    let unknown = || (here.line(), PtxErrorKind::Unknown { what: "register", name: name.to_owned() });
    body.find_register(name).ok_or_else(unknown)
}

fn name(body: &mut Body<'_>, cursor: &mut Cursor<'_>) -> Result<Operand, Failure> {
    let here = *cursor;
    let word = cursor.word("a name")?;
    if let Some(first) = body.find_register(word) {
        if cursor.take_mark("|") {
            return Ok(Operand::Pair(first, register(body, cursor)?));
        }
        return Ok(Operand::Register(first));
    }
    match word {
        "_" => Ok(Operand::Sink),
        "WARP_SZ" => Ok(Operand::Integer(32)),
        _ if is_special(word) => Ok(Operand::Special(word.to_owned())),
        _ if word.starts_with('%') => {
            here.fail(PtxErrorKind::Unknown { what: "register", name: word.to_owned() })
        }
        _ => Ok(Operand::Symbol(word.to_owned(), offset(cursor)?)),
    }
}

/// Which of them the machine knows is its business; this only tells them from undeclared registers.
fn is_special(word: &str) -> bool {
    const STEMS: [&str; 31] = [
        "tid",
        "ntid",
        "ctaid",
        "nctaid",
        "laneid",
        "warpid",
        "nwarpid",
        "smid",
        "nsmid",
        "gridid",
        "clock",
        "clock_hi",
        "clock64",
        "globaltimer",
        "globaltimer_lo",
        "globaltimer_hi",
        "lanemask_eq",
        "lanemask_le",
        "lanemask_lt",
        "lanemask_ge",
        "lanemask_gt",
        "dynamic_smem_size",
        "total_smem_size",
        "clusterid",
        "nclusterid",
        "cluster_ctaid",
        "cluster_nctaid",
        "cluster_ctarank",
        "cluster_nctarank",
        "is_explicit_cluster",
        "aggr_smem_size",
    ];
    let stem = word.strip_prefix('%').map(|w| w.split('.').next().unwrap_or(w));
    stem.is_some_and(|stem| STEMS.contains(&stem))
}

/// The commas are optional only before the first element.
fn vector(body: &mut Body<'_>, cursor: &mut Cursor<'_>) -> Result<Operand, Failure> {
    let mut elements = Vec::new();
    loop {
        // Vectors do not nest in PTX, so this recursion is one deep.
        if cursor.peek_mark("{") || cursor.peek_mark("[") {
            return Err(cursor.unexpected("an element of a vector"));
        }
        elements.push(operand(body, cursor)?);
        if !cursor.take_mark(",") {
            cursor.mark("}")?;
            return Ok(Operand::Vector(elements));
        }
    }
}

fn address(body: &mut Body<'_>, cursor: &mut Cursor<'_>) -> Result<Operand, Failure> {
    let here = *cursor;
    let base = match cursor.peek_word() {
        None => AddressBase::Absolute,
        Some(word) => {
            cursor.advance();
            match body.find_register(word) {
                Some(id) => AddressBase::Register(id),
                None if word.starts_with('%') => {
                    return here.fail(PtxErrorKind::Unknown { what: "register", name: word.to_owned() });
                }
                None => AddressBase::Symbol(word.to_owned()),
            }
        }
    };
    let start = if base == AddressBase::Absolute { cursor.integer()?.cast_signed() } else { 0 };
    let offset = start.wrapping_add(offset(cursor)?);
    cursor.mark("]")?;
    Ok(Operand::Address(Address { base, offset }))
}

/// Any number of `+4`, `-4`, `+-4`.
fn offset(cursor: &mut Cursor<'_>) -> Result<i64, Failure> {
    let mut total = 0_i64;
    loop {
        let plus = cursor.take_mark("+");
        let minus = cursor.take_mark("-");
        if !plus && !minus {
            return Ok(total);
        }
        let value = cursor.integer()?.cast_signed();
        total = total.wrapping_add(if minus { value.wrapping_neg() } else { value });
    }
}
