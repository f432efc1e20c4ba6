//! A configuration without errors.

use super::{Given, settings, types::Config};
use strait_document::{Diagnostic, KeyPath, Node};

/// A configuration without errors, with the place of each of its keys.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The values, with defaults filled in and paths resolved.
    pub config: Config,
    /// The folder of the file. Commands of the configuration run in it.
    pub folder: std::path::PathBuf,
    /// Grids and codes that are known in advance. Only programs add them.
    pub given: Vec<Given>,
    pub(super) tree: Node,
    /// The same as it was written, with paths that are not resolved.
    pub(super) written: Node,
}

impl Loaded {
    /// True if there is a value at `path`. Defaults do not count, except those of paths.
    pub fn has(&self, path: &KeyPath) -> bool {
        self.tree.find(path).is_some()
    }

    /// An error about the value at `path`, with its place and with `label` next to the caret. It is for errors that can only be
    /// found with the model, the data or the target. If there is no value at `path`, the place is that of the enclosing table
    /// or list.
    pub fn error(&self, code: &str, path: &KeyPath, message: impl Into<String>, label: &str) -> Diagnostic {
        self.tree.error(code, path, message, label)
    }

    /// The value at `path`, including its places.
    pub fn node(&self, path: &KeyPath) -> Option<&Node> {
        self.tree.find(path)
    }

    /// The settings for the manifest of one target. They are the same on every machine: paths are left out, since the manifest
    /// has the digests of the files, and so are other targets and their options.
    pub fn settings_for(&self, target: &str) -> serde_json::Value {
        settings::settings_for(&self.tree, target)
    }
}
