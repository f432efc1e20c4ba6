//! Keys that the command line sets. Their values are put into the configuration's tree before the types are checked. So an
//! error in such a value is reported like an error in the file, but it shows the argument of the command line.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use crate::settings;
use strait_document::{Diagnostic, Diagnostics, Entry, Node, Source, SourceLocation, Table, Value, codes};

/// The name of the option that sets `output.dir`.
pub(super) const OUT: &str = "--out";

/// One key that the command line sets. Paths in its value are relative to the current folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    option: &'static str,
    content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    /// A text `a.b.c=VALUE`. The key and the value are written as in TOML.
    Assignment(String),
    Text(&'static [&'static str], String),
    List(&'static [&'static str], Vec<String>),
}

impl Override {
    /// The option `option VALUE`, which sets one key to a text.
    fn text(option: &'static str, keys: &'static [&'static str], text: impl Into<String>) -> Self {
        let content = Content::Text(keys, text.into());
        Override { option, content }
    }

    /// The option `--set a.b.c=VALUE`: a dotted key and a TOML value. The value replaces the previous value of the key;
    /// a table is replaced as a whole.
    pub fn set(assignment: impl Into<String>) -> Self {
        Override {
            option: "--set",
            content: Content::Assignment(assignment.into()),
        }
    }

    /// The option `--model FILE`.
    pub fn model(file: impl Into<String>) -> Self {
        Override::text("--model", &["model", "file"], file)
    }

    /// The option `--target ID`, which may be given several times.
    pub fn targets(ids: Vec<String>) -> Self {
        Override {
            option: "--target",
            content: Content::List(&["target", "use"], ids),
        }
    }

    /// The option `--calibration PATH`.
    pub fn calibration(data: impl Into<String>) -> Self {
        Override::text("--calibration", &["calibration", "data"], data)
    }

    /// The option `--calibration-config FILE`.
    pub fn calibration_config(file: impl Into<String>) -> Self {
        Override::text("--calibration-config", &["calibration", "config"], file)
    }

    /// The option `--out DIR`.
    pub fn output(folder: impl Into<String>) -> Self {
        Override::text(OUT, &["output", "dir"], folder)
    }

    /// The assignment as it was given, if it means the same on every machine: if it has no path, and does not choose targets.
    pub(super) fn portable(&self) -> Option<String> {
        let Content::Assignment(text) = &self.content else {
            return None;
        };
        let whole = Source::new(self.option, text.clone(), Path::new(""), 0).place(None);
        let mut tree = Value::Table(Table::default()).at(&whole);
        self.apply(&mut tree, 0).ok()?;
        settings::is_portable(&tree).then(|| text.clone())
    }

    /// Puts the value into the tree. `rank` is the position of this argument among all texts of the configuration.
    pub(super) fn apply(&self, root: &mut Node, rank: usize) -> Result<(), Diagnostics> {
        let text = match &self.content {
            Content::Assignment(text) | Content::Text(_, text) => text.clone(),
            Content::List(_, texts) => texts.join(" "),
        };
        let span = 0..text.len();
        let whole = Source::new(self.option, text, Path::new(""), rank).place(Some(span));
        let node = |text: &String| Value::Text(text.clone()).at(&whole);
        let (keys, value) = match &self.content {
            Content::Assignment(text) => assignment(text, &whole)?,
            Content::Text(keys, text) => (at(keys, &whole), node(text)),
            Content::List(keys, texts) => {
                let list = Value::List(texts.iter().map(node).collect());
                (at(keys, &whole), list.at(&whole))
            }
        };
        put(root, keys, value)
    }
}

/// A key, and the place where it was written.
type PlacedKey = (String, SourceLocation);

fn at(keys: &[&str], location: &SourceLocation) -> Vec<PlacedKey> {
    keys.iter().map(|&key| (key.to_owned(), location.clone())).collect()
}

/// Splits `KEY=VALUE` at the first `=` that is not in quotes. Key and value are parsed separately, because neither of them
/// is a whole TOML document.
fn assignment(text: &str, whole: &SourceLocation) -> Result<(Vec<PlacedKey>, Node), Diagnostics> {
    let wrong = |message: String, location: &SourceLocation| {
        Diagnostic::error(codes::ARGUMENT, message)
            .at(location.excerpt(""))
            .help("write KEY=VALUE as in the file: --set calibration.samples=64, --set 'output.dir=\"build\"'")
    };
    let Some(equals) = equals_outside_quotes(text) else {
        return Err(wrong("`--set` takes KEY=VALUE".to_owned(), whole).into());
    };
    let part = |span: std::ops::Range<usize>| whole.source.place(Some(span));
    // Blanks after `=` are skipped, because the parser of a single TOML value does not accept blanks before it.
    let start = text.len() - text[equals + 1..].trim_start().len();
    let (key_place, value_place) = (part(0..equals), part(start..text.len()));

    let line = format!("{}=0", &text[..equals]);
    let table = DeTable::parse(&line).map_err(|error| wrong(format!("not a key: {}", error.message()), &key_place))?;
    let keys = chain(table.get_ref(), &key_place).ok_or_else(|| wrong("not a key".to_owned(), &key_place))?;

    let value = DeValue::parse(text[start..].trim_end()).map_err(|error| {
        let finding = wrong(format!("not a TOML value: {}", error.message()), &value_place);
        Diagnostics::from(finding.help("a string needs its quotes, and these need quotes for the shell"))
    })?;
    Ok((keys, Node::new(&whole.source, &value, start)))
}

fn equals_outside_quotes(text: &str) -> Option<usize> {
    let mut quote = None;
    text.char_indices().find_map(|(position, letter)| {
        match (quote, letter) {
            (None, '=') => return Some(position),
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            _ => {}
        }
        None
    })
}

/// The keys of a document of the form `a.b.c = 0`, from the outermost to the innermost.
fn chain(table: &DeTable<'_>, location: &SourceLocation) -> Option<Vec<PlacedKey>> {
    let mut keys = Vec::new();
    let mut table = table;
    loop {
        let (key, value) = table.iter().next().filter(|_| table.len() == 1)?;
        let place = location.source.place(Some(key.span()));
        keys.push((key.get_ref().as_ref().to_owned(), place));
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            DeValue::Integer(_) => return Some(keys),
            _ => return None,
        }
    }
}

/// Follows the keys from the top of the tree, creates missing tables, and replaces the value of the last key.
pub(super) fn put(root: &mut Node, keys: Vec<PlacedKey>, value: Node) -> Result<(), Diagnostics> {
    let mut node = root;
    let mut path = super::KeyPath::default();
    for (key, place) in keys {
        let kind = node.value.kind();
        let Value::Table(entries) = &mut node.value else {
            let finding = Diagnostic::error(codes::ARGUMENT, format!("`{path}` is {kind}, and has no key {key:?}"));
            return Err(finding
                .at(place.excerpt(""))
                .help(format!("set all of it: --set '{path}=...'"))
                .into());
        };
        path = path.key(&key);
        let entry = entries.get_or_insert_with(key, || Entry {
            node: Value::Table(Table::default()).at(&place),
            key: place,
        });
        node = &mut entry.node;
    }
    *node = value;
    Ok(())
}
