//! The RG-LRU kernels as data; what the rows mean is left to the catalogue.

use super::{
    Complement, Contract, Declaration, Element, Entry, Extent, Family, Grid, Kernel, Norm, Parameter, Pass,
    Tensor,
};
use crate::artifact::RGLRU_SERIAL;
use crate::buffer::{Dtype, Role};

/// Must equal `BLOCK` and `CHUNK` of the source; a test reads them there.
pub(super) const BLOCK: u32 = 64;
pub(super) const CHUNK: usize = 32;

const fn tensor(name: &'static str, element: Element, extent: Extent, role: Role) -> Tensor {
    Tensor { name, element, extent, role, optional: false }
}

const fn large(name: &'static str, role: Role) -> Tensor {
    tensor(name, Element::Storage, Extent::Blw, role)
}

const A_PARAM: Tensor = tensor("a_param", Element::F32, Extent::W, Role::Input);
const SEGMENT_POS: Tensor = tensor("segment_pos", Element::I32, Extent::Bl, Role::Input);
const H0: Tensor = Tensor { optional: true, ..tensor("h0", Element::F32, Extent::Bw, Role::Input) };

const FORWARD_TENSORS: &[Tensor] = &[
    large("x", Role::Input),
    large("u", Role::Input),
    large("v", Role::Input),
    A_PARAM,
    SEGMENT_POS,
    H0,
    large("y", Role::Output),
    tensor("last", Element::F32, Extent::Bw, Role::Output),
];

const BACKWARD_TENSORS: &[Tensor] = &[
    large("x", Role::Input),
    large("u", Role::Input),
    large("v", Role::Input),
    A_PARAM,
    SEGMENT_POS,
    H0,
    large("dy", Role::Input),
    tensor("dlast", Element::F32, Extent::Bw, Role::Input),
    large("dx", Role::Output),
    large("du", Role::Output),
    large("dv", Role::Output),
    tensor("da_param", Element::F32, Extent::W, Role::Output),
    tensor("dh0", Element::F32, Extent::Bw, Role::Output),
    tensor("checkpoints", Element::F32, Extent::ChunkBw(CHUNK), Role::Scratch),
    tensor("da_partial", Element::F32, Extent::Bw, Role::Scratch),
];

const FORWARD_PARAMETERS: &[Parameter] = &[
    Parameter::Tensor("x"),
    Parameter::Tensor("u"),
    Parameter::Tensor("v"),
    Parameter::Tensor("a_param"),
    Parameter::Tensor("segment_pos"),
    Parameter::Tensor("h0"),
    Parameter::Tensor("y"),
    Parameter::Tensor("last"),
    Parameter::L,
    Parameter::W,
];

const BACKWARD_PARAMETERS: &[Parameter] = &[
    Parameter::Tensor("x"),
    Parameter::Tensor("u"),
    Parameter::Tensor("v"),
    Parameter::Tensor("a_param"),
    Parameter::Tensor("segment_pos"),
    Parameter::Tensor("h0"),
    Parameter::Tensor("dy"),
    Parameter::Tensor("dlast"),
    Parameter::Tensor("dx"),
    Parameter::Tensor("du"),
    Parameter::Tensor("dv"),
    Parameter::Tensor("dh0"),
    Parameter::Tensor("checkpoints"),
    Parameter::Tensor("da_partial"),
    Parameter::B,
    Parameter::L,
    Parameter::W,
];

const REDUCE: Entry = Entry {
    name: "rglru_backward_serial_reduce",
    parameters: &[
        Parameter::Tensor("a_param"),
        Parameter::Tensor("da_partial"),
        Parameter::Tensor("da_param"),
        Parameter::B,
        Parameter::W,
    ],
    grid: Grid::Tiles,
    block: BLOCK,
};

const fn rows(name: &'static str, parameters: &'static [Parameter]) -> Entry {
    Entry { name, parameters, grid: Grid::RowsByTiles, block: BLOCK }
}

const fn serial(
    name: &'static str,
    pass: Pass,
    storage: Dtype,
    tensors: &'static [Tensor],
    entries: &'static [Entry],
) -> Kernel {
    Kernel {
        name,
        family: Family::Rglru,
        pass,
        algorithm: "serial",
        storage,
        contract: Contract::Canonical,
        declaration: Declaration {
            carry: Dtype::F32,
            complement: Complement::Quotient,
            norm: Norm::Expm1,
            chunk: CHUNK,
        },
        deterministic: true,
        artifact: RGLRU_SERIAL,
        tensors,
        entries,
    }
}

pub(super) static FORWARD_F32: Kernel = serial(
    "rglru_forward_serial_f32",
    Pass::Forward,
    Dtype::F32,
    FORWARD_TENSORS,
    &[rows("rglru_forward_serial_f32", FORWARD_PARAMETERS)],
);

pub(super) static FORWARD_BF16: Kernel = serial(
    "rglru_forward_serial_bf16",
    Pass::Forward,
    Dtype::Bf16,
    FORWARD_TENSORS,
    &[rows("rglru_forward_serial_bf16", FORWARD_PARAMETERS)],
);

pub(super) static BACKWARD_F32: Kernel = serial(
    "rglru_backward_serial_f32",
    Pass::Backward,
    Dtype::F32,
    BACKWARD_TENSORS,
    &[rows("rglru_backward_serial_f32", BACKWARD_PARAMETERS), REDUCE],
);

pub(super) static BACKWARD_BF16: Kernel = serial(
    "rglru_backward_serial_bf16",
    Pass::Backward,
    Dtype::Bf16,
    BACKWARD_TENSORS,
    &[rows("rglru_backward_serial_bf16", BACKWARD_PARAMETERS), REDUCE],
);
