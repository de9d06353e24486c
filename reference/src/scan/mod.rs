//! The primitive under every gated recurrence, `h_t = A_t h_{t-1} + w_t`, and its adjoint, for given `A` and
//! `w`, real or complex; where `A` and `w` come from is left to the families.
//!
//! `A_t = 0` is a reset: the state before it is discarded, not multiplied, so NaN and infinity do not cross.

pub(crate) mod cell;
mod channel;
mod family;
mod problem;

use ndarray::{Array2, Array3, Axis, Zip};
use num_complex::Complex;
use num_traits::Num;

use crate::carry::{Carry, State};
use crate::near::Near;
use crate::plan::Rounding;
pub use family::{Input, evaluate, run, solve};
pub use problem::{Field, Inputs, Problem};

/// A number that a scan can carry.
pub trait Scalar: Num + Copy {
    /// The complex conjugate; a real number is its own.
    #[must_use]
    fn conj(self) -> Self;
}

impl Scalar for f32 {
    fn conj(self) -> Self {
        self
    }
}

impl Scalar for f64 {
    fn conj(self) -> Self {
        self
    }
}

impl Scalar for Complex<f32> {
    fn conj(self) -> Self {
        Complex::conj(&self)
    }
}

impl Scalar for Complex<f64> {
    fn conj(self) -> Self {
        Complex::conj(&self)
    }
}

/// One step, `h -> A h + w`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step<T> {
    /// The decay `A`; zero discards.
    pub decay: T,
    /// The write `w`.
    pub write: T,
}

impl<T: Scalar> Step<T> {
    /// The step applied to a state.
    #[must_use]
    pub fn apply(self, state: T) -> T {
        if self.decay.is_zero() { self.write } else { self.decay * state + self.write }
    }

    /// This step first, `later` second: `(A2, w2) o (A1, w1) = (A2 A1, A2 w1 + w2)`. Associative, not
    /// commutative.
    ///
    /// ```
    /// use plumbline_reference::scan::Step;
    /// let (first, second) = (Step { decay: 2.0, write: 1.0 }, Step { decay: 3.0, write: 5.0 });
    /// assert_eq!(first.then(second), Step { decay: 6.0, write: 8.0 });
    /// assert_eq!(first.then(second).apply(1.0), second.apply(first.apply(1.0)));
    /// ```
    #[must_use]
    pub fn then(self, later: Self) -> Self {
        let decay = if later.decay.is_zero() { later.decay } else { later.decay * self.decay };
        Self { decay, write: later.apply(self.write) }
    }
}

/// All states `h`, `[B, L, W]`, of `A` and `w`, `[B, L, W]`, from the initial state `h0`, `[B, W]`.
///
/// # Panics
///
/// If the shapes disagree.
#[must_use]
pub fn forward<T: Scalar>(a: &Array3<T>, w: &Array3<T>, h0: &Array2<T>) -> Array3<T> {
    let mut h = w.clone();
    let mut state = h0.clone();
    for t in 0..a.len_of(Axis(1)) {
        let mut now = h.index_axis_mut(Axis(1), t);
        Zip::from(&mut state).and(a.index_axis(Axis(1), t)).and(&mut now).for_each(|state, &decay, now| {
            *state = Step { decay, write: *now }.apply(*state);
            *now = *state;
        });
    }
    h
}

/// The gradients of a scan, with the real inner product if complex.
#[derive(Clone, Debug)]
pub struct Gradients<T> {
    /// `dw_t = lambda_t`, `[B, L, W]`.
    pub dw: Array3<T>,
    /// `dA_t = lambda_t conj(h_{t-1})`, `[B, L, W]`; also where `A_t = 0`, as a derivative exists there.
    pub da: Array3<T>,
    /// `dh0 = conj(A_0) lambda_0`, `[B, W]`; `dlast` if there are no tokens.
    pub dh0: Array2<T>,
}

/// `lambda_t = dy_t + [t = L-1] dlast + conj(A_{t+1}) lambda_{t+1}`, and what follows from it.
///
/// `a`, `h` and `dy` are `[B, L, W]`, `h0` and `dlast` are `[B, W]`; `h` is what [`forward`] returned.
///
/// # Panics
///
/// If the shapes disagree.
#[must_use]
pub fn adjoint<T: Scalar>(
    a: &Array3<T>,
    h: &Array3<T>,
    h0: &Array2<T>,
    dy: &Array3<T>,
    dlast: &Array2<T>,
) -> Gradients<T> {
    let mut arriving = dlast.clone();
    let (mut dw, mut da) = (dy.clone(), dy.clone());
    for t in (0..a.len_of(Axis(1))).rev() {
        let before = if t == 0 { h0.view() } else { h.index_axis(Axis(1), t - 1) };
        let (mut dw, mut da) = (dw.index_axis_mut(Axis(1), t), da.index_axis_mut(Axis(1), t));
        Zip::from(&mut arriving).and(&mut dw).for_each(|arriving, dw| {
            *dw = *dw + *arriving;
            *arriving = *dw;
        });
        Zip::from(&mut da).and(&dw).and(before).for_each(|da, &lambda, &h| *da = lambda * h.conj());
        let decay = a.index_axis(Axis(1), t);
        Zip::from(&mut arriving).and(decay).for_each(|arriving, &decay| {
            *arriving = Step { decay: decay.conj(), write: T::zero() }.apply(*arriving);
        });
    }
    Gradients { dw, da, dh0: arriving }
}

