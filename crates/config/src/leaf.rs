//! Types of values that are more specific than a number or a string, such as paths. Each type has a `format`, and the
//! values in the file are checked against the format.

use std::{
    borrow::Cow,
    num::NonZeroU32,
    path::{Path, PathBuf},
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

pub use strait_compile::rules::{FilePath, Pattern, Range};
use strait_document::{Format, Rule};
use strait_samples::FOLDERS;

use super::TARGET_PLACEHOLDER;

/// The text before the number of random samples.
const RANDOM: &str = "random:";

/// A [`FilePath`] to samples, or `random:N`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DataPath(String);

impl DataPath {
    /// The samples `random:count`.
    pub fn of_random(count: NonZeroU32) -> DataPath {
        DataPath(format!("{RANDOM}{count}"))
    }

    /// The number of random samples; `None` if this is a path to samples.
    pub fn random(&self) -> Option<NonZeroU32> {
        self.0.strip_prefix(RANDOM)?.parse().ok()
    }
}

impl AsRef<Path> for DataPath {
    fn as_ref(&self) -> &Path {
        Path::new(&self.0)
    }
}

/// A [`FilePath`] to labels, or `folders`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LabelPath(String);

impl AsRef<Path> for LabelPath {
    fn as_ref(&self) -> &Path {
        Path::new(&self.0)
    }
}

/// A [`FilePath`] that can be different for each target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PathByTarget(String);

impl PathByTarget {
    /// True if the path contains the placeholder for the target's id.
    pub fn differs(&self) -> bool {
        self.0.contains(TARGET_PLACEHOLDER)
    }

    /// The path for the target with this id.
    pub fn of_target(&self, id: &str) -> PathBuf {
        PathBuf::from(self.0.replace(TARGET_PLACEHOLDER, id))
    }
}

/// A JSON pointer (RFC 6901): `/map/0` is the first element of the list at the key `map`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pointer(String);

impl Pointer {
    /// The text as the user wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// SHA-256 of a file, 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sha256(String);

impl Sha256 {
    /// The digest in lower case.
    pub fn hex(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

/// The meaning of the axes of a batch of samples, one letter for each. `N` (the samples) comes first, and `C` stands for
/// channels. Every letter is a different capital.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Layout(String);

impl Layout {
    /// The layout with these letters.
    pub(super) fn new(letters: &str) -> Layout {
        Layout(letters.to_owned())
    }

    /// The letters of the axes.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The meaning of the axes of a tensor, one letter for each. `N` stands for the batch, and `C` for channels. Every letter is
/// a different capital.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Axes(String);

impl Axes {
    /// The letters of the axes.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The formats of the types in this module.
pub(super) const FORMATS: &[Format] = &[
    Format {
        name: "path",
        expectation: "a path",
        rule: Rule::Path(|_| true),
    },
    Format {
        name: "data",
        expectation: "a path, or random: and a number from 1 on",
        rule: Rule::PathOrWord(|text| Some(text.strip_prefix(RANDOM)?.parse::<NonZeroU32>().is_ok())),
    },
    Format {
        name: "labels",
        expectation: "a path, or \"folders\"",
        rule: Rule::PathOrWord(|text| (text == FOLDERS).then_some(true)),
    },
    Format {
        name: "path-by-target",
        expectation: "a path, in which `{target}` may stand",
        rule: Rule::Path(|text| !text.replace(TARGET_PLACEHOLDER, "").contains(['{', '}'])),
    },
    Format {
        name: "glob",
        expectation: "a name or a pattern",
        rule: Rule::Text(|_| true),
    },
    Format {
        name: "pointer",
        expectation: "a JSON pointer, such as /map",
        rule: Rule::Text(|text| text.starts_with('/')),
    },
    Format {
        name: "sha256",
        expectation: "64 hexadecimal digits",
        rule: Rule::Text(|text| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())),
    },
    Format {
        name: "layout",
        expectation: "distinct capital letters, N first, such as NHWC",
        rule: Rule::Text(is_layout),
    },
    Format {
        name: "axes",
        expectation: "distinct capital letters, such as NCHW",
        rule: Rule::Text(are_axes),
    },
    Format {
        name: "range",
        expectation: "two numbers, the first below the second",
        rule: Rule::Ascending,
    },
];

fn is_layout(text: &str) -> bool {
    text.starts_with('N') && are_axes(text)
}

fn are_axes(text: &str) -> bool {
    let mut letters = text.chars().enumerate();
    letters.all(|(at, letter)| letter.is_ascii_uppercase() && text.find(letter) == Some(at))
}

/// Implements the JSON schema of a type, from the type's JSON type and the name of its format.
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
    DataPath: { "type": "string", "format": "data", "minLength": 1 };
    LabelPath: { "type": "string", "format": "labels", "minLength": 1 };
    PathByTarget: { "type": "string", "format": "path-by-target", "minLength": 1 };
    Pointer: { "type": "string", "format": "pointer", "pattern": "^/" };
    Sha256: { "type": "string", "format": "sha256", "pattern": "^[0-9a-fA-F]{64}$" };
    Axes: { "type": "string", "format": "axes", "pattern": "^[A-Z]+$" };
    Layout: { "type": "string", "format": "layout", "pattern": "^N[A-Z]*$" };
}
