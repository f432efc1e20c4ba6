//! From a file and the arguments of the command line to a checked configuration.

use std::{path::Path, sync::Arc};

use serde::Deserialize as _;
use toml::de::DeTable;

use crate::diagnostic::{Diagnostic, Diagnostics, Excerpt, SourceText};

use super::{
    KeyPath, Override, SCHEMA, check, codes, consistency, schema, settings,
    tree::{Node, Place, Source, Value, entries},
    types::Config,
};

/// A larger file is no configuration.
const MOST_BYTES: u64 = 10 << 20;

/// More syntax errors than this follow from the first ones.
const MOST_SYNTAX_ERRORS: usize = 10;

/// A configuration without errors, and where each of its keys was written.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The values, defaults filled in, paths resolved.
    pub config: Config,
    tree: Node,
}

impl Loaded {
    /// Whether there is a value at `path`. Defaults do not count, but for those of paths.
    pub fn has(&self, path: &KeyPath) -> bool {
        self.tree.find(path).is_some()
    }

    /// An error about the value at `path`, with its place and `label` beside the caret: for what can only be checked
    /// with the model, the data or the target at hand. Where nothing was given at `path`, the place is that of the
    /// table or list around it.
    pub fn error(&self, code: &str, path: &KeyPath, message: impl Into<String>, label: &str) -> Diagnostic {
        Diagnostic::error(code, message).at(self.tree.nearest(path).place.excerpt(label))
    }

    /// What was asked for, in a form that is the same on every machine, for one target's manifest: the keys that were
    /// given, without paths (the manifest has the digests of the files) and without other targets and their options.
    pub fn settings_for(&self, target: &str) -> serde_json::Value {
        settings::settings_for(&self.tree, target)
    }
}

/// Reads the file, sets the keys that the command line gives, and checks the result.
///
/// # Errors
/// All that is wrong with it, each with its line.
pub fn load(file: &Path, overrides: &[Override]) -> Result<Loaded, Diagnostics> {
    let name = file.display().to_string();
    let text = read(file).map_err(|message| {
        let source = Arc::new(SourceText {
            name: name.clone(),
            text: String::new(),
        });
        Diagnostic::error(codes::FILE, message).at(Excerpt {
            source,
            span: None,
            label: String::new(),
        })
    })?;
    parse(&name, text, file.parent().unwrap_or(Path::new("")), overrides)
}

/// As [`load`], for a text that is already here. `name` is used in messages; paths are relative to `folder`.
///
/// # Errors
/// As [`load`].
pub fn parse(name: &str, text: String, folder: &Path, overrides: &[Override]) -> Result<Loaded, Diagnostics> {
    let text = Arc::new(SourceText {
        name: name.to_owned(),
        text,
    });
    let source = Arc::new(Source {
        text: Arc::clone(&text),
        folder: folder.to_owned(),
        rank: 0,
    });
    let mut tree = syntax(&source)?;
    let refused: Vec<Diagnostic> = overrides
        .iter()
        .zip(1..)
        .filter_map(|(given, rank)| given.apply(&mut tree, rank).err())
        .flat_map(|refused| refused.0)
        .collect();
    if !refused.is_empty() {
        return Err(Diagnostics(refused));
    }
    refuse_newer(&tree)?;
    check::check(schema::shape(), &mut tree)?;
    // The check is stricter than serde is; should they ever differ, that is a defect, told as one.
    let config = Config::deserialize(tree.to_toml()).map_err(|error| {
        Diagnostic::error(
            codes::DEFECT,
            format!("defect in Strait: a checked configuration cannot be read: {error}"),
        )
        .at(tree.place.excerpt(""))
    })?;
    let loaded = Loaded { config, tree };
    consistency::check(&loaded)?;
    Ok(loaded)
}

/// The text of the file, without a byte order mark.
fn read(file: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("the configuration cannot be read: {error}");
    let bytes = strait_mapped::read(file, MOST_BYTES).map_err(failed)?;
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err("the configuration is UTF-16; save it as UTF-8".to_owned());
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let position = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..position]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count()
            + 1;
        format!("the configuration is not UTF-8 from line {line} on (byte {position})")
    })?;
    Ok(text
        .strip_prefix('\u{feff}')
        .map_or_else(|| text.clone(), str::to_owned))
}

/// The tree, or all syntax errors.
fn syntax(source: &Arc<Source>) -> Result<Node, Diagnostics> {
    let (table, mut errors) = DeTable::parse_recoverable(&source.text.text);
    if errors.is_empty() {
        let place = Place {
            source: Arc::clone(source),
            span: None,
        };
        return Ok(Node {
            value: Value::Table(entries(source, table.get_ref(), 0)),
            place,
        });
    }
    errors.sort_by_key(|error| error.span().map(|span| span.start));
    let findings = errors.iter().take(MOST_SYNTAX_ERRORS).map(|error| {
        let place = Place {
            source: Arc::clone(source),
            span: error.span(),
        };
        Diagnostic::error(codes::SYNTAX, "this is not TOML").at(place.excerpt(error.message()))
    });
    Err(Diagnostics(findings.collect()))
}

/// A newer form has keys that are unknown here: one clear message instead of one for each of them.
fn refuse_newer(tree: &Node) -> Result<(), Diagnostics> {
    match tree.find(&KeyPath::of(&["schema"])) {
        Some(Node {
            value: Value::Integer(schema),
            place,
        }) if *schema > i64::from(SCHEMA) => {
            let message = format!("the configuration has schema {schema}, which is newer than this version of Strait");
            let finding = Diagnostic::error(codes::SCHEMA, message).at(place.excerpt(""));
            Err(finding
                .help(format!("this version reads schema {SCHEMA}: install a newer Strait"))
                .into())
        }
        _ => Ok(()),
    }
}
