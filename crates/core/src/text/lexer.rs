//! Splits a text into words, names, strings, numbers and marks.

use super::error::{Position, TextError};
use super::number::Number;

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A keyword, op, key or unquoted value.
    Word(String),
    /// The name of a value, `%name`.
    Value(String),
    /// The name of a constant or graph, `@name`.
    Global(String),
    /// A string in quotes, `"text"`.
    Text(String),
    /// A number.
    Number(Number),
    /// A punctuation mark, one of `( ) { } [ ] , : = ~`.
    Mark(char),
    /// The end of the text.
    End,
}

impl Token {
    /// Describes the token in error messages.
    pub(super) fn describe(&self) -> String {
        match self {
            Token::Word(word) => format!("`{word}`"),
            Token::Value(name) => format!("`%{name}`"),
            Token::Global(name) => format!("`@{name}`"),
            Token::Text(text) => format!("{text:?}"),
            Token::Number(Number::Decimal(text)) => format!("`{text}`"),
            Token::Number(Number::Nan(bits)) => format!("`nan({bits:#x})`"),
            Token::Mark(mark) => format!("`{mark}`"),
            Token::End => "the end of the text".into(),
        }
    }
}

/// True if the name can be written after `%` or `@` without quotes.
pub(super) fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_name_char)
}

/// True if the text can be written as a word without quotes, and cannot be mistaken for a number.
pub(super) fn is_plain_word(text: &str) -> bool {
    is_plain_name(text)
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && !["inf", "nan", "f32", "_"].contains(&text)
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

/// Returns the text in quotes, with `"`, `\` and control characters escaped.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Splits a text into tokens.
pub(super) struct Lexer<'a> {
    rest: &'a str,
    at: Position,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Lexer<'a> {
        Lexer {
            rest: text,
            at: Position { line: 1, column: 1 },
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        if c == '\n' {
            self.at = Position {
                line: self.at.line + 1,
                column: 1,
            };
        } else {
            self.at.column += 1;
        }
        Some(c)
    }

    fn take_while(&mut self, holds: impl Fn(char) -> bool) -> &'a str {
        let start = self.rest;
        while self.peek().is_some_and(&holds) {
            self.take();
        }
        &start[..start.len() - self.rest.len()]
    }

    fn skip_blank(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if self.peek() != Some(';') {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    /// Returns the next token, and the position where it starts.
    pub(super) fn next(&mut self) -> Result<(Position, Token), TextError> {
        self.skip_blank();
        let at = self.at;
        let Some(c) = self.peek() else {
            return Ok((at, Token::End));
        };
        let token = match c {
            '%' | '@' => {
                self.take();
                let name = self.name()?;
                if c == '%' {
                    Token::Value(name)
                } else {
                    Token::Global(name)
                }
            }
            '"' => Token::Text(self.string()?),
            '(' | ')' | '{' | '}' | '[' | ']' | ',' | ':' | '=' | '~' => {
                self.take();
                Token::Mark(c)
            }
            '-' | '0'..='9' => Token::Number(self.number()),
            'a'..='z' | 'A'..='Z' | '_' => match self.take_while(is_name_char) {
                "inf" => Token::Number(Number::Decimal("inf".into())),
                "nan" => Token::Number(self.nan_bits()?),
                word => Token::Word(word.into()),
            },
            other => return Err(at.expected("a word, a name, a number or a mark", format!("{other:?}"))),
        };
        Ok((at, token))
    }

    fn name(&mut self) -> Result<String, TextError> {
        if self.peek() == Some('"') {
            return self.string();
        }
        let (at, name) = (self.at, self.take_while(is_name_char));
        if name.is_empty() {
            return Err(at.expected("a name", self.found()));
        }
        Ok(name.into())
    }

    fn found(&self) -> String {
        self.peek().map_or("the end of the text".into(), |c| format!("{c:?}"))
    }

    fn string(&mut self) -> Result<String, TextError> {
        let start = self.at;
        self.take();
        let mut out = String::new();
        loop {
            let at = self.at;
            match self.take() {
                Some('"') => return Ok(out),
                Some('\\') => match self.take() {
                    Some(c @ ('"' | '\\')) => out.push(c),
                    Some('n') => out.push('\n'),
                    Some('t') => out.push('\t'),
                    Some('u') => out.push(self.unicode(at)?),
                    other => {
                        let found = other.map_or("the end of the text".into(), |c| format!("`\\{c}`"));
                        return Err(at.expected(r#"one of \" \\ \n \t \u{…}"#, found));
                    }
                },
                Some(c) => out.push(c),
                None => return Err(start.expected("a string that ends", "the end of the text")),
            }
        }
    }

    fn unicode(&mut self, at: Position) -> Result<char, TextError> {
        let digits = self
            .rest
            .strip_prefix('{')
            .and_then(|rest| rest.split_once('}'))
            .map(|(digits, _)| digits);
        let c = digits
            .filter(|d| d.len() <= 6)
            .and_then(|d| u32::from_str_radix(d, 16).ok())
            .and_then(char::from_u32);
        let (Some(c), Some(digits)) = (c, digits) else {
            return Err(at.expected(r"the hexadecimal number of a character, \u{1f600}", "something else"));
        };
        for _ in 0..digits.len() + 2 {
            self.take();
        }
        Ok(c)
    }

    fn number(&mut self) -> Number {
        let start = self.rest;
        let mut before = self.take();
        while let Some(c) = self.peek() {
            let exponent_sign = matches!(c, '+' | '-') && matches!(before, Some('e' | 'E'));
            if !(c.is_ascii_alphanumeric() || c == '.' || exponent_sign) {
                break;
            }
            before = self.take();
        }
        Number::Decimal(start[..start.len() - self.rest.len()].into())
    }

    /// Reads the bits of a NaN in parentheses, such as `(0x7fc00000)`. The word `nan` before them has been read
    /// already.
    fn nan_bits(&mut self) -> Result<Number, TextError> {
        let at = self.at;
        let bits = self
            .rest
            .strip_prefix("(0x")
            .and_then(|rest| rest.split_once(')'))
            .filter(|(digits, _)| digits.len() <= 16)
            .and_then(|(digits, _)| Some((u64::from_str_radix(digits, 16).ok()?, digits.len())));
        let Some((bits, digits)) = bits else {
            return Err(at.expected("the bits of the NaN, as in nan(0x7fc00000)", self.found()));
        };
        for _ in 0..digits + 4 {
            self.take();
        }
        Ok(Number::Nan(bits))
    }
}
