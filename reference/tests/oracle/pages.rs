//! The pages of the docs that are written by running: `cargo test --release -p plumbline-reference --test oracle pages --
//! --ignored` writes them all, tables and figures; `PLUMBLINE_CASES` sets how many cases each family gets.

use std::fmt::{Display, Write};
use std::path::Path;

use plumbline_reference::staged::{Order, Staging, simulate};
use plumbline_reference::{Chain, Quantity, RoundingPlan, solve};
use rayon::prelude::*;

use crate::campaign::{Campaign, ORDERS, PLANS, ROUNDERS, Tally};
use crate::figures;
use crate::precision::{Error, survey};
use crate::sample::{FAMILIES, Family};
use crate::support::{Random, cases, ratio};

fn write(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src").join(name);
    std::fs::write(&path, text).unwrap();
}

/// A table in Markdown: a head for each column but the first, and rows that begin with their name.
fn table(corner: &str, heads: &[String], rows: impl Iterator<Item = (String, Vec<String>)>) -> String {
    let mut text = format!("| {corner} | {} |\n|---|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    for (name, cells) in rows {
        writeln!(text, "| {name} | {} |", cells.join(" | ")).unwrap();
    }
    text
}

/// A cell; empty where there is nothing to say.
fn cell<T: Display>(value: Option<T>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn names(quantities: &[Quantity]) -> Vec<String> {
    quantities.iter().map(|quantity| quantity.name().to_owned()).collect()
}

/// A table of regimes by tensors.
fn by_regime(
    family: Family,
    quantities: &[Quantity],
    value: impl Fn(usize, Quantity) -> Option<String>,
) -> String {
    let row = |regime| quantities.iter().map(|&quantity| cell(value(regime, quantity))).collect();
    let rows = (0..family.regimes()).map(|regime| (family.regime(regime), row(regime)));
    table("regime", &names(quantities), rows)
}

/// Every tensor of a tally, in the order of [`Quantity`].
fn quantities<'a>(keys: impl Iterator<Item = &'a (usize, Quantity)>) -> Vec<Quantity> {
    let mut quantities: Vec<_> = keys.map(|(_, quantity)| *quantity).collect();
    quantities.sort_unstable();
    quantities.dedup();
    quantities
}

#[test]
#[ignore = "writes docs/src/oracle-error.md; minutes"]
fn oracle_error() {
    let mut text = String::from(
        "# The oracle's own error\n\n\
        Every output, and the gradient of every input, against arithmetic of 237 bits (crate `f256`); gradients there are\n\
        derivatives of the forward pass by dual numbers, so no formula is shared with the oracle's backward pass. Short\n\
        problems, eight of each regime: up to two sequences, eight tokens, two channels. Written by\n\
        `cargo test --release -p plumbline-reference --test oracle pages -- --ignored`; a test holds the second table of each\n\
        family below 1e-3.\n",
    );
    for family in FAMILIES {
        let survey = survey(family, 0..8, &[(1, 8, 2), (2, 4, 1), (1, 3, 2), (1, 1, 1)]);
        let mut seen = std::collections::BTreeMap::<(String, Quantity), Error>::new();
        for (regime, errors) in survey {
            for (quantity, error) in errors {
                let worst = seen.entry((regime.clone(), quantity)).or_insert(error);
                *worst = worst.and(error);
            }
        }
        let mut quantities: Vec<_> = seen.keys().map(|(_, quantity)| *quantity).collect();
        quantities.sort_unstable();
        quantities.dedup();
        let get = |regime, quantity| seen.get(&(family.regime(regime), quantity));
        writeln!(
            text,
            "\n## {}\n\nLargest error, relative to the tensor's largest element:\n",
            family.name()
        )
        .unwrap();
        let relative = |regime, quantity| get(regime, quantity).map(|error: &Error| short(error.relative));
        text += &by_regime(family, &quantities, relative);
        text += "\nLargest share of the f32 envelope of an element:\n\n";
        let share = |regime, quantity| get(regime, quantity).map(|error: &Error| short(error.share));
        text += &by_regime(family, &quantities, share);
    }
    write("oracle-error.md", &text);
}

/// One digit and the power of ten.
fn short(number: f64) -> String {
    if number == 0.0 { "0".to_owned() } else { format!("{number:.0e}") }
}

/// How the best f32 kernel there can be uses its envelope: rounding to nearest, in an order that its plan declares.
fn honest(family: Family) -> Tally<(usize, Quantity)> {
    let orders =
        [(Order::Serial, Chain::Terms), (Order::Chunked(16), Chain::Blocked(16)), (Order::Tree, Chain::Tree)];
    let regimes = 0..family.regimes();
    let drafts: Vec<_> = regimes
        .flat_map(|regime| (0..6u64).map(move |seed| (regime, seed)))
        .flat_map(|draft| [1, 8, 24, 100].map(|length| (draft, length)))
        .collect();
    let judge = |((regime, seed), length): ((usize, u64), usize)| {
        let problem = family.problem(regime, seed, (2, length, 32));
        let (order, chain) = orders[Random(seed ^ length as u64).below(3)];
        let plan = RoundingPlan::f32().with_chain(chain);
        let plan = RoundingPlan { projection: plan.reduce, ..plan };
        let outcome = simulate(&problem, &Staging { order, ..Staging::new(plan) });
        let ratios = solve(&problem, &plan);
        let ratios = ratios.iter().map(|(quantity, b)| (quantity, ratio(outcome.get(quantity).unwrap(), b)));
        (regime, ratios.collect::<Vec<_>>())
    };
    let judged: Vec<_> = drafts.into_par_iter().map(judge).collect();
    let mut tally = Tally::new();
    for (regime, ratios) in judged {
        for (quantity, ratio) in ratios {
            tally.add((regime, quantity), ratio);
        }
    }
    tally
}

