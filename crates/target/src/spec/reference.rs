//! `docs/target-table.md`: every key with what it takes and what it means, from the types.

use super::check::{DERIVED, Quantity, terms};
use super::{RecipeName, json_schema};
use crate::nearest::list;
use serde_json::{Map, Value};
use std::{collections::BTreeSet, fmt::Write};

const OPENING: &str = "\
# The target table

<!-- Made from crates/target/src/spec by `cargo xtask bless`; edits here are lost. -->

What a target computes is said by one TOML file: which integers stand for which values, how each op becomes integers, which
requantizations there are, which of them are fused into what, and what runs on the host. A table in a file is a whole target,
and the host's kernels compute it; a plugin crate adds kernels, and code for what a table cannot say.

A key that is not listed here is an error, and so is a name that does not exist. The tables in `plugins/` are examples. Editors
that know JSON schemas complete and check a table with `strait-target-1.schema.json` beside this page.

Scale sense everywhere: real = scale × (q − zero point).
";

/// The page.
pub fn reference_page() -> String {
    let schema = json_schema();
    let definitions = schema
        .get("definitions")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let mut page = Page {
        definitions,
        text: OPENING.into(),
        said: BTreeSet::new(),
    };
    page.table("", &schema);
    page.recipes();
    page.quantities();
    page.text
}

struct Page {
    definitions: Map<String, Value>,
    text: String,
    /// The meanings of words that the page has said.
    said: BTreeSet<String>,
}

