//! The body of an entry: scopes, register declarations, labels and statements; operands have their own file.

use std::collections::HashMap;

use super::cursor::Cursor;
use super::error::{Failure, PtxErrorKind};
use super::module::{Entry, Guard, Instruction, Location, Operand, Position, Register, RegisterId};
use super::operand;
use super::types::{ScalarType, Space};
use super::variable;

/// Names of one `{ }`.
#[derive(Default)]
struct Scope {
    registers: HashMap<String, RegisterId>,
    /// `%r<44>`: prefix, count, type. Members become registers when they are first used.
    ranges: Vec<(String, u64, ScalarType)>,
    /// Single names that were declared, used or not.
    declared: HashMap<String, ScalarType>,
    labels: HashMap<String, usize>,
    pending: Vec<Pending>,
}

/// A use of a label that may be defined later, or in an outer scope.
struct Pending {
    line: u32,
    instruction: usize,
    operand: usize,
    name: String,
}

pub(super) struct Body<'e> {
    entry: &'e mut Entry,
    scopes: Vec<Scope>,
    location: Option<Location>,
}

pub(super) fn body(entry: &mut Entry, cursor: &mut Cursor<'_>) -> Result<(), Failure> {
    cursor.mark("{")?;
    let mut body = Body { entry, scopes: vec![Scope::default()], location: None };
    while !body.scopes.is_empty() {
        body.item(cursor)?;
    }
    Ok(())
}

