//! The JSON schema of the types, and the same thing read back as [`Shape`]s: what the check, the messages and the
//! reference page are made from.

use std::{collections::BTreeMap, sync::LazyLock};

use schemars::{Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Map, Value};

use super::{leaf, types::Config};

/// The JSON schema of a configuration (draft 7, which editors understand), as committed in
/// `docs/strait-config-1.schema.json`.
pub fn json_schema() -> Value {
    let settings = SchemaSettings::draft07()
        .with(|settings| settings.inline_subschemas = true)
        .with_transform(RecursiveTransform(|schema: &mut Schema| {
            if let Some(object) = schema.as_object_mut() {
                without_null(object);
            }
        }));
    settings.into_generator().into_root_schema_for::<Config>().to_value()
}

/// TOML has no null: what is optional is left out. Defaults of whole tables are those of their keys.
fn without_null(object: &mut Map<String, Value>) {
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
                // The text at the key says more than that of its type.
                object.entry(key).or_insert(value);
            }
        }
    }
    if matches!(object.get("default"), Some(Value::Null | Value::Object(_))) {
        object.remove("default");
    }
    // Names of Rust's types; the limits say the same.
    if let Some(Value::String(format)) = object.get("format")
        && leaf::expectation(format).is_empty()
    {
        object.remove("format");
    }
}

/// What a value has to be.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// Any of these keys.
    Table(BTreeMap<String, Key>),
    /// Exactly one of these keys.
    OneKey(BTreeMap<String, Key>),
    /// Keys that the user names.
    Map(Box<Shape>),
    List {
        items: Box<Shape>,
        min: usize,
        max: usize,
        /// As in [`leaf`]; empty for none.
        format: String,
        /// Of an element.
        doc: String,
    },
    /// One of these strings, each with what it means.
    Word(Vec<(String, String)>),
    Text {
        format: String,
    },
    Integer {
        min: i64,
        max: i64,
    },
    Float {
        min: f64,
        max: f64,
    },
    Boolean,
    /// A boolean, an integer or a string.
    Scalar,
    /// Something that this module does not know; a test shows that there is none.
    Unknown,
}

/// What a key of a table is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Key {
    pub(super) doc: String,
    pub(super) required: bool,
    pub(super) default: Option<Value>,
    pub(super) shape: Shape,
}

/// The whole configuration.
pub(super) fn shape() -> &'static Shape {
    static SHAPE: LazyLock<Shape> = LazyLock::new(|| Shape::read(&json_schema()));
    &SHAPE
}

impl Shape {
    fn read(schema: &Value) -> Shape {
        if let Some(alternatives) = schema["oneOf"].as_array() {
            return one_of(alternatives);
        }
        if let Some(words) = schema["enum"].as_array() {
            return Shape::Word(words.iter().map(|word| (text(word), String::new())).collect());
        }
        if schema.get("const").is_some() {
            return Shape::Word(vec![(text(&schema["const"]), text(&schema["description"]))]);
        }
        match schema["type"].as_str() {
            Some("object") => match (schema.get("properties"), schema.get("additionalProperties")) {
                (Some(properties), Some(Value::Bool(false))) => Shape::Table(keys(properties, &schema["required"])),
                (None, Some(values)) => Shape::Map(Box::new(Shape::read(values))),
                _ => Shape::Unknown,
            },
            Some("array") => Shape::List {
                items: Box::new(Shape::read(&schema["items"])),
                min: count(&schema["minItems"]).unwrap_or(0),
                max: count(&schema["maxItems"]).unwrap_or(usize::MAX),
                format: text(&schema["format"]),
                doc: text(&schema["items"]["description"]),
            },
            Some("string") => Shape::Text {
                format: text(&schema["format"]),
            },
            Some("integer") => Shape::Integer {
                // Every integer of the configuration is unsigned and 32 bits wide.
                min: schema["minimum"].as_i64().unwrap_or(0),
                max: schema["maximum"].as_i64().unwrap_or(i64::from(u32::MAX)),
            },
            Some("number") => Shape::Float {
                min: schema["minimum"].as_f64().unwrap_or(f64::NEG_INFINITY),
                max: schema["maximum"].as_f64().unwrap_or(f64::INFINITY),
            },
            Some("boolean") => Shape::Boolean,
            None if schema["type"].is_array() => Shape::Scalar,
            _ => Shape::Unknown,
        }
    }

