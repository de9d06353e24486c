//! The PTX parser and loader on damaged text: real modules with bytes changed, lines dropped and ends cut. Whatever the text, a module, a program or an error with a line comes out.

use plumbline_gpu::artifact::RGLRU_SERIAL;
use plumbline_gpu::buffer::{Buffer, Role};
use plumbline_gpu::catalog::{Dimensions, KERNELS, Kernel};
use plumbline_gpu::machine::{Machine, Program};
use plumbline_gpu::ptx;
use proptest::prelude::*;

/// Loads every entry of a text that parses; errors must name the file and a line.
fn digest(text: &str) {
    match ptx::parse("damaged.ptx", text) {
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with("damaged.ptx:"), "{message}");
            assert!(error.line >= 1 && error.line as usize <= text.lines().count() + 1, "{message}");
        }
        Ok(module) => {
            let entries: Vec<String> = module.entries().map(str::to_owned).collect();
            for entry in entries {
                if let Err(error) = Program::load(&module, &entry) {
                    assert!(error.to_string().starts_with("damaged.ptx"), "{error}");
                }
            }
        }
    }
}

fn lines() -> Vec<&'static str> {
    RGLRU_SERIAL.ptx.lines().collect()
}

/// The forward kernel alone: short enough to be damaged many times.
fn forward() -> String {
    alone("rglru_forward_serial_f32")
}

fn alone(entry: &str) -> String {
    let text = RGLRU_SERIAL.ptx;
    let head = &text[..text.find(".visible .entry").unwrap_or(0)];
    let start = text.find(&format!(".visible .entry {entry}(")).unwrap_or(0);
    let end = text[start..].find("\n}\n").map_or(text.len(), |n| start + n + 3);
    format!("{head}{}", &text[start..end])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_changed_byte(at in any::<prop::sample::Index>(), byte in 0x20u8..0x7f) {
        let mut bytes = forward().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        digest(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_cut_end(at in any::<prop::sample::Index>()) {
        let text = forward();
        digest(&text[..at.index(text.len())]);
    }

    #[test]
    fn a_dropped_doubled_or_swapped_line(at in any::<prop::sample::Index>(), how in 0..3) {
        let text = forward();
        let mut lines: Vec<&str> = text.lines().collect();
        let at = at.index(lines.len() - 1);
        match how {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at]),
            _ => lines.swap(at, at + 1),
        }
        digest(&lines.join("\n"));
    }

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        digest(&text);
        digest(&format!(".version 8.5\n.target sm_80\n.address_size 64\n.visible .entry k() {{\n{text}\n}}"));
    }

    /// A program that still loads must end, or trap with a message, on real buffers: never panic.
    #[test]
    fn a_damaged_program_runs_or_traps(
        at in any::<prop::sample::Index>(),
        how in 0..3,
        digit in 0u8..10,
        kernel in prop::sample::select(vec![KERNELS[0], KERNELS[2]]),
    ) {
        let text = alone(kernel.name);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let start = lines.iter().position(|l| l.contains("ld.param")).unwrap_or(0);
        let at = start + at.index(lines.len() - start - 1);
        match how {
            0 => drop(lines.remove(at)),
            1 => lines.swap(at, at + 1),
            _ => {
                if let Some(place) = lines[at].rfind(|c: char| c.is_ascii_digit()) {
                    lines[at].replace_range(place..=place, &digit.to_string());
                }
            }
        }
        let Ok(module) = ptx::parse("damaged.ptx", &lines.join("\n")) else { return Ok(()) };
        let Ok(program) = Program::load(&module, kernel.name) else { return Ok(()) };
        let mut pipeline = pipeline(kernel);
        let machine = Machine { instruction_budget: 20_000, ..Machine::default() };
        if let Err(trap) = machine.run(&program, &pipeline.launches[0], &mut pipeline.buffers) {
            prop_assert!(!trap.to_string().is_empty());
        }
    }
}

fn pipeline(kernel: &'static Kernel) -> plumbline_gpu::catalog::Pipeline {
    let d = Dimensions { batch: 2, length: 3, width: 65 };
    let inputs = kernel.tensors.iter().filter(|t| t.role == Role::Input);
    let filled = inputs.map(|t| {
        let mut buffer = Buffer::poisoned(t.name, kernel.dtype(t), t.role, t.extent.len(d));
        buffer.bytes.fill(0);
        buffer.written.fill(true);
        buffer
    });
    match kernel.assemble(d, filled.collect()) {
        Ok(pipeline) => pipeline,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn every_line_matters_or_is_a_comment() {
    // Cutting at each line of the whole module: the parser sees a hundred half-open constructs.
    let lines = lines();
    for end in (0..lines.len()).step_by(37) {
        digest(&lines[..end].join("\n"));
    }
}
