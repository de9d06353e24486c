//! PTX text to words, numbers, strings and marks with their lines; grammar is left to the parser.

use super::error::{Failure, PtxErrorKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Identifier, directive or instruction with its modifiers: `%r1`, `.reg`, `ld.global.f32`.
    Word,
    /// Starts with a digit.
    Number,
    /// Between double quotes, which are not part of it.
    Text,
    /// One character.
    Mark,
    End,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) line: u32,
    pub(super) start: usize,
    pub(super) end: usize,
}

pub(super) fn tokenize(text: &str) -> Result<Vec<Token>, Failure> {
    let mut lexer = Lexer { text, bytes: text.as_bytes(), at: 0, line: 1 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank()?;
        let token = lexer.next()?;
        tokens.push(token);
        if token.kind == Kind::End {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_blank(&mut self) -> Result<(), Failure> {
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'\n', _) => {
                    self.line += 1;
                    self.at += 1;
                }
                // NVRTC ends its text with a NUL.
                (b' ' | b'\t' | b'\r' | 0x0c | 0, _) => self.at += 1,
                (b'/', b'/') => self.skip_line(),
                (b'/', b'*') => self.skip_comment()?,
                _ => break,
            }
        }
        Ok(())
    }

    fn skip_line(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        self.at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    }

    fn skip_comment(&mut self) -> Result<(), Failure> {
        let first = self.line;
        self.at += 2;
        while (self.peek(0), self.peek(1)) != (b'*', b'/') {
            if self.at >= self.bytes.len() {
                return Err((first, expected("`*/`", "the end of the text")));
            }
            self.line += u32::from(self.peek(0) == b'\n');
            self.at += 1;
        }
        self.at += 2;
        Ok(())
    }

    fn next(&mut self) -> Result<Token, Failure> {
        let start = self.at;
        let line = self.line;
        if start >= self.bytes.len() {
            return Ok(Token { kind: Kind::End, line, start, end: start });
        }
        let (kind, start, end) = match self.peek(0) {
            b'"' => return self.string(),
            b'0'..=b'9' => (Kind::Number, start, self.number()),
            first if is_word(first) => (Kind::Word, start, self.word()),
            b'@' | b'!' | b'|' | b'+' | b'-' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' | b';'
            | b':' | b'=' | b'<' | b'>' => (Kind::Mark, start, start + 1),
            _ => {
                let found = self.text.get(start..).and_then(|t| t.chars().next()).unwrap_or('?');
                return Err((line, expected("PTX", &format!("character {found:?}"))));
            }
        };
        self.at = end;
        Ok(Token { kind, line, start, end })
    }

    fn string(&mut self) -> Result<Token, Failure> {
        let start = self.at + 1;
        let rest = self.bytes.get(start..).unwrap_or(&[]);
        let len = rest.iter().position(|&b| b == b'"' || b == b'\n').unwrap_or(rest.len());
        if rest.get(len) != Some(&b'"') {
            return Err((self.line, expected("`\"`", "the end of the line")));
        }
        self.at = start + len + 1;
        Ok(Token { kind: Kind::Text, line: self.line, start, end: start + len })
    }

    fn word(&self) -> usize {
        let mut end = self.at;
        loop {
            let at = |ahead| self.bytes.get(end + ahead).copied().unwrap_or(0);
            if is_word(at(0)) || at(0).is_ascii_digit() {
                end += 1;
            } else if at(0) == b':' && at(1) == b':' && (is_word(at(2)) || at(2).is_ascii_digit()) {
                end += 2;
            } else {
                return end;
            }
        }
    }

    fn number(&self) -> usize {
        let hex = self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X' | b'f' | b'F' | b'd' | b'D');
        let mut end = self.at;
        loop {
            let at = |ahead| self.bytes.get(end + ahead).copied().unwrap_or(0);
            let exponent = !hex && matches!(at(0), b'e' | b'E') && matches!(at(1), b'+' | b'-');
            if exponent {
                end += 2;
            } else if at(0).is_ascii_alphanumeric() || at(0) == b'.' {
                end += 1;
            } else {
                return end;
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

pub(super) fn expected(expected: &str, found: &str) -> PtxErrorKind {
    PtxErrorKind::Expected { expected: expected.to_owned(), found: found.to_owned() }
}
