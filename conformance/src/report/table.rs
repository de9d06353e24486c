//! The verdict table: one line a kernel and tensor, and the counts under it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::examine::Record;
use crate::judge::{Verdict, ratio_text};

/// What was done, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Cases examined.
    pub cases: usize,
    /// Those that conform.
    pub conform: usize,
    /// Those that deviate.
    pub deviate: usize,
    /// Those that could not be judged.
    pub not_judged: usize,
    /// Elements compared.
    pub elements: usize,
    /// Elements without a finite envelope, not compared.
    pub unbounded: usize,
    /// Components of states that rounding puts on one side of a ReLU's kink or the other.
    pub undecided: usize,
}

impl Counters {
    /// Counts records.
    #[must_use]
    pub fn of(records: &[Record]) -> Self {
        records.iter().fold(Self::default(), |mut counters, record| {
            counters.cases += 1;
            match record.verdict {
                Verdict::Conforms => counters.conform += 1,
                Verdict::Deviates(_) => counters.deviate += 1,
                Verdict::NotJudged(_) => counters.not_judged += 1,
            }
            counters.elements += record.elements();
            counters.undecided += record.undecided;
            counters.unbounded += record.tensors.iter().map(|t| t.measure.unbounded).sum::<usize>();
            counters
        })
    }
}

#[derive(Default)]
struct Row {
    cases: usize,
    elements: usize,
    deviating: usize,
    ratio: f64,
    /// The largest ratio in units of its limit, and where.
    of_limit: (f64, &'static str),
    relative_l2: f64,
    scaled_max: f64,
    max_ulp: f64,
    probabilistic: bool,
}

type Rows<'a> = BTreeMap<(usize, &'a str, &'a str, usize), (&'a str, Row)>;

/// The table and the counts, as printed by `gate`.
#[must_use]
pub fn verdict_table(records: &[Record]) -> String {
    let rows = rows(records);
    let longest = |names: &mut dyn Iterator<Item = &str>, least: usize| {
        names.map(|name| name.chars().count()).fold(least, usize::max)
    };
    let first = longest(&mut rows.keys().map(|(_, kernel, ..)| *kernel), 28);
    let third = longest(&mut rows.values().map(|(tensor, _)| *tensor), 9);
    let mut text = format!(
        "{:<first$} {:<10} {:<third$} {:>6} {:>10} {:>8}  {:>9} {:<10} {:>9} {:>9} {:>7}\n",
        "kernel",
        "device",
        "tensor",
        "cases",
        "elements",
        "ratio",
        "of limit",
        "worst in",
        "rel L2",
        "max/max",
        "ULP"
    );
    for ((_, kernel, executor, _), (tensor, row)) in &rows {
        let device = executor.split_whitespace().next().unwrap_or(executor);
        let mark = if row.deviating > 0 { "DEVIATES" } else { "" };
        let bound = if row.probabilistic { "p" } else { " " };
        let line = format!(
            "{kernel:<first$} {device:<10} {tensor:<third$} {:>6} {:>10} {:>8}{bound} {:>9} {:<10} {:>9.2e} {:>9.2e} {:>7} {mark}",
            row.cases,
            row.elements,
            ratio_text(row.ratio),
            ratio_text(row.of_limit.0),
            row.of_limit.1,
            row.relative_l2,
            row.scaled_max,
            short(row.max_ulp),
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text.push_str(&counts(Counters::of(records)));
    text
}

/// A saturated gate's gradient can be a million steps from a truth that f32 cannot hold: two digits tell enough.
fn short(ulp: f64) -> String {
    if ulp < 1e5 { format!("{ulp:.0}") } else { format!("{ulp:.0e}") }
}

fn counts(c: Counters) -> String {
    let Counters { cases, conform, deviate, not_judged, elements, unbounded, undecided } = c;
    // Only outputs through a ReLU have masks at all.
    let masks = if undecided > 0 { format!(", {undecided} undecided ReLU masks") } else { String::new() };
    format!(
        "{cases} cases: {conform} conform, {deviate} deviate, {not_judged} not judged; {elements} elements compared, \
         {unbounded} without a finite envelope{masks}\n"
    )
}

/// Keyed by order of appearance of the kernel, then by the tensor's place in its record.
fn rows(records: &[Record]) -> Rows<'_> {
    let mut order: Vec<(&str, &str)> = Vec::new();
    let mut rows: Rows = BTreeMap::new();
    for record in records {
        let key = (record.kernel.as_str(), record.executor.as_str());
        let place = order.iter().position(|k| *k == key).unwrap_or_else(|| {
            order.push(key);
            order.len() - 1
        });
        for (i, tensor) in record.tensors.iter().enumerate() {
            let (_, row) = rows
                .entry((place, key.0, key.1, i))
                .or_insert_with(|| (tensor.tensor.as_str(), Row::default()));
            let m = &tensor.measure;
            row.cases += 1;
            row.elements += m.elements - m.unbounded;
            row.deviating += usize::from(!tensor.conforms());
            row.ratio = row.ratio.max(m.ratio);
            let of_limit = if m.ratio == 0.0 { 0.0 } else { m.ratio / tensor.limit };
            if of_limit >= row.of_limit.0 {
                row.of_limit = (of_limit, record.regime);
            }
            row.relative_l2 = row.relative_l2.max(finite(m.relative_l2));
            row.scaled_max = row.scaled_max.max(finite(m.scaled_max));
            row.max_ulp = row.max_ulp.max(finite(m.max_ulp));
            row.probabilistic |= tensor.probabilistic;
        }
    }
    rows
}

/// Norms of tensors whose truth is 0 or not finite say nothing; the ratio speaks for them.
fn finite(figure: f64) -> f64 {
    if figure.is_finite() { figure } else { 0.0 }
}
