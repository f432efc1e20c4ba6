//! Tables that extend other tables. A file names its base table, which is another file in the same folder, and the
//! digest of the base table's file. The table is then merged over its base table, like an overlay.
//!
//! Each file of such a chain has its own `schema`, `id` and `version`. All other keys may be in any of the files. The
//! table is checked after the merge. Every value remembers its place in its file, so that an error names the right
//! file.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};
use strait_document::diagnostic::SourceText;
use strait_document::{Diagnostic, Diagnostics, Document, Format, KeyPath, Node, Shape, Source, Value, codes};

use super::check::CODE;
use super::{FORMATS, SCHEMA};

/// The largest number of bytes of a table. Longer tables are refused.
pub const MAX_TABLE_BYTES: usize = 1 << 20;

/// The largest number of base tables in the chain that starts at a table.
const MAX_BASES: usize = 8;

/// A base table, in a file in the same folder.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Extends {
    /// The name of the file, in the folder of this table.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "file-name")))]
    pub file: String,
    /// SHA-256 of the file.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "sha256")))]
    pub sha256: String,
}

/// A table that another table extends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// Id of the extended table.
    pub id: String,
    /// Version of the extended table.
    pub version: String,
    /// SHA-256 of the extended table's text, as hexadecimal digits.
    pub sha256: String,
    /// The path and the text of the file.
    pub(super) text: Arc<SourceText>,
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} with SHA-256 {}", self.id, self.version, self.sha256)
    }
}

/// The type of functions that find a file by its name in the folder of the table. The error says why there is no such
/// file.
pub(crate) type Beside<'a> = dyn Fn(&str) -> Result<Arc<SourceText>, String> + 'a;

/// The keys that are never taken from a base table, because each file of a chain must have its own.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
struct Head {
    /// The version of the table format: 2.
    #[cfg_attr(feature = "schema", schemars(range(min = 2, max = 2)))]
    #[expect(dead_code, reason = "that it is there is checked")]
    schema: u32,
    /// The name of the target in configurations, in kebab-case.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "id")))]
    id: String,
    /// The version of the table.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "version")))]
    version: String,
    /// The base table that the table extends.
    extends: Option<Extends>,
}

/// The names of the keys of a [`Head`].
const HEAD: [&str; 4] = ["schema", "id", "version", "extends"];

impl Document for Head {
    const NAME: &'static str = "the table";
    const SCHEMA: u32 = SCHEMA;
    const FORMATS: &'static [Format] = FORMATS;

    fn shape() -> &'static Shape {
        static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<Head>);
        &SHAPE
    }
}

impl Head {
    fn of(tree: &Node) -> Result<Head, Diagnostics> {
        let mut head = tree.clone();
        if let Value::Table(entries) = &mut head.value {
            entries.retain(|key| HEAD.contains(&key));
        }
        strait_document::read(&mut head)
    }
}

/// Reads the tree of a table and merges it over the trees of the tables that it extends. Returns the merged tree and
/// these tables, the nearest first.
///
/// # Errors
/// If the text is too long or is not TOML, or if an extended table is missing, has another digest, makes the chain too
/// long, extends itself, or has the id of a table above it.
pub(super) fn tree(text: &Arc<SourceText>, beside: &Beside<'_>) -> Result<(Node, Vec<Base>), Diagnostics> {
    let tree = parsed(text, 0)?;
    if tree.find(&KeyPath::of(&["extends"])).is_none() {
        return Ok((tree, Vec::new()));
    }
    let head = Head::of(&tree)?;
    let mut chain = Chain {
        beside,
        files: vec![Arc::clone(text)],
        ids: vec![head.id.clone()],
        bases: Vec::new(),
    };
    let tree = chain.completed(tree, &head)?;
    Ok((tree, chain.bases))
}

/// The files of a chain that have been read so far: a table, the table that it extends, and so on.
struct Chain<'a> {
    beside: &'a Beside<'a>,
    files: Vec<Arc<SourceText>>,
    ids: Vec<String>,
    bases: Vec<Base>,
}

