//! What each operation does to the lanes that are active; one file per group.

mod binary;
mod load;
mod predicate;
mod unary;
mod wide;

use super::error::TrapKind;
use super::memory::Memory;
use super::op::Op;
use super::warp::Warp;

/// A lane and what it did wrong.
pub(super) type LaneFault = (u32, TrapKind);

/// Executes one operation that is no control flow.
#[inline(always)]
pub(super) fn execute(
    op: &Op,
    warp: &mut Warp,
    memory: &mut Memory,
    parameters: &[u8],
    active: u32,
) -> Result<(), LaneFault> {
    match op {
        Op::Un32 { f, d, a } => warp.set_r(*d, active, unary::unary(*f, &warp.r(*a))),
        Op::Bin32 { f, d, a, b } => warp.set_r(*d, active, binary::binary(*f, &warp.r(*a), &warp.r(*b))),
        Op::Tern32 { f, d, a, b, c } => {
            warp.set_r(*d, active, binary::ternary(*f, &warp.r(*a), &warp.r(*b), &warp.r(*c)));
        }
        Op::Un64 { f, d, a } => warp.set_d(*d, active, wide::unary(*f, &warp.d(*a))),
        Op::Bin64 { f, d, a, b } => warp.set_d(*d, active, wide::binary(*f, &warp.d(*a), &warp.d(*b))),
        Op::Tern64 { f, d, a, b, c } => {
            warp.set_d(*d, active, wide::ternary(*f, &warp.d(*a), &warp.d(*b), &warp.d(*c)));
        }
        Op::Shift64 { f, d, a, b } => warp.set_d(*d, active, wide::shift(*f, &warp.d(*a), &warp.r(*b))),
        Op::Widen { f, d, a } => warp.set_d(*d, active, wide::widen(*f, &warp.r(*a))),
        Op::Narrow { f, d, a } => warp.set_r(*d, active, wide::narrow(*f, &warp.d(*a))),
        Op::MulWide { signed, d, a, b } => {
            warp.set_d(*d, active, wide::multiply(*signed, &warp.r(*a), &warp.r(*b), &[0; 32]));
        }
        Op::MadWide { signed, d, a, b, c } => {
            warp.set_d(*d, active, wide::multiply(*signed, &warp.r(*a), &warp.r(*b), &warp.d(*c)));
        }
        Op::Set32 { compare, reading, d, a, b } => {
            warp.set_p(*d, active, predicate::compare32(*compare, *reading, &warp.r(*a), &warp.r(*b)));
        }
        Op::Set64 { compare, reading, d, a, b } => {
            warp.set_p(*d, active, predicate::compare64(*compare, *reading, &warp.d(*a), &warp.d(*b)));
        }
        Op::Logic { f, d, a, b } => warp.set_p(*d, active, predicate::logic(*f, warp.p(*a), warp.p(*b))),
        Op::Select32 { d, a, b, p } => {
            let (a, b, p) = (warp.r(*a), warp.r(*b), warp.p(*p));
            warp.set_r(*d, active, std::array::from_fn(|i| if p >> i & 1 == 1 { a[i] } else { b[i] }));
        }
        Op::Select64 { d, a, b, p } => {
            let (a, b, p) = (warp.d(*a), warp.d(*b), warp.p(*p));
            warp.set_d(*d, active, std::array::from_fn(|i| if p >> i & 1 == 1 { a[i] } else { b[i] }));
        }
        Op::LoadParam { cells, offset, width } => {
            load::parameter(warp, active, cells, *offset, *width, parameters);
        }
        Op::Load { region, cells, address, offset, width, signed } => {
            let access = load::Access { region: *region, address: *address, offset: *offset, width: *width };
            load::load(warp, memory, active, cells, access, *signed)?;
        }
        Op::Store { region, cells, address, offset, width } => {
            let access = load::Access { region: *region, address: *address, offset: *offset, width: *width };
            load::store(warp, memory, active, cells, access)?;
        }
        Op::Branch { .. } | Op::Exit | Op::Barrier | Op::Trap | Op::Nothing => {}
    }
    Ok(())
}
