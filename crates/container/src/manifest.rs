//! `manifest.json`: what the artifact consists of and what it was made from.
//!
//! The manifest has a digest of every other file and one of itself, and only one spelling: no bit of an artifact can
//! change unnoticed.

use crate::digest::sha256;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use strait_file_names::{MOST_BYTES, MOST_FILES, check};
use strait_requantize::certificate::Digest;

/// By this value of `format` a folder is known to be ours.
pub(crate) const FORMAT: &str = "strait-artifact";

/// The version of the manifest's keys.
pub(crate) const SCHEMA: u64 = 3;

/// The longest manifest that is read, in bytes.
pub(crate) const MAX_BYTES: u64 = 1 << 24;

/// The most bytes of the manifest that a file takes: its name, and 200 for its length, its digest and their keys.
const MAX_FILE_BYTES: u64 = MOST_BYTES as u64 + 200;

// As many files as there may be leave room for all that the manifest says besides.
const _: () = assert!(MOST_FILES as u64 * MAX_FILE_BYTES <= MAX_BYTES / 2);

/// The line of the manifest's own digest: where it begins, behind the opening brace, and where it ends.
const DIGEST_LINE: std::ops::Range<usize> = 2..82;

/// The content of `manifest.json`, keys in alphabetical order. No clock and no host name: the same input gives the same
/// manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// First, because its line is taken out of the text of which it is the digest: see [`Manifest::digest`].
    digest: Digest,
    /// Every file of the artifact but the manifest itself, by its path with `/`.
    pub files: BTreeMap<String, FileEntry>,
    format: String,
    schema: u64,
    /// Origin of the artifact.
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
    /// Of the container file, the digest of its header and its section table, by which whoever opens it knows at once that it
    /// is this artifact's. Other files have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Digest>,
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
    /// Reason why the artifact is not for deployment; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_for_deployment: Option<String>,
    /// Names and versions of what reads the samples that are images, by their role.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub readers: BTreeMap<String, String>,
}

/// The target of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetVersion {
    /// The target's id.
    pub id: String,
    /// The code that it comes with, or the tables that its own stands on; absent of a target that is a table in a file alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<TargetOrigin>,
    /// The digest of its table.
    pub table: Digest,
    /// The version that its table states.
    pub version: String,
}

/// Origin of a target besides its table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum TargetOrigin {
    /// A plugin in a shared library.
    Library {
        /// Major and minor version of the interface that it is built for.
        interface: [u32; 2],
        /// Its name and version, as it says.
        package: String,
        /// SHA-256 of the library, as 64 hexadecimal digits.
        sha256: String,
    },
    /// A package of the program: its name and version.
    Package(String),
    /// A table in a file that stands on others.
    Table {
        /// These, the nearest first.
        extends: Vec<ExtendedTable>,
    },
}

/// A table that a target's own stands on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtendedTable {
    /// Its id.
    pub id: String,
    /// SHA-256 of its text, as 64 hexadecimal digits.
    pub sha256: String,
    /// Its version.
    pub version: String,
}

impl fmt::Display for TargetOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetOrigin::Package(package) => f.write_str(package),
            TargetOrigin::Library {
                interface: [major, minor],
                package,
                sha256,
            } => write!(
                f,
                "{package}, a library with SHA-256 {sha256} for version {major}.{minor} of the interface"
            ),
            TargetOrigin::Table { extends } => {
                f.write_str("a table in a file")?;
                for (index, ExtendedTable { id, sha256, version }) in extends.iter().enumerate() {
                    let on = if index == 0 { " on" } else { ", which is on" };
                    write!(f, "{on} {id} {version} with SHA-256 {sha256}")?;
                }
                Ok(())
            }
        }
    }
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

/// Origin of an artifact: all of the manifest that is not about its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// Inputs of the artifact.
    pub sources: Sources,
    /// The target that it is for.
    pub target: TargetVersion,
    /// The compiler that makes it.
    pub tool: ToolVersion,
}

/// Marks of an artifact and its version, whatever else the manifest says.
#[derive(Deserialize)]
struct Head {
    format: String,
    schema: u64,
}

/// Reason why a text is not a manifest that is read.
pub(crate) enum ManifestError {
    /// It is not one.
    Not(String),
    /// It is one of another schema.
    Schema(u64),
}

