//! The modifiers of an instruction, taken one by one until none is left; what they mean is left to the groups.

use super::{Decoded, Refusal};
use crate::machine::operation::{FloatMode, Rounding};
use crate::ptx::ScalarType;

pub(super) struct Words<'a> {
    rest: Vec<&'a str>,
}

impl<'a> Words<'a> {
    pub(super) fn new(modifiers: &'a [String]) -> Self {
        Self { rest: modifiers.iter().map(String::as_str).collect() }
    }

    pub(super) fn flag(&mut self, word: &str) -> bool {
        self.one_of(&[word]).is_some()
    }

    /// Takes the first of these words that is there.
    pub(super) fn one_of(&mut self, words: &[&str]) -> Option<&'a str> {
        let at = self.rest.iter().position(|word| words.contains(word))?;
        Some(self.rest.remove(at))
    }

    /// Takes the first word that `f` knows.
    pub(super) fn find<T>(&mut self, f: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (at, value) = self.rest.iter().enumerate().find_map(|(at, word)| Some((at, f(word)?)))?;
        self.rest.remove(at);
        Some(value)
    }

    /// Takes the last word as the type.
    pub(super) fn ty(&mut self) -> Decoded<ScalarType> {
        let last = self.rest.pop().unwrap_or("");
        ScalarType::from_name(last).ok_or_else(|| Refusal::Unsupported(format!("type `.{last}`")))
    }

    /// `.ftz` and `.sat`.
    pub(super) fn mode(&mut self) -> FloatMode {
        FloatMode { flush: self.flag("ftz"), saturate: self.flag("sat") }
    }

    /// `.rn`, `.rz`, `.rm` or `.rp`.
    pub(super) fn rounding(&mut self) -> Option<Rounding> {
        self.find(|word| {
            Some(match word {
                "rn" => Rounding::Nearest,
                "rz" => Rounding::Zero,
                "rm" => Rounding::Down,
                "rp" => Rounding::Up,
                _ => return None,
            })
        })
    }

    /// Whatever was not taken is a modifier that nobody knows here.
    pub(super) fn finish(self) -> Decoded<()> {
        match self.rest.first() {
            None => Ok(()),
            Some(word) => Err(Refusal::Unsupported(format!("modifier `.{word}`"))),
        }
    }
}
