//! The JSON schema of a document's type, and the same thing read back as a [`Shape`]: what check, messages and
//! reference page are made from.

use crate::Document;
use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, fmt};

/// The JSON schema of a type (draft 7, which editors understand).
pub fn json_schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07()
        .with(|settings| settings.inline_subschemas = true)
        .with_transform(RecursiveTransform(|schema: &mut Schema| {
            if let Some(object) = schema.as_object_mut() {
                of_toml(object);
            }
        }));
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// TOML has no null: what is optional is left out. Defaults of whole tables are those of their keys. Names of Rust's
/// types become limits.
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
                // The text at the key says more than that of its type.
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

/// A form of values that JSON's types do not tell, which a schema names by its `format`.
#[derive(Clone, Copy)]
pub struct Format {
    /// Its name in the schema.
    pub name: &'static str,
    /// A value that is right, in a few words, for messages and the reference page.
    pub expectation: &'static str,
    /// The check.
    pub rule: Rule,
}

/// The check of a [`Format`].
#[derive(Clone, Copy)]
pub enum Rule {
    /// A string, which is not empty, for which this holds.
    Text(fn(&str) -> bool),
    /// The same, and a path, which is resolved against the folder of the text that it stands in.
    Path(fn(&str) -> bool),
    /// A path, of which this says nothing, or a word, which is left as it is where this holds.
    PathOrWord(fn(&str) -> Option<bool>),
    /// A list of numbers, each above the one before.
    Ascending,
}

impl Format {
    /// True if a value is a path, to be resolved.
    pub fn is_path(self) -> bool {
        matches!(self.rule, Rule::Path(_) | Rule::PathOrWord(_))
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Type of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Any of these keys.
    Table(BTreeMap<String, Key>),
    /// Exactly one of these keys.
    OneKey(BTreeMap<String, Key>),
    /// Keys that the user names.
    Map {
        /// The names that may be chosen; none where any may.
        names: Vec<String>,
        /// The value of each.
        values: Box<Shape>,
    },
    /// A list.
    List {
        /// Each element.
        items: Box<Shape>,
        /// The fewest elements.
        min: usize,
        /// The most elements.
        max: usize,
        /// Further condition.
        format: Option<Format>,
        /// The documentation of an element.
        doc: String,
    },
    /// A list of as many elements as there are shapes, one for each.
    Tuple(Vec<Shape>),
    /// A string, or a table or list.
    Either {
        /// Where it is a string.
        text: Box<Shape>,
        /// Where it is a table or list.
        table: Box<Shape>,
    },
    /// One of these strings, each with what it means. `custom:NAME` stands for all that begin with `custom:`.
    Word(Vec<(String, String)>),
    /// A string that is not empty.
    Text {
        /// Further condition.
        format: Option<Format>,
    },
    /// An integer within these limits.
    Integer {
        /// The smallest.
        min: i64,
        /// The largest.
        max: i64,
    },
    /// A finite number within these limits.
    Float {
        /// The smallest.
        min: f64,
        /// The largest.
        max: f64,
    },
    /// `true` or `false`.
    Boolean,
    /// A boolean, an integer or a string.
    Scalar,
    /// A table that is checked where it is merged into another.
    Part,
    /// A value of any form, which somebody else checks.
    Any,
    /// Something that this module does not know; a test of each document shows that there is none.
    Unknown,
}

/// Description of a key of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The documentation.
    pub doc: String,
    /// True if it has to be given.
    pub required: bool,
    /// The value where it is not given.
    pub default: Option<Value>,
    /// The value.
    pub shape: Shape,
}

impl Shape {
    /// The shape of a document's type.
    pub fn of<T: Document>() -> Shape {
        Shape::of_type::<T>(T::FORMATS)
    }

    /// The shape of a type that is a part of a document, or one in another form than TOML.
    pub fn of_type<T: JsonSchema>(formats: &'static [Format]) -> Shape {
        Shape::read(&json_schema::<T>(), formats)
    }

