//! A launch against the entry it names: sizes and arguments that do not fit are refused before anything runs.

use std::fmt::Display;

use super::error::TrapKind;
use super::memory;
use super::program::Program;
use crate::buffer::BufferSet;
use crate::launch::{Argument, Launch};

/// Threads of a block and bytes of its shared memory at most, as on current devices.
const MAX_THREADS: u64 = 1024;
const MAX_SHARED: usize = 227 * 1024;

fn bad(program: &Program, what: &str, expected: impl Display, found: impl Display) -> TrapKind {
    TrapKind::BadLaunch {
        entry: program.entry().to_owned(),
        what: what.to_owned(),
        expected: expected.to_string(),
        found: found.to_string(),
    }
}

/// Checks geometry and shared memory.
pub(super) fn check(program: &Program, launch: &Launch) -> Result<(), TrapKind> {
    if launch.entry != program.entry() {
        return Err(bad(program, "entry", program.entry(), &launch.entry));
    }
    if launch.grid.contains(&0) || launch.block.contains(&0) {
        let found = format!("grid {:?}, block {:?}", launch.grid, launch.block);
        return Err(bad(program, "geometry", "no 0", found));
    }
    let threads: u64 = launch.block.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
    let most = program.max_threads.map_or(MAX_THREADS, |m| m.iter().map(|&n| u64::from(n)).product());
    if threads > most.min(MAX_THREADS) {
        return Err(bad(
            program,
            "threads of a block",
            format!("at most {}", most.min(MAX_THREADS)),
            threads,
        ));
    }
    if let Some(required) = program.required_threads.filter(|r| *r != launch.block) {
        return Err(bad(program, "block", format!("{required:?}"), format!("{:?}", launch.block)));
    }
    if launch.shared_bytes > 0 && !program.dynamic_shared {
        return Err(bad(program, "dynamic shared memory", "none", launch.shared_bytes));
    }
    let shared = program.shared_bytes + launch.shared_bytes as usize;
    if shared > MAX_SHARED {
        return Err(bad(program, "shared memory", format!("at most {MAX_SHARED} bytes"), shared));
    }
    Ok(())
}

/// The parameter block.
pub(super) fn parameters(
    program: &Program,
    launch: &Launch,
    buffers: &BufferSet,
) -> Result<Vec<u8>, TrapKind> {
    let (wanted, given) = (program.parameters.len(), launch.arguments.len());
    if wanted != given {
        return Err(bad(program, "number of arguments", wanted, given));
    }
    let mut block = vec![0; program.parameter_bytes];
    for ((parameter, offset), argument) in program.parameters.iter().zip(&launch.arguments) {
        let bytes = bytes(argument, buffers)
            .ok_or_else(|| bad(program, &parameter.name, "a buffer of the set", "another"))?;
        if bytes.len() != parameter.size {
            let found = format!("{} ({argument:?})", bytes.len());
            return Err(bad(program, &parameter.name, format!("{} bytes", parameter.size), found));
        }
        block[*offset..offset + bytes.len()].copy_from_slice(&bytes);
    }
    Ok(block)
}

fn bytes(argument: &Argument, buffers: &BufferSet) -> Option<Vec<u8>> {
    Some(match *argument {
        Argument::Buffer(id) if id.0 < buffers.as_slice().len() => {
            memory::base_address(id.0).to_le_bytes().to_vec()
        }
        Argument::Buffer(_) => return None,
        Argument::Null => vec![0; 8],
        Argument::I32(value) => value.to_le_bytes().to_vec(),
        Argument::I64(value) => value.to_le_bytes().to_vec(),
        Argument::F32(value) => value.to_le_bytes().to_vec(),
    })
}
