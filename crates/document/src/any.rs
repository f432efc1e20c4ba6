//! Values whose type is defined outside of the document's types. They may be tables and lists.

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A value of any type. Parts of a document whose keys are defined elsewhere have this type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Any(pub toml::Value);

#[cfg(feature = "schema")]
impl JsonSchema for Any {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Any".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["boolean", "integer", "number", "string", "array", "object"] })
    }
}
