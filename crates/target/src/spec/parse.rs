//! From text to a checked [`TargetSpec`].

use super::check;
use super::{OptionValue, Options, PartialTable, TargetSpec};
use crate::error::{SpecError, SpecErrors};
use crate::nearest;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use toml::de::{DeTable, DeValue};

/// The longest table that is read, in bytes.
pub const MAX_TABLE_BYTES: usize = 1 << 20;

/// A table's text, found to be right with every overlay that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    name: String,
    text: String,
    id: String,
    digest: [u8; 32],
}

/// Why a table with some options is no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The table's author's fault.
    #[error(transparent)]
    Table(#[from] SpecErrors),
    /// The configuration's fault.
    #[error("target `{target}`: option `{option}`: {message}")]
    Option {
        /// The target's id.
        target: String,
        /// The option.
        option: String,
        /// What is wrong with it, and what is allowed.
        message: String,
    },
}

impl Table {
    /// Reads a table and checks it, with the defaults of its options and with each of its overlays in turn. `name` is the
    /// file or the plugin that it comes from.
    pub fn parse(name: impl Into<String>, text: impl Into<String>) -> Result<Table, SpecErrors> {
        let (name, text) = (name.into(), text.into());
        let mut table = Table {
            digest: Sha256::digest(&text).into(),
            id: String::new(),
            name,
            text,
        };
        let id = table.variants()?.into_iter().map(|spec| spec.id.into_inner()).next();
        table.id = id.unwrap_or_default();
        Ok(table)
    }

    /// The target's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The file or the plugin that it comes from.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// SHA-256 of the text.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// The table with the overlays of these options' values; an option that is absent has its default.
    pub fn spec(&self, options: &Options) -> Result<TargetSpec, TableError> {
        let spec = self.read(&Options::new())?;
        for (name, value) in options {
            let refused = |message| TableError::Option {
                target: self.id.clone(),
                option: name.clone(),
                message,
            };
            let Some(row) = spec.options.get(name) else {
                let known = spec.options.keys().map(String::as_str);
                let message = if spec.options.is_empty() {
                    "this target has no options".to_owned()
                } else {
                    format!("no such option; {}", nearest::help(name, known))
                };
                return Err(refused(message));
            };
            if let Some(message) = row.refuses(value) {
                return Err(refused(message));
            }
        }
        Ok(self.read(options)?)
    }

    /// The names of the forms, those of every overlay included.
    pub(crate) fn forms(&self) -> Result<BTreeSet<String>, SpecErrors> {
        Ok(self
            .variants()?
            .into_iter()
            .flat_map(|spec| spec.form.into_keys())
            .collect())
    }

    /// That it asks for nothing that only code of a target's crate could do, for a target that has none.
    pub(crate) fn without_code(&self) -> Result<(), SpecErrors> {
        let mut errors: Vec<SpecError> = self.variants()?.iter().flat_map(check::code).collect();
        errors.sort_by_key(|error| error.span.as_ref().map_or(0, |span| span.start));
        errors.dedup();
        match errors.is_empty() {
            true => Ok(()),
            false => Err(self.failed(errors)),
        }
    }

    /// The table with the defaults of its options, and with each of its overlays in turn.
    fn variants(&self) -> Result<Vec<TargetSpec>, SpecErrors> {
        let spec = self.read(&Options::new())?;
        let others = overlays(&spec).into_iter().map(|options| self.read(&options));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        Ok(std::iter::once(spec).chain(others).collect())
    }

    fn failed(&self, errors: Vec<SpecError>) -> SpecErrors {
        SpecErrors {
            name: self.name.clone(),
            text: self.text.clone(),
            errors,
        }
    }

