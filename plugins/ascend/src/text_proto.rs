//! The text form of protocol buffers, in which AMCT has its simple configurations and its records.
//!
//! A text is the fields of one message. A field is a name with a value, `name: value`, or with a message,
//! `name { … }`; the colon in front of a message, commas and semicolons behind fields, and `<` `>` in the place of braces are
//! the format's own liberties. A list, `name: [1, 2]`, is the field repeated. `#` begins a comment. Strings stand in single or
//! double quotes, with escapes; neighbours are one string. Which fields a message has is for its reader to say, by
//! [`Message::only`]; each field knows where it stands. Names in brackets (extensions, `Any`) are refused: neither format has
//! them.
//!
//! **Source.** The language specification of the text format, protobuf.dev.

use std::ops::Range;

/// Bytes of a text, at most.
const MOST_BYTES: usize = 64 << 20;
/// Messages in messages, at most.
const MOST_LEVELS: usize = 16;
/// Fields of a text, elements of lists among them, at most.
const MOST_FIELDS: usize = 1 << 19;

/// The fields of a message, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message<'a> {
    /// Its fields. A field that is repeated stands here as often as it does in the text.
    pub fields: Vec<Field<'a>>,
}

/// A field.
#[derive(Clone, Debug, PartialEq)]
pub struct Field<'a> {
    /// Its name.
    pub name: &'a str,
    /// Bytes of the text that are its name; of a list, those of the element.
    pub at: Range<usize>,
    /// Its value.
    pub value: Value<'a>,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// A string, without its quotes and escapes.
    Text(String),
    /// A number as it is written, with its sign.
    Number(&'a str),
    /// A word: of an enumeration, `true`, `false`, `inf` or `nan`.
    Word(&'a str),
    /// A message.
    Message(Message<'a>),
}

/// A text that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TextError {
    /// Bytes of the text that are at fault.
    pub at: Range<usize>,
    /// The fault, in one sentence.
    pub message: String,
}

impl TextError {
    /// A fault at a place.
    pub fn new(at: Range<usize>, message: impl Into<String>) -> TextError {
        let message = message.into();
        TextError { at, message }
    }
}

/// The fields of a text.
///
/// # Errors
/// A text that is none of this form, or beyond the limits.
pub fn parse(text: &str) -> Result<Message<'_>, TextError> {
    if text.len() > MOST_BYTES {
        let message = format!("the text has {} bytes, and {MOST_BYTES} are the most", text.len());
        return Err(TextError::new(0..0, message));
    }
    let mut parser = Parser {
        text,
        // Some editors put a mark in front of a text.
        at: if text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        },
        fields: 0,
    };
    let (message, _) = parser.message(None, 0)?;
    Ok(message)
}

impl<'a> Message<'a> {
    /// All fields of this name.
    pub fn all<'m>(&'m self, name: &str) -> impl Iterator<Item = &'m Field<'a>> {
        self.fields.iter().filter(move |field| field.name == name)
    }

    /// The one field of this name, if there is any.
    ///
    /// # Errors
    /// A second one.
    pub fn one(&self, name: &str) -> Result<Option<&Field<'a>>, TextError> {
        let mut found = self.all(name);
        let first = found.next();
        match found.next() {
            Some(second) => Err(TextError::new(
                second.at.clone(),
                format!("`{name}` is here a second time"),
            )),
            None => Ok(first),
        }
    }

    /// Refuses every field that has none of these names.
    ///
    /// # Errors
    /// The first such field.
    pub fn only(&self, names: &[&str]) -> Result<(), TextError> {
        let Some(unknown) = self.fields.iter().find(|field| !names.contains(&field.name)) else {
            return Ok(());
        };
        let message = format!("there is no field `{}`; {}", unknown.name, nearest(unknown.name, names));
        Err(TextError::new(unknown.at.clone(), message))
    }
}

