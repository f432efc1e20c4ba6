//! The JSON schemas of the types of documents, and their conversion to a [`Shape`].

use crate::{Format, Key, Shape};
pub use schemars::JsonSchema as Described;
use schemars::{Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The shape of a type.
pub(crate) fn shape<T: Described>(formats: &'static [Format]) -> Shape {
    Shape::read(&json_schema::<T>(), formats)
}

/// The JSON schema of a type (draft 7, which editors support).
pub fn json_schema<T: Described>() -> Value {
    let settings = SchemaSettings::draft07()
        .with(|settings| settings.inline_subschemas = true)
        .with_transform(RecursiveTransform(|schema: &mut Schema| {
            if let Some(object) = schema.as_object_mut() {
                of_toml(object);
            }
        }));
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Adapts a schema to TOML. TOML has no null, because optional keys are left out. Defaults of whole tables are removed,
/// because the keys of the tables have defaults. The names of Rust's number types are replaced by their limits.
fn of_toml(object: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(words)) = object.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(Value::Array(alternatives)) = object.get_mut("anyOf") {
        alternatives.retain(|alternative| alternative.get("type") != Some(&Value::from("null")));
        if let [Value::Object(only)] = alternatives.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            for (key, value) in only {
                // If the key has a description of its own, it is kept, because it says more than the description of the
                // key's type.
                object.entry(key).or_insert(value);
            }
        }
    }
    if matches!(object.get("default"), Some(Value::Null | Value::Object(_))) {
        object.remove("default");
    }
    let format = object.get("format").map(text).unwrap_or_default();
    if format == "uint32" {
        object.entry("maximum").or_insert(u32::MAX.into());
    }
    if ["int", "uint", "float", "double"]
        .iter()
        .any(|rust| format.starts_with(rust))
    {
        object.remove("format");
    }
}

impl Shape {
    fn read(schema: &Value, formats: &'static [Format]) -> Shape {
        let read = |schema: &Value| Shape::read(schema, formats);
        let format = || {
            let name = text(&schema["format"]);
            formats.iter().find(|format| format.name == name).copied()
        };
        if let Some([text, table]) = schema["anyOf"].as_array().map(Vec::as_slice) {
            return Shape::Either {
                text: Box::new(read(text)),
                table: Box::new(read(table)),
            };
        }
        if let Some(alternatives) = schema["oneOf"].as_array() {
            return one_of(alternatives, formats);
        }
        if let Some(words) = schema["enum"].as_array() {
            return Shape::Word(words.iter().map(|word| (text(word), String::new())).collect());
        }
        if schema.get("const").is_some() {
            return Shape::Word(vec![(text(&schema["const"]), text(&schema["description"]))]);
        }
        match schema["type"].as_str() {
            Some("object") => match (schema.get("properties"), schema.get("additionalProperties")) {
                (Some(properties), Some(Value::Bool(false))) => {
                    Shape::Table(keys(properties, &schema["required"], formats))
                }
                (None, Some(values)) => {
                    let names = schema["propertyNames"]["enum"].as_array();
                    Shape::Map {
                        names: names.into_iter().flatten().map(text).collect(),
                        values: Box::new(read(values)),
                    }
                }
                (None, None) => Shape::Part,
                _ => Shape::Unknown,
            },
            Some("array") if schema["items"].is_array() => {
                Shape::Tuple(schema["items"].as_array().into_iter().flatten().map(read).collect())
            }
            Some("array") => Shape::List {
                items: Box::new(read(&schema["items"])),
                min: count(&schema["minItems"]).unwrap_or(0),
                max: count(&schema["maxItems"]).unwrap_or(usize::MAX),
                format: format(),
                doc: text(&schema["items"]["description"]),
            },
            Some("string") => Shape::Text { format: format() },
            Some("integer") => Shape::Integer {
                min: schema["minimum"].as_i64().unwrap_or(i64::MIN),
                max: schema["maximum"].as_i64().unwrap_or(i64::MAX),
            },
            Some("number") => Shape::Float {
                min: schema["minimum"].as_f64().unwrap_or(f64::NEG_INFINITY),
                max: schema["maximum"].as_f64().unwrap_or(f64::INFINITY),
            },
            Some("boolean") => Shape::Boolean,
            None => match schema["type"].as_array() {
                Some(types) if types.iter().any(|name| name == "object") => Shape::Any,
                Some(_) => Shape::Scalar,
                None => Shape::Unknown,
            },
            _ => Shape::Unknown,
        }
    }
}

/// Returns the shape of an enum. If no variant has content, the values are words. If all variants have content, the
/// values are tables with one key. If only some variants have content, both kinds of values are allowed.
fn one_of(alternatives: &[Value], formats: &'static [Format]) -> Shape {
    let mut words = Vec::new();
    let mut tables = BTreeMap::new();
    for alternative in alternatives {
        // A pattern stands for all words with the same beginning. Its title, such as `custom:NAME`, shows the form of
        // these words.
        if alternative["pattern"].is_string() {
            words.push((text(&alternative["title"]), text(&alternative["description"])));
            continue;
        }
        match Shape::read(alternative, formats) {
            Shape::Word(more) => words.extend(more),
            Shape::Table(keys) if keys.len() == 1 => {
                tables.extend(keys.into_iter().map(|(name, key)| {
                    let doc = text(&alternative["description"]);
                    let required = false;
                    (name, Key { doc, required, ..key })
                }));
            }
            _ => return Shape::Unknown,
        }
    }
    match (words.is_empty(), tables.is_empty()) {
        (false, true) => Shape::Word(words),
        (true, false) => Shape::OneKey(tables),
        (false, false) => Shape::Either {
            text: Box::new(Shape::Word(words)),
            table: Box::new(Shape::OneKey(tables)),
        },
        (true, true) => Shape::Unknown,
    }
}

fn keys(properties: &Value, required: &Value, formats: &'static [Format]) -> BTreeMap<String, Key> {
    let required: Vec<String> = required.as_array().into_iter().flatten().map(text).collect();
    let key = |(name, schema): (&String, &Value)| {
        let key = Key {
            doc: text(&schema["description"]),
            required: required.contains(name),
            default: schema.get("default").cloned(),
            shape: Shape::read(schema, formats),
        };
        (name.clone(), key)
    };
    properties.as_object().into_iter().flatten().map(key).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn count(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}
