//! Parses a text to a tree, and converts a tree to the types of the document.

use crate::{
    Described, Diagnostic, Diagnostics, Format, KeyPath, Node, Shape, Source, Table, Value, check::check_with, codes,
    described, tree::entries,
};
use serde::de::DeserializeOwned;
use std::{ops::Range, sync::Arc};
use toml::de::DeTable;

/// The largest number of syntax errors that are reported. Later errors are usually consequences of the first.
const MOST_SYNTAX_ERRORS: usize = 10;

/// The Rust type of one kind of document.
pub trait Document: DeserializeOwned + Described {
    /// The name of this kind of document, with its article: `the configuration`.
    const NAME: &'static str;

    /// The newest version of the document's format that this version of Strait reads. A document states its version by
    /// the key `schema`.
    const SCHEMA: u32;

    /// The formats that values of the document may have.
    const FORMATS: &'static [Format];

    /// Keys that people look for and that are written in another way, each with what to write. In a key, `*` stands for a name
    /// or the position in a list.
    const ADVICE: &'static [(&'static str, &'static str)] = &[];

    /// The shape of the type, which is made from the type's JSON schema.
    fn shape() -> &'static Shape;
}

impl Shape {
    /// The shape of a document's type.
    pub fn of<T: Document>() -> Shape {
        Shape::of_type::<T>(T::FORMATS)
    }

    /// The shape of a type that is only part of a document, or whose values are not written in TOML.
    pub fn of_type<T: Described>(formats: &'static [Format]) -> Shape {
        described::shape::<T>(formats)
    }
}

/// Converts the bytes of a file to a text, without the byte order mark. `name` is the name of the kind of document.
///
/// # Errors
/// The bytes are not UTF-8.
pub fn utf8(name: &str, bytes: Vec<u8>) -> Result<String, String> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(format!("{name} is UTF-16; save it as UTF-8"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let position = error.utf8_error().valid_up_to();
        let before = error.as_bytes().iter().take(position);
        let line = before.filter(|&&byte| byte == b'\n').count() + 1;
        format!("{name} is not UTF-8 from line {line} on (byte {position})")
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// Parses a TOML text to a tree.
///
/// # Errors
/// The text is not TOML. All syntax errors are reported at once.
pub fn syntax(source: &Arc<Source>) -> Result<Node, Diagnostics> {
    let (table, mut errors) = DeTable::parse_recoverable(&source.text.text);
    if errors.is_empty() {
        return Ok(Value::Table(entries(source, table.get_ref(), 0)).at(&source.place(None)));
    }
    if let Some((language, span)) = other_language(&source.text.text) {
        let message = format!("this is {language}, and TOML is read");
        let finding = Diagnostic::error(codes::SYNTAX, message).at(source.place(Some(span)).excerpt(""));
        return Err(finding
            .help("in TOML a table is `[model]` on a line of its own, and each key below it `file = \"model.onnx\"`")
            .into());
    }
    errors.sort_by_key(|error| error.span().map(|span| span.start));
    let findings = errors.iter().take(MOST_SYNTAX_ERRORS).map(|error| {
        let place = source.place(error.span());
        Diagnostic::error(codes::SYNTAX, "this is not TOML").at(place.excerpt(error.message()))
    });
    Err(Diagnostics(findings.collect()))
}

/// If the text is in another language than TOML, returns the name of that language and the place at which it is
/// recognised. Only the first line that is not a comment is looked at.
fn other_language(text: &str) -> Option<(&'static str, Range<usize>)> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        let begin = start + (line.len() - line.trim_start().len());
        start += line.len();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let span = begin..begin + content.len();
        let is_json = content.starts_with('{');
        let is_key = |key: &str| {
            let key = key.trim_matches(['"', '\'']);
            !key.is_empty()
                && key
                    .chars()
                    .all(|letter| letter.is_alphanumeric() || "_-. /".contains(letter))
        };
        let is_yaml = content.starts_with("---")
            || content.starts_with("- ")
            || content.starts_with("%YAML")
            || content
                .split_once(':')
                .is_some_and(|(key, rest)| is_key(key) && (rest.is_empty() || rest.starts_with(' ')));
        return match (is_json, is_yaml) {
            (true, _) => Some(("JSON", span)),
            (_, true) => Some(("YAML", span)),
            _ => None,
        };
    }
    None
}

/// Checks a tree against the type `T`, resolves the paths in the tree, and converts the tree to a `T`.
///
/// # Errors
/// The tree does not fit the type. All errors are reported at once, in the order of the text.
pub fn read<T: Document>(tree: &mut Node) -> Result<T, Diagnostics> {
    refuse_newer::<T>(tree)?;
    check_with(T::shape(), T::ADVICE, tree)?;
    converted(tree)
}

/// Converts a tree without paths, which [`read`] has accepted in a test, to a `T`. This takes a fraction of the time of
/// [`read`], most of which goes into the type's shape.
///
/// # Errors
/// The tree does not fit the type.
pub fn converted<T: Document>(tree: &Node) -> Result<T, Diagnostics> {
    // The check is stricter than serde. If serde still reports an error, the check has a defect, and the message says
    // so.
    T::deserialize(tree).map_err(|error| {
        let message = format!("defect in Strait: a checked document cannot be read: {error}");
        Diagnostic::error(codes::DEFECT, message)
            .at(tree.location.excerpt(""))
            .into()
    })
}

/// Reports a document of a newer version with a single message. Otherwise each new key in the document would be
/// reported as unknown.
fn refuse_newer<T: Document>(tree: &Node) -> Result<(), Diagnostics> {
    match tree.find(&KeyPath::of(&["schema"])) {
        Some(Node {
            value: Value::Integer(schema),
            location: place,
        }) if *schema > i64::from(T::SCHEMA) => {
            let message = format!(
                "{} has schema {schema}, which is newer than this version of Strait",
                T::NAME
            );
            let finding = Diagnostic::error(codes::SCHEMA, message).at(place.excerpt(""));
            Err(finding
                .help(format!(
                    "this version reads schema {}: install a newer Strait",
                    T::SCHEMA
                ))
                .into())
        }
        _ => Ok(()),
    }
}

impl Node {
    /// Merges another tree into this tree. Tables are merged; any other value in `over` replaces the value in this
    /// tree.
    pub fn merge(&mut self, over: &Node) {
        match (&mut self.value, &over.value) {
            (Value::Table(below), Value::Table(above)) => merge(below, above),
            _ => *self = over.clone(),
        }
    }
}

fn merge(below: &mut Table, above: &Table) {
    for (key, entry) in above.iter() {
        match below.get_mut(key) {
            Some(known) => known.node.merge(&entry.node),
            None => {
                below.insert(key.clone(), entry.clone());
            }
        }
    }
}
