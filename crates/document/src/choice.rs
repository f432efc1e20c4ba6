//! Enums whose variants have parameters. A variant is written as a table with one key, `{ lookup = { left_shift = 8 } }`; where
//! none of its parameters is given, its name is enough: `"lookup"`.

use serde::{
    Deserialize as _, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::{Value, json};

/// Reads such an enum: for `#[serde(deserialize_with = "...")]` of a field that has it.
///
/// # Errors
/// A value that is none of its variants.
pub fn choice<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let written = T::deserialize(&value);
    match &value {
        Value::String(name) => written.or_else(|_| T::deserialize(json!({ name: {} }))),
        _ => written,
    }
    .map_err(D::Error::custom)
}

/// Adds these names to the JSON schema of such an enum: for `#[schemars(transform = ...)]`.
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
