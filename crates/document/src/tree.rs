//! A parsed document in which every key and value knows where it was written. Files, overlays and the command line are merged
//! here, before the types are checked. Afterwards the tree tells the place of a key.

use std::{cmp::Ordering, fmt, ops::Range, path::PathBuf, sync::Arc};

use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

use crate::{
    Table,
    diagnostic::{Diagnostic, Excerpt, SourceText},
};

/// A parsed text, and the folder to which its paths are relative.
#[derive(Debug)]
pub struct Source {
    /// The text and its name.
    pub text: Arc<SourceText>,
    /// The folder for relative paths. Empty: the current folder.
    pub folder: PathBuf,
    /// Findings are sorted by this number and then by position. The file has 0, arguments have higher numbers.
    pub rank: usize,
}

/// Where something was written.
#[derive(Clone, Debug)]
pub struct SourceLocation {
    /// The text.
    pub source: Arc<Source>,
    /// `None` for the text as a whole.
    pub span: Option<Range<usize>>,
}

impl SourceLocation {
    /// The place for a diagnostic, with a text next to the caret.
    pub fn excerpt(&self, label: impl Into<String>) -> Excerpt {
        Excerpt {
            source: Arc::clone(&self.source.text),
            span: self.span.clone(),
            label: label.into(),
        }
    }

    /// Sort key of findings.
    pub fn order(&self) -> (usize, usize) {
        (self.source.rank, self.span.as_ref().map_or(0, |span| span.start))
    }
}

/// A value and where it was written.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it was written.
    pub location: SourceLocation,
}

/// A value of TOML.
#[derive(Clone, Debug)]
pub enum Value {
    /// `true` or `false`.
    Boolean(bool),
    /// An integer of 64 bits.
    Integer(i64),
    /// An integer that does not fit into 64 bits, as it was written.
    HugeInteger(String),
    /// A float.
    Float(f64),
    /// A string.
    Text(String),
    /// A date or a time, which no key takes.
    Datetime,
    /// A list.
    List(Vec<Node>),
    /// A table.
    Table(Table),
}

/// A key of a table.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The place of the key. The node has the place of the value.
    pub key: SourceLocation,
    /// The value.
    pub node: Node,
}

