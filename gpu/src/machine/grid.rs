//! A whole launch: checking it, mapping memory, running the blocks in order, and turning a fault into a trap; one block is left to `block`.

use super::block::{Block, Crash};
use super::memory::{Allocation, Memory};
use super::program::Program;
use super::race::Shadow;
use super::registers::LANES;
use super::space::{MOST_BUFFERS, global_address};
use super::step::Counts;
use super::trap::{LaunchError, Site, Trap, TrapKind};
use super::{Machine, Statistics};
use crate::buffer::{Buffer, BufferSet, Role};
use crate::launch::{Argument, Launch};
use crate::ptx::{Parameter, ScalarType, Space, Variable};

/// Most bytes of shared memory of a block, static and dynamic: that of compute capability 9.0.
const MOST_SHARED: usize = 227 * 1024;
const MOST_THREADS: u32 = 1024;

pub(super) fn run(
    machine: &Machine,
    program: &Program,
    launch: &Launch,
    buffers: &mut BufferSet,
) -> Result<Statistics, Trap> {
    let refused = |error| Trap { entry: program.entry.clone(), kind: TrapKind::BadLaunch(error), site: None };
    check_shape(program, launch).map_err(refused)?;
    let parameters = parameters(program, launch, buffers).map_err(refused)?;
    check_buffers(buffers).map_err(refused)?;
    let mut memory = map(machine, program, launch, buffers);
    let outcome = run_blocks(machine, program, launch, &parameters, &mut memory);
    give_back(&mut memory, buffers);
    outcome
}

fn run_blocks(
    machine: &Machine,
    program: &Program,
    launch: &Launch,
    parameters: &[Vec<u8>],
    memory: &mut Memory,
) -> Result<Statistics, Trap> {
    let mut counts = Counts::default();
    let mut block = Block::new(program, launch, parameters, machine.instruction_budget);
    let mut blocks = 0;
    for z in 0..launch.grid[2] {
        for y in 0..launch.grid[1] {
            for x in 0..launch.grid[0] {
                let ran = block.run([x, y, z], memory, &mut counts);
                ran.map_err(|crash| trap(program, &block, [x, y, z], crash))?;
                blocks += 1;
            }
        }
    }
    Ok(Statistics { blocks, warp_instructions: counts.warp, lane_instructions: counts.lanes })
}

fn trap(program: &Program, block: &Block<'_>, place: [u32; 3], Crash { warp, stop }: Crash) -> Trap {
    let kind = match stop.kind {
        TrapKind::DataRace { direction, place, other, thread } => {
            TrapKind::DataRace { direction, place, other, thread: block.thread(thread[0] as usize) }
        }
        kind => kind,
    };
    let site = program.origin_of(stop.pc).map(|origin| Site {
        source: program.source(origin),
        ptx_name: program.ptx_name.clone(),
        ptx_line: origin.line,
        instruction: origin.text.clone(),
        block: place,
        thread: block.thread(warp * LANES + stop.lane),
    });
    Trap { entry: program.entry.clone(), kind, site: site.map(Box::new) }
}

fn check_shape(program: &Program, launch: &Launch) -> Result<(), LaunchError> {
    if launch.entry != program.entry {
        return Err(LaunchError::Entry { expected: program.entry.clone(), found: launch.entry.clone() });
    }
    let [gx, gy, gz] = launch.grid;
    if [gx, gy, gz].contains(&0) || gx > i32::MAX.cast_unsigned() || gy > 65535 || gz > 65535 {
        return Err(LaunchError::Grid { grid: launch.grid });
    }
    check_block(program, launch.block)?;
    let fixed: usize = program.shared.iter().map(|v| v.size).sum();
    let found = fixed.saturating_add(launch.shared_bytes as usize);
    if found > MOST_SHARED {
        return Err(LaunchError::Shared { found, limit: MOST_SHARED });
    }
    Ok(())
}

fn check_block(program: &Program, block: [u32; 3]) -> Result<(), LaunchError> {
    if let Some(required) = program.required_threads.filter(|&required| required != block) {
        return Err(LaunchError::RequiredBlock { block, required });
    }
    let product =
        |extents: [u32; 3]| extents.iter().try_fold(1_u32, |p, &e| p.checked_mul(e)).unwrap_or(u32::MAX);
    let limit = program.max_threads.map_or(MOST_THREADS, |most| product(most).min(MOST_THREADS));
    let depth = block[2] > 64;
    if product(block) == 0 || product(block) > limit || depth {
        return Err(LaunchError::Block { block, limit });
    }
    Ok(())
}

fn parameters(program: &Program, launch: &Launch, buffers: &BufferSet) -> Result<Vec<Vec<u8>>, LaunchError> {
    let (expected, found) = (program.parameters.len(), launch.arguments.len());
    if expected != found {
        return Err(LaunchError::ArgumentCount { expected, found });
    }
    let pairs = program.parameters.iter().zip(&launch.arguments).enumerate();
    pairs.map(|(index, (parameter, argument))| bytes(index, parameter, *argument, buffers)).collect()
}