    /// What a value is expected to be, in a few words.
    pub(super) fn expectation(&self) -> String {
        match self {
            Shape::Table(_) | Shape::Map(_) => "a table".to_owned(),
            Shape::OneKey(keys) => format!("a table with one of the keys {}", list(keys.keys())),
            Shape::List { format, .. } if !format.is_empty() => leaf::expectation(format).to_owned(),
            Shape::List { items, .. } => format!("a list, each element {}", items.expectation()),
            Shape::Word(words) => match words.as_slice() {
                [(only, _)] => format!("{only:?}"),
                words => format!("one of {}", quoted(words.iter().map(|(word, _)| word))),
            },
            Shape::Text { format } if !format.is_empty() => leaf::expectation(format).to_owned(),
            Shape::Text { .. } => "a string".to_owned(),
            Shape::Integer { min, max } if min == max => format!("{min}"),
            Shape::Integer { min, max } => format!("an integer from {min} to {max}"),
            Shape::Float { min, max } if min.is_infinite() || max.is_infinite() => "a finite number".to_owned(),
            Shape::Float { min, max } => format!("a number from {min} to {max}"),
            Shape::Boolean => "true or false".to_owned(),
            Shape::Scalar => "a boolean, an integer of 64 bits or a string".to_owned(),
            Shape::Unknown => String::new(),
        }
    }
}

/// Alternatives are the words of an enum without content, or the one-key tables of an enum with content.
fn one_of(alternatives: &[Value]) -> Shape {
    let mut words = Vec::new();
    let mut tables = BTreeMap::new();
    for alternative in alternatives {
        match Shape::read(alternative) {
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
        _ => Shape::Unknown,
    }
}

fn keys(properties: &Value, required: &Value) -> BTreeMap<String, Key> {
    let required: Vec<String> = required.as_array().into_iter().flatten().map(text).collect();
    let key = |(name, schema): (&String, &Value)| {
        let key = Key {
            doc: text(&schema["description"]),
            required: required.contains(name),
            default: schema.get("default").cloned(),
            shape: Shape::read(schema),
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

/// `a, b, c`
pub(super) fn list(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
    words.join(", ")
}

/// `"a", "b", "c"`
pub(super) fn quoted(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    list(words.into_iter().map(|word| format!("{:?}", word.as_ref())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(shape: &Shape, path: &str, see: &mut dyn FnMut(&Shape, &str)) {
        see(shape, path);
        match shape {
            Shape::Table(keys) | Shape::OneKey(keys) => {
                keys.iter()
                    .for_each(|(name, key)| visit(&key.shape, &format!("{path}.{name}"), see));
            }
            Shape::Map(inner) | Shape::List { items: inner, .. } => visit(inner, path, see),
            _ => {}
        }
    }

    #[test]
    fn every_part_of_the_schema_is_understood() {
        let mut seen = 0;
        visit(shape(), "", &mut |shape, path| {
            assert_ne!(*shape, Shape::Unknown, "at {path}");
            seen += 1;
        });
        assert!(seen > 60, "{seen}");
    }

    #[test]
    fn every_key_and_word_is_documented() {
        visit(shape(), "", &mut |shape, path| {
            if let Shape::Table(keys) | Shape::OneKey(keys) = shape {
                for (name, key) in keys {
                    assert!(!key.doc.is_empty(), "{path}.{name}");
                }
            }
        });
    }

    #[test]
    fn the_schema_has_no_null() {
        assert!(!json_schema().to_string().contains("null"));
    }
}
