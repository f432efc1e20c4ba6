//! Values that can be booleans, integers or strings. Other keys of the document determine which of these types is
//! allowed.

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A value that can have one of three types: the value of a target's option, or of a limit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Text.
    String(String),
}

impl fmt::Display for Scalar {
    /// Writes the value as in the document, but a text without its quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(value) => value.fmt(f),
            Scalar::Integer(value) => value.fmt(f),
            Scalar::String(value) => f.write_str(value),
        }
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Scalar {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Scalar".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["boolean", "integer", "string"] })
    }
}
