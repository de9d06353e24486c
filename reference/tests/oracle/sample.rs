//! Problems of every family and regime under one roof, for suites in which all families are held to the same promise.

use plumbline_reference::Problem;
use plumbline_reference::scan::Field;

use crate::support::{self, Random};
use crate::{rglru_complex, samu_support, scan_family};

/// A family of recurrences; the gated ones with logits or with projections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Family {
    Scan,
    ComplexScan,
    Rglru,
    RglruLayer,
    RglruComplex,
    RglruComplexLayer,
    Samu,
}

pub(crate) const FAMILIES: [Family; 7] = [
    Family::Scan,
    Family::ComplexScan,
    Family::Rglru,
    Family::RglruLayer,
    Family::RglruComplex,
    Family::RglruComplexLayer,
    Family::Samu,
];

/// Sequences, tokens, and real or complex channels.
pub(crate) type Size = (usize, usize, usize);

impl Family {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Scan => "scan, real",
            Self::ComplexScan => "scan, complex",
            Self::Rglru => "RG-LRU",
            Self::RglruLayer => "RG-LRU with projections",
            Self::RglruComplex => "complex RG-LRU",
            Self::RglruComplexLayer => "complex RG-LRU with projections",
            Self::Samu => "SAMU",
        }
    }

    /// How many regimes there are.
    pub(crate) fn regimes(self) -> usize {
        match self {
            Self::Scan | Self::ComplexScan => scan_family::REGIMES.len(),
            Self::Rglru | Self::RglruLayer | Self::RglruComplex | Self::RglruComplexLayer => {
                support::REGIMES.len()
            }
            Self::Samu => samu_support::REGIMES.len(),
        }
    }

    pub(crate) fn regime(self, index: usize) -> String {
        match self {
            Self::Scan | Self::ComplexScan => format!("{:?}", scan_family::REGIMES[index]),
            Self::Rglru | Self::RglruLayer | Self::RglruComplex | Self::RglruComplexLayer => {
                format!("{:?}", support::REGIMES[index])
            }
            Self::Samu => format!("{:?}", samu_support::REGIMES[index]),
        }
    }

    pub(crate) fn problem(self, regime: usize, seed: u64, size: Size) -> Problem {
        let (b, l, channels) = size;
        let complex =
            |projected| rglru_complex::problem(support::REGIMES[regime], seed, size, projected).into();
        match self {
            Self::Scan => scan_family::problem(scan_family::REGIMES[regime], Field::Real, seed, size).into(),
            Self::ComplexScan => {
                scan_family::problem(scan_family::REGIMES[regime], Field::Complex, seed, size).into()
            }
            Self::Rglru => support::problem(support::REGIMES[regime], seed, size, false).into(),
            Self::RglruLayer => support::problem(support::REGIMES[regime], seed, size, true).into(),
            Self::RglruComplex => complex(false),
            Self::RglruComplexLayer => complex(true),
            Self::Samu => {
                samu_support::problem(samu_support::REGIMES[regime], seed, (b, l, 2 * channels)).into()
            }
        }
    }

    /// A few problems of every regime, each with its name.
    pub(crate) fn problems(self, seeds: std::ops::Range<u64>, sizes: &[Size]) -> Vec<(String, Problem)> {
        let each = |regime| {
            let size = |seed: u64| sizes[Random(seed).below(sizes.len())];
            seeds.clone().map(move |seed| (self.regime(regime), self.problem(regime, seed, size(seed))))
        };
        (0..self.regimes()).flat_map(each).collect()
    }
}
