//! Parses the text form of Protocol Buffers to a tree like that of a TOML text: fields become keys, messages become
//! tables, repeated fields become lists, and names of enumerations become strings. As in TOML, every key and value has
//! the place where it was written, so the same code can check both.
//!
//! The parser supports `name: value`; `name { … }` and `name < … >`, with or without a colon; `[…]` as the value of a
//! repeated field; strings in single or double quotes with escapes, where consecutive strings are joined; numbers with
//! suffixes; `,` and `;` between fields; and comments after `#`. It does not support extensions and `Any`, which are
//! written in brackets.

use crate::{Diagnostic, Diagnostics, Entry, Key, Node, Shape, Source, SourceLocation, Table, Value, codes};
use std::{ops::Range, sync::Arc};

/// The largest size of a text in bytes. A longer text is refused before it is parsed.
const MOST_BYTES: usize = 64 << 20;

/// The deepest nesting of messages that is read.
const MOST_DEPTH: usize = 32;

/// The largest number of values in a text, including the elements of lists. There is a limit because each value takes
/// much more memory than its text.
const MOST_VALUES: usize = 1 << 19;

/// Parses a text to a tree. `shape` is the shape of the message, which says which fields are repeated. The tree also
/// contains fields that the shape does not have; [`check`](crate::check) refuses these later.
///
/// # Errors
/// The text is too long, is nested too deeply, has too many values, or is not in this form; or a field that is not
/// repeated occurs twice.
pub fn text_proto(source: &Arc<Source>, shape: &Shape) -> Result<Node, Diagnostics> {
    let text = source.text.text.as_str();
    let mut reader = Reader {
        source,
        text,
        at: 0,
        values: 0,
    };
    if text.len() > MOST_BYTES {
        return Err(reader
            .wrong(0..0, format!("it has more than {} MiB", MOST_BYTES >> 20))
            .into());
    }
    Ok(reader.message(shape, None, 0)?.at(&source.place(None)))
}

struct Reader<'a> {
    source: &'a Arc<Source>,
    text: &'a str,
    at: usize,
    /// The number of values that have been read so far.
    values: usize,
}

/// The description of the field `name` in a message with the shape `shape`.
fn of_field<'s>(shape: &'s Shape, name: &str) -> Option<&'s Key> {
    match shape {
        Shape::Table(keys) | Shape::OneKey(keys) => keys.get(name),
        _ => None,
    }
}

