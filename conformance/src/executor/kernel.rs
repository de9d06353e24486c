//! Between a case and the buffers of a catalogue kernel, both ways; running them is left to the two machines.

use half::bf16;
use ndarray::Array3;
use plumbline_fixtures::Kind;
use plumbline_gpu::buffer::{Buffer, BufferSet, Dtype};
use plumbline_gpu::catalog::{Dimensions, Kernel, Pipeline};
use plumbline_reference::rglru::Gates;
use plumbline_reference::{Problem, Quantity};

use super::{Outcome, Output};
use crate::case::Case;
use crate::measure::Computed;
use crate::storage::Storage;

pub(super) fn storage(dtype: Dtype) -> Storage {
    match dtype {
        Dtype::Bf16 => Storage::Bf16,
        Dtype::F32 | Dtype::I32 => Storage::F32,
    }
}

pub(super) fn assemble(kernel: &Kernel, case: &Case) -> Result<Pipeline, Outcome> {
    let shape = case.problem.shape();
    let dimensions = Dimensions { batch: shape.batch, length: shape.length, width: shape.width };
    let inputs = inputs(kernel, case)?;
    kernel.assemble(dimensions, inputs).map_err(|error| Outcome::Unsupported(error.to_string()))
}

fn inputs(kernel: &Kernel, case: &Case) -> Result<Vec<Buffer>, Outcome> {
    let unsupported = || {
        let (takes, found) = (Kind::RglruLogits, Kind::of(&case.problem));
        Outcome::Unsupported(format!("{} takes cases of kind {takes}, this one is {found}", kernel.name))
    };
    let Problem::Rglru(problem) = &case.problem else { return Err(unsupported()) };
    let inputs = problem.inputs();
    let Gates::Logits { u, v } = &inputs.gates else { return Err(unsupported()) };
    let large = |name: &str, values: &Array3<f64>| floats(name, kernel.storage, values.iter());
    let small = |name: &str, values: &mut dyn Iterator<Item = &f64>| floats(name, Dtype::F32, values);
    let positions: Vec<i32> = case.segment_pos.iter().copied().collect();
    let mut buffers = vec![
        large("x", &inputs.x),
        large("u", u),
        large("v", v),
        small("a_param", &mut inputs.a_param.iter()),
        Buffer::input_i32("segment_pos", &positions),
        large("dy", &inputs.dy),
        small("dlast", &mut inputs.dlast.iter()),
    ];
    buffers.extend(inputs.h0.as_ref().map(|h0| small("h0", &mut h0.iter())));
    Ok(buffers)
}

/// The case was rounded when it was built, so nothing is lost here.
fn floats<'a>(name: &str, dtype: Dtype, values: impl Iterator<Item = &'a f64>) -> Buffer {
    if dtype == Dtype::Bf16 {
        Buffer::input_bf16(name, &values.map(|&v| bf16::from_f64(v)).collect::<Vec<_>>())
    } else {
        #[expect(clippy::cast_possible_truncation, reason = "the case holds f32 values")]
        Buffer::input_f32(name, &values.map(|&v| v as f32).collect::<Vec<_>>())
    }
}

pub(super) fn outputs(quantities: &[Quantity], case: &Case, buffers: &BufferSet) -> Vec<Output> {
    quantities.iter().filter_map(|&q| Some(output(q, case, buffers.find(q.name())?))).collect()
}

fn output(quantity: Quantity, case: &Case, buffer: &Buffer) -> Output {
    let widen = |bits: u32| match buffer.dtype {
        Dtype::Bf16 => f64::from(f32::from_bits(bits << 16)),
        Dtype::F32 | Dtype::I32 => f64::from(f32::from_bits(bits)),
    };
    Output {
        quantity,
        computed: Computed {
            storage: storage(buffer.dtype),
            shape: extents(quantity, case),
            values: buffer.bits().into_iter().map(widen).collect(),
        },
        unwritten: buffer.first_unwritten(),
        names: None,
    }
}

fn extents(quantity: Quantity, case: &Case) -> Vec<usize> {
    let shape = case.problem.shape();
    match quantity {
        Quantity::Last | Quantity::Dh0 => vec![shape.batch, shape.width],
        Quantity::DaParam => vec![shape.width],
        _ => vec![shape.batch, shape.length, shape.width],
    }
}
