//! The shape of a document's type. The check, the messages of the check, and the reference page are made from shapes.

use serde_json::Value;
use std::{collections::BTreeMap, fmt};

/// A format of values, which restricts a JSON type further. A schema refers to it in `format`.
#[derive(Clone, Copy)]
pub struct Format {
    /// The name of the format in schemas.
    pub name: &'static str,
    /// A short description of correct values, for messages and the reference page.
    pub expectation: &'static str,
    /// The rule by which values are checked.
    pub rule: Rule,
}

/// The rule by which a value of a [`Format`] is checked.
#[derive(Clone, Copy)]
pub enum Rule {
    /// A non-empty string for which this function returns true.
    Text(fn(&str) -> bool),
    /// A path: a non-empty string for which this function returns true. The path is resolved relative to the folder of
    /// the file that contains it.
    Path(fn(&str) -> bool),
    /// A path or a word. The function returns `None` if the string is a path. It returns true if the string is an
    /// allowed word; words are not resolved.
    PathOrWord(fn(&str) -> Option<bool>),
    /// A list of numbers in strictly ascending order.
    Ascending,
}

impl Format {
    /// True if values of this format may be paths, which have to be resolved.
    pub fn is_path(self) -> bool {
        matches!(self.rule, Rule::Path(_) | Rule::PathOrWord(_))
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// The shape of a value: which types, keys and limits are allowed.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A table with any of these keys.
    Table(BTreeMap<String, Key>),
    /// A table with exactly one of these keys.
    OneKey(BTreeMap<String, Key>),
    /// A table whose keys are names that the user chooses.
    Map {
        /// The allowed names. If the list is empty, any name is allowed.
        names: Vec<String>,
        /// The shape of the values.
        values: Box<Shape>,
    },
    /// A list.
    List {
        /// The shape of each element.
        items: Box<Shape>,
        /// The smallest number of elements.
        min: usize,
        /// The largest number of elements.
        max: usize,
        /// A further condition on the whole list; `None` if there is none.
        format: Option<Format>,
        /// The documentation of an element.
        doc: String,
    },
    /// A list with a fixed number of elements, each with its own shape.
    Tuple(Vec<Shape>),
    /// Either a string, or a table, list or integer.
    Either {
        /// What is allowed if the value is a string.
        text: Box<Shape>,
        /// What is allowed if the value is a table, list or integer.
        table: Box<Shape>,
    },
    /// One of several strings, each of which is listed with its meaning. An entry `custom:NAME` stands for all strings
    /// that begin with `custom:`.
    Word(Vec<(String, String)>),
    /// A string that is not empty.
    Text {
        /// A further condition that the string must meet; `None` if there is none.
        format: Option<Format>,
    },
    /// An integer within these limits.
    Integer {
        /// The smallest allowed integer.
        min: i64,
        /// The largest allowed integer.
        max: i64,
    },
    /// A finite number within these limits.
    Float {
        /// The smallest allowed number.
        min: f64,
        /// The largest allowed number.
        max: f64,
    },
    /// `true` or `false`.
    Boolean,
    /// A boolean, an integer or a string.
    Scalar,
    /// A table that is only checked after it has been merged into another table.
    Part,
    /// A value of any type. Other code checks it.
    Any,
    /// The shape of a schema that this module does not support. For each kind of document, a test checks that this does
    /// not occur.
    Unknown,
}

/// One key of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The documentation.
    pub doc: String,
    /// True if the key is required.
    pub required: bool,
    /// The value that the key has if it is missing.
    pub default: Option<Value>,
    /// The shape of the value.
    pub shape: Shape,
}

impl Shape {
    /// Returns the pattern of every key in this shape, such as `quantize.rule[].run` or `form.NAME.kind`. There are
    /// also patterns for tables and lists of tables.
    pub fn keys(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.visit("", &mut |_, path| {
            if !path.is_empty() {
                found.push(path.to_owned());
            }
        });
        found
    }

    /// Calls `see` for this shape and for every shape inside of it. Each call gets the pattern of the key, as in
    /// [`Shape::keys`].
    pub fn visit(&self, path: &str, see: &mut dyn FnMut(&Shape, &str)) {
        see(self, path);
        let dot = if path.is_empty() { "" } else { "." };
        match self.contents() {
            Shape::Table(keys) | Shape::OneKey(keys) => {
                for (name, key) in keys {
                    let path = format!("{path}{}{dot}{name}", self.step(dot));
                    key.shape.visit(&path, see);
                }
            }
            _ => {}
        }
    }

    fn contents(&self) -> &Shape {
        match self {
            Shape::Map { values: inner, .. }
            | Shape::List { items: inner, .. }
            | Shape::Either { table: inner, .. } => inner.contents(),
            other => other,
        }
    }

    /// Returns the text that follows a key in its pattern: `[]` if the value of the key is a list, and `NAME` if the
    /// value is a table whose keys the user chooses.
    fn step(&self, dot: &str) -> String {
        match self {
            Shape::Map { values, .. } => format!("{dot}NAME{}", values.step(dot)),
            Shape::List { items, .. } => format!("[]{}", items.step(dot)),
            Shape::Either { table, .. } => table.step(dot),
            _ => String::new(),
        }
    }

    /// A short description of the values that are allowed.
    pub fn expectation(&self) -> String {
        match self {
            Shape::Table(_) | Shape::Map { .. } | Shape::Part => "a table".to_owned(),
            Shape::Either { text, table } => format!("{}, or {}", text.expectation(), table.expectation()),
            Shape::OneKey(keys) => format!("a table with one of the keys {}", list(keys.keys())),
            Shape::List {
                format: Some(format), ..
            }
            | Shape::Text { format: Some(format) } => format.expectation.to_owned(),
            Shape::List { items, min, max, .. } if min == max => {
                format!("a list of {min}, each element {}", items.expectation())
            }
            Shape::List { items, .. } => format!("a list, each element {}", items.expectation()),
            Shape::Tuple(items) => {
                let items: Vec<String> = items.iter().map(Shape::expectation).collect();
                format!("a list of {}: {}", items.len(), items.join("; then "))
            }
            Shape::Word(words) => match words.as_slice() {
                [(only, _)] => format!("{only:?}"),
                words => format!("one of {}", quoted(words.iter().map(|(word, _)| word))),
            },
            Shape::Text { .. } => "a string".to_owned(),
            Shape::Integer { min, max } if min == max => format!("{min}"),
            Shape::Integer {
                min: i64::MIN,
                max: i64::MAX,
            } => "an integer".to_owned(),
            Shape::Integer { min, max } => format!("an integer from {min} to {max}"),
            Shape::Float { min, max } if min.is_infinite() || max.is_infinite() => "a finite number".to_owned(),
            Shape::Float { min, max } => format!("a number from {} to {}", written(*min), written(*max)),
            Shape::Boolean => "true or false".to_owned(),
            Shape::Scalar => "a boolean, an integer of 64 bits or a string".to_owned(),
            Shape::Any => "a boolean, a number, a string, a list or a table".to_owned(),
            Shape::Unknown => String::new(),
        }
    }
}

/// Joins words with commas: `a, b, c`.
pub(crate) fn list(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
    words.join(", ")
}

/// Quotes words, and joins them with commas: `"a", "b", "c"`.
fn quoted(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    list(words.into_iter().map(|word| format!("{:?}", word.as_ref())))
}
/// A number as people write it. Long numbers are written with an exponent.
pub(crate) fn written(number: f64) -> String {
    match number.abs() {
        size if size >= 1e15 || (size < 1e-6 && size > 0.0) => format!("{number:e}"),
        _ => number.to_string(),
    }
}
