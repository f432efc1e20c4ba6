//! Keys that the command line sets. Their values are put into the configuration's tree before the types are checked. So an
//! error in such a value is reported like an error in the file, but it shows the argument of the command line.

use std::{path::PathBuf, sync::Arc};

use toml::de::{DeTable, DeValue};

use strait_document::{
    Diagnostic, Diagnostics, Entry, Node, Source, SourceLocation, Table, Value, codes, diagnostic::SourceText,
};

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
        Override {
            option: "--model",
            content: Content::Text(&["model", "file"], file.into()),
        }
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
        Override {
            option: "--calibration",
            content: Content::Text(&["calibration", "data"], data.into()),
        }
    }

    /// The option `--calibration-config FILE`.
    pub fn calibration_config(file: impl Into<String>) -> Self {
        Override {
            option: "--calibration-config",
            content: Content::Text(&["calibration", "config"], file.into()),
        }
    }

    /// The option `--out DIR`.
    pub fn output(folder: impl Into<String>) -> Self {
        Override {
            option: OUT,
            content: Content::Text(&["output", "dir"], folder.into()),
        }
    }

    /// Puts the value into the tree. `rank` is the position of this argument among all texts of the configuration.
    pub(super) fn apply(&self, root: &mut Node, rank: usize) -> Result<(), Diagnostics> {
        let text = match &self.content {
            Content::Assignment(text) | Content::Text(_, text) => text.clone(),
            Content::List(_, texts) => texts.join(" "),
        };
        let text = Arc::new(SourceText {
            name: self.option.to_owned(),
            text,
        });
        let source = Arc::new(Source {
            text,
            folder: PathBuf::new(),
            rank,
        });
        let whole = SourceLocation {
            span: Some(0..source.text.text.len()),
            source,
        };
        let (keys, value) = match &self.content {
            Content::Assignment(text) => assignment(text, &whole)?,
            Content::Text(keys, text) => (
                at(keys, &whole),
                Node {
                    value: Value::Text(text.clone()),
                    location: whole,
                },
            ),
            Content::List(keys, texts) => {
                let node = |text: &String| Node {
                    value: Value::Text(text.clone()),
                    location: whole.clone(),
                };
                (
                    at(keys, &whole),
                    Node {
                        value: Value::List(texts.iter().map(node).collect()),
                        location: whole.clone(),
                    },
                )
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
    let part = |span: std::ops::Range<usize>| SourceLocation {
        source: Arc::clone(&whole.source),
        span: Some(span),
    };
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
        let span = Some(key.span());
        keys.push((
            key.get_ref().as_ref().to_owned(),
            SourceLocation {
                source: Arc::clone(&location.source),
                span,
            },
        ));
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
        let empty = Node {
            value: Value::Table(Table::default()),
            location: place.clone(),
        };
        let entry = entries.get_or_insert_with(key, || Entry {
            key: place,
            node: empty,
        });
        node = &mut entry.node;
    }
    *node = value;
    Ok(())
}
