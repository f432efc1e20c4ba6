//! Translates settings of vendors' own tools, which a configuration may contain, to rules and keys of the
//! configuration. A rule that comes from a vendor's settings applies only to this vendor's target. These rules come
//! before the configuration's own rules. A key is set only if the configuration does not set it itself.

use std::{borrow::Cow, cell::LazyCell, collections::BTreeMap, path::Path};

use serde_json::{Map, Value as Json};
use strait_document::{Entry, Node, Shape, Source, SourceLocation, Value, nearest, text_proto};
use strait_target::{
    Dialect, Registry,
    dialect::{Means, Setting},
};

use crate::{
    config::{KeyPath, Loaded, codes},
    diagnostic::{Diagnostic, Diagnostics},
};

/// The largest size in bytes of a vendor's file. Larger files are refused.
const MOST_BYTES: u64 = 10 << 20;

/// Returns the configuration together with the rules and keys to which settings of the vendors' tools are translated.
/// The rules from a vendor's file come first. A configuration without such settings is returned unchanged.
///
/// # Errors
/// If a setting in the configuration or in the vendor's file is wrong; each error names the line. Also if the
/// configuration names a vendor's file that none of its targets reads.
pub fn expanded<'a>(loaded: &'a Loaded, registry: &Registry) -> Result<Cow<'a, Loaded>, Diagnostics> {
    let found = read_words(loaded, registry)?;
    match found.rules.is_empty() && found.keys.is_empty() {
        true => Ok(Cow::Borrowed(loaded)),
        false => Ok(Cow::Owned(loaded.with(found.rules, found.keys.into_iter().collect())?)),
    }
}

/// Translates all settings of vendors' tools in the configuration and in the vendor's file.
fn read_words(loaded: &Loaded, registry: &Registry) -> Result<TranslatedRules, Diagnostics> {
    let config = &loaded.config;
    let entries = config
        .target
        .ids
        .iter()
        .filter_map(|id| Some((id, registry.entry(id).ok()?)));
    let speaking = entries.filter_map(|(id, entry)| Some((id.as_str(), entry.dialect()?)));
    let speaking: Vec<(&str, &Dialect)> = speaking.collect();
    let mut found = Expansion::default();
    if let Some(file) = &config.calibration.config {
        let path = KeyPath::of(&["calibration", "config"]);
        if speaking.is_empty() {
            return Err(unread(loaded, &path, registry).into());
        }
        for (id, dialect) in &speaking {
            let tree = read_tree(loaded, file.as_ref(), &path, &dialect.shape())?;
            found.take(id, dialect.settings(tree)?)?;
        }
    }
    for (id, dialect) in &speaking {
        let Some(options) = loaded.node(&KeyPath::of(&["target", "options", id])) else {
            continue;
        };
        let shape = dialect.shape();
        known(id, options, &shape, registry)?;
        found.take(id, dialect.settings(of_dialect(options, &shape))?)?;
    }
    found.settled(loaded)
}

/// Returns the text of all rules as they would be written in a configuration, in the order in which they apply. The
/// rules that [`expanded`] adds come first. If the settings of a vendor's tool set other keys than rules, the text
/// begins with these keys.
///
/// # Errors
/// As for [`expanded`].
pub fn rules(loaded: &Loaded, registry: &Registry) -> Result<String, Diagnostics> {
    let TranslatedRules { rules, keys } = read_words(loaded, registry)?;
    let paths: Vec<Vec<String>> = keys.keys().cloned().collect();
    let expanded = loaded.with(rules, keys.into_iter().collect())?;
    let mut document = toml::Table::new();
    for path in paths
        .into_iter()
        .chain([["quantize", "rule"].map(str::to_owned).into()])
    {
        let at = path.iter().fold(KeyPath::default(), |at, key| at.key(key));
        // If a configuration has no rules, its tree contains an empty list of rules, which is not written.
        let is_empty = |node: &Node| matches!(&node.value, Value::List(items) if items.is_empty());
        if let Some(node) = expanded.node(&at).filter(|node| !is_empty(node)) {
            put(&mut document, &path, node.to_toml());
        }
    }
    // The tree was read from a document, so it can be written as a document again.
    toml::to_string(&document).map_err(|error| Diagnostic::error(codes::DEFECT, error.to_string()).into())
}

