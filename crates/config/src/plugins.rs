//! Files that contain targets, and the digests that say which files are trusted.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::leaf::{FilePath, Sha256};

/// A file with the table of a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TableFile {
    /// A path. The content of the file is not checked against a digest.
    Path(FilePath),
    /// A path with a digest.
    Pinned(PinnedFile),
}

/// A file with its digest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PinnedFile {
    /// The file.
    pub path: FilePath,
    /// The digest that the file must have. It is an error if the file has another one. `strait plugin lock` writes this key.
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

    /// The digest that the file must have, if the configuration states one.
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
    /// The SHA-256 that the library must have: one digest, or one for each platform. `strait plugin lock` writes this key.
    pub sha256: Option<Pin>,
    /// If false, it is not an error that the file does not exist: its target is just missing.
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
    /// The same digest on every platform.
    One(Sha256),
    /// A digest for each platform, by the platform's name, such as `x86_64-unknown-linux-gnu`.
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

/// What to do with plugins whose digest is not stated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Trust {
    /// What to do with a plugin of `[[plugin]]` that has no `sha256` for this platform. Tables are data and do not need a
    /// digest.
    pub unpinned: Unpinned,
}

/// What to do with a plugin whose digest is not stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unpinned {
    /// It is an error, and no code of the plugin runs.
    #[default]
    Deny,
    /// The plugin is used, and a warning gives its digest.
    Warn,
    /// The plugin is used without a message.
    Allow,
}