impl Chain<'_> {
    /// The tree of the last file, merged over the tables that it extends.
    fn completed(&mut self, tree: Node, head: &Head) -> Result<Node, Diagnostics> {
        let Some(extends) = &head.extends else { return Ok(tree) };
        let file = &extends.file;
        let refused = |key: &str, message: String| tree.error(CODE, &KeyPath::of(&["extends", key]), message, "");
        if self.files.iter().any(|text| is_name_of(file, text)) {
            return Err(refused("file", format!("`{file}` would stand on itself")).into());
        }
        if self.bases.len() == MAX_BASES {
            return Err(refused("file", format!("a table stands on {MAX_BASES} others at most")).into());
        }
        let text = (self.beside)(file).map_err(|message| refused("file", message))?;
        let sha256 = super::hexadecimal(&Sha256::digest(&text.text).into());
        if sha256 != extends.sha256 {
            let finding = refused("sha256", format!("`{file}` has another SHA-256"));
            return Err(finding.help(format!("it is {sha256}")).into());
        }
        let mut below = parsed(&text, self.files.len())?;
        let head = Head::of(&below)?;
        if self.ids.contains(&head.id) {
            let message = format!(
                "`{file}` has the id `{}`, and so has a table that stands on it",
                head.id
            );
            return Err(refused("file", message).help("each has an id of its own").into());
        }
        self.files.push(Arc::clone(&text));
        self.ids.push(head.id.clone());
        self.bases.push(Base {
            id: head.id.clone(),
            version: head.version.clone(),
            sha256,
            text,
        });
        below = self.completed(below, &head)?;
        if let Value::Table(entries) = &mut below.value {
            // Each file has these keys for itself, so they are not merged.
            entries.retain(|key| !HEAD.contains(&key));
        }
        merge(&mut below, &tree);
        below.location = tree.location;
        Ok(below)
    }
}

/// The paths of values that are either a name, such as `lookup`, or a table with this name as its only key. `*` stands
/// for any key.
const CHOICES: [&[&str]; 4] = [
    &["form", "*", "kind"],
    &["op", "*", "recipe"],
    &["overlay", "*", "*", "form", "*", "kind"],
    &["overlay", "*", "*", "op", "*", "recipe"],
];

/// Merges the table `above` over the table `below`. Inner tables are merged, too. Any other value of `above` replaces
/// the value of `below` at the same path. If a recipe or a kind of form has another name in `above` than in `below`,
/// its parameters in `below` are dropped.
pub(super) fn merge(below: &mut Node, above: &Node) {
    for path in CHOICES {
        give_way(below, above, path);
    }
    below.merge(above);
}

/// Empties the table of `below` at `path` if the table of `above` at this path has other keys, for example the name of
/// another recipe.
fn give_way(below: &mut Node, above: &Node, path: &[&str]) {
    let (Value::Table(old), Value::Table(new)) = (&mut below.value, &above.value) else {
        return;
    };
    match path {
        [] if old.iter().map(|(key, _)| key).ne(new.iter().map(|(key, _)| key)) => old.retain(|_| false),
        [] => {}
        [first, rest @ ..] => {
            for (key, entry) in new.iter().filter(|(key, _)| *first == "*" || first == key) {
                if let Some(own) = old.get_mut(key) {
                    give_way(&mut own.node, &entry.node, rest);
                }
            }
        }
    }
}

/// Parses one file to a tree. Findings are later sorted by `rank`.
fn parsed(text: &Arc<SourceText>, rank: usize) -> Result<Node, Diagnostics> {
    if text.text.len() > MAX_TABLE_BYTES {
        let message = format!(
            "the table {} has {} bytes; {MAX_TABLE_BYTES} is the limit",
            text.name,
            text.text.len()
        );
        return Err(Diagnostic::error(codes::FILE, message).into());
    }
    strait_document::syntax(&Arc::new(Source {
        text: Arc::clone(text),
        folder: PathBuf::new(),
        rank,
    }))
}

/// True if the text comes from a file with this name.
pub(super) fn is_name_of(file: &str, text: &SourceText) -> bool {
    Path::new(&text.name).file_name() == Some(file.as_ref())
}

/// True for a plain file name, which cannot lead to another folder.
pub(super) fn is_file_name(name: &str) -> bool {
    !matches!(name, "." | "..") && !name.contains(['/', '\\', ':', '\0'])
}
