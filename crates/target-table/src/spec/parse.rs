//! Parses the text of a table to a checked [`TargetSpec`].

use super::extends::{self, Base, Beside};
use super::{Options, PartialTable, TargetSpec};
use super::{check, spelling};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use strait_document::diagnostic::SourceText;
use strait_document::{Diagnostic, Diagnostics, KeyPath, Node, Value, nearest};

/// A table that was read and checked with each of its overlays, or only with the defaults of its options if tests check the rest
/// ([`TargetFactory::tested`](crate::TargetFactory::tested)).
#[derive(Clone)]
pub struct Table {
    text: Arc<SourceText>,
    id: String,
    /// The names of the forms, including those of all overlays that were checked.
    forms: BTreeSet<String>,
    /// Findings about features that need code of a target's crate. The first list has all such findings. The second
    /// list is for a target whose code writes a package: it leaves out the findings about the package.
    code: [Vec<Diagnostic>; 2],
    /// The table without overlays, from which [`Table::spec`] makes the table for values of its options.
    plain: Arc<Plain>,
    /// The table with the overlays for the defaults of its options; `None` if there is no such overlay.
    defaults: Option<Arc<TargetSpec>>,
}

/// Tables are equal if they have the same texts, from which everything else follows.
impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        (&self.text, self.bases()) == (&other.text, other.bases())
    }
}

impl Eq for Table {}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Table");
        shown.field("name", &self.name()).field("id", &self.id);
        shown.finish_non_exhaustive()
    }
}

/// Why no target can be made from a table and values of its options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The table is wrong. Its author is at fault.
    #[error(transparent)]
    Table(#[from] Diagnostics),
    /// A value of an option is wrong. The configuration is at fault.
    #[error("target `{target}`: option `{option}`: {message}")]
    Option {
        /// The target's id.
        target: String,
        /// Name of the option.
        option: String,
        /// What is wrong with the value, and which values are allowed.
        message: String,
    },
}

impl Table {
    /// Reads a table and checks it, with the defaults of its options and with each of its overlays in turn. `name` is
    /// the file or the plugin that the table comes from. The table cannot extend another one, since it is not in a
    /// folder.
    pub fn parse(name: impl Into<String>, text: impl Into<String>) -> Result<Table, Diagnostics> {
        let (name, text) = (name.into(), text.into());
        Table::checked(Arc::new(SourceText { name, text }), &alone)
    }

    /// As [`Table::parse`], but for a table that tests have checked, and only with the defaults of its options.
    pub(crate) fn tested(name: &str, text: &str) -> Result<Table, Diagnostics> {
        let (name, text) = (name.into(), text.into());
        Table::made(Arc::new(SourceText { name, text }), &alone, Checks::InTests)
    }

    /// As [`Table::parse`], but for a table in a file, which may extend a table in the same folder.
    pub(crate) fn checked(text: Arc<SourceText>, beside: &Beside<'_>) -> Result<Table, Diagnostics> {
        Table::made(text, beside, Checks::Here)
    }

    fn made(text: Arc<SourceText>, beside: &Beside<'_>, checks: Checks) -> Result<Table, Diagnostics> {
        let plain = plain(&text, beside, checks)?;
        let mut table = Table {
            id: String::new(),
            forms: BTreeSet::new(),
            code: [Vec::new(), Vec::new()],
            plain: Arc::new(plain),
            defaults: None,
            text,
        };
        let plain = Arc::clone(&table.plain);
        let others = match checks {
            Checks::Here => overlays(&plain.spec),
            Checks::InTests => Vec::new(),
        };
        let variants = std::iter::once(Options::new()).chain(others);
        let variants = variants.map(|options| table.with(&plain, &options, checks));
        let variants = variants.collect::<Result<Vec<_>, _>>()?;
        table.code = [false, true].map(|emits| {
            let findings = variants.iter().flat_map(|(spec, tree)| check::code(spec, tree, emits));
            let mut findings: Vec<Diagnostic> = findings.collect();
            findings.dedup();
            findings
        });
        for (spec, _) in &variants {
            table.forms.extend(spec.form.keys().cloned());
            table.id.clone_from(&spec.id);
        }
        if let Some((Cow::Owned(defaults), _)) = variants.into_iter().next() {
            table.defaults = Some(Arc::new(defaults));
        }
        Ok(table)
    }

    /// The target's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The file or the plugin that the table comes from.
    pub fn name(&self) -> &str {
        &self.text.name
    }

    /// The text of the table.
    pub fn text(&self) -> &str {
        &self.text.text
    }

    /// SHA-256 digest of the table's text.
    pub fn digest(&self) -> [u8; 32] {
        self.plain.spec.digest
    }

    /// The tables that this table extends, the nearest first.
    pub fn bases(&self) -> &[Base] {
        &self.plain.spec.bases
    }

    /// The table with the defaults of its options.
    pub fn default_spec(&self) -> &TargetSpec {
        self.defaults.as_deref().unwrap_or(&self.plain.spec)
    }

