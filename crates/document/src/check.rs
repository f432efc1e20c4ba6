//! Checks a document against its types, and reports all errors at once (a deserializer would stop at the first error).
//! A document that passes this check can be read by serde.

use std::collections::BTreeMap;

use crate::{
    Diagnostic, Diagnostics, Entry, Format, Key, Node, Rule, Shape, SourceLocation, Table, Value, codes,
    key_path::Way,
    nearest::{did_you_mean, suggestion},
    schema::{list, written},
};

/// The largest number of findings that are reported.
const MOST: usize = 50;

/// Checks the tree against the shape, and resolves the paths in the tree.
///
/// # Errors
/// The tree does not fit the shape. All errors are reported at once, in the order of the text.
pub fn check(shape: &Shape, root: &mut Node) -> Result<(), Diagnostics> {
    check_with(shape, &[], root)
}

/// Like [`check`], with the advice of [`Document::ADVICE`](crate::Document::ADVICE) for unknown keys.
pub(crate) fn check_with(
    shape: &Shape,
    advice: &'static [(&'static str, &'static str)],
    root: &mut Node,
) -> Result<(), Diagnostics> {
    let mut checker = Checker {
        findings: Vec::new(),
        advice,
    };
    checker.value(shape, root, &Way::Top);
    checker.findings.sort_by_key(|(order, _)| *order);
    checker.findings.truncate(MOST);
    Diagnostics(checker.findings.into_iter().map(|(_, finding)| finding).collect()).or(())
}

struct Checker {
    findings: Vec<((usize, usize), Diagnostic)>,
    advice: &'static [(&'static str, &'static str)],
}

impl Checker {
    fn report(&mut self, location: &SourceLocation, label: &str, finding: Diagnostic) {
        self.findings
            .push((location.order(), finding.at(location.excerpt(label))));
    }

    fn value(&mut self, shape: &Shape, node: &mut Node, path: &Way<'_>) {
        let place = node.location.clone();
        match (shape, &mut node.value) {
            (Shape::Table(keys), Value::Table(entries)) => self.table(keys, entries, &place, path),
            (Shape::Either { text, table }, Value::Text(name)) => match needs(table, name).as_slice() {
                [] => self.value(text, node, path),
                keys => {
                    let quoted: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
                    let message = format!("`{path}` cannot be {name:?} alone: it needs {}", quoted.join(" and "));
                    let written: Vec<String> = keys.iter().map(|key| format!("{key} = ...")).collect();
                    let finding = Diagnostic::error(codes::MISSING, message);
                    let finding = finding.help(format!("{{ {name} = {{ {} }} }}", list(written)));
                    self.report(&place, "without its parameters", finding);
                }
            },
            (Shape::Either { table: inner, .. }, Value::Table(_) | Value::List(_)) => self.value(inner, node, path),
            (Shape::Either { table: inner, .. }, Value::Integer(_)) if matches!(**inner, Shape::Integer { .. }) => {
                self.value(inner, node, path);
            }
            (Shape::OneKey(keys), Value::Table(entries)) => self.one_key(keys, entries, &place, path),
            (Shape::Map { names, values }, Value::Table(entries)) => {
                for (name, entry) in entries.iter_mut() {
                    let path = Way::Key(path, name);
                    if names.is_empty() || names.contains(name) {
                        self.value(values, &mut entry.node, &path);
                    } else {
                        self.unknown_key(names.iter().map(String::as_str), name, &entry.key, &path);
                    }
                }
            }
            (
                Shape::List {
                    items,
                    min,
                    max,
                    format,
                    ..
                },
                Value::List(elements),
            ) => {
                for (index, element) in elements.iter_mut().enumerate() {
                    self.value(items, element, &Way::Index(path, index));
                }
                self.length(shape, elements.len(), (*min, *max), &place, path);
                let free = format.is_none_or(|format| !matches!(format.rule, Rule::Ascending));
                if !free && !ascending(elements) {
                    let finding = Diagnostic::error(codes::VALUE, format!("the limits of `{path}` are not in order"));
                    self.report(&place, &format!("expected {}", shape.expectation()), finding);
                }
            }
            (Shape::Tuple(items), Value::List(elements)) => {
                for (index, (item, element)) in items.iter().zip(&mut *elements).enumerate() {
                    self.value(item, element, &Way::Index(path, index));
                }
                self.length(shape, elements.len(), (items.len(), items.len()), &place, path);
            }
            (Shape::Word(words), Value::Text(text)) => self.word(words, text, &place, path),
            (Shape::Text { format }, Value::Text(text)) => self.text(shape, *format, text, &place, path),
            (Shape::Integer { min, max }, Value::Integer(number)) => {
                if *number < *min || *number > *max {
                    self.out_of_range(shape, &number.to_string(), &place, path);
                }
            }
            (Shape::Integer { .. } | Shape::Float { .. } | Shape::Scalar, Value::HugeInteger(number)) => {
                self.out_of_range(shape, number, &place, path);
            }
            (Shape::Float { min, max }, value @ (Value::Integer(_) | Value::Float(_))) => {
                let number = match value {
                    Value::Float(number) => *number,
                    Value::Integer(number) => *number as f64,
                    _ => f64::NAN,
                };
                if !number.is_finite() || number < *min || number > *max {
                    self.out_of_range(shape, &written(number), &place, path);
                }
            }
            (Shape::Boolean, Value::Boolean(_))
            | (Shape::Scalar, Value::Boolean(_) | Value::Integer(_) | Value::Text(_))
            | (Shape::Part, Value::Table(_))
            | (Shape::Unknown, _) => {}
            (Shape::Any, value) if !matches!(value, Value::Datetime | Value::HugeInteger(_)) => {}
            (_, found) => {
                let mut finding = Diagnostic::error(codes::TYPE, format!("`{path}` is {}", found.kind()));
                if let (Shape::List { max: 2.., .. }, Value::Text(text)) = (shape, &*found) {
                    finding = finding.help(format!("a list of one element is [{text:?}]"));
                }
                finding.help.extend(self.advice(path).map(str::to_owned));
                self.report(&place, &format!("expected {}", shape.expectation()), finding);
            }
        }
    }

