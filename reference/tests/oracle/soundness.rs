//! The envelope against really rounded kernels of every family: no honest one may leave it. Whether it is idle is left to
//! [`crate::tightness`] and the suites of the families.
//!
//! `PLUMBLINE_CASES` sets the number of cases of each family.

use crate::campaign::{Campaign, ORDERS, PLANS, ROUNDERS};
use crate::sample::Family;
use crate::support::cases;

fn holds(family: Family) {
    let campaign = Campaign::run(family, 0..cases(1000) as u64);
    let outside = &campaign.outside;
    outside.iter().for_each(|line| println!("OUT {line}"));
    assert!(outside.is_empty());
    covers_everything(&campaign, family);
}

/// Every order with every rounding, every plan, every regime; and roundings that do something.
fn covers_everything(campaign: &Campaign, family: Family) {
    let kernels = ORDERS.iter().flat_map(|order| ROUNDERS.map(|rounder| (*order, rounder)));
    let mut kernels = kernels.map(|key| campaign.kernels.get(&key).map_or(0.0, |seen| seen.worst));
    assert!(kernels.all(|worst| worst > 0.1));
    let mut plans = PLANS.iter().map(|(name, _)| campaign.plans.get(name).map_or(0.0, |seen| seen.worst));
    assert!(plans.all(|worst| worst > 0.1));
    assert!((0..family.regimes()).all(|regime| campaign.tensors.keys().any(|(seen, _)| *seen == regime)));
}

#[test]
fn no_honest_scan_leaves_its_envelope() {
    holds(Family::Scan);
}

#[test]
fn no_honest_complex_scan_leaves_its_envelope() {
    holds(Family::ComplexScan);
}

#[test]
fn no_honest_rglru_leaves_its_envelope() {
    holds(Family::Rglru);
}

#[test]
fn no_honest_rglru_layer_leaves_its_envelope() {
    holds(Family::RglruLayer);
}

#[test]
fn no_honest_complex_rglru_leaves_its_envelope() {
    holds(Family::RglruComplex);
}

#[test]
fn no_honest_complex_rglru_layer_leaves_its_envelope() {
    holds(Family::RglruComplexLayer);
}

#[test]
fn no_honest_mixer_leaves_its_envelope() {
    holds(Family::Samu);
}
