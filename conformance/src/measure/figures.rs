//! The figures of one tensor: the verdict ratio, and the usual norms beside it.

use plumbline_fixtures::unravel;
use serde::Serialize;

use super::{Computed, distance, ratio};

/// The element that is worst in units of its envelope.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worst {
    /// Index along every axis.
    pub index: Vec<usize>,
    /// Row-major position.
    pub position: usize,
    /// The stored number.
    #[serde(serialize_with = "words")]
    pub got: f64,
    /// The oracle's number.
    #[serde(serialize_with = "words")]
    pub truth: f64,
    /// What rounding may leave there.
    #[serde(serialize_with = "words")]
    pub envelope: f64,
    /// Distance over envelope.
    #[serde(serialize_with = "words")]
    pub ratio: f64,
}

/// All figures of one tensor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// Elements compared.
    pub elements: usize,
    /// Largest distance over envelope: the verdict's figure.
    #[serde(serialize_with = "words")]
    pub ratio: f64,
    /// Elements beyond their envelope.
    pub beyond: usize,
    /// Elements that an infinite envelope leaves open, since an intermediate result may overflow: they are not judged.
    pub unbounded: usize,
    /// Largest |got - truth|.
    #[serde(serialize_with = "words")]
    pub max_abs: f64,
    /// The same over the largest |truth|.
    #[serde(serialize_with = "words")]
    pub scaled_max: f64,
    /// The same over max(1, largest |truth|), the seeds' figure.
    #[serde(serialize_with = "words")]
    pub seed_max: f64,
    /// ||got - truth|| / ||truth||.
    #[serde(serialize_with = "words")]
    pub relative_l2: f64,
    /// Cosine of the angle between got and truth.
    #[serde(serialize_with = "words")]
    pub cosine: f64,
    /// Largest number of representable steps between got and the rounded truth.
    #[serde(serialize_with = "words")]
    pub max_ulp: f64,
    /// Where the ratio is largest; none where nothing differs.
    pub worst: Option<Worst>,
}

/// JSON has no infinity: non-finite figures become words.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
pub(crate) fn words<S: serde::Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() {
        serializer.serialize_f64(*value)
    } else {
        serializer.serialize_str(&value.to_string())
    }
}

/// What a tensor is held against, row-major.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// The truth.
    pub truth: &'a [f64],
    /// The largest honest error of each element.
    pub envelope: &'a [f64],
    /// Whether an infinity may have either sign where its envelope is infinite. Components of a complex product cancel,
    /// and the mask of a ReLU may be undecided: then rounding decides on the sign of a factor, and so on that of its
    /// product with an infinity. Real products have no such factor.
    pub either_infinity: bool,
}

impl Expected<'_> {
    /// The element at a row-major position.
    pub(super) fn at(&self, position: usize) -> Option<ExpectedElement> {
        Some(ExpectedElement {
            truth: *self.truth.get(position)?,
            envelope: *self.envelope.get(position)?,
            either_infinity: self.either_infinity,
        })
    }
}

/// One element of [`Expected`].
#[derive(Clone, Copy)]
pub(super) struct ExpectedElement {
    truth: f64,
    envelope: f64,
    either_infinity: bool,
}

/// Compares a tensor with what is expected, element by element. All have the same number of elements.
#[must_use]
pub fn measure(computed: &Computed, expected: &Expected<'_>) -> Measure {
    let mut sums = Sums::default();
    for (i, &got) in computed.values.iter().enumerate() {
        if let Some(expected) = expected.at(i) {
            sums.add(i, got, expected, computed);
        }
    }
    sums.finish()
}

#[derive(Default)]
struct Sums {
    elements: usize,
    beyond: usize,
    unbounded: usize,
    max_abs: f64,
    max_truth: f64,
    max_ulp: f64,
    error2: f64,
    truth2: f64,
    got2: f64,
    dot: f64,
    worst: Option<Worst>,
}

impl Sums {
    fn add(&mut self, i: usize, got: f64, expected: ExpectedElement, computed: &Computed) {
        let ExpectedElement { truth, envelope, .. } = expected;
        self.elements += 1;
        let ratio = expected.ratio(got, computed);
        self.beyond += usize::from(ratio > 1.0);
        self.unbounded += usize::from(expected.is_unbounded(got));
        if ratio > self.worst.as_ref().map_or(0.0, |w| w.ratio) {
            self.worst =
                Some(Worst { index: unravel(i, &computed.shape), position: i, got, truth, envelope, ratio });
        }
        self.norms(got, truth, computed);
    }

    /// Non-finite elements are the ratio's business; in a norm they would hide all others.
    fn norms(&mut self, got: f64, truth: f64, computed: &Computed) {
        if got.to_bits() == truth.to_bits() && !got.is_finite() || got.is_nan() && truth.is_nan() {
            return;
        }
        let error = (got - truth).abs();
        self.max_abs = if error.is_nan() { f64::INFINITY } else { self.max_abs.max(error) };
        self.max_ulp = self.max_ulp.max(computed.storage.steps(got, computed.storage.nearest(truth)));
        if truth.is_finite() {
            self.max_truth = self.max_truth.max(truth.abs());
            self.truth2 += truth * truth;
        }
        self.error2 += error * error;
        self.got2 += got * got;
        self.dot += got * truth;
    }