impl<'a> Field<'a> {
    /// The message that it is.
    ///
    /// # Errors
    /// Anything else.
    pub fn message(&self) -> Result<&Message<'a>, TextError> {
        match &self.value {
            Value::Message(message) => Ok(message),
            _ => Err(self.wrong("a message in braces")),
        }
    }

    /// The string that it is.
    ///
    /// # Errors
    /// Anything else.
    pub fn text(&self) -> Result<&str, TextError> {
        match &self.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.wrong("a string in quotes")),
        }
    }

    /// The word of an enumeration that it is.
    ///
    /// # Errors
    /// Anything else.
    pub fn word(&self) -> Result<&'a str, TextError> {
        match self.value {
            Value::Word(word) => Ok(word),
            _ => Err(self.wrong("a word")),
        }
    }

    /// The truth value that it is.
    ///
    /// # Errors
    /// Anything else.
    pub fn boolean(&self) -> Result<bool, TextError> {
        match self.value {
            Value::Word("true" | "True" | "t") | Value::Number("1") => Ok(true),
            Value::Word("false" | "False" | "f") | Value::Number("0") => Ok(false),
            _ => Err(self.wrong("`true` or `false`")),
        }
    }

    /// The integer that it is: decimal, octal behind `0`, or hexadecimal behind `0x`.
    ///
    /// # Errors
    /// Anything else, and what an `i64` does not hold.
    pub fn integer(&self) -> Result<i64, TextError> {
        let wrong = || self.wrong("an integer");
        let Value::Number(number) = self.value else {
            return Err(wrong());
        };
        let digits = number.strip_prefix('-').unwrap_or(number);
        let (digits, radix) = match (
            digits.strip_prefix("0x").or(digits.strip_prefix("0X")),
            digits.strip_prefix('0'),
        ) {
            (Some(digits), _) => (digits, 16),
            (None, Some(digits)) if !digits.is_empty() => (digits, 8),
            _ => (digits, 10),
        };
        // The digits bring no sign of their own: none follows another.
        let magnitude = i128::from_str_radix(digits, radix).map_err(|_| wrong())?;
        let signed = if number.starts_with('-') { -magnitude } else { magnitude };
        i64::try_from(signed).map_err(|_| wrong())
    }

    /// The float that it is, rounded once from its decimal digits. Infinities and NaN are floats here.
    ///
    /// # Errors
    /// Anything else.
    pub fn float(&self) -> Result<f32, TextError> {
        let wrong = || self.wrong("a number");
        match self.value {
            Value::Number(number) if number.starts_with("0x") || number.starts_with("-0x") => Err(wrong()),
            // `1.5f` is a float as C writes it.
            Value::Number(number) => number.trim_end_matches(['f', 'F']).parse().map_err(|_| wrong()),
            Value::Word(word) => match word.to_ascii_lowercase().as_str() {
                "inf" | "infinity" => Ok(f32::INFINITY),
                "-inf" | "-infinity" => Ok(f32::NEG_INFINITY),
                "nan" | "-nan" => Ok(f32::NAN),
                _ => Err(wrong()),
            },
            Value::Text(_) | Value::Message(_) => Err(wrong()),
        }
    }

    fn wrong(&self, expected: &str) -> TextError {
        let found = match &self.value {
            Value::Text(text) => format!("the string \"{}\"", text.escape_debug()),
            Value::Number(number) => format!("the number {number}"),
            Value::Word(word) => format!("the word `{word}`"),
            Value::Message(_) => "a message".to_owned(),
        };
        TextError::new(
            self.at.clone(),
            format!("`{}` is {expected}, and this is {found}", self.name),
        )
    }
}

/// Advice for a name that is none of these: the one that shares most pairs of letters with it, or all.
fn nearest(word: &str, names: &[&str]) -> String {
    let pairs = |text: &str| -> Vec<[u8; 2]> {
        let lower = text.to_ascii_lowercase();
        let bytes = lower.as_bytes();
        bytes.iter().zip(bytes.iter().skip(1)).map(|(&a, &b)| [a, b]).collect()
    };
    let mine = pairs(word);
    let shared = |name: &str| {
        let theirs = pairs(name);
        let both = mine.iter().filter(|pair| theirs.contains(pair)).count();
        // In thousandths of all pairs of both.
        (2000 * both) / (mine.len() + theirs.len()).max(1)
    };
    // The first of those that are equally near.
    match names.iter().rev().max_by_key(|name| shared(name)) {
        Some(name) if shared(name) >= 500 => format!("did you mean `{name}`?"),
        _ => format!(
            "there are {}",
            names
                .iter()
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    }
}

/// A place in a text, and the number of fields so far.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    fields: usize,
}

