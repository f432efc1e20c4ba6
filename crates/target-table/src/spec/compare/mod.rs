//! Two versions of one table: which rows differ, which of the differences decide bits, and whether `version` says so.
//!
//! A difference is told by the key that it is at, with a default in place of a key that is absent. It is told as deciding
//! bits wherever it may: a form that takes more shifts serves a site that another form of the row served before.

mod forms;
mod fusions;
mod limits;
mod rows;
mod version;
mod whole;

pub use version::Raise;

use super::{Options, Table, TableError, TargetSpec};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Display;
use strait_document::words;

words! {
    /// Consequence of a difference for a model that the old table compiles, the mildest first.
    Effect {
        /// None: words, references, and the evidence for them.
        Text = "text",
        /// The new table takes more than the old one, which leaves that to the host or refuses it. All else stays.
        AcceptsMore = "accepts_more",
        /// The new table leaves to the host, or refuses, a part of all that the old one takes.
        AcceptsLess = "accepts_less",
        /// Other integers, or other ones for the chip to compute with.
        OtherBits = "other_bits",
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Change {
    /// Its consequence.
    pub effect: Effect,
    /// The value of an option that it shows with; none where it shows without.
    pub option: Option<String>,
    /// The row of the table: `op.conv`, `form.scale31`, `types`.
    pub row: String,
    /// The key in the row; none where the whole row is only in one of the tables.
    pub key: Option<String>,
    /// The value in the old table; none where it has none.
    pub old: Option<String>,
    /// The value in the new table; none where it has none.
    pub new: Option<String>,
}

/// The differences of two tables for one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// The version of the old table.
    pub old_version: String,
    /// The version of the new table.
    pub new_version: String,
    /// All differences but that of the version, the gravest first.
    pub changes: Vec<Change>,
    /// The part of the version that the gravest difference raises: `none`, `patch`, `minor` or `major`.
    pub needs: Raise,
    /// The part that is raised: `none`, `patch`, `minor` or `major`; `lowered` where the new version is below the old one.
    pub says: Raise,
    /// The least version that says what the differences are.
    pub least: String,
    /// True if the version says what the differences are, or more.
    pub agrees: bool,
}

impl Comparison {
    /// Compares two tables, with the defaults of their options and with each value that has an overlay in one of them.
    ///
    /// # Errors
    /// None for tables that were parsed: they are right with each of these values.
    pub fn new(old: &Table, new: &Table) -> Result<Comparison, TableError> {
        let plain = Options::new();
        let (base_old, base_new) = (old.spec(&plain)?, new.spec(&plain)?);
        let mut changes = Changes::default();
        whole::compare(&mut changes, &base_old, &base_new);
        let base: BTreeSet<Change> = changes.found.iter().cloned().collect();
        for options in values(&base_old, &base_new) {
            // A value that one of the tables refuses is a difference of the option's own row.
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

/// Each value of an option that an overlay of one of the tables is for, if it is not the default of both.
fn values(old: &TargetSpec, new: &TargetSpec) -> BTreeSet<Options> {
    let of = |spec: &TargetSpec| -> Vec<Options> {
        let overlays = spec.overlay.iter().filter_map(|(option, values)| {
            let row = spec.options.get(option)?;
            let with = |value: &String| Options::from([(option.clone(), row.value_of(value))]);
            Some(values.keys().map(with).collect::<Vec<_>>())
        });
        overlays.flatten().collect()
    };
    // With the defaults of one table the other may have another one.
    let defaults = |spec: &TargetSpec| -> Vec<Options> {
        let one = |(name, row): (&String, &super::OptionRow)| Options::from([(name.clone(), row.default.clone())]);
        spec.options
            .iter()
            .filter(|(name, _)| spec.overlay.contains_key(*name))
            .map(one)
            .collect()
    };
    [of(old), of(new), defaults(old), defaults(new)]
        .concat()
        .into_iter()
        .collect()
}

/// The differences so far.
#[derive(Default)]
struct Changes {
    found: Vec<Change>,
}

impl Changes {
    /// A key of a row that is in both tables.
    fn key(&mut self, row: &str, key: &str, effect: Effect, [old, new]: [Option<String>; 2]) {
        if old != new {
            self.found.push(Change {
                effect,
                option: None,
                row: row.to_owned(),
                key: Some(key.to_owned()),
                old,
                new,
            });
        }
    }

    /// A row that is only in one of the tables, with what it says in short.
    fn row(&mut self, row: &str, effect: Effect, old: Option<String>, new: Option<String>) {
        self.found.push(Change {
            effect,
            option: None,
            row: row.to_owned(),
            key: None,
            old,
            new,
        });
    }
}

/// The text of a value that is there.
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

/// The effect of another list: more where what is new is harmless by itself, and behind all that was there.
fn appended<T: PartialEq>(old: &[T], new: &[T], harmless: impl Fn(&T) -> bool) -> Effect {
    match new.strip_prefix(old) {
        Some(behind) if behind.iter().all(harmless) => Effect::AcceptsMore,
        _ if old.starts_with(new) => Effect::AcceptsLess,
        _ => Effect::OtherBits,
    }
}
