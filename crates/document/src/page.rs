//! The reference page of a document, made from the same shapes as the check.

use crate::{Key, Shape};
use std::{collections::BTreeMap, fmt::Write as _};

/// The reference page of a document, from its shape: every table and key with what it takes, its default and its
/// meaning.
#[derive(Debug, Default)]
pub struct Page {
    text: String,
    /// The tables described so far: a shape that comes again refers to its first heading.
    sections: Vec<(Shape, String)>,
}

/// A section that is still to be written.
struct Pending<'a> {
    heading: String,
    path: String,
    keys: &'a BTreeMap<String, Key>,
    doc: &'a str,
}

/// True if a key at the top is a table with a section of its own.
fn has_section(shape: &Shape) -> bool {
    match shape {
        Shape::Table(_) => true,
        Shape::Map { values, .. } => matches!(**values, Shape::Table(_)),
        Shape::List { items, .. } => matches!(**items, Shape::Table(_)),
        _ => false,
    }
}

impl Page {
    /// A page that begins with this text.
    pub fn new(opening: &str) -> Page {
        Page {
            text: opening.to_owned(),
            sections: Vec::new(),
        }
    }

    /// Adds every key: those outside of any table, then the tables, first those of `order`.
    pub fn keys(&mut self, shape: &Shape, order: &[&str]) {
        let Shape::Table(keys) = shape else { return };
        let unlisted = keys.keys().map(String::as_str).filter(|name| !order.contains(name));
        let (tables, plain): (Vec<&str>, Vec<&str>) = (order.iter().copied().chain(unlisted))
            .partition(|name| keys.get(*name).is_some_and(|key| has_section(&key.shape)));
        self.text.push_str("## Outside of any table\n\n");
        let plain: BTreeMap<String, Key> = plain
            .iter()
            .filter_map(|name| Some((name.to_string(), keys.get(*name)?.clone())))
            .collect();
        self.table(&plain, "");
        for name in tables {
            if let Some(key) = keys.get(name) {
                self.section(name, key);
            }
        }
    }

    /// The text of the page.
    pub fn text(self) -> String {
        self.text
    }

    fn section(&mut self, name: &str, key: &Key) {
        let (heading, path, shape) = match &key.shape {
            Shape::Map { values, .. } => (format!("[{name}.NAME]"), format!("{name}.NAME"), &**values),
            Shape::List { items, .. } => (format!("[[{name}]]"), name.to_owned(), &**items),
            shape => (format!("[{name}]"), name.to_owned(), shape),
        };
        let Shape::Table(keys) = shape else { return };
        self.sections.push((shape.clone(), heading.clone()));
        self.write(Pending {
            heading,
            path,
            keys,
            doc: &key.doc,
        });
    }

    fn write(&mut self, section: Pending<'_>) {
        let _ = write!(self.text, "## `{}`\n\n{}\n\n", section.heading, section.doc);
        for further in self.table(section.keys, &section.path) {
            self.write(further);
        }
    }

    /// The keys of one table, and the sections that follow from it: its lists of tables.
    fn table<'a>(&mut self, keys: &'a BTreeMap<String, Key>, path: &str) -> Vec<Pending<'a>> {
        self.text
            .push_str("| key | value | default | meaning |\n|---|---|---|---|\n");
        let mut further = Vec::new();
        self.rows(keys, "", path, &mut further);
        self.text.push('\n');
        further
    }

    /// Inner tables are rows too, their keys behind a dot.
    fn rows<'a>(&mut self, keys: &'a BTreeMap<String, Key>, prefix: &str, path: &str, further: &mut Vec<Pending<'a>>) {
        for (name, key) in keys {
            let name = format!("{prefix}{name}{}", named(&key.shape));
            let known = self.sections.iter().find(|(shape, _)| *shape == key.shape);
            let value = known.map_or_else(|| value(&key.shape), |(_, heading)| format!("as `{heading}`"));
            let cells = [format!("`{name}`"), value, default(key), meaning(key)];
            let cells: Vec<String> = cells
                .iter()
                .map(|cell| cell.replace('|', "\\|").replace('\n', " "))
                .collect();
            let _ = writeln!(self.text, "| {} |", cells.join(" | "));
            match contents(&key.shape) {
                Shape::Table(inner) if known.is_none() => self.rows(inner, &format!("{name}."), path, further),
                Shape::List { items, doc, .. } => {
                    let (heading, keys) = match &**items {
                        Shape::Table(keys) => (format!("[[{path}.{name}]]"), keys),
                        Shape::OneKey(keys) => (format!("{path}.{name} = [{{ ... }}]"), keys),
                        _ => continue,
                    };
                    further.push(Pending {
                        heading,
                        path: format!("{path}.{name}"),
                        keys,
                        doc,
                    });
                }
                _ => {}
            }
        }
    }
}

/// The value behind the names that the user gives.
fn contents(shape: &Shape) -> &Shape {
    match shape {
        Shape::Map { values, .. } => contents(values),
        shape => shape,
    }
}

/// A part of the key for each name that the user gives.
fn named(shape: &Shape) -> String {
    match shape {
        Shape::Map { values, .. } => format!(".NAME{}", named(values)),
        _ => String::new(),
    }
}

fn value(shape: &Shape) -> String {
    match contents(shape) {
        Shape::Word(words) => {
            let words: Vec<String> = words.iter().map(|(word, _)| format!("`\"{word}\"`")).collect();
            words.join(" or ")
        }
        Shape::List { items, .. } if matches!(**items, Shape::OneKey(_) | Shape::Table(_)) => {
            "a list of tables".to_owned()
        }
        shape => shape.expectation(),
    }
}

fn default(key: &Key) -> String {
    match &key.default {
        _ if key.required => "required".to_owned(),
        // Strings, numbers, booleans and lists of them read the same in TOML.
        Some(default) => format!("`{default}`"),
        None => String::new(),
    }
}

fn meaning(key: &Key) -> String {
    let words = words(&key.shape);
    let explained = words.iter().filter(|(_, doc)| !doc.is_empty());
    explained.fold(key.doc.clone(), |mut text, (word, doc)| {
        let _ = write!(text, "<br>`\"{word}\"`: {doc}");
        text
    })
}

/// The words that a value, or an element of it, may be.
fn words(shape: &Shape) -> &[(String, String)] {
    match shape {
        Shape::Word(words) => words,
        Shape::List { items: inner, .. } | Shape::Map { values: inner, .. } => words(inner),
        Shape::Tuple(items) => items.last().map_or(&[], words),
        _ => &[],
    }
}
