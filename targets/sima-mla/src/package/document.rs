//! Trees of lists and maps that are written as YAML in block style. Maps keep the order in which entries were added, so
//! the same tree gives the same text.

use std::fmt::Write as _;

/// A value of a document.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    Bool(bool),
    Int(i64),
    Real(f64),
    Text(String),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

/// A map with the entries `entries`.
pub(super) fn map<const N: usize>(entries: [(&str, Tree); N]) -> Tree {
    Tree::Map(
        entries
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect(),
    )
}

impl<A: Into<Tree>, B: Into<Tree>> From<(A, B)> for Tree {
    fn from((first, second): (A, B)) -> Tree {
        Tree::List(vec![first.into(), second.into()])
    }
}

impl<T: Into<Tree>> From<Vec<T>> for Tree {
    fn from(items: Vec<T>) -> Tree {
        Tree::List(items.into_iter().map(Into::into).collect())
    }
}

macro_rules! scalars {
    ($($type:ty => $variant:ident($convert:expr)),* $(,)?) => {
        $(impl From<$type> for Tree {
            fn from(value: $type) -> Tree {
                Tree::$variant($convert(value))
            }
        })*
    };
}

scalars! {
    bool => Bool(|v| v),
    i32 => Int(i64::from),
    u32 => Int(i64::from),
    i64 => Int(|v| v),
    f64 => Real(|v| v),
    &str => Text(str::to_owned),
    String => Text(|v| v),
}

impl Tree {
    /// Appends an entry to a map.
    pub(super) fn put(&mut self, key: &str, value: impl Into<Tree>) {
        if let Tree::Map(entries) = self {
            entries.push((key.to_owned(), value.into()));
        }
    }

    /// The value as YAML text, which means the same in YAML 1.1 and in YAML 1.2.
    pub(super) fn yaml(&self) -> String {
        let mut out = String::new();
        self.block(0, &mut out);
        out
    }

    /// True if the value is written on one line: it is a scalar, or a list whose elements are written on one line.
    fn is_flat(&self) -> bool {
        match self {
            Tree::List(items) => items.iter().all(Tree::is_flat),
            Tree::Map(entries) => entries.is_empty(),
            _ => true,
        }
    }

    /// Writes the value on one line.
    fn flat(&self, out: &mut String) {
        match self {
            Tree::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Tree::Int(value) => _ = write!(out, "{value}"),
            Tree::Real(value) => real(*value, out),
            Tree::Text(text) => quoted(text, out),
            Tree::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    item.flat(out);
                }
                out.push(']');
            }
            Tree::Map(_) => out.push_str("{}"),
        }
    }

    /// Writes the value in lines of YAML that are indented by `indent` spaces.
    fn block(&self, indent: usize, out: &mut String) {
        match self {
            Tree::Map(entries) if !entries.is_empty() => {
                for (key, value) in entries {
                    _ = write!(out, "{:indent$}", "");
                    self::key(key, out);
                    out.push(':');
                    if value.is_flat() {
                        out.push(' ');
                        value.block(0, out);
                    } else {
                        out.push('\n');
                        value.block(indent + 2, out);
                    }
                }
            }
            Tree::List(items) if !self.is_flat() => {
                for item in items {
                    let mut lines = String::new();
                    item.block(indent + 2, &mut lines);
                    // The first line of the item follows the dash on the same line.
                    _ = writeln!(out, "{:indent$}- {}", "", lines.trim());
                }
            }
            flat => {
                flat.flat(out);
                out.push('\n');
            }
        }
    }
}

/// Writes the shortest decimal number that reads back as the same float. In YAML 1.1, an exponent needs a decimal point
/// before it and a sign.
fn real(value: f64, out: &mut String) {
    if !value.is_finite() {
        out.push_str(match (value.is_nan(), value > 0.0) {
            (true, _) => ".nan",
            (_, true) => ".inf",
            _ => "-.inf",
        });
        return;
    }
    let text = format!("{value:?}");
    match text.split_once('e') {
        None => out.push_str(&text),
        Some((mantissa, exponent)) => {
            let point = if mantissa.contains('.') { "" } else { ".0" };
            let sign = if exponent.starts_with('-') { "" } else { "+" };
            _ = write!(out, "{mantissa}{point}e{sign}{exponent}");
        }
    }
}

/// Writes a text in double quotes. Characters that YAML does not allow are escaped as in JSON.
fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Words that YAML 1.1 reads as something else than text unless they are in quotes.
const WORDS: [&str; 11] = [
    "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf",
];

/// Writes a key, in quotes if it could be read as something else than text.
fn key(text: &str, out: &mut String) {
    let plain = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !WORDS.contains(&text);
    if plain {
        out.push_str(text);
    } else {
        quoted(text, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Tree {
        let mut tree = map([
            ("name", "a \"b\"\n\u{85}\u{1F600}".into()),
            ("on", true.into()),
            ("reals", vec![1.0, 1e-7, -2.5e300].into()),
            (
                "nodes",
                Tree::List(vec![map([("op", "conv".into()), ("empty", Tree::Map(Vec::new()))])]),
            ),
            (
                "params",
                Tree::List(vec![Tree::List(vec![255.0.into(), (-128).into()])]),
            ),
        ]);
        tree.put("none", Vec::<i64>::new());
        tree
    }

    #[test]
    fn yaml_is_in_blocks_with_lists_of_scalars_on_one_line() {
        let expect = r#"name: "a \"b\"\u000a\u0085😀"
"on": true
reals: [1.0, 1.0e-7, -2.5e+300]
nodes:
  - op: "conv"
    empty: {}
params: [[255.0, -128]]
none: []
"#;
        assert_eq!(sample().yaml(), expect);
    }
}
