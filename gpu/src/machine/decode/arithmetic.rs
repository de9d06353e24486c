//! Decoding arithmetic of floats; integers are handed to `integer`.

use super::words::Words;
use super::{Decoded, One, expected, unsupported};
use crate::machine::operation::{ApproximateOp, FloatOp, Op, RoundedOp, Rounding};
use crate::ptx::ScalarType;

impl One<'_, '_> {
    pub(super) fn arithmetic(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        let ty = words.ty()?;
        match ty {
            ScalarType::F32 => self.single(words),
            ScalarType::F64 => self.double(words),
            _ => self.integer(words, ty),
        }
    }

    fn single(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        let approximate = words.flag("approx");
        // `div.full` is an approximate division with a larger range than `.approx`.
        let approximate = words.flag("full") || approximate;
        let mode = words.mode();
        let rounding = words.rounding();
        let nan = words.flag("NaN");
        if approximate {
            let op = self.approximate_op()?;
            return self.float(Op::Approximate(op, mode), ScalarType::F32);
        }
        let op = self.float_op(nan)?;
        let needs = matches!(op, FloatOp::Fma | FloatOp::Div | FloatOp::Rcp | FloatOp::Sqrt);
        if needs && rounding.is_none() {
            return unsupported("an operation without a rounding modifier");
        }
        match rounding.filter(|&rounding| rounding != Rounding::Nearest) {
            None => self.float(Op::F32(op, mode), ScalarType::F32),
            Some(rounding) => match rounded(op) {
                Some(op) => self.float(Op::Rounded(op, rounding, mode), ScalarType::F32),
                None => unsupported("a rounding modifier on an operation that does not round"),
            },
        }
    }

    fn double(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        let rounding = words.rounding();
        if rounding.is_some_and(|rounding| rounding != Rounding::Nearest) {
            return unsupported("f64 arithmetic not rounded to nearest");
        }
        let op = self.float_op(false)?;
        self.float(Op::F64(op), ScalarType::F64)
    }

    fn float_op(&self, nan: bool) -> Decoded<FloatOp> {
        Ok(match self.ptx.opcode.as_str() {
            "add" => FloatOp::Add,
            "sub" => FloatOp::Sub,
            "mul" => FloatOp::Mul,
            "fma" | "mad" => FloatOp::Fma,
            "div" => FloatOp::Div,
            "rcp" => FloatOp::Rcp,
            "sqrt" => FloatOp::Sqrt,
            "min" if nan => FloatOp::MinNan,
            "max" if nan => FloatOp::MaxNan,
            "min" => FloatOp::Min,
            "max" => FloatOp::Max,
            "abs" => FloatOp::Abs,
            "neg" => FloatOp::Neg,
            "copysign" => FloatOp::CopySign,
            other => {
                return unsupported(&format!("instruction `{other}` without `.approx`, or of this type"));
            }
        })
    }

    fn approximate_op(&self) -> Decoded<ApproximateOp> {
        Ok(match self.ptx.opcode.as_str() {
            "ex2" => ApproximateOp::Exp2,
            "lg2" => ApproximateOp::Log2,
            "rcp" => ApproximateOp::Rcp,
            "sqrt" => ApproximateOp::Sqrt,
            "rsqrt" => ApproximateOp::Rsqrt,
            "sin" => ApproximateOp::Sin,
            "cos" => ApproximateOp::Cos,
            "tanh" => ApproximateOp::Tanh,
            "div" => ApproximateOp::Div,
            other => return unsupported(&format!("approximate form of `{other}`")),
        })
    }

    /// One to three sources of the type of the destination.
    fn float(&mut self, op: Op, ty: ScalarType) -> Decoded<()> {
        let sources = match op {
            Op::F32(FloatOp::Fma, _) | Op::F64(FloatOp::Fma) | Op::Rounded(RoundedOp::Fma, ..) => 3,
            Op::F32(FloatOp::Rcp | FloatOp::Sqrt | FloatOp::Abs | FloatOp::Neg, _)
            | Op::F64(FloatOp::Rcp | FloatOp::Sqrt | FloatOp::Abs | FloatOp::Neg)
            | Op::Rounded(RoundedOp::Rcp | RoundedOp::Sqrt, ..) => 1,
            Op::Approximate(op, _) if !matches!(op, ApproximateOp::Div) => 1,
            _ => 2,
        };
        self.uniform(op, ty, sources)
    }

    /// A destination and so many sources, all of one type.
    pub(super) fn uniform(&mut self, op: Op, ty: ScalarType, sources: usize) -> Decoded<()> {
        let operands = &self.ptx.operands;
        if operands.len() != sources + 1 {
            return expected(&format!("{} operands", sources + 1), &operands.len().to_string());
        }
        let mut rows = [0; 4];
        for (row, operand) in rows.iter_mut().zip(operands).skip(1) {
            *row = self.source(operand, ty)?;
        }
        rows[0] = self.destination(&operands[0], ty)?;
        self.emit(op, rows);
        Ok(())
    }
}

const fn rounded(op: FloatOp) -> Option<RoundedOp> {
    Some(match op {
        FloatOp::Add => RoundedOp::Add,
        FloatOp::Sub => RoundedOp::Sub,
        FloatOp::Mul => RoundedOp::Mul,
        FloatOp::Fma => RoundedOp::Fma,
        FloatOp::Div => RoundedOp::Div,
        FloatOp::Rcp => RoundedOp::Rcp,
        FloatOp::Sqrt => RoundedOp::Sqrt,
        _ => return None,
    })
}
