//! How an error runs along time in one channel: where it starts and whether it stays, grows or explodes.

use serde::Serialize;

use super::Computed;
use super::figures::element_ratio;

/// What the ratio does from the first element beyond its envelope, in the direction in which the recurrence runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// One or two elements: a wrong index or a wrong special case.
    Isolated,
    /// Wrong from there on by about as much: a lost or doubled contribution.
    Step,
    /// Growing slowly: rounding that accumulates.
    Drift,
    /// Growing by orders of magnitude, or not finite.
    BlowUp,
}

impl Growth {
    /// The word in a failure text.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Isolated => "isolated elements",
            Self::Step => "a step that stays",
            Self::Drift => "a drift",
            Self::BlowUp => "a blow-up",
        }
    }
}

/// The error of one channel along time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Profile {
    /// First time step beyond its envelope, in running order.
    pub first: usize,
    /// Steps beyond their envelope.
    pub beyond: usize,
    /// How the ratio goes on.
    pub growth: Growth,
}

/// Profile of the channel `(batch, channel)` of a `[B, L, W]` tensor, or of a `[B, L]` one, whose only channel is 0; none
/// if nothing there is beyond its envelope.
///
/// `reversed` says that the recurrence runs from the last step to the first, as adjoints do.
#[must_use]
pub fn profile(
    computed: &Computed,
    truth: &[f64],
    envelope: &[f64],
    (batch, channel): (usize, usize),
    reversed: bool,
) -> Option<Profile> {
    let (length, width) = match *computed.shape.as_slice() {
        [_, length, width] => (length, width),
        [_, length] => (length, 1),
        _ => return None,
    };
    let ratio = |t: usize| {
        let i = (batch * length + t) * width + channel;
        Some(element_ratio(*computed.values.get(i)?, *truth.get(i)?, *envelope.get(i)?, computed))
    };
    let mut steps: Vec<(usize, f64)> = (0..length).filter_map(|t| Some((t, ratio(t)?))).collect();
    if reversed {
        steps.reverse();
    }
    let from = steps.iter().position(|(_, r)| *r > 1.0)?;
    let run = steps.get(from..)?;
    let beyond = run.iter().filter(|(_, r)| *r > 1.0).count();
    Some(Profile { first: run.first()?.0, beyond, growth: growth(run, beyond) })
}

/// Compares the first and the last quarter of the run.
fn growth(run: &[(usize, f64)], beyond: usize) -> Growth {
    if run.iter().any(|(_, r)| r.is_infinite()) && beyond > 2 {
        return Growth::BlowUp;
    }
    if beyond <= 2 {
        return Growth::Isolated;
    }
    let quarter = run.len().div_ceil(4);
    let level = |part: &[(usize, f64)]| part.iter().map(|(_, r)| *r).fold(0.0, f64::max);
    let (early, late) = (level(&run[..quarter]), level(&run[run.len() - quarter..]));
    match late / early {
        factor if factor > 100.0 => Growth::BlowUp,
        factor if factor > 3.0 => Growth::Drift,
        _ => Growth::Step,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Storage;

    fn of(errors: &[f64], reversed: bool) -> Option<Profile> {
        let values = errors.to_vec();
        let computed = Computed { storage: Storage::F32, shape: vec![1, errors.len(), 1], values };
        let (truth, envelope) = (vec![0.0; errors.len()], vec![1.0; errors.len()]);
        profile(&computed, &truth, &envelope, (0, 0), reversed)
    }

    #[test]
    fn shapes_of_failure_are_told_apart() {
        assert_eq!(of(&[0.5; 8], false), None);
        let isolated = of(&[0.1, 0.1, 9.0, 0.1, 0.1], false).unwrap();
        assert_eq!((isolated.first, isolated.beyond, isolated.growth), (2, 1, Growth::Isolated));
        let step = of(&[0.1, 0.1, 9.0, 9.0, 9.5, 9.0, 8.0, 9.0], false).unwrap();
        assert_eq!((step.first, step.growth), (2, Growth::Step));
        let drift: Vec<f64> = (0..40).map(|t| 0.5 * f64::from(t)).collect();
        assert_eq!(of(&drift, false).unwrap().growth, Growth::Drift);
        let blow_up: Vec<f64> = (0..40).map(|t| 2f64.powi(t - 3)).collect();
        assert_eq!(of(&blow_up, false).unwrap().growth, Growth::BlowUp);
    }

    #[test]
    fn a_control_has_one_channel() {
        let computed =
            Computed { storage: Storage::F32, shape: vec![2, 3], values: vec![0.0, 0.0, 0.0, 0.0, 9.0, 9.0] };
        let of_row = |row| profile(&computed, &[0.0; 6], &[1.0; 6], (row, 0), false);
        assert_eq!((of_row(0), of_row(1).unwrap().first), (None, 1));
    }

    #[test]
    fn adjoints_are_read_from_the_right() {
        let profile = of(&[9.0, 9.0, 9.0, 0.1], true).unwrap();
        assert_eq!((profile.first, profile.growth), (2, Growth::Step));
    }
}