impl Value {
    /// Kind of the value, with its article.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Boolean(_) => "a boolean",
            Value::Integer(_) | Value::HugeInteger(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Text(_) => "a string",
            Value::Datetime => "a date or time",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

impl Node {
    /// Converts the result of the parser. `offset` is the position of the parsed text in the source.
    pub fn new(source: &Arc<Source>, parsed: &Spanned<DeValue<'_>>, offset: usize) -> Node {
        let value = match parsed.get_ref() {
            DeValue::Boolean(value) => Value::Boolean(*value),
            DeValue::Integer(value) => i64::from_str_radix(value.as_str(), value.radix())
                .map_or_else(|_| Value::HugeInteger(value.to_string()), Value::Integer),
            // Digits beyond the range of a double give an infinity, which no key takes.
            DeValue::Float(value) => Value::Float(value.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::String(value) => Value::Text(value.as_ref().to_owned()),
            DeValue::Datetime(_) => Value::Datetime,
            DeValue::Array(items) => Value::List(items.iter().map(|item| Node::new(source, item, offset)).collect()),
            DeValue::Table(table) => Value::Table(entries(source, table, offset)),
        };
        Node {
            value,
            location: place(source, parsed.span(), offset),
        }
    }

    /// The node at `path`.
    pub fn find(&self, path: &KeyPath) -> Option<&Node> {
        path.segments().into_iter().try_fold(self, Node::step)
    }

    /// The node at `path`, or the last existing node on the way to it.
    pub fn nearest(&self, path: &KeyPath) -> &Node {
        let mut node = self;
        for segment in path.segments() {
            match node.step(segment) {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }

    /// An error about the value at `path`, with its place and with `label` next to the caret. If there is no value at `path`,
    /// the place is that of the enclosing table or list.
    pub fn error(&self, code: &str, path: &KeyPath, message: impl Into<String>, label: &str) -> Diagnostic {
        Diagnostic::error(code, message).at(self.nearest(path).location.excerpt(label))
    }

    fn step(&self, segment: &Segment) -> Option<&Node> {
        match (segment, &self.value) {
            (Segment::Key(key), Value::Table(entries)) => entries.get(key).map(|entry| &entry.node),
            (Segment::Index(index), Value::List(items)) => items.get(*index),
            _ => None,
        }
    }

    /// The value as serde reads it.
    pub fn to_toml(&self) -> toml::Value {
        match &self.value {
            Value::Boolean(value) => toml::Value::Boolean(*value),
            Value::Integer(value) => toml::Value::Integer(*value),
            Value::Float(value) => toml::Value::Float(*value),
            Value::Text(value) => toml::Value::String(value.clone()),
            // No key takes one, so the check has refused it.
            Value::Datetime | Value::HugeInteger(_) => toml::Value::String(String::new()),
            Value::List(items) => toml::Value::Array(items.iter().map(Node::to_toml).collect()),
            Value::Table(entries) => toml::Value::Table(
                entries
                    .iter()
                    .map(|(key, entry)| (key.clone(), entry.node.to_toml()))
                    .collect(),
            ),
        }
    }
}

/// The entries of a parsed table.
pub(crate) fn entries(source: &Arc<Source>, table: &DeTable<'_>, offset: usize) -> Table {
    let entry = |(key, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
        let entry = Entry {
            key: place(source, key.span(), offset),
            node: Node::new(source, value, offset),
        };
        (key.get_ref().to_string(), entry)
    };
    table.iter().map(entry).collect()
}

fn place(source: &Arc<Source>, span: Range<usize>, offset: usize) -> SourceLocation {
    SourceLocation {
        source: Arc::clone(source),
        span: Some(span.start + offset..span.end + offset),
    }
}

/// The path from the top of a document to a value: `quantize.rule[2].layers[0]`.
///
/// The check creates a path for every value, and shows it if the value is wrong. A path shares memory with the shorter path
/// from which it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPath(Option<Arc<Link>>);

/// The last step of a path, and the path before it.
#[derive(Debug, PartialEq, Eq)]
struct Link {
    before: KeyPath,
    segment: Segment,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Segment {
    Key(String),
    Index(usize),
}

impl KeyPath {
    /// A path through tables: `KeyPath::of(&["model", "file"])`.
    pub fn of(keys: &[&str]) -> Self {
        keys.iter().fold(KeyPath::default(), |path, key| path.key(key))
    }

    fn then(self, segment: Segment) -> Self {
        KeyPath(Some(Arc::new(Link { before: self, segment })))
    }

    /// The steps from the top.
    fn segments(&self) -> Vec<&Segment> {
        let links = std::iter::successors(self.0.as_deref(), |&last| last.before.0.as_deref());
        let mut segments: Vec<&Segment> = links.map(|link| &link.segment).collect();
        segments.reverse();
        segments
    }

    /// The path to a key of this table.
    #[must_use]
    pub fn key(self, key: &str) -> Self {
        self.then(Segment::Key(key.to_owned()))
    }

    /// The path to an element of this list, counted from 0.
    #[must_use]
    pub fn index(self, index: usize) -> Self {
        self.then(Segment::Index(index))
    }

    /// True at the top.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl Ord for KeyPath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.segments().cmp(&other.segments())
    }
}

impl PartialOrd for KeyPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for KeyPath {
    /// As in TOML, with unusual keys in quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.segments().into_iter().enumerate() {
            match segment {
                Segment::Key(key) => {
                    let dot = if position == 0 { "" } else { "." };
                    write!(f, "{dot}{}", quoted_if_odd(key))?;
                }
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// A key as in TOML: bare, or a string.
fn quoted_if_odd(key: &str) -> String {
    let bare = |character: char| character.is_ascii_alphanumeric() || character == '_' || character == '-';
    if !key.is_empty() && key.chars().all(bare) {
        return key.to_owned();
    }
    let escaped = key.chars().map(|character| match character {
        '"' | '\\' => format!("\\{character}"),
        // Those that TOML wants escaped are among them, and all are below 2^16.
        character if character.is_control() => format!("\\u{:04X}", u32::from(character)),
        character => character.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_paths_read_as_in_the_file() {
        let path = KeyPath::of(&["quantize", "rule"]).index(2).key("layers").index(0);
        assert_eq!(path.to_string(), "quantize.rule[2].layers[0]");
        assert_eq!(
            KeyPath::of(&["input", "a.b:0", "range"]).to_string(),
            r#"input."a.b:0".range"#
        );
    }

    #[test]
    fn keys_are_those_that_toml_reads() {
        for key in [
            "plain-key_1",
            "",
            "a.b",
            "say \"so\"",
            "back\\slash",
            "\u{7}\u{7f}\n\u{85}",
            "é\u{200b}",
        ] {
            let text = format!("{} = 1", KeyPath::of(&[key]));
            let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(table.keys().collect::<Vec<_>>(), [key]);
        }
    }
}
