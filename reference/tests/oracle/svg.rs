//! The least that the figures of the docs need of SVG: shapes, text and two kinds of axis; what is drawn is left to
//! [`crate::figures`].

use std::fmt::Write;

/// A drawing in the making.
pub(crate) struct Drawing {
    size: (f64, f64),
    body: String,
}

impl Drawing {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { size: (width, height), body: String::new() }
    }

    fn element(&mut self, text: std::fmt::Arguments<'_>) {
        writeln!(self.body, "{text}").unwrap();
    }

    pub(crate) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str, width: f64) {
        self.element(format_args!(
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="{colour}" stroke-width="{width}"/>"#
        ));
    }

    pub(crate) fn bar(&mut self, (left, right): (f64, f64), (top, bottom): (f64, f64), colour: &str) {
        let (width, height) = ((right - left).max(0.5), bottom - top);
        self.element(format_args!(
            r#"<rect x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{height:.1}" fill="{colour}"/>"#
        ));
    }

    pub(crate) fn dot(&mut self, (x, y): (f64, f64), colour: &str) {
        self.element(format_args!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="2.5" fill="{colour}"/>"#));
    }

    pub(crate) fn curve(&mut self, points: impl Iterator<Item = (f64, f64)>, colour: &str) {
        let points: Vec<_> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let points = points.join(" ");
        self.element(format_args!(
            r#"<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.2"/>"#
        ));
    }

    /// `anchor` is `start`, `middle` or `end`.
    pub(crate) fn text(&mut self, (x, y): (f64, f64), anchor: &str, text: &str) {
        self.element(format_args!(r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#));
    }

    pub(crate) fn finish(self) -> String {
        let (width, height) = self.size;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
             font-size=\"11\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n{}</svg>\n",
            self.body
        )
    }
}

/// From numbers to places along one direction; logarithmic.
#[derive(Clone, Copy)]
pub(crate) struct Axis {
    pub(crate) numbers: (f64, f64),
    pub(crate) places: (f64, f64),
}

impl Axis {
    /// What lies beyond an end is drawn at the end.
    pub(crate) fn at(self, number: f64) -> f64 {
        let (low, high) = self.numbers;
        let share = (number.clamp(low, high) / low).ln() / (high / low).ln();
        self.places.0 + share * (self.places.1 - self.places.0)
    }

    /// The powers of ten on the axis, and how they are written.
    pub(crate) fn ticks(self) -> impl Iterator<Item = (f64, String)> {
        let ends = (self.numbers.0.log10(), self.numbers.1.log10());
        (-40..10)
            .map(|power| (f64::from(power), power))
            .filter(move |(p, _)| *p >= ends.0 && *p <= ends.1)
            .map(move |(_, power)| {
                let number = 10f64.powi(power);
                let label =
                    if (-3..=0).contains(&power) { format!("{number}") } else { format!("1e{power}") };
                (self.at(number), label)
            })
    }
}
