//! Module-level PTX: header, files, sections, entry signatures; bodies and variables have their own files.

use super::body;
use super::cursor::Cursor;
use super::error::{Failure, PtxErrorKind};
use super::module::{Entry, Module, Parameter};
use super::types::{ScalarType, Space};
use super::variable;

pub(super) fn module(source_name: &str, mut cursor: Cursor<'_>) -> Result<Module, Failure> {
    let mut module = Module {
        source_name: source_name.to_owned(),
        version: (0, 0),
        target: String::new(),
        address_size: 64,
        variables: Vec::new(),
        files: Vec::new(),
        kernels: Vec::new(),
    };
    while !cursor.is_end() {
        item(&mut module, &mut cursor)?;
    }
    if module.version == (0, 0) {
        return Err(cursor.unexpected("a `.version` directive"));
    }
    Ok(module)
}

fn item(module: &mut Module, cursor: &mut Cursor<'_>) -> Result<(), Failure> {
    let start = *cursor;
    let word = cursor.word("a directive")?;
    match word {
        ".version" => module.version = version(cursor)?,
        ".target" => module.target = target(cursor)?,
        ".address_size" => module.address_size = address_size(cursor)?,
        ".file" => module.files.push(file(cursor)?),
        ".loc" => drop(body::location(cursor)?),
        ".section" => section(cursor)?,
        ".pragma" => {
            cursor.string()?;
            cursor.mark(";")?;
        }
        ".visible" | ".extern" | ".weak" | ".common" => {}
        ".entry" => {
            let entry = entry(cursor)?;
            if module.entry(&entry.name).is_some() {
                return Err((entry.line, PtxErrorKind::Duplicate { what: "entry", name: entry.name }));
            }
            module.kernels.push(entry);
        }
        ".global" | ".const" | ".shared" => {
            let space = Space::from_name(word.trim_start_matches('.')).unwrap_or(Space::Global);
            variable::declare(cursor, space, &mut module.variables)?;
        }
        ".func" | ".alias" | ".reg" | ".tex" => {
            return start.fail(PtxErrorKind::Unsupported { what: format!("`{word}` at module level") });
        }
        _ => return Err(start.unexpected("a directive")),
    }
    Ok(())
}

fn version(cursor: &mut Cursor<'_>) -> Result<(u32, u32), Failure> {
    let here = *cursor;
    let text = cursor.raw();
    let parts = text.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    let version: (u32, u32) = parts.ok_or_else(|| here.unexpected("a version such as 8.5"))?;
    if (7..=9).contains(&version.0) {
        Ok(version)
    } else {
        here.fail(PtxErrorKind::Unsupported { what: format!("PTX version {text} (7.0 to 9.x are)") })
    }
}

fn target(cursor: &mut Cursor<'_>) -> Result<String, Failure> {
    let name = cursor.word("a target such as sm_80")?.to_owned();
    while cursor.take_mark(",") {
        cursor.word("a target option")?;
    }
    Ok(name)
}

fn address_size(cursor: &mut Cursor<'_>) -> Result<u32, Failure> {
    let here = *cursor;
    match cursor.small()? {
        64 => Ok(64),
        other => here.fail(PtxErrorKind::Unsupported { what: format!("address size {other}") }),
    }
}

fn file(cursor: &mut Cursor<'_>) -> Result<(u32, String), Failure> {
    let index = cursor.small()?;
    let name = cursor.string()?.to_owned();
    while cursor.take_mark(",") {
        cursor.integer()?;
    }
    Ok((index, name))
}

/// Debug data: balanced braces with anything between them.
fn section(cursor: &mut Cursor<'_>) -> Result<(), Failure> {
    cursor.word("a section name")?;
    cursor.mark("{")?;
    let mut depth = 1_usize;
    while depth > 0 {
        if cursor.is_end() {
            return Err(cursor.unexpected("`}`"));
        }
        depth += usize::from(cursor.peek_mark("{"));
        depth -= usize::from(cursor.peek_mark("}"));
        cursor.advance();
    }
    Ok(())
}

fn entry(cursor: &mut Cursor<'_>) -> Result<Entry, Failure> {
    let line = cursor.line();
    let name = cursor.word("the name of an entry")?.to_owned();
    let mut entry = Entry {
        name,
        line,
        parameters: Vec::new(),
        registers: Vec::new(),
        variables: Vec::new(),
        instructions: Vec::new(),
        max_threads: None,
        required_threads: None,
    };
    if cursor.take_mark("(") && !cursor.take_mark(")") {
        loop {
            entry.parameters.push(parameter(cursor)?);
            if !cursor.take_mark(",") {
                break;
            }
        }
        cursor.mark(")")?;
    }
    while !cursor.peek_mark("{") {
        performance(&mut entry, cursor)?;
    }
    body::body(&mut entry, cursor)?;
    Ok(entry)
}

/// Directives between the parameter list and the body; only the thread counts bind a launch.
fn performance(entry: &mut Entry, cursor: &mut Cursor<'_>) -> Result<(), Failure> {
    let here = *cursor;
    match cursor.word("`{` or a performance directive")? {
        ".maxntid" => entry.max_threads = Some(extents(cursor)?),
        ".reqntid" => entry.required_threads = Some(extents(cursor)?),
        ".minnctapersm" | ".maxnreg" | ".maxnctapersm" => drop(cursor.small()?),
        ".noreturn" => {}
        ".pragma" => {
            cursor.string()?;
            cursor.mark(";")?;
        }
        word if word.starts_with('.') => {
            return here.fail(PtxErrorKind::Unsupported { what: format!("directive `{word}` of an entry") });
        }
        _ => return Err(here.unexpected("`{` or a performance directive")),
    }
    Ok(())
}

fn extents(cursor: &mut Cursor<'_>) -> Result<[u32; 3], Failure> {
    let mut extents = [1; 3];
    for (i, extent) in extents.iter_mut().enumerate() {
        if i == 0 || cursor.take_mark(",") {
            *extent = cursor.small()?;
        }
    }
    Ok(extents)
}

fn parameter(cursor: &mut Cursor<'_>) -> Result<Parameter, Failure> {
    if !cursor.take_word(".param") {
        return Err(cursor.unexpected("`.param`"));
    }
    let mut ty = None;
    loop {
        let here = *cursor;
        let word = cursor.word("a parameter type or name")?;
        match word {
            ".align" => drop(cursor.integer()?),
            ".ptr" | ".global" | ".const" | ".shared" | ".local" => {}
            _ if word.starts_with('.') => {
                let found = ScalarType::from_name(word.trim_start_matches('.'));
                ty = Some(found.ok_or_else(|| here.unexpected("a parameter type"))?);
            }
            name => {
                let ty = ty.ok_or_else(|| here.unexpected("a parameter type"))?;
                let extent = variable::extent(cursor, name)?;
                let size = extent.unwrap_or(1).checked_mul(ty.size());
                let size = size.ok_or_else(|| (here.line(), PtxErrorKind::Size { name: name.to_owned() }))?;
                return Ok(Parameter { name: name.to_owned(), ty, size, array: extent.is_some() });
            }
        }
    }
}
