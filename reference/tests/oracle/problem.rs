//! Every shape that does not fit is refused, with a message that names the tensor, what was expected and what
//! was found.

use crate::support::{Regime, problem};
use ndarray::{Array1, Array2, Array3};
use plumbline_reference::ProblemError;
use plumbline_reference::rglru::{Gates, Inputs, Problem};

fn refusal(projected: bool, change: impl Fn(&mut Inputs)) -> String {
    let mut inputs = problem(Regime::Init, 1, (2, 3, 4), projected).into_inputs();
    change(&mut inputs);
    Problem::new(inputs).expect_err("the change breaks a shape").to_string()
}

fn names(message: &str, tensor: &str, expected: &str, found: &str) {
    for part in [&format!("tensor `{tensor}`"), expected, found] {
        assert!(message.contains(part), "`{message}` lacks `{part}`");
    }
}

#[test]
fn tensors_of_the_recurrence_are_held_against_x() {
    let message = refusal(false, |inputs| inputs.a_param = Array1::zeros(5));
    names(&message, "a_param", "expected shape [4]", "found [5]");
    let message = refusal(false, |inputs| inputs.reset = Array2::from_elem((2, 4), false));
    names(&message, "reset", "expected shape [2, 3]", "found [2, 4]");
    let message = refusal(false, |inputs| inputs.h0 = Some(Array2::zeros((4, 2))));
    names(&message, "h0", "expected shape [2, 4]", "found [4, 2]");
    let message = refusal(false, |inputs| inputs.dy = Array3::zeros((2, 3, 1)));
    names(&message, "dy", "expected shape [2, 3, 4]", "found [2, 3, 1]");
    let message = refusal(false, |inputs| inputs.dlast = Array2::zeros((1, 4)));
    names(&message, "dlast", "expected shape [2, 4]", "found [1, 4]");
}

#[test]
fn logits_are_held_against_x() {
    let wrong = Array3::zeros((2, 2, 4));
    let right = Array3::zeros((2, 3, 4));
    let message = refusal(false, |inputs| {
        inputs.gates = Gates::Logits { u: wrong.clone(), v: right.clone() };
    });
    names(&message, "u", "expected shape [2, 3, 4]", "found [2, 2, 4]");
    let message = refusal(false, |inputs| {
        inputs.gates = Gates::Logits { u: right.clone(), v: wrong.clone() };
    });
    names(&message, "v", "expected shape [2, 3, 4]", "found [2, 2, 4]");
}

fn projected(wi: [usize; 3], bi: [usize; 2], wr: [usize; 3], br: [usize; 2]) -> impl Fn(&mut Inputs) {
    move |inputs| {
        inputs.gates = Gates::Projected {
            wi: Array3::zeros(wi),
            bi: Array2::zeros(bi),
            wr: Array3::zeros(wr),
            br: Array2::zeros(br),
        };
    }
}

#[test]
fn projections_must_tile_the_width_and_agree() {
    let message = refusal(true, projected([2, 3, 3], [2, 3], [2, 3, 3], [2, 3]));
    names(&message, "wi", "H * K = 4", "found [2, 3, 3]");
    let message = refusal(true, projected([2, 2, 2], [4, 1], [2, 2, 2], [2, 2]));
    names(&message, "bi", "expected shape [2, 2]", "found [4, 1]");
    let message = refusal(true, projected([2, 2, 2], [2, 2], [1, 4, 4], [2, 2]));
    names(&message, "wr", "expected shape [2, 2, 2]", "found [1, 4, 4]");
    let message = refusal(true, projected([2, 2, 2], [2, 2], [2, 2, 2], [1, 4]));
    names(&message, "br", "expected shape [2, 2]", "found [1, 4]");
}

#[test]
fn no_sequence_and_no_channel_are_refused_but_no_token_is_not() {
    let message = refusal(false, |inputs| inputs.x = Array3::zeros((0, 3, 4)));
    names(&message, "x", "at least one sequence and one channel", "found shape [0, 3, 4]");
    let empty = Problem::new(Inputs {
        x: Array3::zeros((2, 3, 0)),
        gates: Gates::Logits { u: Array3::zeros((2, 3, 0)), v: Array3::zeros((2, 3, 0)) },
        a_param: Array1::zeros(0),
        reset: Array2::from_elem((2, 3), false),
        h0: None,
        dy: Array3::zeros((2, 3, 0)),
        dlast: Array2::zeros((2, 0)),
    });
    assert!(matches!(empty, Err(ProblemError::Empty { .. })));
    assert_eq!(problem(Regime::Init, 1, (2, 0, 4), false).shape().length, 0);
}

#[test]
fn arrays_in_any_memory_order_make_the_same_problem() {
    let plain = problem(Regime::Mixed, 3, (2, 5, 4), false);
    let mut inputs = plain.inputs().clone();
    inputs.x = inputs.x.permuted_axes([2, 1, 0]).as_standard_layout().into_owned().permuted_axes([2, 1, 0]);
    assert!(!inputs.x.is_standard_layout());
    let turned = Problem::new(inputs).unwrap();
    assert_eq!(turned.x(), plain.x());
    assert!(turned.x().is_standard_layout());
}
