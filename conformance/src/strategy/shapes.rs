//! Sizes, biased to the borders of chunks, warps and blocks; what fills them is left to `regime`.

use plumbline_reference::Shape;
use proptest::prelude::*;

/// Chunk, warp and block sizes in use: sizes cluster around their multiples.
const BORDERS: [usize; 3] = [16, 32, 64];

/// Elements `B * L * W` of a generated case at most: a bound on its time, not on what kernels may be given.
const MAX_ELEMENTS: usize = 12_000;

/// Shapes whose sizes lie on, just below and just above the borders, degenerate ones included.
pub(super) fn shapes() -> impl Strategy<Value = Shape> {
    (batches(), lengths(), widths())
        .prop_map(|(batch, length, width)| Shape { batch, length, width })
        .prop_filter("too large for a quick case", |s| s.batch * s.length * s.width <= MAX_ELEMENTS)
}

fn batches() -> impl Strategy<Value = usize> {
    prop_oneof![5 => 1usize..=3, 1 => 4usize..=9]
}

fn lengths() -> impl Strategy<Value = usize> {
    prop_oneof![
        3 => 0usize..=3,
        6 => beside_borders(3),
        3 => 4usize..=150,
        1 => 150usize..=700,
    ]
}

fn widths() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 1usize..=9, 4 => beside_borders(2), 1 => 10usize..=140]
}

/// `k * border + offset` for offset -1, 0 or 1.
fn beside_borders(multiples: usize) -> impl Strategy<Value = usize> {
    (1..=multiples, 0..BORDERS.len(), 0usize..=2).prop_map(|(k, i, offset)| k * BORDERS[i] + offset - 1)
}
