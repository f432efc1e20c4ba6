//! A configuration that has been checked and has no errors.

use super::{Given, settings, types::Config};
use strait_document::{Diagnostic, KeyPath, Node};

/// A configuration that has no errors, with the place of each key.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The values. Defaults are filled in, and paths are resolved.
    pub config: Config,
    /// The folder of the file. Commands of the configuration run in it.
    pub folder: std::path::PathBuf,
    /// Grids and codes that are known in advance. Only programs add them.
    pub given: Vec<Given>,
    /// The keys that the command line set with `--set`, as it gave them, without those with paths and those that choose
    /// targets. They are the same on every machine.
    pub set: Vec<String>,
    pub(super) tree: Node,
    /// The tree of the configuration as it was written, in which paths are not resolved.
    pub(super) written: Node,
}

impl Loaded {
    /// True if the configuration has a value at `path`. Defaults do not count, except the defaults of paths.
    pub fn has(&self, path: &KeyPath) -> bool {
        self.tree.find(path).is_some()
    }

    /// Makes an error about the value at `path`. The error shows the place of the value, with `label` next to the
    /// caret. If there is no value at `path`, it shows the place of the enclosing table or list. This function is used
    /// for errors that can only be found with the model, the data or the target.
    pub fn error(&self, code: &str, path: &KeyPath, message: impl Into<String>, label: &str) -> Diagnostic {
        self.tree.error(code, path, message, label)
    }

    /// The node of the value at `path`, with the places of everything in it.
    pub fn node(&self, path: &KeyPath) -> Option<&Node> {
        self.tree.find(path)
    }

    /// Returns the settings that are recorded in the manifest of one target. They are the same on every machine. Paths
    /// are left out, because the manifest has the digests of the files instead. Other targets and their options are
    /// left out too.
    pub fn settings_for(&self, target: &str) -> serde_json::Value {
        settings::settings_for(&self.tree, target)
    }
}