    /// Checks the entries of a table against the keys that the table may have.
    fn entries(&mut self, keys: &BTreeMap<String, Key>, entries: &mut Table, path: &Way<'_>) {
        for (name, entry) in entries.iter_mut() {
            let path = Way::Key(path, name);
            match keys.get(name) {
                Some(key) => self.value(&key.shape, &mut entry.node, &path),
                None => self.unknown_key(keys.keys().map(String::as_str), name, &entry.key, &path),
            }
        }
    }

    fn table(&mut self, keys: &BTreeMap<String, Key>, entries: &mut Table, location: &SourceLocation, path: &Way<'_>) {
        self.entries(keys, entries, path);
        for (name, key) in keys {
            // If a path is missing, its default is put into the tree, because only paths in the tree are resolved.
            let filled = match (&key.shape, &key.default) {
                (Shape::Text { format: Some(format) }, Some(default)) if format.is_path() => Some(default),
                _ => None,
            };
            if !key.required && filled.is_none() || entries.contains_key(name) {
                continue;
            }
            let path = Way::Key(path, name);
            if key.required {
                let finding = Diagnostic::error(codes::MISSING, format!("`{path}` is missing")).note(format!(
                    "{}; it is {}",
                    first_sentence(&key.doc),
                    key.shape.expectation()
                ));
                self.report(location, "in this table", finding);
            }
            if let Some(default) = filled {
                let mut node = Value::Text(default.as_str().unwrap_or_default().to_owned()).at(location);
                self.value(&key.shape, &mut node, &path);
                let key = location.clone();
                entries.insert(name.clone(), Entry { key, node });
            }
        }
    }

    fn one_key(
        &mut self,
        keys: &BTreeMap<String, Key>,
        entries: &mut Table,
        location: &SourceLocation,
        path: &Way<'_>,
    ) {
        self.entries(keys, entries, path);
        if entries.len() != 1 {
            let finding = Diagnostic::error(codes::CONFLICT, format!("`{path}` has {} keys", entries.len()))
                .note(format!("it takes exactly one of {}", list(keys.keys())))
                .help("write a table of its own for each: [{ scale = 2.0 }, { offset = 1.0 }]");
            self.report(location, "expected one key", finding);
        }
    }

    fn advice(&self, path: &Way<'_>) -> Option<&'static str> {
        let (path, mut advice) = (path.path(), self.advice.iter());
        Some(advice.find(|(key, _)| path.is_like(key))?.1)
    }

    fn unknown_key<'k>(
        &mut self,
        keys: impl Iterator<Item = &'k str> + Clone,
        name: &str,
        location: &SourceLocation,
        path: &Way<'_>,
    ) {
        let mut finding = Diagnostic::error(codes::UNKNOWN_KEY, format!("there is no key `{path}`"));
        match self.advice(path) {
            Some(advice) => finding.help.push(advice.to_owned()),
            None => finding.help.extend(suggestion(name, keys.clone())),
        }
        self.report(
            location,
            "unknown key",
            finding.note(format!("keys here: {}", list(keys))),
        );
    }

