//! Reading an artifact.

use crate::digest::sha256;
use crate::folder::{entries, read_file};
use crate::manifest::{self, FileEntry, Manifest, ManifestError};
use crate::model::{self, Model};
use crate::path::place;
use crate::{ArtifactError, Integrity, MANIFEST_FILE, MODEL_FILE};
use bytes::Bytes;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Number of attempts when the artifact is replaced while it is being opened.
const ATTEMPTS: usize = 16;

/// An artifact whose manifest has been read and whose container file is mapped.
#[derive(Clone, Debug)]
pub struct Artifact {
    folder: PathBuf,
    manifest: Manifest,
    model: Bytes,
}

/// Something in an artifact that is not as its manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A listed file is not there, or cannot be read.
    Missing(String),
    /// A file is not the listed one.
    Changed(String),
    /// A file is not listed.
    Unlisted(String),
}

impl Finding {
    /// The name of the file.
    pub fn file(&self) -> &str {
        match self {
            Finding::Missing(name) | Finding::Changed(name) | Finding::Unlisted(name) => name,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Missing(name) => write!(f, "{name} is missing"),
            Finding::Changed(name) => write!(f, "{name} is not the file that the manifest lists"),
            Finding::Unlisted(name) => write!(f, "{name} is not in the manifest"),
        }
    }
}

impl Artifact {
    /// Opens the artifact in a folder. Costs the same for any size: the container file is mapped and not yet read.
    ///
    /// # Errors
    /// [`ArtifactError::NotAnArtifact`] for a folder that has neither a manifest of ours nor a `model.strait` beside
    /// whatever is called `manifest.json`; [`ArtifactError::Damaged`] for an artifact whose manifest or container file
    /// is missing, cut or changed; [`ArtifactError::Schema`] for one of another version.
    pub fn open(folder: &Path) -> Result<Artifact, ArtifactError> {
        let mut before = read_manifest(folder)?;
        for _ in 0..ATTEMPTS {
            let (bytes, manifest) = before;
            let model = map(folder, MODEL_FILE);
            // A writer exchanges the whole folder: with the same manifest afterwards, both files are of one artifact.
            let after = read_manifest(folder)?;
            if after.0 == bytes {
                let artifact = Artifact {
                    folder: folder.into(),
                    manifest,
                    model: model?,
                };
                artifact.check_length(MODEL_FILE, &artifact.model)?;
                return Ok(artifact);
            }
            before = after;
        }
        Err(ArtifactError::NotAnArtifact {
            path: folder.into(),
            reason: "other processes keep replacing it".into(),
        })
    }

    /// Folder of the artifact.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Parts of the artifact, and its origin.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Reads the graphs and the certificates; the tensors stay in the mapped file.
    pub fn model(&self, integrity: Integrity) -> Result<Model, ArtifactError> {
        model::read(&self.model, integrity).map_err(|source| ArtifactError::Model {
            path: self.folder.join(MODEL_FILE),
            source,
        })
    }

    /// The content of a file that the manifest lists, compared with its digest.
    pub fn file(&self, name: &str) -> Result<Bytes, ArtifactError> {
        let entry = self.entry(name)?;
        let bytes = map(&self.folder, name)?;
        self.check_length(name, &bytes)?;
        if sha256(&bytes) != entry.sha256 {
            return Err(self.damaged(name, "its digest is another than the manifest's".into()));
        }
        Ok(bytes)
    }

    /// Reads every file of the folder and says what is not as the manifest describes it, by name.
    pub fn check(&self) -> Result<Vec<Finding>, ArtifactError> {
        let mut findings = Vec::new();
        for name in self.manifest.files.keys() {
            match self.file(name) {
                Ok(_) => {}
                Err(ArtifactError::Damaged { .. }) if place(&self.folder, name).is_file() => {
                    findings.push(Finding::Changed(name.clone()));
                }
                Err(_) => findings.push(Finding::Missing(name.clone())),
            }
        }
        let entries = entries(&self.folder).map_err(ArtifactError::io(&self.folder))?;
        let unlisted = entries
            .into_iter()
            .filter(|e| e != MANIFEST_FILE && !self.manifest.files.contains_key(e));
        findings.extend(unlisted.map(Finding::Unlisted));
        Ok(findings)
    }

    fn entry(&self, name: &str) -> Result<&FileEntry, ArtifactError> {
        self.manifest.files.get(name).ok_or_else(|| ArtifactError::NoSuchFile {
            path: self.folder.clone(),
            name: name.into(),
        })
    }

    fn check_length(&self, name: &str, bytes: &[u8]) -> Result<(), ArtifactError> {
        let (expected, found) = (self.entry(name)?.bytes, bytes.len() as u64);
        if expected == found {
            return Ok(());
        }
        Err(self.damaged(name, format!("it has {found} bytes, the manifest says {expected}")))
    }

    fn damaged(&self, name: &str, reason: String) -> ArtifactError {
        damaged(&self.folder, name, reason)
    }
}

fn damaged(folder: &Path, name: &str, reason: String) -> ArtifactError {
    ArtifactError::Damaged {
        path: folder.into(),
        name: name.into(),
        reason,
    }
}

/// The bytes of the manifest and what they say.
fn read_manifest(folder: &Path) -> Result<(Vec<u8>, Manifest), ArtifactError> {
    let not = |reason: String| ArtifactError::NotAnArtifact {
        path: folder.into(),
        reason,
    };
    // A container file tells that this is an artifact, whatever became of its manifest.
    let is_ours = || place(folder, MODEL_FILE).is_file();
    let path = folder.join(MANIFEST_FILE);
    let bytes = read_file(&path, manifest::MAX_BYTES).map_err(|error| match error.kind() {
        ErrorKind::NotFound if is_ours() => damaged(folder, MANIFEST_FILE, "it is missing".into()),
        ErrorKind::NotFound if folder.is_dir() => not(format!("it has no {MANIFEST_FILE}")),
        ErrorKind::NotADirectory => not("it is not a folder".into()),
        ErrorKind::NotFound => ArtifactError::io(folder)(error),
        _ => ArtifactError::io(&path)(error),
    })?;
    let manifest = Manifest::decode(&bytes).map_err(|error| match error {
        ManifestError::Not(reason) if is_ours() => damaged(folder, MANIFEST_FILE, reason),
        ManifestError::Not(reason) => not(format!("its {MANIFEST_FILE} is none: {reason}")),
        ManifestError::Schema(found) => ArtifactError::Schema {
            path: folder.into(),
            found,
            known: manifest::SCHEMA,
        },
    })?;
    Ok((bytes, manifest))
}

/// A file that the manifest lists, a regular one; a link is not, as it could lead outside.
fn map(folder: &Path, name: &str) -> Result<Bytes, ArtifactError> {
    let path = place(folder, name);
    let metadata = std::fs::symlink_metadata(&path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => damaged(folder, name, "it is missing".into()),
        _ => ArtifactError::io(&path)(error),
    })?;
    if metadata.is_symlink() {
        return Err(damaged(folder, name, "it is a link, not a file of the artifact".into()));
    }
    strait_mapped::map(&path, u64::MAX).map_err(ArtifactError::io(&path))
}