/// The envelope of [`forward`], `[B, L, W]`, for a real scan in the arithmetic of `carry` and any order of
/// association; `A`, `w` and `h0` are exact.
///
/// # Panics
///
/// If the shapes disagree.
#[must_use]
pub fn envelope(a: &Array3<f64>, w: &Array3<f64>, h0: &Array2<f64>, carry: Rounding) -> Array3<f64> {
    let carry = Carry::real(carry, a.len_of(Axis(1)));
    let mut bound = w.clone();
    let mut state = h0.mapv(State::exact);
    for t in 0..a.len_of(Axis(1)) {
        let mut now = bound.index_axis_mut(Axis(1), t);
        Zip::from(&mut state).and(a.index_axis(Axis(1), t)).and(&mut now).for_each(|state, &decay, now| {
            let write = Near::exact(*now);
            *state = if decay == 0.0 {
                State::written(write, carry)
            } else {
                state.step(Near::exact(decay), write, carry)
            };
            *now = state.near().envelope();
        });
    }
    bound
}

/// The envelope of `dw = lambda` of [`adjoint`], `[B, L, W]`: the same recurrence from the right.
///
/// # Panics
///
/// If the shapes disagree.
#[must_use]
pub fn adjoint_envelope(
    a: &Array3<f64>,
    dy: &Array3<f64>,
    dlast: &Array2<f64>,
    carry: Rounding,
) -> Array3<f64> {
    let (mut decay, mut write) = (Array3::ones(dy.raw_dim()), dy.clone());
    decay.invert_axis(Axis(1));
    write.invert_axis(Axis(1));
    for t in 1..a.len_of(Axis(1)) {
        let from = a.len_of(Axis(1)) - t;
        decay.index_axis_mut(Axis(1), t).assign(&a.index_axis(Axis(1), from));
    }
    let mut bound = envelope(&decay, &write, dlast, carry);
    bound.invert_axis(Axis(1));
    bound
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "small integers are exact in every order")]
mod tests {
    use ndarray::{Array2, Array3, array};
    use num_complex::Complex;

    use super::{Step, adjoint, adjoint_envelope, envelope, forward};
    use crate::plan::Rounding;

    fn line(values: &[f64]) -> Array3<f64> {
        Array3::from_shape_fn((1, values.len(), 1), |(_, t, _)| values[t])
    }

    #[test]
    fn states_are_those_of_the_recurrence() {
        let h = forward(&line(&[2.0, 3.0]), &line(&[1.0, 5.0]), &array![[10.0]]);
        assert_eq!(h, line(&[21.0, 68.0]));
    }

    #[test]
    fn a_zero_decay_discards_what_was_not_finite() {
        let h = forward(&line(&[1.0, 0.0]), &line(&[f64::NAN, 7.0]), &array![[1.0]]);
        assert_eq!(h[[0, 1, 0]], 7.0);
        let back =
            adjoint(&line(&[1.0, 0.0]), &h, &array![[1.0]], &line(&[2.0, f64::INFINITY]), &array![[0.0]]);
        assert_eq!((back.dw[[0, 0, 0]], back.dh0[[0, 0]]), (2.0, 2.0));
    }

    #[test]
    fn composition_is_associative() {
        let [a, b, c] = [(2.0, 1.0), (0.0, 5.0), (4.0, 3.0)].map(|(decay, write)| Step { decay, write });
        assert_eq!(a.then(b).then(c), a.then(b.then(c)));
    }

    #[test]
    fn the_adjoint_holds_the_inner_product() {
        let i = Complex::new(0.0, 1.0);
        let cell = |re: f64, im: f64| re + i * im;
        let a = Array3::from_shape_fn((1, 3, 1), |(_, t, _)| cell(1.0, t as f64));
        let w = Array3::from_shape_fn((1, 3, 1), |(_, t, _)| cell(t as f64, -1.0));
        let dy = Array3::from_shape_fn((1, 3, 1), |(_, t, _)| cell(2.0, t as f64 - 1.0));
        let h0 = Array2::from_elem((1, 1), cell(3.0, 1.0));
        let zero = Array2::from_elem((1, 1), cell(0.0, 0.0));
        let h = forward(&a, &w, &h0);
        let back = adjoint(&a, &h, &h0, &dy, &zero);
        let dot = |x: &Complex<f64>, y: &Complex<f64>| (x.conj() * y).re;
        let seen: f64 = h.iter().zip(&dy).map(|(x, y)| dot(x, y)).sum();
        let pulled: f64 = w.iter().zip(&back.dw).map(|(x, y)| dot(x, y)).sum();
        let initial: f64 = h0.iter().zip(&back.dh0).map(|(x, y)| dot(x, y)).sum();
        assert_eq!(seen, pulled + initial);
    }

    #[test]
    fn no_tokens_hand_the_state_and_its_cotangent_through() {
        let none = Array3::zeros((1, 0, 1));
        let back = adjoint(&none, &none, &array![[1.0]], &none, &array![[4.0]]);
        assert_eq!(back.dh0, array![[4.0]]);
    }

    #[test]
    fn envelopes_grow_with_the_magnitudes_not_with_the_values() {
        let (a, w) = (line(&[1.0, 1.0]), line(&[1.0, -1.0]));
        let bound = envelope(&a, &w, &array![[0.0]], Rounding::F32);
        assert!(bound[[0, 1, 0]] > 2.0 * Rounding::F32.unit);
        let back = adjoint_envelope(&a, &line(&[1.0, -1.0]), &array![[0.0]], Rounding::F32);
        assert!(back[[0, 0, 0]] > back[[0, 1, 0]]);
    }
}