/// Sets a value at a path in a TOML document. Tables of the path that do not exist are made.
fn put(table: &mut toml::Table, path: &[String], value: toml::Value) {
    match path {
        [] => {}
        [key] => {
            table.insert(key.clone(), value);
        }
        [key, rest @ ..] => {
            let inner = table.entry(key.clone());
            if let toml::Value::Table(inner) = inner.or_insert_with(|| toml::Value::Table(toml::Table::new())) {
                put(inner, rest, value);
            }
        }
    }
}

/// True if a target's tool has a setting of this name.
pub(crate) fn has_word(registry: &Registry, id: &str, name: &str) -> bool {
    let dialect = registry.entry(id).ok().and_then(|entry| entry.dialect());
    dialect.is_some_and(|dialect| keys(&dialect.shape()).any(|key| key == name))
}

fn keys(shape: &Shape) -> Box<dyn Iterator<Item = &String> + '_> {
    match shape {
        Shape::Table(keys) => Box::new(keys.keys()),
        _ => Box::new(std::iter::empty()),
    }
}

/// Checks that each option that is set for a target is an option of the target's table or a setting of the vendor's
/// tool.
fn known(id: &str, options: &Node, shape: &Shape, registry: &Registry) -> Result<(), Diagnostics> {
    let (Value::Table(given), Ok(entry)) = (&options.value, registry.entry(id)) else {
        return Ok(());
    };
    let spec = entry.table().default_spec();
    let all: Vec<&str> = (spec.options.keys().chain(keys(shape))).map(String::as_str).collect();
    let unknown = given.iter().filter(|(name, _)| !all.contains(&name.as_str()));
    let findings = unknown.map(|(name, entry)| {
        let message = format!("the target `{id}` has no option `{name}`, and its tool has no such word");
        let finding = Diagnostic::error(codes::UNKNOWN_KEY, message).at(entry.key.excerpt(""));
        finding.help(nearest::help(name, all.iter().copied()))
    });
    Diagnostics(findings.collect()).or(())
}

/// Returns those options of a target that are settings of the vendor's tool.
fn of_dialect(options: &Node, shape: &Shape) -> Node {
    let Value::Table(entries) = &options.value else {
        return options.clone();
    };
    let own = entries.iter().filter(|(name, _)| keys(shape).any(|key| key == *name));
    Value::Table(own.map(|(name, entry)| (name.clone(), entry.clone())).collect()).at(&options.location)
}

/// Reads the settings from the vendor's file.
fn read_tree(loaded: &Loaded, file: &Path, path: &KeyPath, shape: &Shape) -> Result<Node, Diagnostics> {
    let name = file.display().to_string();
    let failed = |message: String| loaded.error(codes::FILE, path, format!("{name}: {message}"), "");
    let bytes = strait_mapped::read(file, MOST_BYTES).map_err(|error| failed(error.to_string()))?;
    let text = strait_document::utf8("it", bytes).map_err(failed)?;
    let folder = file.parent().unwrap_or(Path::new(""));
    text_proto(&Source::new(&name, text, folder, 0), shape)
}

fn unread(loaded: &Loaded, path: &KeyPath, registry: &Registry) -> Diagnostic {
    let readers = registry
        .entries()
        .filter_map(|(id, entry)| Some((id, entry.dialect()?.name())));
    let readers: Vec<String> = readers.map(|(id, name)| format!("`{id}` reads {name}")).collect();
    let finding = loaded.error(
        codes::CONFLICT,
        path,
        format!("no target of the configuration reads `{path}`"),
        "",
    );
    match readers.is_empty() {
        true => finding,
        false => finding.help(readers.join("; ")),
    }
}

/// The rules and keys into which the settings are translated, as a configuration would contain them.
struct TranslatedRules {
    rules: Vec<Node>,
    keys: BTreeMap<Vec<String>, Node>,
}

#[derive(Default)]
struct Expansion {
    rules: Vec<Node>,
    /// For each key, the values that targets set, by the target's id.
    keys: BTreeMap<Vec<String>, BTreeMap<String, Node>>,
}

