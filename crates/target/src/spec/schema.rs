//! The JSON schema of a table, for editors and for the reference page.

use super::TargetSpec;
use schemars::{Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Map, Value};

/// The JSON schema of a table (draft 7, which editors understand), as committed in `docs/strait-target-1.schema.json`.
pub fn json_schema() -> Value {
    let tidy = RecursiveTransform(|schema: &mut Schema| {
        if let Some(object) = schema.as_object_mut() {
            without_null(object);
        }
    });
    let settings = SchemaSettings::draft07().with_transform(tidy);
    settings
        .into_generator()
        .into_root_schema_for::<TargetSpec>()
        .to_value()
}

/// TOML has no null: what is optional is left out.
fn without_null(object: &mut Map<String, Value>) {
    let null = Value::from("null");
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| *name != null);
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(alternatives)) = object.get_mut("anyOf") {
        alternatives.retain(|alternative| alternative.get("type") != Some(&null));
        if let [only] = alternatives.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            // Beside a reference everything else would be ignored.
            object.insert("allOf".into(), Value::Array(vec![only]));
        }
    }
    // Names of Rust's types; the limits say the same. Defaults of whole tables are those of their keys.
    object.remove("format");
    if matches!(object.get("default"), Some(Value::Null | Value::Object(_))) {
        object.remove("default");
    }
}