    /// Parses, merges the overlays of the options' values, deserializes and checks.
    fn read(&self, options: &Options) -> Result<TargetSpec, SpecErrors> {
        let failed = |errors| self.failed(errors);
        if self.text.len() > MAX_TABLE_BYTES {
            return Err(failed(vec![SpecError::whole(format!(
                "the table has {} bytes; {MAX_TABLE_BYTES} is the limit",
                self.text.len()
            ))]));
        }
        let tree = DeTable::parse(&self.text).map_err(|e| failed(vec![explain(&e)]))?;
        // The first reading tells the options and their defaults, and what is wrong without any overlay.
        let deserialize = |tree: toml::Spanned<DeTable<'_>>| {
            TargetSpec::deserialize(toml::de::Deserializer::from(tree)).map_err(|e| failed(vec![explain(&e)]))
        };
        let base = deserialize(tree.clone())?;
        let mut merged = tree.clone();
        for (option, row) in &base.options {
            let value = options.get(option).unwrap_or(&row.default).to_string();
            let overlay = table_at(tree.get_ref(), "overlay")
                .and_then(|t| table_at(t, option))
                .and_then(|t| table_at(t, &value));
            if let Some(overlay) = overlay {
                merge(merged.get_mut(), overlay);
            }
        }
        let errors = |spec: &TargetSpec, tree| match check::check(spec, tree) {
            errors if errors.is_empty() => Ok(()),
            errors => Err(failed(errors)),
        };
        let mut spec = deserialize(merged.clone())?;
        errors(&spec, merged.get_ref())?;
        // What is missing without an overlay is missing for the other values of its option.
        errors(&base, tree.get_ref())?;
        spec.digest = self.digest;
        Ok(spec)
    }
}

/// The options that switch on each of the overlays, one at a time.
fn overlays(spec: &TargetSpec) -> Vec<Options> {
    let of = |(option, values): (&String, &BTreeMap<String, PartialTable>)| {
        let with = |value: &String| Options::from([(option.clone(), value_of(spec, option, value))]);
        values.keys().map(with).collect::<Vec<_>>()
    };
    spec.overlay.iter().flat_map(of).collect()
}

/// The value that an overlay's key stands for.
fn value_of(spec: &TargetSpec, option: &str, key: &str) -> OptionValue {
    let typed = match key {
        "true" => OptionValue::Bool(true),
        "false" => OptionValue::Bool(false),
        _ => key
            .parse()
            .map_or_else(|_| OptionValue::String(key.into()), OptionValue::Integer),
    };
    let fits = spec.options.get(option).is_none_or(|row| row.kind == typed.kind());
    if fits { typed } else { OptionValue::String(key.into()) }
}

fn table_at<'t, 'i>(table: &'t DeTable<'i>, key: &str) -> Option<&'t DeTable<'i>> {
    table.get(key)?.get_ref().as_table()
}

/// Tables merge, everything else replaces.
fn merge<'i>(base: &mut DeTable<'i>, overlay: &DeTable<'i>) {
    for (key, value) in overlay {
        match (
            base.get_mut(key.get_ref().as_ref()).map(toml::Spanned::get_mut),
            value.get_ref(),
        ) {
            (Some(DeValue::Table(below)), DeValue::Table(above)) => merge(below, above),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

/// An error of the parser or of serde, in the words of this table.
fn explain(error: &toml::de::Error) -> SpecError {
    let message = error.message();
    let place = |message: String| SpecError {
        message,
        span: error.span(),
        help: None,
    };
    // serde: "unknown field `x`, expected one of `a`, `b`"; the names are those of `deny_unknown_fields`.
    for (prefix, what) in [("unknown field `", "key"), ("unknown variant `", "word")] {
        if let Some((word, rest)) = message.strip_prefix(prefix).and_then(|rest| rest.split_once('`')) {
            let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
            return place(format!("`{word}` is not a {what} here")).help(nearest::help(word, known.iter().copied()));
        }
    }
    if let Some(key) = message
        .strip_prefix("missing field `")
        .and_then(|rest| rest.strip_suffix('`'))
    {
        return place(format!("the key `{key}` is missing"));
    }
    // serde's names of Rust's types, in the words of a table.
    let types = [
        ("expected u8", "expected a whole number in 0 ..= 255"),
        ("expected i8", "expected a whole number in -128 ..= 127"),
        ("expected u32", "expected a whole number that is not negative"),
        ("expected i64", "expected a whole number"),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected a table"),
        ("expected a boolean", "expected `true` or `false`"),
    ];
    for (rust, words) in types {
        if let Some(start) = message.strip_suffix(rust) {
            return place(format!("{start}{words}"));
        }
    }
    match message.split_once(", expected struct ") {
        Some((start, _)) => place(format!("{start}, expected a table")),
        None => place(message.to_owned()),
    }
}
