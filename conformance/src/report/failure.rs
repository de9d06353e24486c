//! What a failure says, in a fixed order: who, where, how far, how it goes on, what is near, which stage is wide there, how to run it again.

use std::fmt::Write as _;

use plumbline_reference::Quantity;

use crate::budget::shares;
use crate::case::Case;
use crate::examine::Record;
use crate::executor::{Subject, runs_along_time};
use crate::judge::{TensorRecord, Verdict, ratio_text};
use crate::measure::Worst;

/// Chunk sizes whose borders are worth naming.
const CHUNKS: [usize; 3] = [16, 32, 64];

/// The text of one failing record; `case` is the one that was examined.
#[must_use]
pub fn failure_text(record: &Record, case: &Case, subject: &Subject) -> String {
    let mut text = String::new();
    let Verdict::Deviates(reasons) = &record.verdict else { return text };
    let [b, l, w] = record.shape;
    let _ = writeln!(text, "{} deviates on {}", record.kernel, record.executor);
    let _ = writeln!(
        text,
        "  case    {} (id {}, B {b}, L {l}, W {w}, {})",
        record.origin, record.case_id, record.storage
    );
    for reason in reasons {
        let _ = writeln!(text, "  wrong   {reason}");
    }
    let _ = writeln!(text, "  tensors {}", tensors(record));
    // A tensor without figures (unwritten, of another shape) would make the others look like the whole story.
    let without_figures = reasons.len() > record.tensors.iter().filter(|t| !t.conforms()).count();
    if let Some(suspect) = suspect(record).filter(|_| !without_figures) {
        let _ = writeln!(text, "  suspect {suspect}");
    }
    let worst = record.tensors.iter().filter(|t| !t.conforms());
    let first = worst.max_by(|a, b| (a.measure.ratio / a.limit).total_cmp(&(b.measure.ratio / b.limit)));
    if let Some((tensor, worst)) = first.and_then(|t| Some((t, t.measure.worst.as_ref()?))) {
        describe(&mut text, tensor, worst, case, subject);
    }
    let _ = writeln!(text, "  replay  {}", record.again);
    text
}

fn tensors(record: &Record) -> String {
    let word = |t: &TensorRecord| {
        let state = if t.conforms() { "within" } else { "BEYOND" };
        format!("{} {state} ({} of {:.3})", t.tensor, ratio_text(t.measure.ratio), t.limit)
    };
    record.tensors.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// What the set of wrong tensors points at; which of the gradients share a factor is in their formulas.
fn suspect(record: &Record) -> Option<&'static str> {
    let wrong: Vec<Quantity> = record.tensors.iter().filter(|t| !t.conforms()).map(|t| t.quantity).collect();
    let has = |q: Quantity| wrong.contains(&q);
    let only = |set: &[Quantity]| !wrong.is_empty() && wrong.iter().all(|q| set.contains(q));
    if only(&[Quantity::Last]) {
        Some("the final state's store: y is right")
    } else if only(&[Quantity::Dh0]) {
        Some("the initial state's gradient A_0 lambda_0: every other gradient is right")
    } else if only(&[Quantity::DaParam]) {
        Some("the sum over batch and time, or sigmoid(a_param): dv, which shares dl, is right")
    } else if only(&[Quantity::Dv, Quantity::DaParam]) {
        Some("dl, the log-decay's gradient, or the recurrence gate: lambda is right, since dx is")
    } else if only(&[Quantity::Du]) {
        Some("the input gate's derivative g (1 - g): lambda is right, since dx is")
    } else if only(&[Quantity::Y]) && record.tensors.iter().any(|t| t.quantity == Quantity::H) {
        Some("the output function: the states are right")
    } else if only(&[Quantity::DxTotal]) {
        Some("what x does through the projections: its direct gradient is right")
    } else if only(&[Quantity::DaImag]) {
        Some("the phase parameter's sum over batch and time: dv, which shares the phase's gradient, is right")
    } else if only(&[Quantity::Da]) {
        Some("the product of lambda with the conjugate of the state before: lambda is right, since dw is")
    } else if only(&[Quantity::Dx]) {
        Some("the factors g n of dx: lambda is right, since du is")
    } else if has(Quantity::Dx) && has(Quantity::Du) {
        Some("lambda (the adjoint recurrence), or the norm n")
    } else if has(Quantity::Y) && has(Quantity::Last) {
        Some("the recurrence itself: gates, decay, write or carry")
    } else {
        None
    }
}

fn describe(text: &mut String, tensor: &TensorRecord, worst: &Worst, case: &Case, subject: &Subject) {
    let _ = writeln!(text, "  worst   {}: ratio {}", tensor.worst_element, ratio_text(worst.ratio));
    if let Some(profile) = &tensor.profile {
        let _ = writeln!(
            text,
            "  course  first beyond its envelope at t = {}; {} ({} steps beyond)",
            profile.first,
            profile.growth.word(),
            profile.beyond
        );
    }
    if let (true, &[b, t, ref channel @ ..]) = (runs_along_time(tensor.quantity), worst.index.as_slice()) {
        let first = tensor.profile.as_ref().map_or(t, |p| p.first);
        let channel = channel.first().copied().unwrap_or(0);
        let _ = writeln!(text, "  near    {}", neighbourhood(case, b, first, channel));
    }
    let _ = writeln!(text, "  budget  {}", budget(tensor, worst, case, subject));
}

fn neighbourhood(case: &Case, b: usize, t: usize, channel: usize) -> String {
    let borders: Vec<String> =
        CHUNKS.iter().map(|chunk| format!("{} past a border of {chunk}", t % chunk)).collect();
    let reset = (0..=t).rev().find(|&s| case.discards(b, s, channel));
    let reset = match reset {
        Some(s) => format!("{} past the last reset", t - s),
        None => "no reset before".to_owned(),
    };
    format!("t = {t} is {}; {reset}", borders.join(", "))
}

fn budget(tensor: &TensorRecord, worst: &Worst, case: &Case, subject: &Subject) -> String {
    if case.origin.is_exact() {
        return "none: every result is exactly representable, equality is demanded".to_owned();
    }
    let position = worst.position;
    let shares = shares(&case.problem, &subject.plan, tensor.quantity, position);
    if shares.is_empty() {
        return "no stage may leave an error there".to_owned();
    }
    if worst.envelope.is_infinite() {
        let endless = shares.iter().filter(|s| s.envelope.is_infinite()).map(|s| s.stage);
        return format!("none: the envelope there is infinite ({})", endless.collect::<Vec<_>>().join(", "));
    }
    let parts: Vec<String> = shares
        .iter()
        .take(4)
        .map(|s| format!("{} {:.0}%", s.stage, 100.0 * s.envelope / worst.envelope.max(f64::MIN_POSITIVE)))
        .collect();
    format!("of the envelope there: {}", parts.join(", "))
}