/// What a key of a table holds.
enum Shape<'a> {
    /// A table with keys of its own.
    Table(&'a Value),
    /// Tables by names that the author chooses.
    Tables(&'a Value),
    /// A list of tables.
    ListOfTables(&'a Value),
    /// A value by names that the author chooses.
    Values(&'a Value),
    /// A value.
    Value,
}

impl Page {
    /// Follows a reference.
    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let inner = schema.get("allOf").and_then(|all| all.get(0)).unwrap_or(schema);
        let name = inner
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|path| path.rsplit('/').next());
        name.and_then(|name| self.definitions.get(name)).unwrap_or(inner)
    }

    fn shape<'a>(&'a self, schema: &'a Value) -> Shape<'a> {
        let schema = self.resolve(schema);
        let is_table = |schema: &Value| schema.get("properties").is_some();
        if is_table(schema) {
            return Shape::Table(schema);
        }
        if let Some(items) = schema
            .get("items")
            .map(|items| self.resolve(items))
            .filter(|items| is_table(items))
        {
            return Shape::ListOfTables(items);
        }
        match schema.get("additionalProperties").filter(|any| any.is_object()) {
            Some(any) if is_table(self.resolve(any)) => Shape::Tables(self.resolve(any)),
            Some(any) => Shape::Values(any),
            None => Shape::Value,
        }
    }

    /// A section for a table: its keys that are values, then a section for each that is a table.
    fn table(&mut self, path: &str, schema: &Value) {
        let schema = schema.clone();
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return;
        };
        let (mut rows, mut words, mut below) = (String::new(), String::new(), Vec::new());
        for (key, property) in properties {
            let inner = if path.is_empty() {
                key.clone()
            } else {
                format!("{}.{key}", path.trim_matches(['[', ']']))
            };
            match self.shape(property) {
                Shape::Table(table) => below.push((inner.clone(), format!("[{inner}]"), table.clone(), property)),
                Shape::Tables(table) => below.push((
                    format!("{inner}.NAME"),
                    format!("[{inner}.NAME]"),
                    table.clone(),
                    property,
                )),
                Shape::ListOfTables(table) => {
                    below.push((inner.clone(), format!("[[{inner}]]"), table.clone(), property));
                }
                shape => {
                    let (name, value) = match shape {
                        Shape::Values(value) => (format!("{key}.NAME"), value),
                        _ => (key.clone(), property),
                    };
                    let needed = if required.contains(&key.as_str()) {
                        "required"
                    } else {
                        ""
                    };
                    let meaning = description(property);
                    let _ = writeln!(rows, "| `{name}` | {} | {needed} | {meaning} |", self.value(value));
                    let meanings = self.meanings(value);
                    if !meanings.is_empty() && self.said.insert(meanings.clone()) {
                        let _ = write!(words, "\n`{key}`:\n{meanings}");
                    }
                }
            }
        }
        if path.is_empty() {
            self.text += "\n## Outside of any table\n";
        }
        if !rows.is_empty() {
            let _ = write!(
                self.text,
                "\n| key | value | | meaning |\n|---|---|---|---|\n{rows}{words}"
            );
        }
        for (path, title, table, property) in below {
            let _ = write!(self.text, "\n## `{title}`\n\n{}\n", description(property));
            self.table(&path, &table);
        }
    }

    /// What a value may be.
    fn value(&self, schema: &Value) -> String {
        let schema = self.resolve(schema);
        let bound = |key: &str| schema.get(key).and_then(Value::as_i64);
        let words = word_list(schema);
        if !words.is_empty() {
            return list(words);
        }
        if schema.get("anyOf").is_some() {
            return "number, text, `true` or `false`".into();
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("array") => match (schema.get("items"), schema.get("maxItems").and_then(Value::as_u64)) {
                (Some(items), None) => format!("list of {}", self.value(items)),
                (Some(items), Some(2)) => format!("pair of {}", self.value(items)),
                _ => "list".into(),
            },
            Some("integer") => match (bound("minimum"), bound("maximum")) {
                (Some(min), Some(max)) if min == max => min.to_string(),
                (Some(min), Some(max)) => format!("integer from {min} to {max}"),
                (Some(min), None) => format!("integer from {min}"),
                _ => "integer".into(),
            },
            Some("boolean") => "`true` or `false`".into(),
            Some("object") => "table".into(),
            _ => "text".into(),
        }
    }

    /// What each of the words that a value may be means.
    fn meanings(&self, schema: &Value) -> String {
        let mut schema = self.resolve(schema);
        while let Some(items) = schema.get("items") {
            schema = self.resolve(items);
        }
        let words = schema.get("oneOf").and_then(Value::as_array);
        let line = |word: &Value| {
            let name = word.get("const").and_then(Value::as_str).unwrap_or_default();
            format!("- `{name}`: {}\n", description(word))
        };
        words.into_iter().flatten().map(line).collect()
    }

    fn recipes(&mut self) {
        self.text +=
            "\n## Recipes and what they take\n\n| recipe | lowers | forms in | parameters |\n|---|---|---|---|\n";
        for recipe in RecipeName::ALL {
            let signature = recipe.signature();
            let forms = [("requantize", signature.requantize), ("inputs", signature.inputs)];
            let forms = list(forms.into_iter().filter(|(_, taken)| *taken).map(|(key, _)| key));
            let parameters = list(signature.parameters.iter().map(|(key, _)| *key));
            let _ = writeln!(
                self.text,
                "| `{recipe}` | {} | {forms} | {parameters} |",
                list(signature.ops.iter().copied())
            );
        }
        let _ = writeln!(self.text, "\nThe terms of ops: {}.", list(terms()));
    }

    fn quantities(&mut self) {
        self.text += "\n## What a row can limit\n\nThe attributes of the op, by their names in the text form, and these quantities:\n\n";
        for Quantity { name, meaning, .. } in DERIVED {
            let _ = writeln!(self.text, "- `{name}`: {meaning}");
        }
    }
}

/// The words that a value may be; none where it may be anything else.
fn word_list(schema: &Value) -> Vec<&str> {
    let all = |key: &str| schema.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let constants = all("oneOf").iter().filter_map(|word| word.get("const")?.as_str());
    let plain = all("enum").iter().filter_map(Value::as_str);
    let pattern = schema.get("pattern").and_then(Value::as_str).unwrap_or_default();
    let pattern = pattern
        .trim_start_matches("^(")
        .trim_end_matches(")$")
        .split('|')
        .filter(|word| !word.is_empty());
    constants
        .chain(plain)
        .chain(pattern.map(|word| if word == "custom:.+" { "custom:NAME" } else { word }))
        .collect()
}

/// The text at a schema, in one line.
fn description(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}
