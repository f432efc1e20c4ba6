//! Loads a configuration from a file and the arguments of the command line, and checks it.

use crate::loaded::Loaded;
use std::path::Path;

use strait_document::{Diagnostic, Diagnostics, KeyPath, Node, Source, Value, codes};

use super::{Override, consistency, overrides, types::Config};

/// The largest size of a configuration file.
const MOST_BYTES: u64 = 10 << 20;

impl Loaded {
    /// Returns the configuration with additional rules and keys. The rules are placed before the rules of `[quantize]`.
    /// A key is only used if the configuration does not set it itself. The additions are checked like the keys of the
    /// file, and errors can show the place of each addition.
    ///
    /// # Errors
    /// The additions have errors. All of them are reported at once.
    pub fn with(&self, rules: Vec<Node>, keys: Vec<(Vec<String>, Node)>) -> Result<Loaded, Diagnostics> {
        let mut tree = self.written.clone();
        for (path, node) in keys {
            let given = path.iter().fold(KeyPath::default(), |path, key| path.key(key));
            if !self.has(&given) {
                let keys = path.into_iter().map(|key| (key, node.location.clone()));
                overrides::put(&mut tree, keys.collect(), node.clone())?;
            }
        }
        let path = ["quantize", "rule"].map(|key| (key.to_owned(), tree.location.clone()));
        let own = tree.find(&KeyPath::of(&["quantize", "rule"])).cloned();
        let place = own.as_ref().map_or(&tree.location, |own| &own.location).clone();
        let mut all = rules;
        if let Some(Value::List(own)) = own.map(|own| own.value) {
            all.extend(own);
        }
        overrides::put(&mut tree, path.into(), Value::List(all).at(&place))?;
        let expanded = loaded(tree, &self.folder)?;
        Ok(Loaded {
            given: self.given.clone(),
            set: self.set.clone(),
            ..expanded
        })
    }
}

/// Reads the file, sets the keys that the command line gives, and checks the result.
///
/// # Errors
/// The configuration has errors. All of them are reported at once, each with its line.
pub fn load(file: &Path, overrides: &[Override]) -> Result<Loaded, Diagnostics> {
    let name = file.display().to_string();
    let text = read(file).map_err(|message| {
        let nothing = Source::new(&name, String::new(), Path::new(""), 0);
        Diagnostic::error(codes::FILE, message).at(nothing.place(None).excerpt(""))
    })?;
    parse(&name, text, file.parent().unwrap_or(Path::new("")), overrides)
}

/// Like [`load`], for a text that has already been read. `name` is used in messages; paths in the text are relative to
/// `folder`.
///
/// # Errors
/// As for [`load`].
pub fn parse(name: &str, text: String, folder: &Path, overrides: &[Override]) -> Result<Loaded, Diagnostics> {
    let mut tree = strait_document::syntax(&Source::new(name, text, folder, 0))?;
    let refused = overrides
        .iter()
        .zip(1..)
        .filter_map(|(given, rank)| given.apply(&mut tree, rank).err())
        .flat_map(|refused| refused.0);
    Diagnostics(refused.collect()).or(())?;
    let set = overrides.iter().filter_map(Override::portable);
    Ok(Loaded {
        set: set.collect(),
        ..loaded(tree, folder)?
    })
}

fn loaded(tree: Node, folder: &Path) -> Result<Loaded, Diagnostics> {
    let (mut tree, written) = (tree.clone(), tree);
    let config: Config = strait_document::read(&mut tree)?;
    let loaded = Loaded {
        config,
        folder: folder.to_owned(),
        given: Vec::new(),
        set: Vec::new(),
        tree,
        written,
    };
    consistency::check(&loaded)?;
    Ok(loaded)
}

/// Reads the text of the file.
fn read(file: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("the configuration cannot be read: {error}");
    let bytes = strait_mapped::read(file, MOST_BYTES).map_err(failed)?;
    strait_document::utf8("the configuration", bytes)
}
