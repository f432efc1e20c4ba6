//! Checks of a table that go beyond the types of its keys: names must exist, ranges must make sense, and keys must fit
//! together.

mod form;
mod fusion;
mod limits;
mod op;
mod passes;
mod recipe;
mod symmetric;
mod terms;
mod whole;

use super::{Format, TargetSpec, Verb};
use std::fmt;
use strait_document::{Diagnostic, Diagnostics, KeyPath, Node, SourceLocation, nearest};

use terms::attribute_keys;
pub(crate) use terms::{DERIVED, Quantity, factors_of, position, terms};
pub(super) use whole::{is_kebab_case, is_semver, is_sha256};

/// The error code by which programs recognize findings about tables. All such findings have this code.
pub(super) const CODE: &str = strait_core::codes::TARGET;

/// Checks a table whose keys have the right types.
///
/// # Errors
/// All findings, in the order of the text.
pub(super) fn check(spec: &TargetSpec, tree: &Node) -> Result<(), Diagnostics> {
    let mut findings = Findings::new(spec, tree);
    whole::check(&mut findings);
    form::check(&mut findings);
    op::check(&mut findings);
    passes::check(&mut findings);
    fusion::check(&mut findings);
    in_order(findings.found)
}

/// Returns the findings as an error if there are any. They are sorted by their places in the text.
pub(super) fn in_order(mut found: Vec<((usize, usize), Diagnostic)>) -> Result<(), Diagnostics> {
    found.sort_by_key(|(order, _)| *order);
    match found.is_empty() {
        true => Ok(()),
        false => Err(Diagnostics(found.into_iter().map(|(_, finding)| finding).collect())),
    }
}

/// The findings about features that need code in the target's crate: `custom` verbs, and a package.
pub(super) fn code(spec: &TargetSpec, tree: &Node, emits: bool) -> Vec<Diagnostic> {
    let mut findings = Findings::new(spec, tree);
    for (index, format) in spec.emit.iter().enumerate() {
        if *format == Format::Package && !emits {
            let message =
                "a package is written by code of a target's crate or library, and this target has none that does";
            let help = format!("there is `{}` for every target", Format::QdqOnnx);
            findings.add_with(&KeyPath::of(&["emit"]).index(index), message, help);
        }
    }
    for (row, fusion) in spec.fusion.iter().enumerate() {
        for (index, verb) in fusion.then.iter().enumerate() {
            let own = matches!(verb, Verb::Custom(_));
            let path = KeyPath::of(&["fusion"]).index(row).key("then").index(index);
            findings.ensure(!own, &path, || {
                format!("`{verb}` is code of a target's crate, and this target has none")
            });
        }
    }
    findings.found.into_iter().map(|(_, finding)| finding).collect()
}

/// Advice on a name that is not in `known`: the name that was probably meant, or all names.
fn instead(what: &str, name: &str, known: &[&str]) -> String {
    match known.is_empty() {
        true => format!("the table has no {what}"),
        false => nearest::help(name, known.iter().copied()),
    }
}

/// A table that is being checked, and the findings so far, each with its place in the text.
struct Findings<'a> {
    spec: &'a TargetSpec,
    tree: &'a Node,
    found: Vec<((usize, usize), Diagnostic)>,
}

impl<'a> Findings<'a> {
    fn new(spec: &'a TargetSpec, tree: &'a Node) -> Findings<'a> {
        let found = Vec::new();
        Findings { spec, tree, found }
    }

    fn push(&mut self, path: &KeyPath, finding: Diagnostic) {
        self.found.push((self.tree.nearest(path).location.order(), finding));
    }

    /// Adds a finding about the value at `path`, or about the table around it if there is no such value.
    fn add(&mut self, path: &KeyPath, message: impl Into<String>) {
        self.push(path, self.tree.error(CODE, path, message, ""));
    }

    /// Adds a finding about a place in the text.
    fn at(&mut self, location: &SourceLocation, message: &str) {
        let finding = Diagnostic::error(CODE, message).at(location.excerpt(""));
        self.found.push((location.order(), finding));
    }

    /// Like [`Findings::add`], but with advice, such as the allowed values or the value that was probably meant.
    fn add_with(&mut self, path: &KeyPath, message: impl Into<String>, help: impl Into<String>) {
        self.push(path, self.tree.error(CODE, path, message, "").help(help));
    }

    /// Adds a finding if `holds` is false.
    fn ensure(&mut self, holds: bool, path: &KeyPath, message: impl FnOnce() -> String) {
        if !holds {
            self.add(path, message());
        }
    }

    /// Checks each name of a list, and adds a finding if the name is not in `known`.
    fn names(&mut self, what: &str, path: &KeyPath, names: &[String], known: &[&str]) {
        for (index, name) in names.iter().enumerate() {
            self.name(what, &path.clone().index(index), name, known);
        }
    }

    /// Adds a finding if a name is not in `known`.
    fn name(&mut self, what: &str, path: &KeyPath, name: &str, known: &[&str]) {
        if !known.contains(&name) {
            self.add_with(path, format!("there is no {what} `{name}`"), instead(what, name, known));
        }
    }

    /// Checks each name of a list, and adds a finding if there is no form with this name.
    fn forms(&mut self, path: &KeyPath, names: &[String]) {
        let known: Vec<&str> = self.spec.form.keys().map(String::as_str).collect();
        self.names("form", path, names, &known);
    }

    /// Adds a finding if the list at `path` is empty or has an element twice.
    fn list<T: PartialEq + fmt::Display>(&mut self, path: &KeyPath, list: &[T]) {
        self.ensure(!list.is_empty(), path, || format!("`{path}` is empty"));
        self.once(path, list);
    }

    /// Adds a finding for each element that occurs twice in the list at `path`.
    fn once<T: PartialEq + fmt::Display>(&mut self, path: &KeyPath, list: &[T]) {
        for (index, element) in list.iter().enumerate() {
            let twice = list[..index].contains(element);
            self.ensure(!twice, &path.clone().index(index), || {
                format!("`{element}` stands here twice")
            });
        }
    }
}
