//! A configuration without errors.

use super::{Given, settings, types::Config};
use strait_document::{Diagnostic, KeyPath, Node};

/// A configuration without errors, and where each of its keys was written.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The values, defaults filled in, paths resolved.
    pub config: Config,
    /// The folder of the file, in which commands of the configuration run.
    pub folder: std::path::PathBuf,
    /// Grids and codes that are known before; none but those that a program puts here.
    pub given: Vec<Given>,
    pub(super) tree: Node,
    /// The same as it was written, with paths that are not resolved.
    pub(super) written: Node,
}

impl Loaded {
    /// True if there is a value at `path`. Defaults do not count, but for those of paths.
    pub fn has(&self, path: &KeyPath) -> bool {
        self.tree.find(path).is_some()
    }

    /// An error about the value at `path`, with its place and `label` beside the caret: for what can only be checked
    /// with the model, the data or the target at hand. Where nothing was given at `path`, the place is that of the
    /// table or list around it.
    pub fn error(&self, code: &str, path: &KeyPath, message: impl Into<String>, label: &str) -> Diagnostic {
        self.tree.error(code, path, message, label)
    }

    /// The value at `path`, with the places in it.
    pub fn node(&self, path: &KeyPath) -> Option<&Node> {
        self.tree.find(path)
    }

    /// Settings for the manifest of one target, in a form that is the same on every machine: the keys that were given,
    /// without paths (the manifest has the digests of the files) and without other targets and their options.
    pub fn settings_for(&self, target: &str) -> serde_json::Value {
        settings::settings_for(&self.tree, target)
    }
}
