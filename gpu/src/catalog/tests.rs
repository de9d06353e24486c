//! Tests of the catalogue: names are signatures, the geometry is the source's, bad buffers are refused.

use super::*;

const D: Dimensions = Dimensions { batch: 3, length: 33, width: 65 };

fn inputs(kernel: &Kernel) -> Vec<Buffer> {
    kernel
        .tensors
        .iter()
        .filter(|t| t.role == Role::Input)
        .map(|t| {
            let mut buffer = Buffer::poisoned(t.name, kernel.dtype(t), Role::Input, t.extent.len(D));
            buffer.written.fill(true);
            buffer
        })
        .collect()
}

#[test]
fn names_are_signatures() {
    for kernel in KERNELS {
        let family = match kernel.family {
            Family::Rglru => "rglru",
        };
        let pass = match kernel.pass {
            Pass::Forward => "forward",
            Pass::Backward => "backward",
        };
        let signature = format!("{family}_{pass}_{}_{}", kernel.algorithm, kernel.storage.name());
        assert_eq!(kernel.name, signature);
        assert_eq!(find(kernel.name).map(|k| k.name), Some(kernel.name));
    }
}

#[test]
fn geometry_is_the_sources() {
    let source = rglru::FORWARD_F32.artifact.source;
    assert!(source.contains(&format!("constexpr int BLOCK = {};", rglru::BLOCK)));
    assert!(source.contains(&format!("constexpr int CHUNK = {};", rglru::CHUNK)));
}

#[test]
fn every_entry_is_in_the_ptx_and_names_only_known_tensors() {
    for kernel in KERNELS {
        for entry in kernel.entries {
            assert!(kernel.artifact.ptx.contains(&format!(".entry {}(", entry.name)), "{}", entry.name);
            for parameter in entry.parameters {
                if let Parameter::Tensor(name) = parameter {
                    assert!(kernel.tensors.iter().any(|t| t.name == *name), "{name}");
                }
            }
        }
    }
}

#[test]
fn assembling_lays_out_blocks_and_nulls() {
    let kernel = find("rglru_backward_serial_bf16").unwrap();
    let mut given = inputs(kernel);
    given.retain(|b| b.name != "h0");
    let pipeline = kernel.assemble(D, given).unwrap();
    assert_eq!(pipeline.launches.len(), 2);
    assert_eq!(pipeline.launches[0].grid, [6, 1, 1]);
    assert_eq!(pipeline.launches[1].grid, [2, 1, 1]);
    assert_eq!(pipeline.launches[0].arguments[5], Argument::Null);
    assert_eq!(pipeline.buffers.find("checkpoints").unwrap().len(), 2 * 3 * 65);
    assert_eq!(pipeline.buffers.find("dx").unwrap().first_unwritten(), Some(0));
}

#[test]
fn bad_buffers_are_refused_by_name() {
    let kernel = find("rglru_forward_serial_f32").unwrap();
    let mut without_x = inputs(kernel);
    without_x.retain(|b| b.name != "x");
    assert_eq!(
        kernel.assemble(D, without_x).unwrap_err().to_string(),
        "rglru_forward_serial_f32: input `x` is missing"
    );
    let mut short = inputs(kernel);
    short[3] = Buffer::input_f32("a_param", &[0.0; 7]);
    assert_eq!(
        kernel.assemble(D, short).unwrap_err().to_string(),
        "rglru_forward_serial_f32: input `a_param`: expected 65 elements of f32, found 7 elements of f32"
    );
    let huge = Dimensions { batch: 1 << 32, length: 0, width: 64 };
    let blocks = kernel.launch(&kernel.entries[0], huge, &[]).unwrap_err();
    assert_eq!(blocks, AssemblyError::Grid { kernel: kernel.name, blocks: 1 << 32 });
}

#[test]
fn traffic_counts_each_large_tensor_once() {
    let kernel = find("rglru_forward_serial_bf16").unwrap();
    let large = 4 * 2 * (3 * 33 * 65);
    let small = 4 * 65 + 4 * (3 * 33) + 2 * 4 * (3 * 65);
    assert_eq!(kernel.traffic_bytes(D), large + small);
    assert_eq!(kernel.scratch_bytes(D), 0);
}