#[test]
#[ignore = "writes docs/src/tightness.md and two figures; minutes"]
fn tightness() {
    let mut text = String::from(
        "# How tight the envelopes are\n\n\
        Medians, over cases, of the largest error of a tensor in units of its envelope, for the best kernel there can be: f32,\n\
        every operation rounded to nearest, serial, chunks of 16 or a tree (and the plan says which). Two sequences of 1, 8,\n\
        24 or 100 tokens, 32 channels, 24 cases of each regime. Where nothing rounds the median is 0: all zeros, decays of 0.\n\
        Written by `cargo test --release -p plumbline-reference --test oracle pages -- --ignored`.\n\n\
        ![Ratios of honest kernels by tensor](img/honest.svg)\n\n\
        ![Errors along one channel](img/along.svg)\n",
    );
    let mut all = Vec::new();
    for family in FAMILIES {
        let tally = honest(family);
        let quantities = quantities(tally.keys());
        writeln!(text, "\n## {}\n", family.name()).unwrap();
        let median = |regime, quantity| tally.get(&(regime, quantity)).map(|s| format!("{:.3}", s.median));
        text += &by_regime(family, &quantities, median);
        let mut joined = Tally::new();
        for key in tally.keys() {
            for ratio in tally.sorted(key) {
                joined.add(key.1, ratio);
            }
        }
        all.push((family, joined));
    }
    write("tightness.md", &text);
    write("img/honest.svg", &figures::honest(&all));
    write("img/along.svg", &figures::along());
}

#[test]
#[ignore = "writes docs/src/soundness-log.md and a figure; the long run"]
fn soundness_log() {
    let count = cases(20_000) as u64;
    let campaigns = FAMILIES.map(|family| (family, Campaign::run(family, 1_000_000..1_000_000 + count)));
    let total = count * FAMILIES.len() as u64;
    let mut text = format!(
        "# The long run\n\n\
        {} simulated kernels on random problems, every operation moved within what its stage allows, and how much of\n\
        their envelopes they used: the largest ratio `|error| / envelope`, where 1 is the limit. Up to 700 tokens, a quarter\n\
        of the cases up to 200. Written by `cargo test --release -p plumbline-reference --test oracle pages -- --ignored`; a\n\
        ratio above 1 fails it. Where a bound is probabilistic (long sums), only roundings to nearest and at random count.\n\n\
        ![Largest ratios by tensor and rounding](img/adversarial.svg)\n",
        thousands(total)
    );
    for (family, campaign) in &campaigns {
        write!(text, "\n## {}\n\n{}", family.name(), log(*family, campaign)).unwrap();
    }
    write("soundness-log.md", &text);
    write("img/adversarial.svg", &figures::adversarial(&campaigns));
    let outside: Vec<_> = campaigns.iter().flat_map(|(_, campaign)| &campaign.outside).collect();
    assert!(outside.is_empty(), "{outside:#?}");
}

fn thousands(count: u64) -> String {
    let (high, low) = (count / 1000, count % 1000);
    if high == 0 { low.to_string() } else { format!("{high},{low:03}") }
}

fn log(family: Family, campaign: &Campaign) -> String {
    let quantities = quantities(campaign.tensors.keys());
    let cell = |regime, quantity| {
        let seen = campaign.tensors.get(&(regime, quantity))?;
        Some(format!("{:.3} ({:.2}; {})", seen.worst, seen.median, seen.cases))
    };
    let rounders = ROUNDERS.map(str::to_owned);
    let kernel = |order| {
        let seen = ROUNDERS.map(|rounder| campaign.kernels.get(&(order, rounder)));
        seen.iter()
            .map(|seen| self::cell(seen.map(|seen| format!("{:.3} ({})", seen.worst, seen.cases))))
            .collect()
    };
    let mut plans: Vec<_> = PLANS.iter().map(|(name, _)| *name).collect();
    plans.dedup();
    let plan = |name: &str| {
        let seen = campaign.plans.get(&name).map(|seen| format!("{:.3} ({})", seen.worst, seen.cases));
        vec![self::cell(seen)]
    };
    format!(
        "Largest ratio (median; cases):\n\n{}\nLargest ratio (cases) by order and rounding:\n\n{}\nBy plan:\n\n{}",
        by_regime(family, &quantities, cell),
        table("order", &rounders, ORDERS.iter().map(|order| ((*order).to_owned(), kernel(order)))),
        table(
            "plan",
            &["largest ratio (cases)".to_owned()],
            plans.iter().map(|name| ((*name).to_owned(), plan(name)))
        ),
    )
}
