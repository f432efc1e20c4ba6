//! Compares two versions of a target's table.

use std::path::Path;

use serde::Serialize;
use strait_target::spec::{Change, Comparison, Effect, Raise};
use strait_target::{Registry, read_table};

use crate::{
    diagnostic::{Diagnostic, Diagnostics},
    failure::{self, codes},
};

/// The comparison of a table with an older one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Against {
    /// Id of the target.
    pub target: String,
    /// Where the old table comes from.
    pub old: String,
    /// Where the new table comes from.
    pub new: String,
    /// How the tables differ.
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// Compares a target's table with the older table in the file `old`. The newer table is the table with the id `id` in
/// `files`, or else the built-in one. So a new version of a built-in target can be compared too.
///
/// # Errors
/// If a table cannot be read or is wrong, no table has the id (the error names the nearest one), or the old table
/// belongs to another target.
pub fn against<'a>(files: impl IntoIterator<Item = &'a Path>, id: &str, old: &Path) -> Result<Against, Diagnostics> {
    let read = |file: &Path| read_table(file).map_err(|error| failure::registry(&error));
    // A table that needs code of its own can be compared without that code, since nothing is compiled.
    let tables = files.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let builtin = Registry::builtin().map_err(|error| failure::registry(&error))?;
    let (origin, new) = match tables.iter().find(|table| table.id() == id) {
        Some(table) => (table.name().to_owned(), table),
        None => {
            let entry = builtin.entry(id).map_err(|error| failure::registry(&error))?;
            (entry.origin().to_string(), entry.table())
        }
    };
    let old = &read(old)?;
    if old.id() != id {
        let text = format!("{} is a table of `{}`, and of no `{id}`", old.name(), old.id());
        return Err(Diagnostic::error(codes::TARGET, text).into());
    }
    let comparison = Comparison::new(old, new).map_err(|error| Diagnostic::error(codes::TARGET, error.to_string()))?;
    Ok(Against {
        target: id.to_owned(),
        old: old.name().to_owned(),
        new: origin,
        comparison,
    })
}

impl Against {
    /// The comparison as text for people.
    pub fn text(&self) -> String {
        let Comparison {
            old_version,
            new_version,
            changes,
            ..
        } = &self.comparison;
        let mut text = format!("{} {old_version} -> {new_version}\n", self.target);
        for effect in Effect::ALL.iter().rev() {
            let mut found = changes.iter().filter(|change| change.effect == *effect).peekable();
            if found.peek().is_some() {
                text += &format!("\n{}\n", heading(*effect));
                found.for_each(|change| text += &line(change));
            }
        }
        text + "\n" + &self.verdict() + "\n"
    }

    /// A sentence that says whether the version number was raised as the differences require.
    fn verdict(&self) -> String {
        let Comparison {
            changes,
            needs,
            says,
            agrees,
            least,
            new_version,
            ..
        } = &self.comparison;
        match (changes.is_empty(), agrees, says) {
            (true, true, _) => "The tables say the same.".into(),
            (false, true, says) if says == needs => {
                format!("{new_version} is a {says} version, as these differences need.")
            }
            (false, true, says) => {
                format!("{new_version} is a {says} version; these differences need a {needs} one alone.")
            }
            (_, false, Raise::Lowered) => {
                format!("{new_version} is below the old version; {least} is the least that says it.")
            }
            (_, false, Raise::None) => {
                format!("The version stayed {new_version}; these differences need a {needs} version, {least} at least.")
            }
            (_, false, says) => {
                format!("{new_version} is a {says} version; these differences need a {needs} one, {least} at least.")
            }
        }
    }
}

fn heading(effect: Effect) -> &'static str {
    match effect {
        Effect::OtherBits => "decides bits (major)",
        Effect::AcceptsLess => "accepts less (major)",
        Effect::AcceptsMore => "accepts more (minor)",
        Effect::Text => "text (patch)",
    }
}

fn line(change: &Change) -> String {
    let Change {
        effect: _,
        option,
        row,
        key,
        old,
        new,
    } = change;
    let place = key.as_ref().map_or_else(|| row.clone(), |key| format!("{row} {key}"));
    let change = match (old, new) {
        (Some(old), Some(new)) => format!("{old} -> {new}"),
        (Some(old), None) => format!("no longer: {old}"),
        (None, Some(new)) => format!("new: {new}"),
        (None, None) => String::new(),
    };
    let option = option
        .as_ref()
        .map_or(String::new(), |option| format!(" (with {option})"));
    format!("  {place}: {change}{option}\n")
}
