//! Types for the values of keys that are more than a number or a word.

use std::{fmt, path::Path};

use serde::{Deserialize, Serialize};
use strait_document::Glob;

/// A pattern for source names, as defined by [`Glob`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(String);

impl Pattern {
    /// Makes a pattern. Every text is valid.
    pub fn new(text: impl Into<String>) -> Pattern {
        Pattern(text.into())
    }

    /// The text as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The compiled pattern, ready for matching.
    pub fn glob(&self) -> Glob {
        Glob::new(&self.0)
    }
}

/// A range `[lowest, highest]`. Both limits are finite in `f32`, and the first is below the second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Range(pub [f64; 2]);

impl Range {
    /// The two limits as `f32`, the type that the compiler computes with.
    pub(super) fn limits(self) -> [f32; 2] {
        self.0.map(|limit| limit as f32)
    }
}

/// A path. When the configuration is loaded, the path is resolved against the folder of the file that contains it, or
/// against the current folder if the path is from the command line. It has forward slashes on every system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FilePath(String);

impl FilePath {
    /// Makes a path from the text that the user wrote. It is not resolved yet.
    pub fn new(path: &str) -> Self {
        FilePath(path.to_owned())
    }

    /// The path as text: the folder, followed by the path that the user wrote.
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

/// The JSON schemas of the types in this file.
#[cfg(feature = "schema")]
pub(super) mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use strait_requantize::IntType;
    use strait_target::spec::{Activation, Integer};

    use super::{FilePath, Pattern, Range};

    /// The schema of a key for a type of codes: it lists the names of the types. Codes of weights and activations have
    /// up to 16 bits.
    pub(crate) struct CodesWord;

    /// The schema of a key for a type of activations: it lists the names of the types of codes, and `float32`.
    pub(crate) struct ActivationWord;

    fn types(generator: &mut SchemaGenerator, has_float: bool) -> Schema {
        let mut schema = Integer::json_schema(generator);
        let all = schema.get_mut("oneOf");
        if let Some(words) = all.and_then(|words| words.as_array_mut()) {
            let names = Integer::ALL
                .iter()
                .filter(|&&ty| IntType::from(ty).bits() <= 16)
                .map(|ty| ty.name());
            words.retain(|word| names.clone().any(|name| word["const"] == name));
            if has_float {
                let text = "Real numbers. Only for activations.";
                words.push(
                    json_schema!({ "type": "string", "const": Activation::FLOAT32, "description": text }).to_value(),
                );
            }
        }
        schema
    }

    macro_rules! leaf_schema {
        ($($type:ident: |$generator:pat_param| $schema:expr;)*) => {$(
            impl JsonSchema for $type {
                fn inline_schema() -> bool {
                    true
                }

                fn schema_name() -> Cow<'static, str> {
                    stringify!($type).into()
                }

                fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                    $schema
                }
            }
        )*};
    }

    leaf_schema! {
        FilePath: |_| json_schema!({ "type": "string", "format": "path", "minLength": 1 });
        Pattern: |_| json_schema!({ "type": "string", "format": "glob", "minLength": 1 });
        Range: |_| json_schema!({ "type": "array", "format": "range", "items": { "type": "number", "minimum": f32::MIN, "maximum": f32::MAX }, "minItems": 2, "maxItems": 2 });
        CodesWord: |generator| types(generator, false);
        ActivationWord: |generator| types(generator, true);
    }
}
