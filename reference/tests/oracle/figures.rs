//! The figures of the docs, from the same cases as the tables; numbers that must hold are left to the suites.

use plumbline_reference::staged::{Order, Rounder, Staging, simulate};
use plumbline_reference::{Quantity, RoundingPlan, solve};

use crate::campaign::{Campaign, ROUNDERS, Tally};
use crate::sample::Family;
use crate::svg::{Axis, Drawing};

const COLOURS: [&str; 5] = ["#222222", "#888888", "#c0392b", "#2471a3", "#d68910"];
const ROW: f64 = 15.0;
/// Where the plots begin: right of the names.
const LEFT: f64 = 290.0;

/// One row for each tensor of each family: what it is called, and what is drawn.
fn rows(
    families: &[(Family, Vec<Quantity>)],
    title: &str,
    axis: Axis,
    mut draw: impl FnMut(&mut Drawing, usize, Quantity, f64),
) -> String {
    let count: usize = families.iter().map(|(_, quantities)| quantities.len() + 1).sum();
    let (top, bottom) = (40.0, 40.0 + ROW * count as f64);
    let mut drawing = Drawing::new(axis.places.1 + 30.0, bottom + 30.0);
    drawing.text((10.0, 18.0), "start", title);
    for (place, label) in axis.ticks() {
        drawing.line((place, top), (place, bottom), "#dddddd", 1.0);
        drawing.text((place, bottom + 15.0), "middle", &label);
    }
    let mut y = top;
    for (index, (family, quantities)) in families.iter().enumerate() {
        drawing.text((10.0, y + 11.0), "start", family.name());
        y += ROW;
        for &quantity in quantities {
            drawing.text((LEFT - 10.0, y + 11.0), "end", quantity.name());
            draw(&mut drawing, index, quantity, y);
            y += ROW;
        }
    }
    drawing.finish()
}

/// The 5th to the 95th percentile as a line, the middle half thick, the median a stroke.
fn spread(drawing: &mut Drawing, axis: Axis, sorted: &[f64], y: f64) {
    let Some(last) = sorted.len().checked_sub(1) else { return };
    let at = |percent: usize| axis.at(sorted[last * percent / 100]);
    let middle = y + ROW / 2.0;
    drawing.line((at(5), middle), (at(95), middle), "#888888", 1.0);
    drawing.bar((at(25), at(75)), (y + 4.0, y + ROW - 4.0), "#a9cce3");
    drawing.line((at(50), y + 2.0), (at(50), y + ROW - 2.0), "#222222", 1.5);
}

const AXIS: Axis = Axis { numbers: (1e-4, 1.0), places: (LEFT, 800.0) };

/// The largest ratio of each tensor of a case in which it rounds at all; the largest of all cases is a dot.
pub(crate) fn honest(ratios: &[(Family, Tally<Quantity>)]) -> String {
    let tensors = |tally: &Tally<Quantity>| tally.keys().copied().collect();
    let families: Vec<_> = ratios.iter().map(|(family, tally)| (*family, tensors(tally))).collect();
    let title = "Best f32 kernels, all regimes: largest error of a tensor over its envelope (5, 25, 50, 75, 95 %; worst)";
    rows(&families, title, AXIS, |drawing, family, quantity, y| {
        let mut sorted = ratios[family].1.sorted(&quantity);
        sorted.retain(|&ratio| ratio > 0.0);
        spread(drawing, AXIS, &sorted, y);
        let worst = sorted.last().copied().unwrap_or_default();
        drawing.dot((AXIS.at(worst), y + ROW / 2.0), "#2471a3");
    })
}

/// The same for roundings away from the truth, over all plans and orders, and the largest ratio for each kind of rounding.
pub(crate) fn adversarial(campaigns: &[(Family, Campaign)]) -> String {
    let tensors = |campaign: &Campaign| {
        let mut tensors: Vec<_> = campaign.roundings.keys().map(|(quantity, _)| *quantity).collect();
        tensors.dedup();
        tensors
    };
    let families: Vec<_> = campaigns.iter().map(|(family, campaign)| (*family, tensors(campaign))).collect();
    let title = "All plans, orders and regimes: roundings away from the truth (5, 25, 50, 75, 95 %); worst by rounding: \
                 nearest black, random grey, up red, down blue, away orange";
    rows(&families, title, AXIS, |drawing, family, quantity, y| {
        let seen = &campaigns[family].1.roundings;
        let mut sorted = seen.sorted(&(quantity, "away"));
        sorted.retain(|&ratio| ratio > 0.0);
        spread(drawing, AXIS, &sorted, y);
        for (rounder, colour) in ROUNDERS.iter().zip(COLOURS) {
            if let Some(summary) = seen.get(&(quantity, rounder)) {
                drawing.dot((AXIS.at(summary.worst), y + ROW / 2.0), colour);
            }
        }
    })
}

/// The error of `y` along one channel, of two kernels, under the envelope.
pub(crate) fn along() -> String {
    let problem = Family::Rglru.problem(0, 4, (1, 240, 1));
    let plan = RoundingPlan::f32();
    let truth = solve(&problem, &plan);
    let y = truth.get(Quantity::Y).unwrap();
    let error = |rounder| {
        let staging = Staging { rounder, order: Order::Chunked(16), ..Staging::new(plan) };
        let seen = simulate(&problem, &staging).get(Quantity::Y).unwrap() - &y.value;
        seen.iter().map(|error| error.abs()).collect::<Vec<_>>()
    };
    let curves = [
        ("envelope", y.envelope.iter().copied().collect::<Vec<_>>(), COLOURS[2]),
        ("rounded always away from the truth", error(Rounder::Away), COLOURS[4]),
        ("rounded to nearest", error(Rounder::Nearest), COLOURS[3]),
        ("|y| / 1e6", y.value.iter().map(|y| y.abs() / 1e6).collect(), "#bbbbbb"),
    ];
    let axis = Axis { numbers: (1e-10, 1e-3), places: (360.0, 40.0) };
    let mut drawing = Drawing::new(830.0, 400.0);
    drawing.text(
        (10.0, 18.0),
        "start",
        "RG-LRU, one channel, f32, chunks of 16: |error| of y along the tokens",
    );
    for (place, label) in axis.ticks() {
        drawing.line((60.0, place), (800.0, place), "#dddddd", 1.0);
        drawing.text((55.0, place + 4.0), "end", &label);
    }
    let across = |t: usize| 60.0 + 740.0 * t as f64 / 239.0;
    for (index, (name, values, colour)) in curves.into_iter().rev().enumerate() {
        drawing.curve(values.iter().enumerate().map(|(t, &v)| (across(t), axis.at(v))), colour);
        let key = (60.0 + 185.0 * index as f64, 385.0);
        drawing.line(key, (key.0 + 15.0, key.1), colour, 2.0);
        drawing.text((key.0 + 20.0, key.1 + 4.0), "start", name);
    }
    drawing.finish()
}