impl Body<'_> {
    fn item(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Failure> {
        if cursor.take_mark("{") {
            self.scopes.push(Scope::default());
            return Ok(());
        }
        if cursor.take_mark("}") {
            return self.close();
        }
        if cursor.take_mark(";") {
            return Ok(());
        }
        match cursor.peek_word() {
            Some(word) if word.starts_with('.') => self.directive(word, cursor),
            Some(word) if cursor.second_is(":") => {
                self.label(word, cursor.line())?;
                cursor.advance();
                cursor.mark(":")
            }
            _ => self.instruction(cursor),
        }
    }

    fn directive(&mut self, word: &str, cursor: &mut Cursor<'_>) -> Result<(), Failure> {
        let here = *cursor;
        cursor.advance();
        match word {
            ".reg" => self.registers(cursor),
            ".loc" => {
                self.location = Some(location(cursor)?);
                Ok(())
            }
            ".shared" | ".local" | ".global" | ".const" => {
                let space = Space::from_name(word.trim_start_matches('.')).unwrap_or(Space::Local);
                variable::declare(cursor, space, &mut self.entry.variables)
            }
            ".pragma" => {
                cursor.string()?;
                cursor.mark(";")
            }
            _ => here.fail(PtxErrorKind::Unsupported { what: format!("directive `{word}` in a body") }),
        }
    }

    fn scope(&mut self) -> Option<&mut Scope> {
        self.scopes.last_mut()
    }

    fn registers(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Failure> {
        let here = *cursor;
        let word = cursor.word("a register type")?;
        let ty = word.strip_prefix('.').and_then(ScalarType::from_name);
        let Some(ty) = ty else {
            let vector = matches!(word, ".v2" | ".v4");
            let kind = PtxErrorKind::Unsupported { what: format!("vector register `.reg {word}`") };
            return if vector { here.fail(kind) } else { Err(here.unexpected("a register type")) };
        };
        loop {
            self.register(cursor, ty)?;
            if !cursor.take_mark(",") {
                return cursor.mark(";");
            }
        }
    }

    fn register(&mut self, cursor: &mut Cursor<'_>, ty: ScalarType) -> Result<(), Failure> {
        let here = *cursor;
        let name = cursor.word("a register name")?.to_owned();
        let count = if cursor.take_mark("<") {
            let count = cursor.integer()?;
            cursor.mark(">")?;
            Some(count)
        } else {
            None
        };
        let Some(scope) = self.scope() else { return Err(here.unexpected("an open scope")) };
        let twice = match count {
            Some(_) => scope.ranges.iter().any(|(prefix, _, _)| *prefix == name),
            None => scope.declared.contains_key(&name),
        };
        if twice {
            return here.fail(PtxErrorKind::Duplicate { what: "register", name });
        }
        match count {
            Some(count) => scope.ranges.push((name, count, ty)),
            None => drop(scope.declared.insert(name, ty)),
        }
        Ok(())
    }

    /// The register of this name, innermost scope first.
    pub(super) fn find_register(&mut self, name: &str) -> Option<RegisterId> {
        for scope in self.scopes.iter_mut().rev() {
            if let Some(id) = scope.registers.get(name) {
                return Some(*id);
            }
            if let Some(ty) = scope.declared.get(name).copied().or_else(|| in_ranges(&scope.ranges, name)) {
                let id = RegisterId(self.entry.registers.len());
                self.entry.registers.push(Register { name: name.to_owned(), ty });
                scope.registers.insert(name.to_owned(), id);
                return Some(id);
            }
        }
        None
    }

    fn label(&mut self, name: &str, line: u32) -> Result<(), Failure> {
        let at = self.entry.instructions.len();
        let before = self.scope().and_then(|scope| scope.labels.insert(name.to_owned(), at));
        match before {
            None => Ok(()),
            Some(_) => Err((line, PtxErrorKind::Duplicate { what: "label", name: name.to_owned() })),
        }
    }

    fn close(&mut self) -> Result<(), Failure> {
        let Some(scope) = self.scopes.pop() else { return Ok(()) };
        for pending in scope.pending {
            if let Some(&target) = scope.labels.get(&pending.name) {
                self.resolve(&pending, target);
            } else if let Some(outer) = self.scope() {
                outer.pending.push(pending);
            } else {
                return Err((pending.line, PtxErrorKind::Unknown { what: "label", name: pending.name }));
            }
        }
        Ok(())
    }

    fn resolve(&mut self, pending: &Pending, target: usize) {
        let instruction = self.entry.instructions.get_mut(pending.instruction);
        if let Some(operand) = instruction.and_then(|i| i.operands.get_mut(pending.operand)) {
            *operand = Operand::Label(target);
        }
    }

    fn instruction(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Failure> {
        let (line, start) = (cursor.line(), cursor.position());
        let guard = self.guard(cursor)?;
        let here = *cursor;
        let word = cursor.word("an instruction")?;
        let mut parts = word.split('.').map(str::to_owned);
        let opcode = parts.next().unwrap_or_default();
        if opcode == "call" {
            return here.fail(PtxErrorKind::Unsupported { what: "instruction `call`".to_owned() });
        }
        let mut operands = Vec::new();
        while !cursor.peek_mark(";") {
            if !operands.is_empty() {
                cursor.mark(",")?;
            }
            let operand = if opcode == "bra" {
                self.target(cursor, operands.len())?
            } else {
                operand::operand(self, cursor)?
            };
            operands.push(operand);
        }
        let text = cursor.text_from(start);
        cursor.mark(";")?;
        let modifiers = parts.collect();
        let location = self.location;
        self.entry.instructions.push(Instruction {
            line,
            location,
            guard,
            opcode,
            modifiers,
            operands,
            text,
        });
        Ok(())
    }

    fn target(&mut self, cursor: &mut Cursor<'_>, operand: usize) -> Result<Operand, Failure> {
        let line = cursor.line();
        let name = cursor.word("a label")?.to_owned();
        let instruction = self.entry.instructions.len();
        if let Some(scope) = self.scope() {
            scope.pending.push(Pending { line, instruction, operand, name });
        }
        Ok(Operand::Label(instruction))
    }

    fn guard(&mut self, cursor: &mut Cursor<'_>) -> Result<Option<Guard>, Failure> {
        if !cursor.take_mark("@") {
            return Ok(None);
        }
        let negated = cursor.take_mark("!");
        let here = *cursor;
        let name = cursor.word("a predicate")?;
        let unknown = || (here.line(), PtxErrorKind::Unknown { what: "register", name: name.to_owned() });
        let register = self.find_register(name).ok_or_else(unknown)?;
        Ok(Some(Guard { register, negated }))
    }
}

fn in_ranges(ranges: &[(String, u64, ScalarType)], name: &str) -> Option<ScalarType> {
    ranges.iter().find_map(|(prefix, count, ty)| {
        let digits = name.strip_prefix(prefix.as_str())?;
        let plain = digits == "0" || !digits.starts_with('0');
        let index: u64 = digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())??;
        (plain && index < *count).then_some(*ty)
    })
}

/// `1 63 5, function_name $L__info_string0, inlined_at 1 148 1`, from after `.loc`.
pub(super) fn location(cursor: &mut Cursor<'_>) -> Result<Location, Failure> {
    let position = position(cursor)?;
    let mut inlined_at = None;
    while cursor.take_mark(",") {
        let here = *cursor;
        match cursor.word("`function_name` or `inlined_at`")? {
            "function_name" => {
                cursor.word("a label")?;
                if cursor.take_mark("+") {
                    cursor.integer()?;
                }
            }
            "inlined_at" => inlined_at = Some(self::position(cursor)?),
            _ => return Err(here.unexpected("`function_name` or `inlined_at`")),
        }
    }
    Ok(Location { position, inlined_at })
}

fn position(cursor: &mut Cursor<'_>) -> Result<Position, Failure> {
    Ok(Position { file: cursor.small()?, line: cursor.small()?, column: cursor.small()? })
}
