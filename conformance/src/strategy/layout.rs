//! Where resets stand; the values around them are left to `regime`.

use ndarray::Array2;
use plumbline_reference::Shape;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

/// Arrangement of resets over a batch of sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// No reset.
    None,
    /// The first token of every row.
    First,
    /// Documents of random lengths, the first token not a reset.
    Packed,
    /// Every token.
    Every,
    /// The last token of every row.
    Last,
    /// On and beside multiples of 16 and 32, the usual chunk borders.
    Border,
    /// Each token with a row's own density, rows without any included.
    Random,
}

impl Layout {
    /// All of them, the simplest first: shrinking goes that way.
    pub const ALL: [Self; 7] =
        [Self::None, Self::First, Self::Last, Self::Packed, Self::Border, Self::Random, Self::Every];

    /// Name in case ids.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::First => "first",
            Self::Packed => "packed",
            Self::Every => "every",
            Self::Last => "last",
            Self::Border => "border",
            Self::Random => "random",
        }
    }

    /// `segment_pos[B, L]`: position of each token in its document, 0 where it resets.
    pub(crate) fn segment_pos(self, shape: Shape, rng: &mut impl Rng) -> Array2<i32> {
        let mut positions = Array2::zeros((shape.batch, shape.length));
        for mut row in positions.rows_mut() {
            let resets = self.resets(shape.length, rng);
            // The first document may have begun before the row does: any position but 0.
            let mut position: i32 = rng.random_range(1..1000);
            for (cell, reset) in row.iter_mut().zip(resets) {
                position = if reset { 0 } else { position };
                *cell = anywhere(position);
                position += 1;
            }
        }
        positions
    }

    fn resets(self, length: usize, rng: &mut impl Rng) -> Vec<bool> {
        let density = rng.random_range(0.0..1.0f64).powi(3);
        let mut next = rng.random_range(1..=length.max(1));
        (0..length)
            .map(|t| match self {
                Self::First => t == 0,
                Self::Every => true,
                Self::Last => t + 1 == length,
                Self::Random => rng.random_bool(density),
                Self::Border => beside_border(t) && rng.random_bool(0.5),
                Self::Packed if t == next => {
                    next = t + rng.random_range(1..=length.div_ceil(3).max(1));
                    true
                }
                Self::None | Self::Packed => false,
            })
            .collect()
    }
}

/// Only 0 means a reset: now and then a position is negative, or has no low bits.
fn anywhere(position: i32) -> i32 {
    match position % 7 {
        3 => -position,
        5 => position << 16,
        _ => position,
    }
}

fn beside_border(t: usize) -> bool {
    let beside = |border: usize| t % border <= 1 || t % border == border - 1;
    t > 0 && (beside(16) || beside(32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn resets(layout: Layout, seed: u64) -> Vec<bool> {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        let shape = Shape { batch: 1, length: 65, width: 1 };
        layout.segment_pos(shape, &mut rng).iter().map(|&p| p == 0).collect()
    }

    #[test]
    fn layouts_put_resets_where_they_say() {
        let at = |layout, seed| {
            let flags = resets(layout, seed);
            (0..65).filter(|&t| flags[t]).collect::<Vec<_>>()
        };
        for seed in 0..50 {
            assert!(at(Layout::None, seed).is_empty());
            assert_eq!(at(Layout::First, seed), [0]);
            assert_eq!(at(Layout::Last, seed), [64]);
            assert_eq!(at(Layout::Every, seed).len(), 65);
            assert!(!at(Layout::Packed, seed).contains(&0));
            assert!(at(Layout::Border, seed).iter().all(|&t| beside_border(t)));
        }
        assert!((0..50).any(|seed| at(Layout::Border, seed).contains(&32)));
        assert!((0..50).any(|seed| at(Layout::Packed, seed).len() > 2));
    }
}
