//! Computes the part of a configuration that is the same on every machine.

use serde_json::{Map, Value as Json};

use strait_document::{Document as _, Node, Shape, Value};

use super::types::Config;

/// See [`super::Loaded::settings_for`].
pub(super) fn settings_for(tree: &Node, target: &str) -> Json {
    let mut settings = without_paths(Config::shape(), tree).unwrap_or_default();
    if let Json::Object(settings) = &mut settings {
        // The manifest has a field of its own for the file from which a target comes.
        settings.remove("plugin");
        settings.remove("trust");
    }
    if let Some(Json::Object(table)) = settings.get_mut("target") {
        table.remove("use");
        table.remove("file");
        if let Some(Json::Object(options)) = table.get_mut("options") {
            options.retain(|id, _| id == target);
        }
    }
    settings
}

/// True if a part of a configuration has no path in it, and chooses neither targets nor plugins.
pub(super) fn is_portable(tree: &Node) -> bool {
    leaves(&settings_for(tree, "")) == leaves_of(tree)
}

/// The number of values that are no tables.
fn leaves(json: &Json) -> usize {
    match json {
        Json::Object(entries) => entries.values().map(leaves).sum(),
        Json::Array(elements) => elements.iter().map(leaves).sum::<usize>() + 1,
        _ => 1,
    }
}

fn leaves_of(node: &Node) -> usize {
    match &node.value {
        Value::Table(entries) => entries.iter().map(|(_, entry)| leaves_of(&entry.node)).sum(),
        Value::List(elements) => elements.iter().map(leaves_of).sum::<usize>() + 1,
        _ => 1,
    }
}

/// The value at `node`, without the paths in it; `None` if the value is a path or a list of paths.
fn without_paths(shape: &Shape, node: &Node) -> Option<Json> {
    match (shape, &node.value) {
        (shape, _) if is_path(shape) => None,
        (Shape::Either { text: inner, .. }, Value::Text(_))
        | (Shape::Either { table: inner, .. }, Value::Table(_) | Value::List(_)) => without_paths(inner, node),
        (Shape::Table(keys) | Shape::OneKey(keys), Value::Table(entries)) => {
            let settings = entries.iter().filter_map(|(name, entry)| {
                let value = without_paths(&keys.get(name)?.shape, &entry.node)?;
                Some((name.clone(), value))
            });
            Some(Json::Object(settings.collect::<Map<_, _>>()))
        }
        (Shape::Map { values: inner, .. }, Value::Table(entries)) => {
            let settings = entries
                .iter()
                .filter_map(|(name, entry)| Some((name.clone(), without_paths(inner, &entry.node)?)));
            Some(Json::Object(settings.collect::<Map<_, _>>()))
        }
        (Shape::List { items, .. }, Value::List(elements)) => Some(
            elements
                .iter()
                .filter_map(|element| without_paths(items, element))
                .collect(),
        ),
        (_, Value::Boolean(value)) => Some(Json::from(*value)),
        (_, Value::Integer(value)) => Some(Json::from(*value)),
        (_, Value::Float(value)) => Some(Json::from(*value)),
        (_, Value::Text(value)) => Some(Json::from(value.as_str())),
        (_, Value::Datetime | Value::HugeInteger(_) | Value::List(_) | Value::Table(_)) => None,
    }
}

fn is_path(shape: &Shape) -> bool {
    match shape {
        Shape::Text { format } => format.is_some_and(strait_document::Format::is_path),
        Shape::List { items, .. } => is_path(items),
        Shape::Either { text, table } => is_path(text) && is_path(table),
        _ => false,
    }
}
