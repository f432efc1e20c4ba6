//! The tree of a parsed document. Every key and value in it has the place where it was written. Files, overlays and
//! arguments of the command line are merged into one tree before the types are checked. Later, the tree is used to find
//! the place of a key.

mod table;

pub use table::Table;

use crate::key_path::{KeyPath, Segment};
use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

use crate::diagnostic::{Diagnostic, Excerpt, SourceText};

/// A parsed text, and the folder to which the paths in the text are relative.
#[derive(Debug)]
pub struct Source {
    /// The text and its name.
    pub text: Arc<SourceText>,
    /// The folder for relative paths. If it is empty, this is the current folder.
    pub folder: PathBuf,
    /// The number by which findings in several texts are sorted, before they are sorted by position. A file has the
    /// number 0, and arguments have higher numbers.
    pub rank: usize,
}

impl Source {
    /// A text and its name. Paths in the text are relative to `folder`.
    pub fn new(name: &str, text: String, folder: &Path, rank: usize) -> Arc<Source> {
        let name = name.to_owned();
        Arc::new(Source {
            text: Arc::new(SourceText { name, text }),
            folder: folder.to_owned(),
            rank,
        })
    }

    /// The place of a range of bytes in the text. If `span` is `None`, the place is the whole text.
    pub fn place(self: &Arc<Source>, span: Option<Range<usize>>) -> SourceLocation {
        let source = Arc::clone(self);
        SourceLocation { source, span }
    }
}

/// The place where something was written.
#[derive(Clone, Debug)]
pub struct SourceLocation {
    /// The text that contains it.
    pub source: Arc<Source>,
    /// The range of bytes in the text; `None` for the text as a whole.
    pub span: Option<Range<usize>>,
}

impl SourceLocation {
    /// Makes a place for a diagnostic. `label` is shown next to the caret.
    pub fn excerpt(&self, label: impl Into<String>) -> Excerpt {
        Excerpt {
            source: Arc::clone(&self.source.text),
            span: self.span.clone(),
            label: label.into(),
        }
    }

    /// The pair of numbers by which findings are sorted: the rank of the text, and the position in the text.
    pub fn order(&self) -> (usize, usize) {
        (self.source.rank, self.span.as_ref().map_or(0, |span| span.start))
    }
}

/// A value, and the place where it was written.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// The place where the value was written.
    pub location: SourceLocation,
}

/// A TOML value.
#[derive(Clone, Debug)]
pub enum Value {
    /// `true` or `false`.
    Boolean(bool),
    /// An integer of 64 bits.
    Integer(i64),
    /// An integer that does not fit into 64 bits, in the form in which it was written.
    HugeInteger(String),
    /// A float.
    Float(f64),
    /// A string.
    Text(String),
    /// A date or a time. No key accepts it.
    Datetime,
    /// A list.
    List(Vec<Node>),
    /// A table.
    Table(Table),
}

/// A key of a table.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The place of the key. The place of the value is in `node`.
    pub key: SourceLocation,
    /// The value.
    pub node: Node,
}

impl Value {
    /// The kind of the value, with its article.
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

    /// The value, with the place where it was written.
    pub fn at(self, location: &SourceLocation) -> Node {
        Node {
            value: self,
            location: location.clone(),
        }
    }
}

impl Node {
    /// Converts the result of the TOML parser to a tree. `offset` is the position of the parsed text within the source.
    pub fn new(source: &Arc<Source>, parsed: &Spanned<DeValue<'_>>, offset: usize) -> Node {
        let value = match parsed.get_ref() {
            DeValue::Boolean(value) => Value::Boolean(*value),
            DeValue::Integer(value) => i64::from_str_radix(value.as_str(), value.radix())
                .map_or_else(|_| Value::HugeInteger(value.to_string()), Value::Integer),
            // A number beyond the range of a double becomes an infinity, which no key accepts.
            DeValue::Float(value) => Value::Float(value.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::String(value) => Value::Text(value.as_ref().to_owned()),
            DeValue::Datetime(_) => Value::Datetime,
            DeValue::Array(items) => Value::List(items.iter().map(|item| Node::new(source, item, offset)).collect()),
            DeValue::Table(table) => Value::Table(entries(source, table, offset)),
        };
        value.at(&place(source, parsed.span(), offset))
    }

    /// The node at `path`.
    pub fn find(&self, path: &KeyPath) -> Option<&Node> {
        path.segments().into_iter().try_fold(self, Node::step)
    }

    /// The node at `path`. If it does not exist, the last node that exists on the way to it.
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

    /// Makes an error about the value at `path`. The error shows the place of the value, with `label` next to the
    /// caret. If there is no value at `path`, it shows the place of the enclosing table or list.
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

    /// Converts the value to a TOML value for serde.
    pub fn to_toml(&self) -> toml::Value {
        match &self.value {
            Value::Boolean(value) => toml::Value::Boolean(*value),
            Value::Integer(value) => toml::Value::Integer(*value),
            Value::Float(value) => toml::Value::Float(*value),
            Value::Text(value) => toml::Value::String(value.clone()),
            // The check has refused such values, because no key accepts them.
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
    source.place(Some(span.start + offset..span.end + offset))
}