impl Expansion {
    /// Adds the settings of one target. If two settings set the same key, the later one wins.
    fn take(&mut self, id: &str, settings: Vec<(Setting, Node)>) -> Result<(), Diagnostics> {
        for (Setting { means, .. }, said) in settings {
            let place = &said.location;
            let (path, value) = match means {
                Means::Rule(mut keys) => {
                    keys.insert("target".to_owned(), Json::from(vec![id]));
                    self.rules.push(table(&keys, place));
                    continue;
                }
                Means::Option(name, value) => (["target", "options", id, &name].map(str::to_owned).into(), value),
                Means::Key(path, value) => (path, value),
                means => {
                    let message = format!("defect in Strait: {means:?} of `{id}` has no place in a configuration");
                    return Err(Diagnostic::error(codes::DEFECT, message).at(place.excerpt("")).into());
                }
            };
            let mut node = node(&value, place);
            // Errors about an element of the list then point to the word of the setting that the element is translated
            // from.
            if let (Value::List(items), Value::List(words)) = (&mut node.value, &said.value) {
                let each = items.iter_mut().zip(words);
                each.for_each(|(item, word)| item.location = word.location.clone());
            }
            self.keys.entry(path).or_default().insert(id.to_owned(), node);
        }
        Ok(())
    }

    /// Keeps the rules, and those keys that the configuration does not set itself. A key has one value for all targets
    /// that are compiled together, so all these targets have to agree on the value. Only options of a target are
    /// separate for each target.
    fn settled(self, loaded: &Loaded) -> Result<TranslatedRules, Diagnostics> {
        let (mut keys, mut findings) = (BTreeMap::new(), Vec::new());
        // The defaults are computed only if a key needs them. That is rare, and with many rules it takes long.
        let defaults = LazyCell::new(|| serde_json::to_value(&loaded.config).unwrap_or_default());
        for (path, by_target) in self.keys {
            let given = path.iter().fold(KeyPath::default(), |path, key| path.key(key));
            let Some((first, node)) = by_target.first_key_value().filter(|_| !loaded.has(&given)) else {
                continue;
            };
            let is_option = matches!(&*path, [target, options, ..] if target == "target" && options == "options");
            let ids = (loaded.config.target.ids.iter()).filter(|_| !is_option);
            // A target that does not set the key uses the key's default.
            let default = path.iter().try_fold(&*defaults, |table, key| table.get(key));
            let is_default = default.is_some() && serde_json::to_value(node.to_toml()).ok().as_ref() == default;
            let differs = |other: Option<&Node>| other.map_or(!is_default, |other| other.to_toml() != node.to_toml());
            let apart = ids.map(|id| (id, by_target.get(id)));
            let apart = apart.filter(|(id, _)| *id != first).find(|(_, other)| differs(*other));
            if let Some((id, other)) = apart {
                let says = if other.is_some() { "another" } else { "none" };
                let message = format!("`{given}` is one for all targets, and `{id}` says {says}");
                let finding = Diagnostic::error(codes::CONFLICT, message).at(node.location.excerpt(""));
                let help = format!("give `{given}` itself, which holds for all, or compile for one target at a time");
                findings.push(finding.help(help));
            }
            keys.insert(path, node.clone());
        }
        let rules = self.rules;
        Diagnostics(findings).or(TranslatedRules { rules, keys })
    }
}

/// Converts a JSON value to a node whose location is that of the vendor's setting.
fn node(value: &Json, location: &SourceLocation) -> Node {
    let value = match value {
        Json::Null => Value::Text(String::new()),
        Json::Bool(value) => Value::Boolean(*value),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => Value::Integer(integer),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(|item| node(item, location)).collect()),
        Json::Object(keys) => return table(keys, location),
    };
    value.at(location)
}

fn table(keys: &Map<String, Json>, location: &SourceLocation) -> Node {
    let entry = |(name, value): (&String, &Json)| {
        let entry = Entry {
            key: location.clone(),
            node: node(value, location),
        };
        (name.clone(), entry)
    };
    Value::Table(keys.iter().map(entry).collect()).at(location)
}
