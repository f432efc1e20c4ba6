//! The reference page of a document. It is made from the same shapes as the check.

use crate::{Key, Shape};
use std::{collections::BTreeMap, fmt::Write as _};

/// The reference page of a document, made from its shape: every table and key with its values, its default and its meaning.
///
/// A table is described in the first place where it occurs. In all other places, the page has a link to that
/// description.
#[derive(Debug, Default)]
pub struct Page {
    text: String,
    /// The tables that have been described so far, and a link to each of them.
    described: Vec<(Shape, String)>,
    /// The lists of words that have a section of their own, each with its title and its words.
    lists: Vec<(String, Vec<(String, String)>)>,
}

/// A section that has not been written yet.
struct Pending<'a> {
    heading: String,
    path: String,
    shape: &'a Shape,
    doc: &'a str,
}

/// True if a key with this shape at the top of a document is a table that gets a section of its own.
fn has_section(shape: &Shape) -> bool {
    match shape {
        Shape::Table(_) => true,
        Shape::Map { values, .. } => matches!(**values, Shape::Table(_)),
        Shape::List { items, .. } => matches!(**items, Shape::Table(_)),
        _ => false,
    }
}

impl Page {
    /// Makes a page that begins with this text.
    pub fn new(opening: &str) -> Page {
        Page {
            text: opening.to_owned(),
            ..Page::default()
        }
    }

    /// Explains the words of some keys in separate sections at the end of the page. All keys with the same words link
    /// to the section. Each entry of `lists` has one of these keys, as a pattern like those of [`Shape::keys`], and the
    /// title of the section.
    #[must_use]
    pub fn explaining(mut self, shape: &Shape, lists: &[(&str, &str)]) -> Page {
        for (key, title) in lists {
            shape.visit("", &mut |found, path| {
                if path == *key {
                    self.lists.push(((*title).to_owned(), words(found).to_vec()));
                }
            });
        }
        self
    }

    /// Adds all keys to the page: first the keys outside of any table, then the tables (those in `order` first), and
    /// then the lists of words.
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
        self.table(&plain, "", "");
        for name in tables {
            if let Some(key) = keys.get(name) {
                self.section(name, key);
            }
        }
        for (title, words) in &self.lists {
            let _ = write!(self.text, "## {title}\n\n| word | meaning |\n|---|---|\n");
            for (word, doc) in words {
                let _ = writeln!(self.text, "| `\"{word}\"` | {} |", cell(doc));
            }
            self.text.push('\n');
        }
    }

    /// The text of the whole page.
    pub fn text(self) -> String {
        self.text
    }

    fn section(&mut self, name: &str, key: &Key) {
        let (heading, path, shape) = match &key.shape {
            Shape::Map { values, .. } => (format!("[{name}.NAME]"), format!("{name}.NAME"), &**values),
            Shape::List { items, .. } => (format!("[[{name}]]"), name.to_owned(), &**items),
            shape => (format!("[{name}]"), name.to_owned(), shape),
        };
        self.write(Pending {
            heading,
            path,
            shape,
            doc: &key.doc,
        });
    }

    fn write(&mut self, section: Pending<'_>) {
        let (Shape::Table(keys) | Shape::OneKey(keys)) = section.shape else {
            return;
        };
        let _ = write!(self.text, "## `{}`\n\n{}\n\n", section.heading, section.doc);
        if let Some(link) = self.link(section.shape) {
            let _ = write!(self.text, "The keys are those of {link}.\n\n");
            return;
        }
        let heading = format!("[`{0}`](#{1})", section.heading, anchor(&section.heading));
        self.described.push((section.shape.clone(), heading.clone()));
        for further in self.table(keys, &section.path, &heading) {
            self.write(further);
        }
    }

    /// A link to the description of a table, if the table has already been described.
    fn link(&self, shape: &Shape) -> Option<String> {
        let known = self.described.iter().find(|(described, _)| described == shape);
        known.map(|(_, link)| link.clone())
    }

    /// The title of the section that explains these words, if there is one.
    fn list(&self, words: &[(String, String)]) -> Option<&str> {
        let explains = |list: &[(String, String)]| !words.is_empty() && words.iter().all(|word| list.contains(word));
        let found = self.lists.iter().find(|(_, list)| explains(list));
        found.map(|(title, _)| title.as_str())
    }

    /// Writes the keys of one table. Returns the sections that have to follow: one for each list of tables in this
    /// table.
    fn table<'a>(&mut self, keys: &'a BTreeMap<String, Key>, path: &str, heading: &str) -> Vec<Pending<'a>> {
        self.text
            .push_str("| key | value | default | meaning |\n|---|---|---|---|\n");
        let mut further = Vec::new();
        self.rows(keys, "", (path, heading), &mut further);
        self.text.push('\n');
        further
    }

    /// Adds the rows for keys. The keys of inner tables get rows, too. The name in such a row begins with the name of
    /// the inner table and a dot.
    fn rows<'a>(
        &mut self,
        keys: &'a BTreeMap<String, Key>,
        prefix: &str,
        (path, heading): (&str, &str),
        further: &mut Vec<Pending<'a>>,
    ) {
        for (name, key) in keys {
            let name = format!("{prefix}{name}{}", named(&key.shape));
            let known = self.link(&key.shape);
            let explained = self.list(words(&key.shape));
            let value = match (&known, explained) {
                (Some(link), _) => format!("as {link}"),
                (None, Some(title)) => link_to_words(&key.shape, title),
                (None, None) => value(&key.shape),
            };
            let meaning = explained.map_or_else(|| meaning(key), |_| key.doc.clone());
            let cells = [format!("`{name}`"), value, default(key), meaning];
            let cells: Vec<String> = cells.iter().map(|text| cell(text)).collect();
            let _ = writeln!(self.text, "| {} |", cells.join(" | "));
            match contents(&key.shape) {
                Shape::Table(inner) if known.is_none() => {
                    if !heading.is_empty() {
                        self.described
                            .push((key.shape.clone(), format!("`{name}` of {heading}")));
                    }
                    self.rows(inner, &format!("{name}."), (path, heading), further);
                }
                Shape::Either { table, .. } => {
                    if let Shape::OneKey(inner) = &**table {
                        self.rows(inner, &format!("{name}."), (path, heading), further);
                    }
                }
                Shape::List { items, doc, .. } => {
                    let heading = match &**items {
                        Shape::Table(_) => format!("[[{path}.{name}]]"),
                        Shape::OneKey(_) => format!("{path}.{name} = [{{ ... }}]"),
                        _ => continue,
                    };
                    further.push(Pending {
                        heading,
                        path: format!("{path}.{name}"),
                        shape: items,
                        doc,
                    });
                }
                _ => {}
            }
        }
    }
}

