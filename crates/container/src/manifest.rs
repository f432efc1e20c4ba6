//! `manifest.json`: which files the artifact has, and what it was made from.
//!
//! The manifest has a digest of every other file and a digest of itself. The same contents are always written as the
//! same bytes. So every changed bit of an artifact is noticed.

use crate::digest::sha256;
use crate::ports::Ports;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use strait_file_names::{MOST_BYTES, MOST_FILES, check};
use strait_requantize::certificate::Digest;

/// The value of the key `format`, by which a manifest that Strait has written is recognized.
pub(crate) const FORMAT: &str = "strait-artifact";

/// The version of the manifest's keys.
pub(crate) const SCHEMA: u64 = 4;

/// Maximum length of a manifest in bytes. A longer manifest is refused.
pub(crate) const MAX_BYTES: u64 = 1 << 24;

/// The most bytes that the entry of one file takes in the manifest: the bytes of its name, and 200 bytes for its
/// length, its digest and their keys.
const MAX_FILE_BYTES: u64 = MOST_BYTES as u64 + 200;

// If there are as many files as possible, they take at most half of the manifest. So there is room for everything else.
const _: () = assert!(MOST_FILES as u64 * MAX_FILE_BYTES <= MAX_BYTES / 2);

/// The range of bytes with the line that states the manifest's own digest. It begins after the opening brace.
const DIGEST_LINE: std::ops::Range<usize> = 2..82;

/// Contents of `manifest.json`, with keys in alphabetical order. A manifest contains no time and no host name, so the
/// same input gives the same manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Digest of the manifest. This is the first field, so that its line has a fixed place and can be cut out of the
    /// text before the text is hashed: see [`Manifest::digest`].
    digest: Digest,
    /// Every file of the artifact except the manifest itself, by its path with `/`.
    pub files: BTreeMap<String, FileEntry>,
    format: String,
    /// What the model takes and gives.
    pub ports: Ports,
    schema: u64,
    /// Digests of what the artifact was made from.
    pub sources: Sources,
    /// The target that the artifact was compiled for.
    pub target: TargetVersion,
    /// The compiler that made the artifact.
    pub tool: ToolVersion,
}

/// What the manifest says about one file of the artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// Length of the file in bytes.
    pub bytes: u64,
    /// For the container file: the digest of its header and section table. When the artifact is opened, this digest
    /// shows at once whether the container file belongs to the artifact. Absent for other files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Digest>,
    /// SHA-256 digest of the file.
    pub sha256: Digest,
}

/// Digests of what an artifact was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sources {
    /// Digest of the configuration, including the keys that the command line overrode.
    pub config: Digest,
    /// Digests of the samples. The key is what the samples are used for, such as `calibration` or `evaluation`.
    pub data: BTreeMap<String, Digest>,
    /// Digest of the model, including its external data.
    pub model: Digest,
    /// Why the artifact must not be deployed; absent if it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_for_deployment: Option<String>,
    /// For samples that are images: name and version of the code that read the images. The key is what the samples are
    /// used for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub readers: BTreeMap<String, String>,
}

/// The target that an artifact was compiled for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetVersion {
    /// Id of the target.
    pub id: String,
    /// The code that belongs to the target, or the tables that the target's table extends. Absent if the target is a
    /// single table in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<TargetOrigin>,
    /// Digest of the target's table.
    pub table: Digest,
    /// The version that the table states.
    pub version: String,
}

/// What a target consists of besides its own table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum TargetOrigin {
    /// The target is a plugin in a shared library.
    Library {
        /// Major and minor version of the plugin interface that the library is built for.
        interface: [u32; 2],
        /// Name and version of the plugin, as it states them.
        package: String,
        /// SHA-256 digest of the library, as 64 hexadecimal digits.
        sha256: String,
    },
    /// The target is a package in the program itself: its name and version.
    Package(String),
    /// The target is a table in a file that extends other tables.
    Table {
        /// The tables that the target's own table extends, the nearest first.
        extends: Vec<ExtendedTable>,
    },
}

/// A table that the table of a target extends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtendedTable {
    /// Id of the extended table.
    pub id: String,
    /// SHA-256 digest of the table's text, as 64 hexadecimal digits.
    pub sha256: String,
    /// Version of the extended table.
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
    /// Name of the program.
    pub name: String,
    /// Version of the program.
    pub version: String,
}

/// Where an artifact comes from: everything in the manifest that is not about its files.
#[derive(Clone, Debug, PartialEq)]
pub struct Provenance {
    /// What the model takes and gives.
    pub ports: Ports,
    /// Digests of what the artifact was made from.
    pub sources: Sources,
    /// The target that the artifact is compiled for.
    pub target: TargetVersion,
    /// The compiler that makes the artifact.
    pub tool: ToolVersion,
}

/// The keys that identify a manifest and its version. They are read first, so that manifests of other versions are
/// recognized, too.
#[derive(Deserialize)]
struct Head {
    format: String,
    schema: u64,
    #[serde(default)]
    tool: Option<HeadTool>,
}

/// What is read of the tool in manifests of any version.
#[derive(Deserialize)]
struct HeadTool {
    #[serde(default)]
    version: Option<String>,
}

/// Why a text is not a manifest that this program reads.
pub(crate) enum ManifestError {
    /// The text is not a manifest that Strait has written.
    Not(String),
    /// The manifest has another schema version, which is given here, with the version of the program that wrote it.
    Schema(u64, Option<String>),
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
            ports: provenance.ports,
            schema: SCHEMA,
            sources: provenance.sources,
            target: provenance.target,
            tool: provenance.tool,
        };
        manifest.digest = digest_of(&manifest.encode()?);
        Ok(manifest)
    }

    /// Returns the digest that identifies the whole artifact. It is the SHA-256 of `manifest.json` without the line
    /// that states the digest.
    ///
    /// `manifest.json` has the digests of every other file and of everything that the artifact was made from. So
    /// artifacts with the same digest are equal byte for byte.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Bytes of `manifest.json`.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads a manifest. The bytes must be exactly those that [`Manifest::encode`] would write and must have the digest
    /// that they state.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Manifest, ManifestError> {
        let not = |error: serde_json::Error| ManifestError::Not(error.to_string());
        let head: Head = serde_json::from_slice(bytes).map_err(not)?;
        if head.format != FORMAT {
            return Err(ManifestError::Not(format!("it is of format `{}`", head.format)));
        }
        if head.schema != SCHEMA {
            return Err(ManifestError::Schema(
                head.schema,
                head.tool.and_then(|tool| tool.version),
            ));
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

/// Digest of an encoded manifest without the line that states it.
fn digest_of(encoded: &[u8]) -> Digest {
    let before = encoded.get(..DIGEST_LINE.start).unwrap_or_default();
    let behind = encoded.get(DIGEST_LINE.end..).unwrap_or_default();
    sha256(&[before, behind].concat())
}

/// Returns the files that a manifest lists, whatever its schema version is. Returns `None` if the bytes are not a
/// manifest that Strait has written.
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
            ports: Ports::default(),
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
        // The greatest allowed number of files, each with a different name of the greatest allowed length.
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