impl Reader<'_> {
    fn place(&self, span: Range<usize>) -> SourceLocation {
        self.source.place(Some(span))
    }

    fn wrong(&self, span: Range<usize>, label: impl Into<String>) -> Diagnostic {
        let message = "this is not the text form of Protocol Buffers";
        Diagnostic::error(codes::SYNTAX, message).at(self.place(span).excerpt(label))
    }

    /// Skips blanks and comments, and then returns the byte at the current position.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at)? {
                b'#' => {
                    let rest = &bytes[self.at..];
                    self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                }
                byte if byte.is_ascii_whitespace() => self.at += 1,
                &byte => return Some(byte),
            }
        }
    }

    fn takes(&mut self, byte: u8) -> bool {
        let takes = self.peek() == Some(byte);
        self.at += usize::from(takes);
        takes
    }

    /// Reads all bytes from the current position on for which `belongs` is true.
    fn word(&mut self, belongs: impl Fn(u8) -> bool) -> Range<usize> {
        let rest = &self.text.as_bytes()[self.at.min(self.text.len())..];
        let start = self.at;
        self.at += rest.iter().position(|&byte| !belongs(byte)).unwrap_or(rest.len());
        start..self.at
    }

    /// The place of an unexpected character: that of the character at the current position, or the end of the text.
    fn here(&self) -> Range<usize> {
        let letter = self.text.get(self.at..).and_then(|rest| rest.chars().next());
        self.at..self.at + letter.map_or(0, char::len_utf8)
    }

    /// Reads the fields of a message, up to the closing bracket or the end of the text.
    fn message(&mut self, shape: &Shape, closing: Option<(u8, usize)>, depth: usize) -> Result<Value, Diagnostics> {
        if depth > MOST_DEPTH {
            let label = format!("messages are nested deeper than {MOST_DEPTH}");
            return Err(self.wrong(self.here(), label).into());
        }
        let mut fields = Table::default();
        loop {
            match (self.peek(), closing) {
                (None, None) => return Ok(Value::Table(fields)),
                (None, Some((_, opened))) => {
                    return Err(self.wrong(opened..opened + 1, "nothing closes this").into());
                }
                (Some(byte), Some((bracket, _))) if byte == bracket => {
                    self.at += 1;
                    return Ok(Value::Table(fields));
                }
                (Some(b',' | b';'), _) if !fields.is_empty() => self.at += 1,
                _ => self.field(shape, &mut fields, depth)?,
            }
        }
    }

    fn field(&mut self, shape: &Shape, fields: &mut Table, depth: usize) -> Result<(), Diagnostics> {
        let span = self.word(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let name = self.text.get(span.clone()).unwrap_or_default();
        if name.is_empty() || name.starts_with(|letter: char| letter.is_ascii_digit()) {
            return Err(self.wrong(self.here(), "expected the name of a field").into());
        }
        let key = self.place(span.clone());
        let field = of_field(shape, name).map(|key| &key.shape);
        let (repeated, element) = match field {
            Some(Shape::List { items, .. }) => (true, &**items),
            Some(single) => (false, single),
            None => (false, &Shape::Unknown),
        };
        let colon = self.takes(b':');
        let mut found = Vec::new();
        let list = self.peek() == Some(b'[') && colon;
        if list {
            let opened = self.at;
            self.at += 1;
            while !self.takes(b']') {
                if !found.is_empty() && !self.takes(b',') {
                    return Err(self.wrong(opened..opened + 1, "nothing closes this").into());
                }
                found.push(self.value(element, true, depth)?);
            }
        } else {
            found.push(self.value(element, colon, depth)?);
        }
        if !repeated && field.is_some() && (list || fields.contains_key(name)) {
            let finding = Diagnostic::error(codes::CONFLICT, format!("`{name}` is given more than once"));
            let finding = finding.at(key.excerpt("once more"));
            return Err(finding
                .help("the field is not a repeated one: leave one of them out")
                .into());
        }
        if repeated {
            let entry = fields.get_or_insert_with(name.to_owned(), || Entry {
                key: key.clone(),
                node: Value::List(Vec::new()).at(&key),
            });
            if let Value::List(elements) = &mut entry.node.value {
                elements.append(&mut found);
            }
        } else if let Some(node) = found.pop() {
            fields.get_or_insert_with(name.to_owned(), || Entry { key, node });
        }
        Ok(())
    }

    fn value(&mut self, shape: &Shape, colon: bool, depth: usize) -> Result<Node, Diagnostics> {
        let first = self.peek();
        let start = self.at;
        self.values += 1;
        if self.values > MOST_VALUES {
            return Err(self
                .wrong(self.here(), format!("it has more than {MOST_VALUES} values"))
                .into());
        }
        let value = match first {
            Some(bracket @ (b'{' | b'<')) => {
                self.at += 1;
                let closing = if bracket == b'{' { b'}' } else { b'>' };
                self.message(shape, Some((closing, start)), depth + 1)?
            }
            _ if !colon => return Err(self.wrong(self.here(), "expected `:` or `{`").into()),
            Some(b'"' | b'\'') => Value::Text(self.strings()?),
            Some(_) => self.scalar()?,
            None => return Err(self.wrong(self.here(), "expected a value").into()),
        };
        Ok(value.at(&self.place(start..self.at)))
    }

    /// Reads a number, `true` or `false`, or the name of an enumeration's member.
    fn scalar(&mut self) -> Result<Value, Diagnostics> {
        let start = self.at;
        let negative = self.takes(b'-');
        self.peek();
        let span = self.word(|byte| byte.is_ascii_alphanumeric() || b"_.+-".contains(&byte));
        let word = self.text.get(span.clone()).unwrap_or_default();
        let wrong = || self.wrong(start..self.at.max(self.here().end), "expected a value");
        if let Some(number) = not_finite(word) {
            return Ok(Value::Float(if negative { -number } else { number }));
        }
        if !word.starts_with(|letter: char| letter.is_ascii_digit() || letter == '.') {
            return match word {
                "" => Err(wrong().into()),
                _ if negative => Err(self.wrong(span, "expected a number").into()),
                "true" | "True" | "t" => Ok(Value::Boolean(true)),
                "false" | "False" | "f" => Ok(Value::Boolean(false)),
                name => Ok(Value::Text(name.to_owned())),
            };
        }
        let sign = if negative { "-" } else { "" };
        let (digits, radix) = match word.strip_prefix("0x").or(word.strip_prefix("0X")) {
            Some(digits) => (digits, 16),
            None if word.len() > 1 && word.starts_with('0') && word.bytes().all(|byte| byte.is_ascii_digit()) => {
                (word, 8)
            }
            None => (word, 10),
        };
        if digits.bytes().all(|byte| byte.is_ascii_hexdigit())
            && (radix == 16 || digits.bytes().all(|b| b.is_ascii_digit()))
        {
            let number = i64::from_str_radix(&format!("{sign}{digits}"), radix);
            return match number {
                Ok(number) => Ok(Value::Integer(number)),
                Err(_) if radix == 8 && digits.contains(['8', '9']) => Err(wrong().into()),
                Err(_) => Ok(Value::HugeInteger(format!("{sign}{word}"))),
            };
        }
        let number = word.strip_suffix(['f', 'F']).unwrap_or(word).parse::<f64>();
        number
            .map(|number| Value::Float(if negative { -number } else { number }))
            .map_err(|_| wrong().into())
    }

    /// Reads one string, or several consecutive strings, which are joined.
    fn strings(&mut self) -> Result<String, Diagnostics> {
        let mut bytes = Vec::new();
        let (start, mut end) = (self.at, self.at);
        while let Some(quote @ (b'"' | b'\'')) = self.peek() {
            self.string(quote, &mut bytes)?;
            end = self.at;
        }
        // Blanks after the last string do not belong to the value.
        self.at = end;
        String::from_utf8(bytes).map_err(|_| self.wrong(start..self.at, "its escapes make no UTF-8").into())
    }

    fn string(&mut self, quote: u8, found: &mut Vec<u8>) -> Result<(), Diagnostics> {
        let opened = self.at;
        self.at += 1;
        while let Some(byte) = self.next_in_line() {
            match byte {
                byte if byte == quote => return Ok(()),
                b'\\' => self.escape(found)?,
                byte => found.push(byte),
            }
        }
        Err(self.wrong(opened..opened + 1, "nothing closes this string").into())
    }

    /// The byte at the current position, unless it ends the line.
    fn next_in_line(&mut self) -> Option<u8> {
        let byte = self.text.as_bytes().get(self.at).copied();
        self.at += usize::from(byte.is_some());
        byte.filter(|&byte| byte != b'\n')
    }

    /// Reads an escape, after its backslash.
    fn escape(&mut self, found: &mut Vec<u8>) -> Result<(), Diagnostics> {
        let backslash = self.at - 1..self.at;
        let byte = match self.next_in_line() {
            Some(b'a') => Some(7),
            Some(b'b') => Some(8),
            Some(b't') => Some(b'\t'),
            Some(b'n') => Some(b'\n'),
            Some(b'v') => Some(11),
            Some(b'f') => Some(12),
            Some(b'r') => Some(b'\r'),
            Some(byte @ (b'"' | b'\'' | b'\\' | b'?')) => Some(byte),
            Some(b'x' | b'X') => self.digits(16, 2).and_then(|byte| u8::try_from(byte).ok()),
            Some(b'0'..=b'7') => {
                self.at -= 1;
                self.digits(8, 3).and_then(|byte| u8::try_from(byte).ok())
            }
            Some(letter @ (b'u' | b'U')) => {
                let code = self.digits(16, if letter == b'u' { 4 } else { 8 });
                if let Some(character) = code.and_then(char::from_u32) {
                    found.extend(character.encode_utf8(&mut [0; 4]).bytes());
                    return Ok(());
                }
                None
            }
            _ => None,
        };
        found.push(byte.ok_or_else(|| self.wrong(backslash, "an escape that is not read"))?);
        Ok(())
    }

    /// Reads the number that the next digits form. At most `most` digits are read.
    fn digits(&mut self, radix: u32, most: usize) -> Option<u32> {
        let start = self.at;
        let rest = self.text.as_bytes().get(start..)?.iter().take(most);
        self.at += rest.take_while(|&&byte| char::from(byte).is_digit(radix)).count();
        u32::from_str_radix(self.text.get(start..self.at)?, radix).ok()
    }
}

