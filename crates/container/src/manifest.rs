//! `manifest.json`: what the artifact consists of and what it was made from.

use crate::digest::Digest;
use crate::path::is_file_name;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// By this value of `format` a folder is known to be ours.
pub(crate) const FORMAT: &str = "strait-artifact";

/// The version of the manifest's keys.
pub(crate) const SCHEMA: u64 = 1;

/// The longest manifest that is read, in bytes.
pub(crate) const MAX_BYTES: u64 = 1 << 24;

/// The content of `manifest.json`, keys in alphabetical order. No clock and no host name: the same input gives the same
/// manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Every file of the artifact but the manifest itself, by its path with `/`.
    pub files: BTreeMap<String, FileEntry>,
    format: String,
    schema: u64,
    /// What the artifact was made from.
    pub sources: Sources,
    /// The target that it is for.
    pub target: TargetVersion,
    /// The compiler that made it.
    pub tool: ToolVersion,
}

/// One file of the artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// Its length.
    pub bytes: u64,
    /// Its digest.
    pub sha256: Digest,
}

/// The digests of what an artifact was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sources {
    /// The configuration, with what the command line overrode.
    pub config: Digest,
    /// The samples, by their role: `calibration`, `evaluation`, ….
    pub data: BTreeMap<String, Digest>,
    /// The model, with its external data.
    pub model: Digest,
}

/// The target of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetVersion {
    /// The target's id.
    pub id: String,
    /// The digest of its table.
    pub table: Digest,
    /// The version that its table states.
    pub version: String,
}

/// The compiler that made an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolVersion {
    /// The program's name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// Where an artifact comes from: all of the manifest that is not about its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// What the artifact is made from.
    pub sources: Sources,
    /// The target that it is for.
    pub target: TargetVersion,
    /// The compiler that makes it.
    pub tool: ToolVersion,
}

/// What tells an artifact and its version, whatever else the manifest says.
#[derive(Deserialize)]
struct Head {
    format: String,
    schema: u64,
}

/// Why a text is not a manifest that is read.
pub(crate) enum ManifestError {
    /// It is not one.
    Not(String),
    /// It is one of another schema.
    Schema(u64),
}

impl Manifest {
    pub(crate) fn new(provenance: Provenance, files: BTreeMap<String, FileEntry>) -> Manifest {
        Manifest {
            files,
            format: FORMAT.into(),
            schema: SCHEMA,
            sources: provenance.sources,
            target: provenance.target,
            tool: provenance.tool,
        }
    }

    /// The bytes of `manifest.json`.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Manifest, ManifestError> {
        let not = |error: serde_json::Error| ManifestError::Not(format!("its manifest is damaged: {error}"));
        let head: Head = serde_json::from_slice(bytes).map_err(not)?;
        if head.format != FORMAT {
            return Err(ManifestError::Not(format!(
                "its manifest is of format `{}`",
                head.format
            )));
        }
        if head.schema != SCHEMA {
            return Err(ManifestError::Schema(head.schema));
        }
        let manifest: Manifest = serde_json::from_slice(bytes).map_err(not)?;
        match manifest.files.keys().find(|name| !is_file_name(name)) {
            Some(name) => Err(ManifestError::Not(format!("its manifest names a file `{name}`"))),
            None => Ok(manifest),
        }
    }
}

/// The files that a manifest of any schema lists, or `None` where it is not one of ours.
pub(crate) fn listed_files(bytes: &[u8]) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct Listing {
        format: String,
        #[serde(default)]
        files: BTreeMap<String, serde::de::IgnoredAny>,
    }
    let listing: Listing = serde_json::from_slice(bytes).ok()?;
    (listing.format == FORMAT).then(|| listing.files.into_keys().collect())
}