/// The anchor that Markdown makes for a heading.
fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// A text that fits into one line of a table. Its paragraphs are separated by `<br>`.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace("\n\n", "<br>").replace('\n', " ")
}

/// A link to the section that explains a list of words.
fn link_to_words(shape: &Shape, title: &str) -> String {
    let link = format!("one of the [{}](#{})", title.to_lowercase(), anchor(title));
    match contents(shape) {
        Shape::List { .. } => format!("a list, each element {link}"),
        _ => link,
    }
}

/// Returns the shape of the value. If the value is a table whose keys are names that the user chooses, returns the
/// shape of the table's values instead.
fn contents(shape: &Shape) -> &Shape {
    match shape {
        Shape::Map { values, .. } => contents(values),
        shape => shape,
    }
}

/// Returns what the page appends to a key: `.NAME` for each nested table whose keys are names that the user chooses.
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
        // Strings, numbers, booleans and lists of them are written in TOML as in JSON.
        Some(default) => format!("`{default}`"),
        None => String::new(),
    }
}

fn meaning(key: &Key) -> String {
    let words = words(&key.shape);
    // If a word may also be the key of a table, the row of that table explains it.
    let tables = match &key.shape {
        Shape::Either { table, .. } => match &**table {
            Shape::OneKey(keys) => Some(keys),
            _ => None,
        },
        _ => None,
    };
    let has_row = |word: &String| tables.is_some_and(|keys| keys.contains_key(word));
    let explained = words.iter().filter(|(word, doc)| !doc.is_empty() && !has_row(word));
    explained.fold(key.doc.clone(), |mut text, (word, doc)| {
        let _ = write!(text, "<br>`\"{word}\"`: {doc}");
        text
    })
}

/// The words that the value, or an element of the value, can be.
fn words(shape: &Shape) -> &[(String, String)] {
    match shape {
        Shape::Word(words) => words,
        Shape::Either { text, .. } => words(text),
        Shape::List { items: inner, .. } | Shape::Map { values: inner, .. } => words(inner),
        Shape::Tuple(items) => items.last().map_or(&[], words),
        _ => &[],
    }
}
