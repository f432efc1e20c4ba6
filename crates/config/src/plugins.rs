//! Files that contain targets, and the digests that say which files are trusted.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::leaf::{FilePath, Sha256};

/// The table of a target, in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TableFile {
    /// Whatever it says.
    Path(FilePath),
    /// With a digest.
    Pinned(PinnedFile),
}

/// A file with its digest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PinnedFile {
    /// The file.
    pub path: FilePath,
    /// The digest that it must have; another is an error. `strait plugin lock` writes it.
    pub sha256: Option<Sha256>,
}

impl TableFile {
    /// The path of the file.
    pub fn path(&self) -> &FilePath {
        match self {
            TableFile::Path(path) => path,
            TableFile::Pinned(file) => &file.path,
        }
    }

    /// The digest that it must have.
    pub fn sha256(&self) -> Option<String> {
        match self {
            TableFile::Path(_) => None,
            TableFile::Pinned(file) => file.sha256.as_ref().map(Sha256::hex),
        }
    }
}

/// A plugin in a shared library.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plugin {
    /// The library.
    pub path: FilePath,
    /// The SHA-256 that the library must have: one digest, or one for each platform. `strait plugin lock` writes it.
    pub sha256: Option<Pin>,
    /// False: if the file does not exist, its target is missing, and that is not an error.
    #[serde(default = "yes")]
    pub required: bool,
}

fn yes() -> bool {
    true
}

/// The digest of a library.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Pin {
    /// On every platform.
    One(Sha256),
    /// By the platform, as `x86_64-unknown-linux-gnu`.
    Each(BTreeMap<String, Sha256>),
}

impl Pin {
    /// The digest that the library must have on a platform, if the configuration states one.
    pub fn on(&self, platform: &str) -> Option<String> {
        match self {
            Pin::One(digest) => Some(digest.hex()),
            Pin::Each(digests) => digests.get(platform).map(Sha256::hex),
        }
    }
}

/// Plugins that nobody has vouched for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Trust {
    /// What to do with a plugin of `[[plugin]]` that has no `sha256` for this platform. Tables are data and do not need a
    /// digest.
    pub unpinned: Unpinned,
}

/// Consequence where a plugin is not pinned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unpinned {
    /// It is an error, and no code of the plugin runs.
    #[default]
    Deny,
    /// A warning gives the digest of the plugin.
    Warn,
    /// The plugin is used without a message.
    Allow,
}