    fn text(
        &mut self,
        shape: &Shape,
        format: Option<Format>,
        text: &mut String,
        location: &SourceLocation,
        path: &Way<'_>,
    ) {
        let expected = || format!("expected {}", shape.expectation());
        let (is_right, is_path): (fn(&str) -> bool, bool) = match format.map(|format| format.rule) {
            Some(Rule::Text(is_right)) => (is_right, false),
            Some(Rule::Path(is_right)) => (is_right, true),
            Some(Rule::PathOrWord(is_right)) => match is_right(text) {
                None => (|_| true, true),
                Some(true) => (|_| true, false),
                Some(false) => (|_| false, false),
            },
            Some(Rule::Ascending) | None => (|_| true, false),
        };
        if text.is_empty() {
            self.report(
                location,
                &expected(),
                Diagnostic::error(codes::VALUE, format!("`{path}` is empty")),
            );
        } else if !is_right(text) {
            self.report(
                location,
                &expected(),
                Diagnostic::error(codes::VALUE, format!("`{path}` cannot be {text:?}")),
            );
        } else if is_path {
            match location.source.folder.join(&*text).to_str() {
                Some(resolved) => *text = resolved.to_owned(),
                None => {
                    let folder = location.source.folder.display();
                    let message = format!("the name of the folder {folder} is not UTF-8");
                    self.report(location, "relative to it", Diagnostic::error(codes::FILE, message));
                }
            }
        }
    }

    fn word(&mut self, words: &[(String, String)], text: &str, location: &SourceLocation, path: &Way<'_>) {
        let is = |word: &str| match word.strip_suffix("NAME") {
            Some(start) => text.strip_prefix(start).is_some_and(|name| !name.is_empty()),
            None => word == text,
        };
        if words.iter().any(|(word, _)| is(word)) {
            return;
        }
        let mut finding = Diagnostic::error(codes::VALUE, format!("`{path}` cannot be {text:?}"));
        if let [nearest, ..] = did_you_mean(text, words.iter().map(|(word, _)| word.as_str())).as_slice() {
            finding = finding.help(format!("did you mean {nearest:?}?"));
        }
        self.report(
            location,
            &format!("expected {}", Shape::Word(words.to_vec()).expectation()),
            finding,
        );
    }

    fn length(
        &mut self,
        shape: &Shape,
        length: usize,
        (min, max): (usize, usize),
        location: &SourceLocation,
        path: &Way<'_>,
    ) {
        if length < min || length > max {
            let elements = if length == 1 { "element" } else { "elements" };
            let finding = Diagnostic::error(codes::RANGE, format!("`{path}` has {length} {elements}"));
            let expected = if min == max {
                format!("{min}")
            } else {
                format!("at least {min}")
            };
            let finding = finding.note(format!("it is {}", shape.expectation()));
            self.report(location, &format!("expected {expected}"), finding);
        }
    }

    fn out_of_range(&mut self, shape: &Shape, number: &str, location: &SourceLocation, path: &Way<'_>) {
        let finding = Diagnostic::error(codes::RANGE, format!("`{path}` cannot be {number}"));
        self.report(location, &format!("expected {}", shape.expectation()), finding);
    }
}

/// Returns the keys that the enum variant `name` requires in its table. If there are any, the name of the variant alone
/// is not a valid value.
fn needs<'s>(table: &'s Shape, name: &str) -> Vec<&'s str> {
    let keys = match table {
        Shape::OneKey(names) => names.get(name).map(|key| &key.shape),
        _ => None,
    };
    let Some(Shape::Table(keys)) = keys else {
        return Vec::new();
    };
    let required = keys.iter().filter(|(_, key)| key.required);
    required.map(|(key, _)| key.as_str()).collect()
}

/// True if these numbers ascend strictly. Elements that are not numbers are ignored here, and reported by another
/// check.
fn ascending(elements: &[Node]) -> bool {
    let number = |node: &Node| match node.value {
        Value::Integer(number) => Some(number as f64),
        Value::Float(number) => Some(number),
        _ => None,
    };
    elements
        .windows(2)
        .all(|pair| match (number(&pair[0]), number(&pair[1])) {
            (Some(low), Some(high)) => low < high,
            _ => true,
        })
}

fn first_sentence(doc: &str) -> &str {
    doc.split_once(". ")
        .map_or(doc, |(first, _)| first)
        .trim_end_matches('.')
}
