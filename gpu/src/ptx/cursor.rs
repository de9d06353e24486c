//! Walking over tokens: looking, taking, and saying what was expected; grammar is left to the other files.

use super::error::{Failure, PtxErrorKind};
use super::lexer::{Kind, Token, expected};

#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
}

/// A number as written, without its sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Integer(u64),
    Float32(u32),
    Float64(u64),
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str, tokens: &'a [Token]) -> Self {
        Self { text, tokens, at: 0 }
    }

    fn token(&self) -> Token {
        let end = Token { kind: Kind::End, line: 1, start: self.text.len(), end: self.text.len() };
        self.tokens.get(self.at).or(self.tokens.last()).copied().unwrap_or(end)
    }

    fn slice(&self, token: Token) -> &'a str {
        self.text.get(token.start..token.end).unwrap_or("")
    }

    pub(super) fn line(&self) -> u32 {
        self.token().line
    }

    /// Byte position of the next token.
    pub(super) fn position(&self) -> usize {
        self.token().start
    }

    /// The text from a position to the next token, with white space collapsed and comments left in.
    pub(super) fn text_from(&self, start: usize) -> String {
        let raw = self.text.get(start..self.token().start).unwrap_or("");
        let mut words = raw.split_whitespace().collect::<Vec<_>>().join(" ");
        words.truncate(words.floor_char_boundary(200));
        words
    }

    pub(super) fn is_end(&self) -> bool {
        self.token().kind == Kind::End
    }

    pub(super) fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len().saturating_sub(1));
    }

    pub(super) fn peek_word(&self) -> Option<&'a str> {
        let token = self.token();
        (token.kind == Kind::Word).then(|| self.slice(token))
    }

    pub(super) fn peek_mark(&self, mark: &str) -> bool {
        let token = self.token();
        token.kind == Kind::Mark && self.slice(token) == mark
    }

    pub(super) fn peek_number(&self) -> bool {
        self.token().kind == Kind::Number
    }

    /// Whether the token after the next one is this mark.
    pub(super) fn second_is(&self, mark: &str) -> bool {
        let next = Cursor { at: self.at + 1, ..*self };
        next.peek_mark(mark)
    }

    pub(super) fn take_word(&mut self, wanted: &str) -> bool {
        let there = self.peek_word() == Some(wanted);
        if there {
            self.advance();
        }
        there
    }

    pub(super) fn take_mark(&mut self, mark: &str) -> bool {
        let there = self.peek_mark(mark);
        if there {
            self.advance();
        }
        there
    }

    pub(super) fn mark(&mut self, mark: &str) -> Result<(), Failure> {
        if self.take_mark(mark) { Ok(()) } else { Err(self.unexpected(&format!("`{mark}`"))) }
    }

    pub(super) fn word(&mut self, what: &str) -> Result<&'a str, Failure> {
        let word = self.peek_word().ok_or_else(|| self.unexpected(what))?;
        self.advance();
        Ok(word)
    }

    pub(super) fn string(&mut self) -> Result<&'a str, Failure> {
        let token = self.token();
        if token.kind != Kind::Text {
            return Err(self.unexpected("a string"));
        }
        self.advance();
        Ok(self.slice(token))
    }

    /// The next token as written, whatever it is.
    pub(super) fn raw(&mut self) -> &'a str {
        let text = self.slice(self.token());
        self.advance();
        text
    }

    pub(super) fn number(&mut self) -> Result<Number, Failure> {
        let token = self.token();
        if token.kind != Kind::Number {
            return Err(self.unexpected("a number"));
        }
        let text = self.slice(token);
        let number =
            parse_number(text).ok_or((token.line, PtxErrorKind::Number { text: text.to_owned() }))?;
        self.advance();
        Ok(number)
    }

    pub(super) fn integer(&mut self) -> Result<u64, Failure> {
        let here = *self;
        match self.number()? {
            Number::Integer(value) => Ok(value),
            _ => Err(here.unexpected("an integer")),
        }
    }

    pub(super) fn small(&mut self) -> Result<u32, Failure> {
        let here = *self;
        let value = self.integer()?;
        u32::try_from(value).map_err(|_| here.unexpected("an integer below 2^32"))
    }

    pub(super) fn unexpected(&self, wanted: &str) -> Failure {
        let token = self.token();
        let found = match token.kind {
            Kind::End => "the end of the text".to_owned(),
            Kind::Text => format!("string \"{}\"", self.slice(token)),
            _ => format!("`{}`", self.slice(token)),
        };
        (token.line, expected(wanted, &found))
    }

    pub(super) fn fail<T>(&self, kind: PtxErrorKind) -> Result<T, Failure> {
        Err((self.line(), kind))
    }
}

fn parse_number(text: &str) -> Option<Number> {
    let lower = text.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0f").filter(|h| h.len() == 8) {
        return u32::from_str_radix(hex, 16).ok().map(Number::Float32);
    }
    if let Some(hex) = lower.strip_prefix("0d").filter(|h| h.len() == 16) {
        return u64::from_str_radix(hex, 16).ok().map(Number::Float64);
    }
    if let Some(hex) = lower.strip_prefix("0x") {
        return u64::from_str_radix(hex.trim_end_matches('u'), 16).ok().map(Number::Integer);
    }
    if lower.contains('.') || lower.contains('e') {
        return lower.parse::<f64>().ok().map(|v| Number::Float64(v.to_bits()));
    }
    let digits = lower.strip_suffix('u').unwrap_or(&lower);
    let value = if let Some(binary) = digits.strip_prefix("0b") {
        u64::from_str_radix(binary, 2)
    } else if digits.len() > 1 && digits.starts_with('0') {
        u64::from_str_radix(digits, 8)
    } else {
        digits.parse()
    };
    value.ok().map(Number::Integer)
}

#[cfg(test)]
mod tests {
    use super::{Number, parse_number};

    #[test]
    fn numbers_in_every_notation() {
        assert_eq!(parse_number("0f3F800000"), Some(Number::Float32(0x3f80_0000)));
        assert_eq!(parse_number("0d3FF0000000000000"), Some(Number::Float64(1f64.to_bits())));
        assert_eq!(parse_number("0xFFu"), Some(Number::Integer(255)));
        assert_eq!(parse_number("017"), Some(Number::Integer(15)));
        assert_eq!(parse_number("0b101"), Some(Number::Integer(5)));
        assert_eq!(parse_number("1.5e-3"), Some(Number::Float64(1.5e-3f64.to_bits())));
        assert_eq!(parse_number("18446744073709551616"), None);
        assert_eq!(parse_number("12abc"), None);
    }
}