impl Manifest {
    pub(crate) fn new(
        provenance: Provenance,
        files: BTreeMap<String, FileEntry>,
    ) -> Result<Manifest, serde_json::Error> {
        let mut manifest = Manifest {
            digest: sha256(b""),
            files,
            format: FORMAT.into(),
            schema: SCHEMA,
            sources: provenance.sources,
            target: provenance.target,
            tool: provenance.tool,
        };
        manifest.digest = digest_of(&manifest.encode()?);
        Ok(manifest)
    }

    /// The digest of the whole artifact, by which it is known: SHA-256 of `manifest.json` without the line that states
    /// it. As that text has the digest of every other file and of what the artifact was made from, an artifact of the
    /// same digest is the same byte for byte.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The bytes of `manifest.json`.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Manifest of the bytes, if they are its one spelling and have the digest that they state.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Manifest, ManifestError> {
        let not = |error: serde_json::Error| ManifestError::Not(error.to_string());
        let head: Head = serde_json::from_slice(bytes).map_err(not)?;
        if head.format != FORMAT {
            return Err(ManifestError::Not(format!("it is of format `{}`", head.format)));
        }
        if head.schema != SCHEMA {
            return Err(ManifestError::Schema(head.schema));
        }
        let manifest: Manifest = serde_json::from_slice(bytes).map_err(not)?;
        for name in manifest.files.keys() {
            check(name)
                .map_err(|fault| ManifestError::Not(format!("it names a file `{}`: {fault}", name.escape_debug())))?;
        }
        if manifest.encode().map_err(not)? != bytes {
            return Err(ManifestError::Not("it is not spelt as strait writes it".into()));
        }
        if digest_of(bytes) != manifest.digest {
            return Err(ManifestError::Not("its own digest is another than it states".into()));
        }
        Ok(manifest)
    }
}

/// The digest of an encoded manifest without the line that states it.
fn digest_of(encoded: &[u8]) -> Digest {
    let before = encoded.get(..DIGEST_LINE.start).unwrap_or_default();
    let behind = encoded.get(DIGEST_LINE.end..).unwrap_or_default();
    sha256(&[before, behind].concat())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn provenance() -> Provenance {
        let digest = sha256(b"");
        Provenance {
            sources: Sources {
                config: digest,
                data: BTreeMap::new(),
                model: digest,
                not_for_deployment: None,
                readers: BTreeMap::new(),
            },
            target: TargetVersion {
                id: "t".into(),
                origin: None,
                table: digest,
                version: "1".into(),
            },
            tool: ToolVersion {
                name: "strait".into(),
                version: "1".into(),
            },
        }
    }

    #[test]
    fn a_manifest_of_as_many_files_as_there_may_be_is_read() {
        // Each of the greatest length, and another than all others.
        let rest = ["a".repeat(200), "a".repeat(200), "a".repeat(MOST_BYTES - 407)].join("/");
        let names = (0..MOST_FILES).map(|index| format!("{index:05}{rest}"));
        let entry = FileEntry {
            bytes: u64::MAX,
            head: None,
            sha256: sha256(b""),
        };
        let files: BTreeMap<String, FileEntry> = names.map(|name| (name, entry.clone())).collect();
        assert!(files.len() == MOST_FILES && files.keys().all(|name| name.len() == MOST_BYTES));
        let bytes = Manifest::new(provenance(), files).unwrap().encode().unwrap();
        assert!(bytes.len() as u64 <= MOST_FILES as u64 * MAX_FILE_BYTES + 2000);
        assert!(bytes.len() as u64 <= MAX_BYTES);
        assert!(Manifest::decode(&bytes).is_ok());
    }

    #[test]
    fn the_digest_is_that_of_the_text_without_its_line() {
        let manifest = Manifest::new(provenance(), BTreeMap::new()).unwrap();
        let text = String::from_utf8(manifest.encode().unwrap()).unwrap();
        let stated = format!("  \"digest\": \"{}\",\n", manifest.digest());
        assert!(text.starts_with(&format!("{{\n{stated}")), "{text}");
        assert_eq!(sha256(text.replace(&stated, "").as_bytes()), manifest.digest());
    }
}