    /// The table with the overlays for these values of its options. An option that is absent has its default.
    pub fn spec(&self, options: &Options) -> Result<TargetSpec, TableError> {
        let plain = &self.plain;
        for (name, value) in options {
            let refused = |message| TableError::Option {
                target: self.id.clone(),
                option: name.clone(),
                message,
            };
            let Some(row) = plain.spec.options.get(name) else {
                let known = plain.spec.options.keys().map(String::as_str);
                let message = if plain.spec.options.is_empty() {
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
        let defaults = self.default_spec();
        match chosen(&plain.spec, options) == defaults.chosen {
            true => Ok(defaults.clone()),
            false => Ok(self.with(plain, options, Checks::Here)?.0.into_owned()),
        }
    }

    /// The names of the forms, including those of all overlays that were checked.
    pub(crate) fn forms(&self) -> &BTreeSet<String> {
        &self.forms
    }

    /// Checks that the table needs no code of a target's crate. If `emits` is set, it may need code that writes a
    /// package, but no other code.
    pub(crate) fn without_code(&self, emits: bool) -> Result<(), Diagnostics> {
        let [all, but_for_packages] = &self.code;
        let code = if emits { but_for_packages } else { all };
        match code.is_empty() {
            true => Ok(()),
            false => Err(Diagnostics(code.clone())),
        }
    }

    /// Makes the checked table with the overlays for these values of its options. Returns the table with its tree,
    /// which has the place of each key in the text.
    fn with<'a>(&self, plain: &'a Plain, options: &Options, checks: Checks) -> Result<Variant<'a>, Diagnostics> {
        let overlay = |(option, value): (&String, &super::OptionValue)| {
            let path = KeyPath::of(&["overlay", option, &value.to_string()]);
            plain.tree.find(&path)
        };
        let chosen = chosen(&plain.spec, options);
        let mut overlays = chosen.iter().filter_map(overlay).peekable();
        let (mut spec, merged) = match overlays.peek() {
            None if chosen == plain.spec.chosen => return Ok((Cow::Borrowed(&plain.spec), Cow::Borrowed(&plain.tree))),
            None => (plain.spec.clone(), Cow::Borrowed(&plain.tree)),
            Some(_) => {
                let mut merged = plain.without_overlays();
                overlays.for_each(|overlay| extends::merge(&mut merged, overlay));
                let mut spec = read(&mut merged, checks)?;
                spec.digest = self.digest();
                spec.bases.clone_from(&plain.spec.bases);
                // The merged table keeps all overlays, including those that were not applied.
                spec.overlay.clone_from(&plain.spec.overlay);
                (spec, Cow::Owned(merged))
            }
        };
        spec.chosen = chosen;
        Ok((Cow::Owned(spec), merged))
    }
}

/// Refuses every table that a table without a folder extends.
fn alone(_: &str) -> Result<Arc<SourceText>, String> {
    Err("only a table in a file stands on another: this one is part of a program or of a library".into())
}

/// A table for values of its options, with its tree.
type Variant<'a> = (Cow<'a, TargetSpec>, Cow<'a, Node>);

/// The values of all options, where an option that is absent from `options` has its default.
fn chosen(spec: &TargetSpec, options: &Options) -> Options {
    let chosen = spec.options.iter().map(|(option, row)| {
        let value = options.get(option).unwrap_or(&row.default);
        (option.clone(), value.clone())
    });
    chosen.collect()
}

/// A table to which no overlay has been applied. It has the options and their defaults.
struct Plain {
    /// The tree of the text, which has the place of each key. Reading a table from it does not change it, since a table has no
    /// paths.
    tree: Node,
    /// The table with the defaults of its options.
    spec: TargetSpec,
}

impl Plain {
    /// A copy of the tree without its overlays, to which an overlay can be applied.
    fn without_overlays(&self) -> Node {
        let mut tree = self.tree.clone();
        if let Value::Table(entries) = &mut tree.value {
            entries.retain(|key| key != "overlay");
        }
        tree
    }
}

/// Parses the text of a table and all tables that it extends, and checks the table without overlays.
fn plain(text: &Arc<SourceText>, beside: &Beside<'_>, checks: Checks) -> Result<Plain, Diagnostics> {
    let (mut tree, bases) = extends::tree(text, beside)?;
    // The table is also checked without overlays, since a key that only an overlay has would be missing for the
    // option's other values.
    let mut spec = read(&mut tree, checks)?;
    spec.digest = Sha256::digest(&text.text).into();
    spec.bases = bases;
    spec.chosen = chosen(&spec, &Options::new());
    Ok(Plain { tree, spec })
}

/// Where a table is checked.
#[derive(Clone, Copy)]
enum Checks {
    /// In this program.
    Here,
    /// In tests.
    InTests,
}

/// Reads the table from a tree.
fn read(tree: &mut Node, checks: Checks) -> Result<TargetSpec, Diagnostics> {
    // A table that tests should have refused is checked after all, so that the message says what is wrong with it.
    if let Checks::InTests = checks
        && let Ok(spec) = strait_document::converted(tree)
    {
        return Ok(spec);
    }
    spelling::check(tree)?;
    let spec = strait_document::read(tree)?;
    check::check(&spec, tree)?;
    Ok(spec)
}

/// For each of the overlays that do not apply by default, the value of an option with which it applies.
pub(super) fn overlays(spec: &TargetSpec) -> Vec<Options> {
    let of = |(option, values): (&String, &BTreeMap<String, PartialTable>)| {
        let row = spec.options.get(option);
        let with = |value: &String| {
            let (row, value) = (row?, row?.value_of(value));
            (value != row.default).then(|| Options::from([(option.clone(), value)]))
        };
        values.keys().filter_map(with).collect::<Vec<_>>()
    };
    spec.overlay.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn a_table_that_tests_should_have_refused_is_refused_with_what_is_wrong_with_it() {
        let text = "schema = 2\nid = 7\n";
        let error = Table::tested("mine 1.0.0", text).unwrap_err();
        assert!(error.to_string().contains("`id`"), "{error}");
        assert_eq!(error, Table::parse("mine 1.0.0", text).unwrap_err());
    }
}
