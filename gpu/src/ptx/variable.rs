//! Declarations of variables in memory with their initial values; placing them is left to the machine.

use super::cursor::{Cursor, Number};
use super::error::{Failure, PtxErrorKind};
use super::module::Variable;
use super::types::{ScalarType, Space};

/// Reads from after the state space to the semicolon.
pub(super) fn declare(
    cursor: &mut Cursor<'_>,
    space: Space,
    variables: &mut Vec<Variable>,
) -> Result<(), Failure> {
    let (ty, lanes, align) = qualifiers(cursor)?;
    loop {
        let variable = one(cursor, space, (ty, lanes, align))?;
        if variables.iter().any(|v| v.name == variable.name) {
            let kind = PtxErrorKind::Duplicate { what: "variable", name: variable.name };
            return Err((variable.line, kind));
        }
        variables.push(variable);
        if !cursor.take_mark(",") {
            return cursor.mark(";");
        }
    }
}

fn qualifiers(cursor: &mut Cursor<'_>) -> Result<(ScalarType, usize, usize), Failure> {
    let (mut lanes, mut align) = (1, 0);
    loop {
        let here = *cursor;
        match cursor.word("a type")? {
            ".align" => align = alignment(cursor)?,
            ".v2" => lanes = 2,
            ".v4" => lanes = 4,
            word => {
                let ty = word.strip_prefix('.').and_then(ScalarType::from_name);
                let ty = ty.ok_or_else(|| here.unexpected("a type"))?;
                return Ok((ty, lanes, align.max(ty.size() * lanes)));
            }
        }
    }
}

fn alignment(cursor: &mut Cursor<'_>) -> Result<usize, Failure> {
    let here = *cursor;
    let align = cursor.small()? as usize;
    if align.is_power_of_two() && align <= 1 << 16 {
        Ok(align)
    } else {
        Err(here.unexpected("a power of two up to 65536"))
    }
}

fn one(
    cursor: &mut Cursor<'_>,
    space: Space,
    (ty, lanes, align): (ScalarType, usize, usize),
) -> Result<Variable, Failure> {
    let line = cursor.line();
    let name = cursor.word("the name of a variable")?.to_owned();
    let extent = extent(cursor, &name)?;
    let initial = if cursor.take_mark("=") { initialiser(cursor, ty)? } else { Vec::new() };
    let out_of_range = || (line, PtxErrorKind::Size { name: name.clone() });
    let declared = extent.unwrap_or(1).checked_mul(ty.size() * lanes).ok_or_else(out_of_range)?;
    let size = if extent == Some(0) { initial.len() } else { declared };
    if initial.len() > size {
        return Err(out_of_range());
    }
    let dynamic = space == Space::Shared && size == 0;
    Ok(Variable { name, space, align, size, dynamic, initial, line })
}

/// `[4][8]` as 32, `[]` as 0, nothing as `None`.
pub(super) fn extent(cursor: &mut Cursor<'_>, name: &str) -> Result<Option<usize>, Failure> {
    let mut total: Option<usize> = None;
    while cursor.take_mark("[") {
        let line = cursor.line();
        let count = if cursor.peek_mark("]") { 0 } else { cursor.integer()? };
        cursor.mark("]")?;
        let product = usize::try_from(count).ok().and_then(|n| total.unwrap_or(1).checked_mul(n));
        total = Some(product.ok_or_else(|| (line, PtxErrorKind::Size { name: name.to_owned() }))?);
    }
    Ok(total)
}

/// One value or a brace list; inner braces of a matrix are flattened, as ptxas does for full rows.
fn initialiser(cursor: &mut Cursor<'_>, ty: ScalarType) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let mut depth = 0_usize;
    loop {
        while cursor.take_mark("{") {
            depth += 1;
        }
        if !cursor.peek_mark("}") {
            value(cursor, ty, &mut bytes)?;
        }
        while depth > 0 && cursor.take_mark("}") {
            depth -= 1;
        }
        if depth == 0 {
            return Ok(bytes);
        }
        cursor.mark(",")?;
    }
}

fn value(cursor: &mut Cursor<'_>, ty: ScalarType, bytes: &mut Vec<u8>) -> Result<(), Failure> {
    if let Some(word) = cursor.peek_word() {
        let what = format!("the address or expression `{word}` as an initial value");
        return cursor.fail(PtxErrorKind::Unsupported { what });
    }
    let negative = cursor.take_mark("-");
    let bits = bits(cursor.number()?, ty, negative);
    bytes.extend(bits.to_le_bytes().iter().take(ty.size()));
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "a binary64 constant of a binary32 variable is rounded")]
fn bits(number: Number, ty: ScalarType, negative: bool) -> u64 {
    let sign = |bits: u64, width: u32| bits ^ (u64::from(negative) << (width - 1));
    match (number, ty) {
        (Number::Integer(value), ScalarType::F32) => sign(u64::from((value as f32).to_bits()), 32),
        (Number::Integer(value), ScalarType::F64) => sign((value as f64).to_bits(), 64),
        (Number::Integer(value), _) => {
            if negative {
                value.wrapping_neg()
            } else {
                value
            }
        }
        (Number::Float32(bits), _) => sign(u64::from(bits), 32),
        (Number::Float64(bits), ScalarType::F32) => {
            sign(u64::from((f64::from_bits(bits) as f32).to_bits()), 32)
        }
        (Number::Float64(bits), _) => sign(bits, 64),
    }
}