/// Infinity and NaN, which are written as words in upper or lower case.
fn not_finite(word: &str) -> Option<f64> {
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    match word {
        _ if is("nan") || is("nanf") => Some(f64::NAN),
        _ if is("inf") || is("inff") || is("infinity") || is("infinityf") => Some(f64::INFINITY),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check, diagnostic::SourceText};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use std::path::PathBuf;

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Recipe {
        name: Option<String>,
        grams: Option<f64>,
        count: Option<i64>,
        raw: Option<bool>,
        #[serde(default)]
        tags: Vec<String>,
        #[serde(default)]
        steps: Vec<Recipe2>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Recipe2 {
        name: String,
        minutes: Option<f64>,
    }

    fn source(text: &str) -> Arc<Source> {
        let text = Arc::new(SourceText {
            name: "x.cfg".into(),
            text: text.into(),
        });
        Arc::new(Source {
            text,
            folder: PathBuf::new(),
            rank: 0,
        })
    }

    fn read(text: &str) -> Result<Recipe, String> {
        let source = source(text);
        let shape = Shape::of_type::<Recipe>(&[]);
        let told = |findings: Diagnostics| findings.to_string();
        let mut tree = text_proto(&source, &shape).map_err(told)?;
        check(&shape, &mut tree).map_err(told)?;
        Recipe::deserialize(tree.to_toml()).map_err(|error| error.to_string())
    }

    #[test]
    fn fields_are_keys_whatever_way_they_are_written() {
        let expected = Recipe {
            name: Some("a\"bé\n".into()),
            grams: Some(0.25),
            count: Some(-31),
            raw: Some(true),
            tags: vec!["x".into(), "Y_1".into(), "z".into()],
            steps: vec![
                Recipe2 {
                    name: "1".into(),
                    minutes: Some(3.0),
                },
                Recipe2 {
                    name: "2".into(),
                    minutes: Some(1e-3),
                },
            ],
        };
        for text in [
            "name: 'a\"b' \"\\303\\251\\n\" grams: .25 count: -31 raw: true tags: \"x\" tags: Y_1 tags: 'z'\n\
             steps { name: '1' minutes: 3 } steps: { name: '2', minutes: 1e-3f; }",
            "# made by hand\nsteps: [{ name: \"1\" minutes: 3.0 }, < name: \"2\" minutes: 0.001 >]; tags: [\"x\", Y_1, \"z\"]\n\
             raw : t # yes\ncount: -0x1F, grams: 0.25F name: \"a\\\"b\\303\\251\\n\"",
        ] {
            assert_eq!(read(text), Ok(expected_of(&expected)), "{text}");
        }
        assert_eq!(read("count: 017").unwrap().count, Some(15));
        let escapes = "name: \"\\x41\\101\\7b\\u00e4\\U0001F600\\xc3\\xa4\\v\"";
        assert_eq!(read(escapes).unwrap().name.as_deref(), Some("AA\u{7}bä😀ä\u{b}"));
        assert_eq!(read("tags: [] tags: ['a'] tags: []").unwrap().tags, ["a"]);
        assert_eq!(read("count\n:\n-9223372036854775808").unwrap().count, Some(i64::MIN));
        assert_eq!(read(" # nothing").unwrap().tags, Vec::<String>::new());
    }

    fn expected_of(recipe: &Recipe) -> Recipe {
        Recipe::deserialize(toml::Value::try_from(recipe).unwrap()).unwrap()
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_column() {
        for (text, place, words) in [
            ("raw: true\ngram: 1", "x.cfg:2:1", "did you mean `grams`?"),
            ("steps {\n  nmae: '1'\n}", "x.cfg:2:3", "did you mean `name`?"),
            ("raw: true\n  raw: false", "x.cfg:2:3", "`raw` is given more than once"),
            ("raw: [true]", "x.cfg:1:1", "`raw` is given more than once"),
            ("raw: 1", "x.cfg:1:6", "expected true or false"),
            (
                "count: 99999999999999999999",
                "x.cfg:1:8",
                "cannot be 99999999999999999999",
            ),
            ("count: 089", "x.cfg:1:8", "expected a value"),
            ("count: 1.2.3", "x.cfg:1:8", "expected a value"),
            ("steps {\n name: '1'", "x.cfg:1:7", "nothing closes this"),
            ("tags: ['a'", "x.cfg:1:7", "nothing closes this"),
            ("name: 'a\n'", "x.cfg:1:7", "nothing closes this string"),
            ("name: '\\q'", "x.cfg:1:8", "an escape that is not read"),
            ("name: 'a\\400'", "x.cfg:1:9", "an escape that is not read"),
            ("name: '\\x'", "x.cfg:1:8", "an escape that is not read"),
            ("name: '\\ud800'", "x.cfg:1:8", "an escape that is not read"),
            ("name: '\\377'", "x.cfg:1:7", "no UTF-8"),
            ("name 'a'", "x.cfg:1:6", "expected `:` or `{`"),
            ("name:", "x.cfg:1:6", "expected a value"),
            ("count: -x", "x.cfg:1:9", "expected a number"),
            ("}", "x.cfg:1:1", "expected the name of a field"),
            ("[a.b]: 1", "x.cfg:1:1", "expected the name of a field"),
            (&"steps{".repeat(40), "x.cfg:1:199", "deeper than 32"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(place) && message.contains(words), "{text}\n{message}");
        }
    }

    #[test]
    fn length_and_number_of_values_have_an_end() {
        let values = |count: usize| format!("tags: [{}'b']", "'a',".repeat(count - 1));
        let shape = Shape::of_type::<Recipe>(&[]);
        let tree = |text: &str| text_proto(&source(text), &shape).map_err(|found| found.to_string());
        assert!(tree(&values(MOST_VALUES)).is_ok());
        let message = tree(&values(MOST_VALUES + 1)).unwrap_err();
        assert!(message.contains("more than 524288 values"), "{message}");
        let message = tree(&" ".repeat(MOST_BYTES + 1)).unwrap_err();
        assert!(message.contains("more than 64 MiB"), "{message}");
    }

    #[test]
    fn no_text_makes_it_panic() {
        let whole =
            "name: 'a\\303\\251\\x41\\u00e4' grams: 1e5 tags: [\"é\", 'b'] steps < name: \"x\" minutes: -.5 > # ü";
        for end in (0..=whole.len()).filter(|&end| whole.is_char_boundary(end)) {
            for odd in ["", "\\", "'", "é", "{", "<", "-", "[", "\0"] {
                let _ = read(&format!("{}{odd}", &whole[..end]));
                let _ = read(&format!("{}{odd}{}", &whole[..end], &whole[end..]));
            }
        }
    }
}