impl<'a> Parser<'a> {
    /// The fields up to `end`, or up to the end of the text, and where that stands.
    fn message(&mut self, end: Option<char>, level: usize) -> Result<(Message<'a>, usize), TextError> {
        if level > MOST_LEVELS {
            return Err(self.error(format!("messages stand in each other more than {MOST_LEVELS} deep")));
        }
        let opened = self.at;
        let mut message = Message::default();
        loop {
            self.blank();
            match (self.peek(), end) {
                (None, None) => return Ok((message, self.at)),
                (None, Some(end)) => {
                    let place = opened.saturating_sub(1)..opened;
                    return Err(TextError::new(place, format!("no `{end}` closes this message")));
                }
                (Some(found), Some(end)) if found == end => {
                    self.at += end.len_utf8();
                    return Ok((message, self.at));
                }
                _ => self.field(&mut message.fields, level)?,
            }
            self.blank();
            self.takes(&[',', ';']);
        }
    }

    fn field(&mut self, fields: &mut Vec<Field<'a>>, level: usize) -> Result<(), TextError> {
        let (name, at) = self.name("the name of a field")?;
        self.blank();
        let colon = self.takes(&[':']).is_some();
        self.blank();
        let (value, at) = match self.peek() {
            Some('{' | '<') => (self.nested(level)?, at),
            _ if !colon => return Err(self.error(format!("behind `{name}` stands `:` or `{{`"))),
            Some('[') => return self.list(name, fields, level),
            _ => (self.scalar(name)?, at),
        };
        self.push(fields, Field { name, at, value })
    }

    fn list(&mut self, name: &'a str, fields: &mut Vec<Field<'a>>, level: usize) -> Result<(), TextError> {
        self.takes(&['[']);
        self.blank();
        if self.takes(&[']']).is_some() {
            return Ok(());
        }
        loop {
            self.blank();
            let start = self.at;
            let value = match self.peek() {
                Some('{' | '<') => self.nested(level)?,
                _ => self.scalar(name)?,
            };
            let at = start..self.at;
            self.push(fields, Field { name, at, value })?;
            self.blank();
            match self.takes(&[',', ']']) {
                Some(',') => {}
                Some(_) => return Ok(()),
                None => return Err(self.error(format!("in the list of `{name}` stands `,` or `]` here"))),
            }
        }
    }

    fn push(&mut self, fields: &mut Vec<Field<'a>>, field: Field<'a>) -> Result<(), TextError> {
        self.fields += 1;
        if self.fields > MOST_FIELDS {
            return Err(TextError::new(
                field.at,
                format!("the text has more than {MOST_FIELDS} fields"),
            ));
        }
        fields.push(field);
        Ok(())
    }

