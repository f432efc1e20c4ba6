//! The value that each key of a configuration has, and where the value comes from: `strait config show`.
//!
//! The keys are those of the configuration's shape, so a key cannot be forgotten here. A key that the configuration does
//! not write has a default, which the schema states, or is decided by the target (`of_target.rs`) or by the preset of
//! `[optimize]`.

mod of_target;
mod origin;
mod written;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value as Json};
use strait_document::{Document as _, KeyPath, Node, Shape, Value};
use strait_target::TargetSpec;

use super::{Loaded, reference::SECTIONS, types::Config};
pub use origin::Origin;
pub use written::as_toml;

/// One key with its value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// The path of the key, as `--set` takes it.
    pub key: String,
    /// The id of the target for which the key has this value. Absent: the value is the same for all targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The value. Absent: the key is not set, and nothing stands in its place.
    pub value: Option<Json>,
    /// Where the value comes from.
    pub from: Origin,
}

/// The values of all keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effective {
    /// The ids of the targets.
    pub targets: Vec<String>,
    /// The keys, in the order of the reference page. A key that targets decide is listed once for each target.
    pub settings: Vec<Setting>,
}

/// The values of all keys of the configuration, for these targets.
pub fn effective<'a>(loaded: &Loaded, targets: impl IntoIterator<Item = (&'a str, &'a TargetSpec)>) -> Effective {
    let targets: Vec<(&str, &TargetSpec)> = targets.into_iter().collect();
    Effective {
        settings: settings(loaded, &targets),
        targets: targets.iter().map(|(id, _)| (*id).to_owned()).collect(),
    }
}

fn settings(loaded: &Loaded, targets: &[(&str, &TargetSpec)]) -> Vec<Setting> {
    let all = serde_json::to_value(&loaded.config).unwrap_or_default();
    let decided = targets.iter().map(|(id, spec)| (*id, of_target::decided(loaded, spec)));
    let mut walk = Walk {
        loaded,
        decided: decided.collect(),
        presets: of_target::presets(&loaded.config.optimize),
        found: Vec::new(),
    };
    let Shape::Table(keys) = Config::shape() else {
        return walk.found;
    };
    let plain = keys.keys().map(String::as_str).filter(|key| !SECTIONS.contains(key));
    for key in plain.chain(SECTIONS) {
        if let Some(shape) = keys.get(key).map(|key| &key.shape) {
            walk.visit(shape, KeyPath::of(&[key]), &all[key]);
        }
    }
    for (id, spec) in targets {
        walk.options(id, spec);
    }
    walk.found
}

struct Walk<'a> {
    loaded: &'a Loaded,
    /// For each target, the keys that it decides where the configuration does not.
    decided: Vec<(&'a str, BTreeMap<String, Json>)>,
    /// The keys that the preset of `[optimize]` decides where the configuration does not.
    presets: BTreeMap<String, bool>,
    found: Vec<Setting>,
}