    fn finish(self) -> Measure {
        let worst = self.worst;
        Measure {
            elements: self.elements,
            ratio: worst.as_ref().map_or(0.0, |w| w.ratio),
            beyond: self.beyond,
            unbounded: self.unbounded,
            max_abs: self.max_abs,
            scaled_max: quotient(self.max_abs, self.max_truth),
            seed_max: self.max_abs / self.max_truth.max(1.0),
            relative_l2: quotient(self.error2.sqrt(), self.truth2.sqrt()),
            cosine: if self.error2 == 0.0 {
                1.0
            } else {
                quotient(self.dot, (self.got2 * self.truth2).sqrt())
            },
            max_ulp: self.max_ulp,
            worst,
        }
    }
}

impl ExpectedElement {
    /// Ratio of one element; 0 where the element cannot be judged.
    pub(super) fn ratio(self, got: f64, computed: &Computed) -> f64 {
        let distance = distance(computed.storage, got, self.truth);
        if self.is_unbounded(got) {
            0.0
        } else if distance.is_infinite() {
            f64::INFINITY
        } else {
            ratio(distance, self.envelope)
        }
    }

    /// Whether an infinite envelope leaves the element open.
    ///
    /// Where the truth is finite, an intermediate result may overflow: anything may stand there. Where it is not, a
    /// factor beside the infinity may underflow to 0, and 0 times infinity is NaN: NaN and infinity may then stand for
    /// each other, but no number for them, nor one infinity for the other unless a factor's sign is open.
    fn is_unbounded(self, got: f64) -> bool {
        let Self { truth, envelope, either_infinity } = self;
        let with_nan = got.is_nan() != truth.is_nan();
        let other_sign = either_infinity && got == -truth;
        let non_finite_pair = !got.is_finite() && (with_nan || other_sign);
        envelope.is_infinite() && (truth.is_finite() || non_finite_pair)
    }
}

fn quotient(a: f64, b: f64) -> f64 {
    if a == 0.0 { 0.0 } else { a / b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Storage;

    fn measure(computed: &Computed, truth: &[f64], envelope: &[f64]) -> Measure {
        super::measure(computed, &Expected { truth, envelope, either_infinity: false })
    }

    fn computed(values: &[f64]) -> Computed {
        Computed { storage: Storage::F32, shape: vec![1, values.len()], values: values.to_vec() }
    }

    #[test]
    fn the_worst_is_worst_in_its_own_envelope() {
        let m = measure(&computed(&[1.0, 2.5, 3.0]), &[1.25, 2.0, 3.0], &[0.125, 1.0, 0.0]);
        let worst = m.worst.unwrap();
        assert_eq!((worst.index, worst.ratio), (vec![0, 0], 2.0));
        assert_eq!((m.ratio, m.beyond, m.max_abs, m.elements), (2.0, 1, 0.5, 3));
        assert_eq!(m.scaled_max, 0.5 / 3.0);
    }

    #[test]
    fn differences_of_any_sign_and_nan_count() {
        let m = measure(&computed(&[-5.0, f64::NAN, -1.0]), &[0.0, 0.0, 0.0], &[10.0, 10.0, 10.0]);
        assert_eq!(m.ratio, f64::INFINITY);
        assert_eq!(m.max_abs, f64::INFINITY);
        assert_eq!(m.beyond, 1);
    }

    #[test]
    fn equal_tensors_measure_nothing() {
        let m =
            measure(&computed(&[1.0, f64::INFINITY, f64::NAN]), &[1.0, f64::INFINITY, f64::NAN], &[0.0; 3]);
        assert_eq!((m.ratio, m.max_abs, m.relative_l2, m.cosine, m.max_ulp), (0.0, 0.0, 0.0, 1.0, 0.0));
        assert_eq!(m.worst, None);
    }

    #[test]
    fn an_unbounded_element_is_counted_and_not_judged() {
        let m = measure(&computed(&[f64::NAN, 1.0]), &[1.0, 1.0], &[f64::INFINITY, 1.0]);
        assert_eq!((m.ratio, m.unbounded), (0.0, 1));
        let inf = f64::INFINITY;
        let one = |got: f64, truth: f64, envelope: f64| {
            let m = measure(&computed(&[got]), &[truth], &[envelope]);
            (m.ratio, m.unbounded)
        };
        assert_eq!(one(f64::NAN, inf, inf), (0.0, 1), "0 times infinity, where a gate underflows");
        assert_eq!(one(inf, f64::NAN, inf), (0.0, 1));
        assert_eq!(one(f64::NAN, inf, 1.0), (inf, 0), "no gate can underflow");
        assert_eq!(one(1.0, inf, inf), (inf, 0));
        assert_eq!(one(1.0, f64::NAN, inf), (inf, 0));
        assert_eq!(one(-inf, inf, inf), (inf, 0));
        assert_eq!(one(inf, inf, inf), (0.0, 0));
    }

    #[test]
    fn a_complex_product_with_an_infinity_may_have_either_sign() {
        let inf = f64::INFINITY;
        let one = |got: f64, truth: f64, envelope: f64| {
            let expected = Expected { truth: &[truth], envelope: &[envelope], either_infinity: true };
            let m = super::measure(&computed(&[got]), &expected);
            (m.ratio, m.unbounded)
        };
        assert_eq!(one(-inf, inf, inf), (0.0, 1));
        assert_eq!(one(-inf, inf, 1.0), (inf, 0), "no factor's sign is open");
        assert_eq!(one(1.0, inf, inf), (inf, 0));
        assert_eq!(one(1.0, f64::NAN, inf), (inf, 0));
        assert_eq!(one(inf, 1.0, 1.0), (inf, 0));
    }

    #[test]
    fn positions_unravel_row_major() {
        assert_eq!(unravel(23, &[2, 3, 4]), [1, 2, 3]);
        assert_eq!(unravel(5, &[2, 3, 4]), [0, 1, 1]);
    }
}
