//! Compares two versions of one table: which rows differ, which differences decide the bits of results, and whether
//! `version` was raised accordingly.
//!
//! A difference is reported with its key. A key that is absent counts as if it had its default. A difference that could
//! decide bits is reported as one that does. For example, a form that accepts more shifts may be used for a node for
//! which another form of the row was used before.

mod forms;
mod fusions;
mod limits;
mod rows;
mod version;
mod whole;

pub use version::Raise;

use super::parse::overlays;
use super::{Options, Table, TableError, TargetSpec};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use strait_document::words;

words! {
    /// The effect of a difference on a model that was compiled with the old table. The mildest effect comes first.
    Effect {
        /// No effect. The difference is in texts, in references, or in the evidence.
        Text = "text",
        /// The new table accepts nodes that the old one leaves to the host or refuses. Everything else stays the same.
        AcceptsMore = "accepts_more",
        /// The new table leaves some nodes to the host, or refuses them, although the old one accepts them.
        AcceptsLess = "accepts_less",
        /// Results or parameters of the model become other integers.
        OtherBits = "other_bits",
    }
}

/// One difference between two tables.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Change {
    /// The effect of the difference.
    pub effect: Effect,
    /// The value of an option with which the difference occurs; absent if it occurs with the defaults.
    pub option: Option<String>,
    /// The row of the table, such as `op.conv`, `form.scale31` or `types`.
    pub row: String,
    /// The key in the row; absent if the whole row is in only one of the tables.
    pub key: Option<String>,
    /// The value in the old table; absent if the old table has none.
    pub old: Option<String>,
    /// The value in the new table; absent if the new table has none.
    pub new: Option<String>,
}

/// The differences between two tables for one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// The version of the old table.
    pub old_version: String,
    /// The version of the new table.
    pub new_version: String,
    /// All differences except that of the version. Those with the gravest effect come first.
    pub changes: Vec<Change>,
    /// The part of the version that has to be raised because of the gravest difference: `none`, `patch`, `minor` or
    /// `major`.
    pub needs: Raise,
    /// The part of the version that was raised: `none`, `patch`, `minor` or `major`. `lowered` if the new version is
    /// lower than the old one.
    pub says: Raise,
    /// The lowest version that is high enough for the differences.
    pub least: String,
    /// True if the new table's version is high enough for the differences.
    pub agrees: bool,
}

impl Comparison {
    /// Compares two tables with the defaults of their options, and again with each value of an option for which one of
    /// the tables has an overlay.
    ///
    /// # Errors
    /// Does not fail for tables from [`Table::parse`], which has checked them with each of these values.
    pub fn new(old: &Table, new: &Table) -> Result<Comparison, TableError> {
        let plain = Options::new();
        let (base_old, base_new) = (old.spec(&plain)?, new.spec(&plain)?);
        let mut changes = Changes::default();
        whole::compare(&mut changes, &base_old, &base_new);
        let base: BTreeSet<Change> = changes.found.iter().cloned().collect();
        for options in values(&base_old, &base_new) {
            // If one of the tables does not allow the value, this is already reported as a difference in the row of the
            // option.
            let (Ok(old), Ok(new)) = (old.spec(&options), new.spec(&options)) else {
                continue;
            };
            let mut with = Changes::default();
            whole::compare(&mut with, &old, &new);
            let option = options.iter().map(|(name, value)| format!("{name} = {value}")).next();
            let others = with.found.into_iter().filter(|change| !base.contains(change));
            changes.found.extend(others.map(|change| Change {
                option: option.clone(),
                ..change
            }));
        }
        let mut changes = changes.found;
        changes.sort_by(|a, b| b.effect.cmp(&a.effect).then_with(|| a.cmp(b)));
        changes.dedup();
        let needs = changes.first().map_or(Raise::None, |change| change.effect.into());
        let says = version::raised(&base_old.version, &base_new.version);
        Ok(Comparison {
            least: version::least(&base_old.version, needs),
            old_version: base_old.version,
            new_version: base_new.version,
            changes,
            needs,
            says,
            agrees: says >= needs,
        })
    }
}

/// Each value of an option for which one of the tables has an overlay, unless it is the default in both tables.
fn values(old: &TargetSpec, new: &TargetSpec) -> BTreeSet<Options> {
    // The default of an option may differ between the tables, so the defaults of both are compared.
    let defaults = |spec: &TargetSpec| -> Vec<Options> {
        let one = |(name, row): (&String, &super::OptionRow)| Options::from([(name.clone(), row.default.clone())]);
        spec.options
            .iter()
            .filter(|(name, _)| spec.overlay.contains_key(*name))
            .map(one)
            .collect()
    };
    [overlays(old), overlays(new), defaults(old), defaults(new)]
        .concat()
        .into_iter()
        .collect()
}

/// The differences that have been found so far.
#[derive(Default)]
struct Changes {
    found: Vec<Change>,
}

/// The keys that have no effect on a compilation, whatever row they are in.
const TEXTS: [&str; 10] = [
    "vendor",
    "licence",
    "docs",
    "help",
    "oracle",
    "evidence",
    "note",
    "holds.accumulator",
    "holds.rank",
    "fidelity",
];

/// The effect of a difference in a key for which there is no special rule.
fn usual(key: &str) -> Effect {
    if TEXTS.contains(&key) {
        Effect::Text
    } else {
        Effect::OtherBits
    }
}