impl Walk<'_> {
    /// Visits the value at `path`. `value` is the value in the configuration with all defaults, and null if there is
    /// none.
    fn visit(&mut self, shape: &Shape, path: KeyPath, value: &Json) {
        let written = self.loaded.written.find(&path);
        match (shape, value) {
            (Shape::Table(keys), Json::Object(values)) if !is_whole(&path) => {
                for (name, key) in keys {
                    let value = values.get(name).unwrap_or(&Json::Null);
                    self.visit(&key.shape, path.clone().key(name), value);
                }
            }
            (Shape::Map { values: shape, .. }, Json::Object(values)) if !values.is_empty() => {
                for (name, value) in values {
                    self.visit(shape, path.clone().key(name), value);
                }
            }
            (Shape::List { items, .. }, Json::Array(_))
                if matches!(**items, Shape::Table(_) | Shape::OneKey(_)) && written.is_some() =>
            {
                self.tables(path);
            }
            _ => self.leaf(path, value),
        }
    }

    /// Lists of tables, such as rules, have only the keys that are written in them: a key that is not written in a rule
    /// says nothing.
    fn tables(&mut self, path: KeyPath) {
        let Some(Value::List(items)) = self.loaded.node(&path).map(|list| &list.value) else {
            return;
        };
        for (index, item) in items.iter().enumerate() {
            let path = path.clone().index(index);
            match &item.value {
                Value::Table(entries) => {
                    for (name, entry) in entries.iter() {
                        self.given(path.clone().key(name), &entry.node);
                    }
                }
                _ => self.given(path, item),
            }
        }
    }

    /// A value that is written.
    fn given(&mut self, path: KeyPath, node: &Node) {
        let place = self.loaded.written.find(&path).unwrap_or(node);
        let from = Origin::of(&place.location);
        self.push(&path, None, Some(json(node)), from);
    }

    /// A key that is not looked into further.
    fn leaf(&mut self, path: KeyPath, value: &Json) {
        if self.loaded.written.find(&path).is_some() {
            if let Some(node) = self.loaded.node(&path) {
                self.given(path, node);
            }
            return;
        }
        let key = path.to_string();
        let decided = self
            .decided
            .iter()
            .filter_map(|(id, of_target)| Some((*id, of_target.get(&key)?.clone())));
        let decided: Vec<(&str, Json)> = decided.collect();
        if !decided.is_empty() {
            for (id, value) in decided {
                self.push(&path, Some(id), Some(value), Origin::Target);
            }
        } else if let Some(&on) = self.presets.get(&key) {
            let preset = self.loaded.config.optimize.preset;
            let preset = serde_json::to_value(preset).unwrap_or_default();
            let preset = preset.as_str().unwrap_or_default().to_owned();
            self.push(&path, None, Some(on.into()), Origin::Preset { preset });
        } else if let Some(value) = of_target::documented(&self.loaded.config, &key) {
            self.push(&path, None, Some(value), Origin::Default);
        } else if value.is_null() {
            self.push(&path, None, None, Origin::Unset);
        } else {
            self.push(&path, None, Some(without_null(value)), Origin::Default);
        }
    }

    /// The options of a target's table that the configuration does not set.
    fn options(&mut self, id: &str, spec: &TargetSpec) {
        for (name, value) in &spec.chosen {
            let path = KeyPath::of(&["target", "options", id, name]);
            if self.loaded.written.find(&path).is_some() {
                continue;
            }
            let value = serde_json::to_value(value).unwrap_or_default();
            let implied = spec
                .options
                .get(name)
                .is_some_and(|option| serde_json::to_value(&option.default).ok().as_ref() != Some(&value));
            let from = if implied {
                Origin::Implied { by: "output.emit" }
            } else {
                Origin::Target
            };
            self.push(&path, Some(id), Some(value), from);
        }
    }

    fn push(&mut self, path: &KeyPath, target: Option<&str>, value: Option<Json>, from: Origin) {
        self.found.push(Setting {
            key: path.to_string(),
            target: target.map(str::to_owned),
            value,
            from,
        });
    }
}

/// True for a table that is shown as one value if nothing is written in it: settings that only matter with an observer
/// that reads them.
fn is_whole(path: &KeyPath) -> bool {
    *path == KeyPath::of(&["calibration", "observer_options"])
}

fn json(node: &Node) -> Json {
    serde_json::to_value(node.to_toml()).unwrap_or_default()
}

/// The value without the keys that are not set.
fn without_null(value: &Json) -> Json {
    match value {
        Json::Object(keys) => {
            let set = keys.iter().filter(|(_, value)| !value.is_null());
            Json::Object(
                set.map(|(key, value)| (key.clone(), without_null(value)))
                    .collect::<Map<_, _>>(),
            )
        }
        Json::Array(items) => items.iter().map(without_null).collect(),
        other => other.clone(),
    }
}
