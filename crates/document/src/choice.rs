//! Enums whose variants have parameters. A variant is a table with one key: `{ lookup = { left_shift = 8 } }`. If none
//! of its parameters is given, the name of the variant is enough: `"lookup"`.

use serde::{
    Deserialize as _, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::{Value, json};

/// Reads an enum whose variants may be written as names. It is used in `#[serde(deserialize_with = "...")]` of a field
/// that has such an enum.
///
/// # Errors
/// The value is not one of the enum's variants.
pub fn choice<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let written = T::deserialize(&value);
    match &value {
        Value::String(name) => written.or_else(|_| T::deserialize(json!({ name: {} }))),
        _ => written,
    }
    .map_err(D::Error::custom)
}

/// Changes the JSON schema of an enum that `choice` reads: adds the names of variants without required parameters. It
/// is used in `#[schemars(transform = ...)]`.
#[cfg(feature = "schema")]
pub fn names_alone(schema: &mut schemars::Schema) {
    let alone = |variant: &Value| {
        let (name, parameters) = variant["properties"].as_object()?.iter().next()?;
        let optional = parameters["properties"].is_object() && parameters.get("required").is_none();
        optional.then(|| json!({ "type": "string", "const": name, "description": variant["description"] }))
    };
    if let Some(Value::Array(variants)) = schema.get_mut("oneOf") {
        let names: Vec<Value> = variants.iter().filter_map(alone).collect();
        variants.extend(names);
    }
}