impl Changes {
    /// Compares a key of a row that is in both tables.
    fn key(&mut self, row: &str, key: &str, effect: Effect, [old, new]: [Option<String>; 2]) {
        if old != new {
            self.add(row, Some(key), effect, [old, new]);
        }
    }

    /// Compares all keys of a row that is in both tables, except those in `others`. For each key that differs, reports
    /// what a change of this key does to compiled models.
    fn keys<T: Serialize>(&mut self, row: &str, [old, new]: [&T; 2], others: &[&str]) {
        let texts = [old, new].map(|row| Texts::of(&json(row)));
        for (key, values) in Texts::differing(texts) {
            let of_table = key.split('.').next().unwrap_or_default();
            if !others.contains(&key.as_str()) && !others.contains(&of_table) {
                self.key(row, &key, usual(&key), values);
            }
        }
    }

    /// Compares a key whose value is one of several kinds, each with parameters. If the kind is the same in both
    /// tables, each parameter is compared. The effect depends on the parameter's name and on its old and new value.
    fn choice<T: Serialize>(
        &mut self,
        row: &str,
        key: &str,
        [old, new]: [&T; 2],
        effect: impl Fn(&str, [Option<&str>; 2]) -> Effect,
    ) {
        let parts = |value: &T| match json(value) {
            Value::Object(parts) => parts.into_iter().next().unwrap_or_default(),
            name => (text(&name), Value::Null),
        };
        let [(before, old), (after, new)] = [parts(old), parts(new)];
        if before != after {
            return self.key(row, key, Effect::OtherBits, [Some(before), Some(after)]);
        }
        for (parameter, values) in Texts::differing([old, new].map(|parameters| Texts::of(&parameters))) {
            let effect = effect(&parameter, [values[0].as_deref(), values[1].as_deref()]);
            self.key(row, &format!("{key}.{after}.{parameter}"), effect, values);
        }
    }

    /// Adds a row that is only in one of the tables, with a short description of the row.
    fn row(&mut self, row: &str, effect: Effect, old: Option<String>, new: Option<String>) {
        self.add(row, None, effect, [old, new]);
    }

    /// Compares rows by their names. `both` compares two rows that have the same name. `said` makes a short description
    /// of a row that is only in one of the tables.
    fn rows<T, S: Display>(
        &mut self,
        table: &str,
        [old, new]: [&BTreeMap<String, T>; 2],
        said: impl Fn(&T) -> S,
        both: impl Fn(&mut Changes, &str, [&T; 2]),
    ) {
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            let row = format!("{table}.{name}");
            match (old.get(name), new.get(name)) {
                (Some(old), Some(new)) => both(self, &row, [old, new]),
                (Some(old), None) => self.row(&row, Effect::AcceptsLess, one(said(old)), None),
                (None, new) => self.row(&row, Effect::AcceptsMore, None, maybe(new.map(&said))),
            }
        }
    }

    fn add(&mut self, row: &str, key: Option<&str>, effect: Effect, [old, new]: [Option<String>; 2]) {
        self.found.push(Change {
            effect,
            option: None,
            row: row.to_owned(),
            key: key.map(str::to_owned),
            old,
            new,
        });
    }
}

/// The keys of a table with the text of each value. Keys of inner tables are written after the inner table's name and a
/// dot.
#[derive(Default)]
struct Texts(BTreeMap<String, String>);

impl Texts {
    fn of(table: &Value) -> Texts {
        let mut texts = Texts::default();
        texts.add("", table);
        texts
    }

    fn add(&mut self, path: &str, value: &Value) {
        match value {
            Value::Null => {}
            Value::Object(entries) => {
                let dot = if path.is_empty() { "" } else { "." };
                for (key, value) in entries {
                    self.add(&format!("{path}{dot}{key}"), value);
                }
            }
            value => {
                self.0.insert(path.to_owned(), text(value));
            }
        }
    }

    /// The keys in which two tables differ, each with both values.
    fn differing([old, new]: [Texts; 2]) -> Vec<(String, [Option<String>; 2])> {
        let keys: BTreeSet<&String> = old.0.keys().chain(new.0.keys()).collect();
        let both = keys
            .into_iter()
            .map(|key| (key.clone(), [&old, &new].map(|texts| texts.0.get(key).cloned())));
        both.filter(|(_, [old, new])| old != new).collect()
    }
}

/// A part of a table as JSON. This is possible for all parts, since all keys are strings.
fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn text(value: &Value) -> String {
    let texts = |values: &mut dyn Iterator<Item = &Value>, between| values.map(text).collect::<Vec<_>>().join(between);
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => texts(&mut items.iter(), ", "),
        Value::Object(entries) => texts(&mut entries.values(), " "),
        other => other.to_string(),
    }
}

/// The text of a value that is never absent.
fn one(value: impl Display) -> Option<String> {
    Some(value.to_string())
}

/// The text of a value that may be absent.
fn maybe<T: Display>(value: Option<T>) -> Option<String> {
    value.map(|value| value.to_string())
}

/// The texts of a list.
fn list<T: Display>(values: impl IntoIterator<Item = T>) -> Option<String> {
    let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    Some(values.join(", "))
}

/// Returns the effect of a change to a list. The table only accepts more if all new elements are harmless and come
/// after all old ones.
fn appended<T: PartialEq>(old: &[T], new: &[T], harmless: impl Fn(&T) -> bool) -> Effect {
    match new.strip_prefix(old) {
        Some(behind) if behind.iter().all(harmless) => Effect::AcceptsMore,
        _ if old.starts_with(new) => Effect::AcceptsLess,
        _ => Effect::OtherBits,
    }
}
