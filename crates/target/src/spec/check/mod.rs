//! What the types of a table cannot say: names that must exist, ranges that must make sense, keys that belong together.

mod form;
mod fusion;
mod op;
mod terms;
mod whole;

use super::{Format, TargetSpec, Verb};
use crate::Located;
use crate::error::SpecError;
use crate::nearest;
use std::ops::Range;
use toml::de::DeTable;

pub(crate) use terms::{DERIVED, Quantity, attribute_keys, terms};

/// Everything that is wrong, in the order of the text.
pub(super) fn check(spec: &TargetSpec, tree: &DeTable<'_>) -> Vec<SpecError> {
    let mut findings = Findings {
        spec,
        tree,
        errors: Vec::new(),
    };
    whole::check(&mut findings);
    form::check(&mut findings);
    op::check(&mut findings);
    fusion::check(&mut findings);
    let mut errors = findings.errors;
    errors.sort_by_key(|e| e.span.as_ref().map_or(0, |span| span.start));
    errors
}

/// What only code of the target's crate can do: verbs of its own, and writing its package.
pub(super) fn code(spec: &TargetSpec) -> Vec<SpecError> {
    let verbs = spec.fusion.iter().flat_map(|row| row.then.iter());
    let verbs = verbs.filter(|verb| matches!(***verb, Verb::Custom(_))).map(|verb| {
        let message = format!(
            "`{}` is code of a target's crate, and this target is a table alone",
            **verb
        );
        SpecError::at(verb.span(), message)
    });
    let package = spec
        .emit
        .iter()
        .filter(|format| ***format == Format::Package)
        .map(|format| {
            let message = "a package is written by code of a target's crate, and this target is a table alone";
            SpecError::at(format.span(), message).help(format!("there is `{}` for every target", Format::QdqOnnx))
        });
    verbs.chain(package).collect()
}

/// The table, and what was found.
struct Findings<'a> {
    spec: &'a TargetSpec,
    tree: &'a DeTable<'a>,
    errors: Vec<SpecError>,
}

impl Findings<'_> {
    fn add(&mut self, error: SpecError) {
        self.errors.push(error);
    }

    /// A finding unless `holds`.
    fn ensure(&mut self, holds: bool, span: &Range<usize>, message: impl FnOnce() -> String) {
        if !holds {
            self.add(SpecError::at(span.clone(), message()));
        }
    }

    /// Where the last key of a path of tables stands; the first of the text where there is none.
    fn place(&self, path: &[&str]) -> Range<usize> {
        let mut table = self.tree;
        let mut found = 0..0;
        for key in path {
            let Some((key, value)) = table.get_key_value(*key) else {
                break;
            };
            found = key.span();
            match value.get_ref().as_table() {
                Some(below) => table = below,
                None => break,
            }
        }
        found
    }

    /// A finding for each name that is none of `known`.
    fn names<'n>(&mut self, what: &str, names: impl IntoIterator<Item = &'n Located<String>>, known: &[&str]) {
        for name in names {
            if !known.contains(&name.as_str()) {
                let message = format!("there is no {what} `{}`", **name);
                let help = if known.is_empty() {
                    format!("the table has no {what}")
                } else {
                    nearest::help(name, known.iter().copied())
                };
                self.add(SpecError::at(name.span(), message).help(help));
            }
        }
    }

    /// A finding for each name that is none of the table's forms.
    fn forms<'n>(&mut self, names: impl IntoIterator<Item = &'n Located<String>>) {
        let spec = self.spec;
        let known: Vec<&str> = spec.form.keys().map(String::as_str).collect();
        self.names("form", names, &known);
    }

    /// A finding for a list that is empty or says something twice.
    fn list<T: PartialEq>(&mut self, key: &str, list: &Located<Vec<T>>) {
        self.ensure(!list.is_empty(), &list.span(), || format!("`{key}` is empty"));
        let twice = list
            .iter()
            .enumerate()
            .any(|(index, item)| list[..index].contains(item));
        self.ensure(!twice, &list.span(), || format!("`{key}` says something twice"));
    }
}