    fn nested(&mut self, level: usize) -> Result<Value<'a>, TextError> {
        let end = if self.takes(&['{', '<']) == Some('<') { '>' } else { '}' };
        let (message, _) = self.message(Some(end), level + 1)?;
        Ok(Value::Message(message))
    }

    fn scalar(&mut self, name: &str) -> Result<Value<'a>, TextError> {
        let start = self.at;
        if matches!(self.peek(), Some('"' | '\'')) {
            return self.strings();
        }
        let sign = self.takes(&['-']).is_some();
        // Blanks may follow a sign; the value is then what stands behind it, and the sign is not lost.
        let behind = self.at;
        self.while_in(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
        // The sign of an exponent belongs to a number.
        while self.slice(behind).starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && !self.slice(behind).starts_with("0x")
            && self.slice(behind).ends_with(['e', 'E'])
            && self.takes(&['+', '-']).is_some()
        {
            self.while_in(|c| c.is_ascii_alphanumeric());
        }
        let found = self.slice(start);
        match self.slice(behind).chars().next() {
            Some(c) if c.is_ascii_digit() || c == '.' => Ok(Value::Number(found)),
            Some(_)
                if !sign
                    || found
                        .get(1..)
                        .is_some_and(|word| ["inf", "infinity", "nan"].contains(&&*word.to_lowercase())) =>
            {
                Ok(Value::Word(found))
            }
            _ => Err(TextError::new(
                start..self.at.max(start + 1),
                format!("a value of `{name}` stands here"),
            )),
        }
    }

    /// Strings that stand beside each other.
    fn strings(&mut self) -> Result<Value<'a>, TextError> {
        let start = self.at;
        let mut bytes = Vec::new();
        while let Some(quote) = self.takes(&['"', '\'']) {
            self.string(quote, &mut bytes)?;
            self.blank();
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Value::Text(text)),
            Err(_) => Err(TextError::new(start..self.at, "this string is no UTF-8")),
        }
    }

    fn string(&mut self, quote: char, bytes: &mut Vec<u8>) -> Result<(), TextError> {
        let opened = self.at;
        loop {
            let place = self.at;
            match self.next() {
                Some(c) if c == quote => return Ok(()),
                Some('\\') => self.escape(place, bytes)?,
                Some(c) if c != '\n' => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
                _ => {
                    return Err(TextError::new(
                        opened - 1..opened,
                        format!("no {quote} closes this string"),
                    ));
                }
            }
        }
    }

    /// The escape behind a backslash at `place`.
    fn escape(&mut self, place: usize, bytes: &mut Vec<u8>) -> Result<(), TextError> {
        let wrong = |parser: &Self| TextError::new(place..parser.at, "there is no such escape");
        let digits = |parser: &mut Self, radix: u32, most: usize| {
            let start = parser.at;
            let digit = |c: char| c.is_digit(radix);
            while parser.at - start < most && parser.peek().is_some_and(digit) {
                parser.at += 1;
            }
            u32::from_str_radix(parser.slice(start), radix)
        };
        let byte = match self.next() {
            Some('n') => b'\n',
            Some('t') => b'\t',
            Some('r') => b'\r',
            Some(c @ ('\\' | '"' | '\'' | '?')) => c as u8,
            Some('x') => {
                let value = digits(self, 16, 2).ok().and_then(|value| value.try_into().ok());
                value.ok_or_else(|| wrong(self))?
            }
            Some('0'..='7') => {
                self.at -= 1;
                let value = digits(self, 8, 3).ok().and_then(|value| value.try_into().ok());
                value.ok_or_else(|| wrong(self))?
            }
            Some(c @ ('u' | 'U')) => {
                let most = if c == 'u' { 4 } else { 8 };
                let value = digits(self, 16, most).ok().and_then(char::from_u32);
                let value = value.ok_or_else(|| wrong(self))?;
                bytes.extend(value.encode_utf8(&mut [0; 4]).bytes());
                return Ok(());
            }
            _ => return Err(wrong(self)),
        };
        bytes.push(byte);
        Ok(())
    }

    fn name(&mut self, what: &str) -> Result<(&'a str, Range<usize>), TextError> {
        let start = self.at;
        self.while_in(|c| c.is_ascii_alphanumeric() || c == '_');
        match self.slice(start) {
            "" => Err(self.error(format!("{what} stands here"))),
            name => Ok((name, start..self.at)),
        }
    }

    /// Goes past blanks and comments.
    fn blank(&mut self) {
        loop {
            self.while_in(char::is_whitespace);
            if self.peek() != Some('#') {
                return;
            }
            self.while_in(|c| c != '\n');
        }
    }

    fn while_in(&mut self, is_in: impl Fn(char) -> bool) {
        let rest = self.slice_on();
        self.at += rest.find(|c| !is_in(c)).unwrap_or(rest.len());
    }

    fn takes(&mut self, any: &[char]) -> Option<char> {
        let found = self.peek().filter(|c| any.contains(c))?;
        self.at += found.len_utf8();
        Some(found)
    }

    fn next(&mut self) -> Option<char> {
        let found = self.peek()?;
        self.at += found.len_utf8();
        Some(found)
    }

    fn peek(&self) -> Option<char> {
        self.slice_on().chars().next()
    }

    /// The text from `start` up to here.
    fn slice(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// The text from here on.
    fn slice_on(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// A fault at what stands here.
    fn error(&self, message: String) -> TextError {
        let width = self.peek().map_or(0, char::len_utf8);
        TextError::new(self.at..self.at + width, message)
    }
}

#[cfg(test)]
#[path = "text_proto_tests.rs"]
mod tests;