    /// The pattern of every key below this shape: `quantize.rule[].run`, `form.NAME.kind`. Tables and lists of tables
    /// are keys like their own keys.
    pub fn keys(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.visit("", &mut |_, path| {
            if !path.is_empty() {
                found.push(path.to_owned());
            }
        });
        found
    }

    /// Shows this shape and all below it, each with its pattern as in [`Shape::keys`].
    pub fn visit(&self, path: &str, see: &mut dyn FnMut(&Shape, &str)) {
        see(self, path);
        let dot = if path.is_empty() { "" } else { "." };
        match self.contents() {
            Shape::Table(keys) | Shape::OneKey(keys) => {
                for (name, key) in keys {
                    let path = format!("{path}{}{dot}{name}", self.step(dot));
                    key.shape.visit(&path, see);
                }
            }
            _ => {}
        }
    }

    fn contents(&self) -> &Shape {
        match self {
            Shape::Map { values: inner, .. }
            | Shape::List { items: inner, .. }
            | Shape::Either { table: inner, .. } => inner.contents(),
            other => other,
        }
    }

    /// The part of a pattern between a key and those of the tables in it.
    fn step(&self, dot: &str) -> String {
        match self {
            Shape::Map { values, .. } => format!("{dot}NAME{}", values.step(dot)),
            Shape::List { items, .. } => format!("[]{}", items.step(dot)),
            Shape::Either { table, .. } => table.step(dot),
            _ => String::new(),
        }
    }

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

    /// Right values, in a few words.
    pub fn expectation(&self) -> String {
        match self {
            Shape::Table(_) | Shape::Map { .. } | Shape::Part => "a table".to_owned(),
            Shape::Either { text, table } => format!("{}, or {}", text.expectation(), table.expectation()),
            Shape::OneKey(keys) => format!("a table with one of the keys {}", list(keys.keys())),
            Shape::List {
                format: Some(format), ..
            }
            | Shape::Text { format: Some(format) } => format.expectation.to_owned(),
            Shape::List { items, min, max, .. } if min == max => {
                format!("a list of {min}, each element {}", items.expectation())
            }
            Shape::List { items, .. } => format!("a list, each element {}", items.expectation()),
            Shape::Tuple(items) => {
                let items: Vec<String> = items.iter().map(Shape::expectation).collect();
                format!("a list of {}: {}", items.len(), items.join("; then "))
            }
            Shape::Word(words) => match words.as_slice() {
                [(only, _)] => format!("{only:?}"),
                words => format!("one of {}", quoted(words.iter().map(|(word, _)| word))),
            },
            Shape::Text { .. } => "a string".to_owned(),
            Shape::Integer { min, max } if min == max => format!("{min}"),
            Shape::Integer {
                min: i64::MIN,
                max: i64::MAX,
            } => "an integer".to_owned(),
            Shape::Integer { min, max } => format!("an integer from {min} to {max}"),
            Shape::Float { min, max } if min.is_infinite() || max.is_infinite() => "a finite number".to_owned(),
            Shape::Float { min, max } => format!("a number from {} to {}", written(*min), written(*max)),
            Shape::Boolean => "true or false".to_owned(),
            Shape::Scalar => "a boolean, an integer of 64 bits or a string".to_owned(),
            Shape::Any => "a boolean, a number, a string, a list or a table".to_owned(),
            Shape::Unknown => String::new(),
        }
    }
}

/// Alternatives are the words of an enum without content, or the one-key tables of an enum with content.
fn one_of(alternatives: &[Value], formats: &'static [Format]) -> Shape {
    let mut words = Vec::new();
    let mut tables = BTreeMap::new();
    for alternative in alternatives {
        // Words that begin alike have a pattern, and their form as the title.
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
        _ => Shape::Unknown,
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

/// `a, b, c`
pub(crate) fn list(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
    words.join(", ")
}

/// `"a", "b", "c"`
fn quoted(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    list(words.into_iter().map(|word| format!("{:?}", word.as_ref())))
}
/// A number as people write it: with an exponent where it is long.
pub(crate) fn written(number: f64) -> String {
    match number.abs() {
        size if size >= 1e15 || (size < 1e-6 && size > 0.0) => format!("{number:e}"),
        _ => number.to_string(),
    }
}