fn bytes(
    index: usize,
    parameter: &Parameter,
    argument: Argument,
    buffers: &BufferSet,
) -> Result<Vec<u8>, LaunchError> {
    use ScalarType::{B32, B64, F32, S32, S64, U32, U64};
    let fits = !parameter.array
        && match argument {
            Argument::Buffer(_) | Argument::Null => matches!(parameter.ty, U64 | B64),
            Argument::I64(_) => matches!(parameter.ty, U64 | S64 | B64),
            Argument::I32(_) => matches!(parameter.ty, U32 | S32 | B32),
            Argument::F32(_) => matches!(parameter.ty, F32 | B32),
        };
    if !fits {
        return Err(LaunchError::Argument {
            index,
            parameter: parameter.name.clone(),
            ty: parameter.ty.name(),
            size: parameter.size,
            found: format!("{argument:?}"),
        });
    }
    let count = buffers.as_slice().len();
    Ok(match argument {
        Argument::Buffer(id) if id.0 >= count => {
            return Err(LaunchError::NoBuffer { index, buffer: id.0, count });
        }
        Argument::Buffer(id) => global_address(id.0).to_le_bytes().to_vec(),
        Argument::Null => vec![0; 8],
        Argument::I32(value) => value.to_le_bytes().to_vec(),
        Argument::I64(value) => value.to_le_bytes().to_vec(),
        Argument::F32(value) => value.to_le_bytes().to_vec(),
    })
}

fn check_buffers(buffers: &BufferSet) -> Result<(), LaunchError> {
    for (index, buffer) in buffers.as_slice().iter().enumerate() {
        let why = if index >= MOST_BUFFERS {
            "there are more than 65536"
        } else if buffer.bytes.len() != buffer.written.len() {
            "it has not one flag a byte"
        } else {
            continue;
        };
        return Err(LaunchError::Buffer { name: buffer.name.clone(), why });
    }
    Ok(())
}

/// The buffers' contents move into the machine and come back after the run.
fn map(machine: &Machine, program: &Program, launch: &Launch, buffers: &mut BufferSet) -> Memory {
    let warps = (launch.block.iter().product::<u32>() as usize).div_ceil(LANES);
    let size = |v: &Variable| if v.dynamic { launch.shared_bytes as usize } else { v.size };
    let shared: Vec<_> = program.shared.iter().map(|v| fresh(&v.name, size(v))).collect();
    let local = program.local.iter().map(|v| fresh(&v.name, v.size * LANES));
    let local: Vec<_> = local.collect();
    let races = machine.checks.races;
    let shadow = |allocation: &Allocation| Shadow::new(if races { allocation.bytes.len() } else { 0 });
    Memory {
        buffers: buffers.as_mut_slice().iter_mut().map(take).collect(),
        variables: program.global.iter().map(variable).collect(),
        shadows: shared.iter().map(shadow).collect(),
        shared,
        local: (0..warps).flat_map(|_| local.iter().cloned()).collect(),
        check_written: machine.checks.uninitialised,
        check_races: races,
    }
}

fn take(buffer: &mut Buffer) -> Allocation {
    let bytes = std::mem::take(&mut buffer.bytes);
    let written = std::mem::take(&mut buffer.written);
    let complete = !written.contains(&false);
    Allocation { name: buffer.name.clone(), bytes, written, complete, read_only: buffer.role == Role::Input }
}

fn give_back(memory: &mut Memory, buffers: &mut BufferSet) {
    for (buffer, allocation) in buffers.as_mut_slice().iter_mut().zip(&mut memory.buffers) {
        buffer.bytes = std::mem::take(&mut allocation.bytes);
        buffer.written = std::mem::take(&mut allocation.written);
    }
}

fn fresh(name: &str, size: usize) -> Allocation {
    let name = name.to_owned();
    Allocation { name, bytes: vec![0; size], written: vec![false; size], complete: false, read_only: false }
}

/// Module variables start from their initial values, or zeros, at every launch.
fn variable(variable: &Variable) -> Allocation {
    let mut allocation = fresh(&variable.name, variable.size);
    allocation.written.fill(true);
    allocation.complete = true;
    allocation.read_only = variable.space == Space::Const;
    for (byte, initial) in allocation.bytes.iter_mut().zip(&variable.initial) {
        *byte = *initial;
    }
    allocation
}

impl Memory {
    /// Shared and local memory hold nothing when a block starts.
    pub(super) fn start_block(&mut self) {
        for allocation in self.shared.iter_mut().chain(&mut self.local) {
            allocation.bytes.fill(crate::buffer::POISON);
            allocation.written.fill(false);
        }
        self.shadows.iter_mut().for_each(Shadow::forget);
    }
}
