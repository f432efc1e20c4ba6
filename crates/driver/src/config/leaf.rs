//! The values of keys that are more than a number or a word. Each states its `format`, by which `check.rs` tests
//! it where it stands in the file.

use std::{
    borrow::Cow,
    fmt,
    path::{Path, PathBuf},
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{TARGET_PLACEHOLDER, glob::Glob};

/// A path, resolved when the configuration was loaded: against the folder of the file that it stood in, or, from the
/// command line, against the current folder. Forward slashes on every system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FilePath(String);

impl FilePath {
    /// As given, unresolved.
    pub(super) fn new(path: &str) -> Self {
        FilePath(path.to_owned())
    }

    /// The text: what the user wrote behind the folder it is relative to.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<Path> for FilePath {
    fn as_ref(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A [`FilePath`] that may differ for each target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PathByTarget(String);

impl PathByTarget {
    /// Whether the target's id is a part of it.
    pub fn differs(&self) -> bool {
        self.0.contains(TARGET_PLACEHOLDER)
    }

    /// The path for the target with this id.
    pub fn of_target(&self, id: &str) -> PathBuf {
        PathBuf::from(self.0.replace(TARGET_PLACEHOLDER, id))
    }
}

/// A pattern over source names: see [`super::glob`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(String);

impl Pattern {
    /// The text as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Ready to be matched.
    pub fn glob(&self) -> Glob {
        Glob::new(&self.0)
    }
}

/// SHA-256 of a file, 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sha256(String);

impl Sha256 {
    /// In lower case.
    pub fn hex(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

/// What the axes of a batch of samples mean, one letter each: `N` (the samples) first, `C` for the channels where
/// there are any, any other capital once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Layout(String);

impl Layout {
    /// The letters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// `[lowest, highest]`, both finite, the first below the second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Range(pub [f64; 2]);

/// The value of an option of a target; the target says which of the three it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OptionValue {
    /// `true` or `false`.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A text.
    Text(String),
}

impl fmt::Display for OptionValue {
    /// As it is written in the file, but a text without its quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Boolean(value) => value.fmt(f),
            OptionValue::Integer(value) => value.fmt(f),
            OptionValue::Text(value) => f.write_str(value),
        }
    }
}

/// Whether `text`, which is not empty, is right for `format`.
pub(super) fn is_right(format: &str, text: &str) -> bool {
    match format {
        "sha256" => text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "layout" => {
            let letters = text.as_bytes();
            let distinct = letters
                .iter()
                .enumerate()
                .all(|(index, letter)| !letters[..index].contains(letter));
            letters[0] == b'N' && distinct && letters.iter().all(u8::is_ascii_uppercase)
        }
        "path-by-target" => !text.replace(TARGET_PLACEHOLDER, "").contains(['{', '}']),
        _ => true,
    }
}

/// Whether a string of this format is a path, to be resolved.
pub(super) fn is_path(format: &str) -> bool {
    matches!(format, "path" | "path-by-target")
}

/// What a value of this format looks like, for messages and the reference page.
pub(super) fn expectation(format: &str) -> &'static str {
    match format {
        "path" => "a path",
        "path-by-target" => "a path, in which `{target}` may stand",
        "glob" => "a name or a pattern",
        "sha256" => "64 hexadecimal digits",
        "layout" => "distinct capital letters, N first, such as NHWC",
        "range" => "two numbers, the first below the second",
        _ => "",
    }
}

/// A leaf is described by its JSON type and the name of its format.
macro_rules! leaf_schema {
    ($($type:ident: $schema:tt;)*) => {$(
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

leaf_schema! {
    FilePath: { "type": "string", "format": "path", "minLength": 1 };
    PathByTarget: { "type": "string", "format": "path-by-target", "minLength": 1 };
    Pattern: { "type": "string", "format": "glob", "minLength": 1 };
    Sha256: { "type": "string", "format": "sha256", "pattern": "^[0-9a-fA-F]{64}$" };
    Layout: { "type": "string", "format": "layout", "pattern": "^N[A-Z]*$" };
    Range: { "type": "array", "format": "range", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 };
    OptionValue: { "type": ["boolean", "integer", "string"] };
}
