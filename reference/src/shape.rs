//! The three sizes of a problem, and nothing about its contents.

use crate::problem::ProblemError;

/// Batch `B`, length `L` (tokens) and width `W` (channels) of a problem; tensors are `[B, L, W]`, row-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Number of independent sequences, at least 1.
    pub batch: usize,
    /// Number of tokens in each sequence; 0 is legal.
    pub length: usize,
    /// Number of channels, at least 1.
    pub width: usize,
}

impl Shape {
    /// `[B, L, W]`, the shape of `x`, `y` and most gradients.
    #[must_use]
    pub fn tokens(self) -> [usize; 3] {
        [self.batch, self.length, self.width]
    }

    /// `[B, W]`, the shape of an initial or final state.
    #[must_use]
    pub fn states(self) -> [usize; 2] {
        [self.batch, self.width]
    }

    /// `B * L * W`, the number of elements of a `[B, L, W]` tensor.
    #[must_use]
    pub fn elements(self) -> usize {
        self.batch * self.length * self.width
    }
}

impl Shape {
    /// Refuses a batch or width of 0; the shape is that of `tensor`.
    pub(crate) fn demand_some(self, tensor: &'static str) -> Result<(), ProblemError> {
        let some = self.batch > 0 && self.width > 0;
        if some { Ok(()) } else { Err(ProblemError::Empty { tensor, found: self.tokens().to_vec() }) }
    }

    /// Refuses a width that has no real and imaginary half; the shape is that of `tensor`.
    pub(crate) fn demand_even(self, tensor: &'static str) -> Result<(), ProblemError> {
        let even = self.width.is_multiple_of(2);
        if even { Ok(()) } else { Err(ProblemError::Odd { tensor, found: self.tokens().to_vec() }) }
    }
}

#[cfg(test)]
mod tests {
    use super::Shape;

    #[test]
    fn a_shape_of_no_tokens_has_states_but_no_elements() {
        let shape = Shape { batch: 2, length: 0, width: 3 };
        assert_eq!(shape.elements(), 0);
        assert_eq!(shape.states(), [2, 3]);
        assert_eq!(shape.tokens(), [2, 0, 3]);
    }
}
