//! Decoding integer arithmetic and logic, predicates included; bit fields are left to `bits`.

use super::words::Words;
use super::{Decoded, One, expected, unsupported};
use crate::machine::operation::{IntegerOp, LogicOp, Op, WideningOp};
use crate::ptx::ScalarType;

impl One<'_, '_> {
    pub(super) fn integer(&mut self, words: &mut Words<'_>, ty: ScalarType) -> Decoded<()> {
        use ScalarType::{S16, S32, S64, U16, U32, U64};
        if !matches!(ty, U16 | S16 | U32 | S32 | U64 | S64) {
            return unsupported(&format!("type .{}", ty.name()));
        }
        let part = words.one_of(&["lo", "hi", "wide"]);
        if part == Some("wide") {
            return self.widening(ty);
        }
        let saturate = words.flag("sat");
        if saturate && ty != S32 {
            return unsupported("`.sat` on a type other than .s32");
        }
        let signed = ty.is_signed();
        let pick = |yes, no| if signed { yes } else { no };
        let (op, sources) = match (self.ptx.opcode.as_str(), part, saturate) {
            ("add", None, false) => (IntegerOp::Add, 2),
            ("sub", None, false) => (IntegerOp::Sub, 2),
            ("add", None, true) => (IntegerOp::AddSaturating, 2),
            ("sub", None, true) => (IntegerOp::SubSaturating, 2),
            ("mul", Some("lo"), false) => (IntegerOp::MulLow, 2),
            ("mul", Some("hi"), false) => (pick(IntegerOp::MulHighSigned, IntegerOp::MulHighUnsigned), 2),
            ("mad", Some("lo"), false) => (IntegerOp::MadLow, 3),
            ("mad", Some("hi"), false) => (pick(IntegerOp::MadHighSigned, IntegerOp::MadHighUnsigned), 3),
            ("div", None, false) => (pick(IntegerOp::DivSigned, IntegerOp::DivUnsigned), 2),
            ("rem", None, false) => (pick(IntegerOp::RemSigned, IntegerOp::RemUnsigned), 2),
            ("min", None, false) => (pick(IntegerOp::MinSigned, IntegerOp::MinUnsigned), 2),
            ("max", None, false) => (pick(IntegerOp::MaxSigned, IntegerOp::MaxUnsigned), 2),
            ("abs", None, false) if signed => (IntegerOp::Abs, 1),
            ("neg", None, false) if signed => (IntegerOp::Neg, 1),
            (opcode, ..) => return unsupported(&format!("this integer form of `{opcode}`")),
        };
        self.uniform(sized(op, ty), ty, sources)
    }

    fn widening(&mut self, ty: ScalarType) -> Decoded<()> {
        use ScalarType::{S16, S32, S64, U16, U32, U64};
        let mad = self.ptx.opcode == "mad";
        let (product, op) = match (ty, mad) {
            (S32, false) => (S64, WideningOp::MulSigned),
            (U32, false) => (U64, WideningOp::MulUnsigned),
            (S16, false) => (S32, WideningOp::MulSigned16),
            (U16, false) => (U32, WideningOp::MulUnsigned16),
            (S32, true) => (S64, WideningOp::MadSigned),
            (U32, true) => (U64, WideningOp::MadUnsigned),
            (S16, true) => (S32, WideningOp::MadSigned16),
            (U16, true) => (U32, WideningOp::MadUnsigned16),
            _ => return unsupported(&format!("a widening product of .{}", ty.name())),
        };
        let (d, a, b, c) = match self.ptx.operands.as_slice() {
            [d, a, b] if !mad && self.ptx.opcode == "mul" => (d, a, b, None),
            [d, a, b, c] if mad => (d, a, b, Some(c)),
            other => return expected("3 operands of `mul` or 4 of `mad`", &other.len().to_string()),
        };
        let (a, b) = (self.source(a, ty)?, self.source(b, ty)?);
        let c = c.map_or(Ok(0), |c| self.source(c, product))?;
        let d = self.destination(d, product)?;
        self.emit(Op::Widening(op), [d, a, b, c]);
        Ok(())
    }

    pub(super) fn logic(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        use ScalarType::{B16, B32, B64, Pred, S16, S32, S64, U16, U32, U64};
        let ty = words.ty()?;
        let opcode = self.ptx.opcode.as_str();
        let shift = matches!(opcode, "shl" | "shr");
        match ty {
            Pred => return self.predicate_logic(),
            B16 | B32 | B64 => {}
            U16 | U32 | U64 | S16 | S32 | S64 if opcode == "shr" => {}
            _ => return unsupported(&format!("type .{}", ty.name())),
        }
        let (op, sources) = match opcode {
            "and" => (IntegerOp::And, 2),
            "or" => (IntegerOp::Or, 2),
            "xor" => (IntegerOp::Xor, 2),
            "not" => (IntegerOp::Not, 1),
            "cnot" => (IntegerOp::Cnot, 1),
            "shl" => (IntegerOp::ShiftLeft, 2),
            _ if ty.is_signed() => (IntegerOp::ShiftRightSigned, 2),
            _ => (IntegerOp::ShiftRightUnsigned, 2),
        };
        if !shift {
            return self.uniform(sized(op, ty), ty, sources);
        }
        let [d, a, b] = self.operands()?.clone();
        let (a, b) = (self.source(&a, ty)?, self.source(&b, U32)?);
        let d = self.destination(&d, ty)?;
        self.emit(sized(op, ty), [d, a, b, 0]);
        Ok(())
    }

    fn predicate_logic(&mut self) -> Decoded<()> {
        let (op, sources) = match self.ptx.opcode.as_str() {
            "and" => (LogicOp::And, 2),
            "or" => (LogicOp::Or, 2),
            "xor" => (LogicOp::Xor, 2),
            "not" => (LogicOp::Not, 1),
            other => return unsupported(&format!("`{other}` of predicates")),
        };
        self.uniform(Op::Logic(op), ScalarType::Pred, sources)
    }
}

/// The operation at the width of the type.
pub(super) fn sized(op: IntegerOp, ty: ScalarType) -> Op {
    match ty.size() {
        2 => Op::I16(op),
        4 => Op::I32(op),
        _ => Op::I64(op),
    }
}
