//! Reading an artifact.

use crate::digest::{of_file, sha256};
use crate::error::is_later;
use crate::folder::read_limited;
use crate::format;
use crate::held::Held;
use crate::manifest::{self, FileEntry, Manifest, ManifestError};
use crate::model::{self, Model};
use crate::{ArtifactError, Integrity, MANIFEST_FILE, MODEL_FILE};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use strait_mapped::{MappedFile, read_part};

/// How often opening an artifact is tried again if another process replaces the artifact meanwhile.
const ATTEMPTS: usize = 16;

/// How many files of an artifact stay open, besides the container file. Most artifacts have fewer files. The number is
/// limited because a process may only have some hundred files open.
const MOST_HELD: usize = 64;

/// An artifact whose manifest has been read.
///
/// Its folder and files stay open. So everything that is read later belongs to the same artifact, even if another
/// artifact has been put in its place meanwhile.
#[derive(Clone, Debug)]
pub struct Artifact {
    folder: Arc<Held>,
    manifest: Manifest,
    model: Arc<File>,
    files: Arc<BTreeMap<String, File>>,
}

/// One way in which an artifact differs from its manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileFinding {
    /// A file that the manifest lists is missing or cannot be read.
    Missing(String),
    /// A file does not have the contents that the manifest states.
    Changed(String),
    /// A file is in the folder, but the manifest does not list it.
    Unlisted(String),
}

impl FileFinding {
    /// Name of the file that the finding is about.
    pub fn file(&self) -> &str {
        match self {
            FileFinding::Missing(name) | FileFinding::Changed(name) | FileFinding::Unlisted(name) => name,
        }
    }
}

impl fmt::Display for FileFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileFinding::Missing(name) => write!(f, "{name} is missing"),
            FileFinding::Changed(name) => write!(f, "{name} is not the file that the manifest lists"),
            FileFinding::Unlisted(name) => write!(f, "{name} is not in the manifest"),
        }
    }
}

impl Artifact {
    /// Opens the artifact in a folder.
    ///
    /// The cost does not depend on the artifact's size: only the header and the section table of the container file are
    /// read. The section table has the checksums of everything else in that file.
    ///
    /// # Errors
    /// - [`ArtifactError::NotAnArtifact`]: the folder has neither a manifest that Strait has written nor a
    ///   `model.strait`.
    /// - [`ArtifactError::Damaged`]: the manifest or the container file is missing, cut off, changed, or belongs to
    ///   another artifact.
    /// - [`ArtifactError::Newer`] and [`ArtifactError::Older`]: the artifact has another version.
    /// - [`ArtifactError::Replaced`]: other processes keep replacing the artifact.
    pub fn open(folder: &Path) -> Result<Artifact, ArtifactError> {
        for _ in 0..ATTEMPTS {
            let held = Held::open(folder).map_err(|error| match error.kind() {
                ErrorKind::NotADirectory => not_an_artifact(folder, "it is not a folder".into()),
                _ => ArtifactError::io(folder)(error),
            })?;
            let held = Arc::new(held);
            let opened = Artifact::of(held.clone());
            // A writer that replaces the artifact removes the old folder file by file. If the removal has begun,
            // opening is tried again.
            if opened.as_ref().is_ok_and(Artifact::is_whole) || held.is_current() {
                return opened;
            }
        }
        Err(ArtifactError::Replaced { path: folder.into() })
    }

    fn of(folder: Arc<Held>) -> Result<Artifact, ArtifactError> {
        let manifest = read_manifest(&folder)?;
        let model = open_file(&folder, MODEL_FILE)?;
        let names = manifest.files.keys().filter(|name| *name != MODEL_FILE);
        let open = |name: &String| Some((name.clone(), folder.file(name).ok()?));
        let files = names.take(MOST_HELD).filter_map(open).collect();
        let artifact = Artifact {
            folder,
            manifest,
            model: Arc::new(model),
            files: Arc::new(files),
        };
        artifact.check_length(MODEL_FILE, &artifact.model)?;
        let head = format::read_head(&artifact.model).map_err(ArtifactError::io(&artifact.place(MODEL_FILE)))?;
        artifact.check_head(&head)?;
        Ok(artifact)
    }

    /// True if all files in the manifest that should stay open could be opened.
    fn is_whole(&self) -> bool {
        self.files.len() == (self.manifest.files.len() - 1).min(MOST_HELD)
    }

    /// The artifact's folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The manifest: which files the artifact has, and what it was made from.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Reads the graphs and the certificates.
    ///
    /// With [`Integrity::Full`], the whole container file is read and compared with its checksums. Otherwise the
    /// tensors stay in the mapped file and are only read when they are used.
    pub fn model(&self, integrity: Integrity) -> Result<Model, ArtifactError> {
        let bytes = match integrity {
            Integrity::Full => self.content(MODEL_FILE, &self.model)?,
            Integrity::SkipTensors => {
                let length = self.check_length(MODEL_FILE, &self.model)?;
                let mapped = self.model.try_clone().and_then(|file| MappedFile::of(file, length));
                mapped
                    .map_err(ArtifactError::io(&self.place(MODEL_FILE)))?
                    .whole()
                    .clone()
            }
        };
        self.check_head(&bytes)?;
        model::read(&bytes, integrity).map_err(|source| match source.is_newer() {
            true => self.newer(MODEL_FILE, format!("cannot be read: {source}")),
            false => ArtifactError::Model {
                path: self.place(MODEL_FILE),
                source,
            },
        })
    }

    /// The error for a file with something that this program does not know, because a newer one wrote it.
    pub fn newer(&self, file: &str, what: impl Into<String>) -> ArtifactError {
        ArtifactError::Newer {
            path: self.folder().to_owned(),
            file: file.to_owned(),
            what: what.into(),
            made_by: Some(self.manifest().tool.version.clone()),
        }
    }

    /// True if a later version of strait than this one made the artifact.
    pub fn is_of_later_version(&self) -> bool {
        is_later(&self.manifest().tool.version, env!("CARGO_PKG_VERSION"))
    }

    /// The contents of a file that the manifest lists, compared with its digest.
    pub fn file(&self, name: &str) -> Result<Bytes, ArtifactError> {
        let entry = self.entry(name)?;
        let bytes = self.with_file(name, |file| self.content(name, file))?;
        if sha256(&bytes) != entry.sha256 {
            return Err(self.damaged(name, "its digest is another than the manifest's".into()));
        }
        Ok(bytes)
    }

    /// Reads every file of the folder and lists, sorted by name, what differs from the manifest.
    ///
    /// # Errors
    /// [`ArtifactError::Replaced`] if another artifact has taken this one's place and files that were not kept open are
    /// gone.
    pub fn check(&self) -> Result<Vec<FileFinding>, ArtifactError> {
        let mut findings = Vec::new();
        for (name, entry) in &self.manifest.files {
            let is_same = self.with_file(name, |file| {
                let found = of_file(file).map_err(ArtifactError::io(&self.place(name)))?;
                Ok(found == (entry.bytes, entry.sha256))
            });
            match is_same {
                Ok(true) => {}
                Ok(false) => findings.push(FileFinding::Changed(name.clone())),
                Err(_) => findings.push(FileFinding::Missing(name.clone())),
            }
        }
        if !findings.is_empty() && !self.folder.is_current() {
            return Err(ArtifactError::Replaced {
                path: self.folder().into(),
            });
        }
        let entries = match self.folder.entries() {
            // A folder that has been replaced and removed has no entries any more. Its files were still open above.
            Err(_) if !self.folder.is_current() => Vec::new(),
            entries => entries.map_err(ArtifactError::io(self.folder()))?,
        };
        let unlisted = entries
            .into_iter()
            .filter(|e| e != MANIFEST_FILE && !self.manifest.files.contains_key(e));
        findings.extend(unlisted.map(FileFinding::Unlisted));
        Ok(findings)
    }

    /// Calls a function with the file `name`. If the file is not kept open, it is opened for the call.
    fn with_file<T>(
        &self,
        name: &str,
        work: impl FnOnce(&File) -> Result<T, ArtifactError>,
    ) -> Result<T, ArtifactError> {
        match self.files.get(name) {
            _ if name == MODEL_FILE => work(&self.model),
            Some(file) => work(file),
            None => match open_file(&self.folder, name) {
                Err(_) if !self.folder.is_current() => Err(ArtifactError::Replaced {
                    path: self.folder().into(),
                }),
                file => work(&file?),
            },
        }
    }

    /// Reads a whole file. The file must have the length that the manifest states.
    fn content(&self, name: &str, file: &File) -> Result<Bytes, ArtifactError> {
        let length = self.check_length(name, file)?;
        let length =
            usize::try_from(length).map_err(|_| self.damaged(name, "it is too long for this machine".into()))?;
        match read_part(file, 0, length) {
            Ok(bytes) => Ok(bytes.into()),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(self.damaged(name, error.to_string())),
            Err(error) => Err(ArtifactError::io(&self.place(name))(error)),
        }
    }

    fn entry(&self, name: &str) -> Result<&FileEntry, ArtifactError> {
        self.manifest.files.get(name).ok_or_else(|| ArtifactError::NoSuchFile {
            path: self.folder().into(),
            name: name.into(),
        })
    }

    fn check_length(&self, name: &str, file: &File) -> Result<u64, ArtifactError> {
        let expected = self.entry(name)?.bytes;
        let found = file.metadata().map_err(ArtifactError::io(&self.place(name)))?.len();
        if expected == found {
            return Ok(found);
        }
        Err(self.damaged(name, format!("it has {found} bytes, the manifest says {expected}")))
    }

    /// Compares the header and the section table at the start of the container file with the manifest.
    fn check_head(&self, file: &[u8]) -> Result<(), ArtifactError> {
        match self.entry(MODEL_FILE)?.head {
            Some(digest) if digest == sha256(format::head(file)) => Ok(()),
            _ => {
                let reason = "its header is not the one that the manifest lists: it is changed, or of another artifact";
                Err(self.damaged(MODEL_FILE, reason.into()))
            }
        }
    }

    fn place(&self, name: &str) -> std::path::PathBuf {
        crate::path::place(self.folder(), name)
    }

    fn damaged(&self, name: &str, reason: String) -> ArtifactError {
        damaged(self.folder(), name, reason)
    }
}

fn damaged(folder: &Path, name: &str, reason: String) -> ArtifactError {
    ArtifactError::Damaged {
        path: folder.into(),
        name: name.into(),
        reason,
    }
}

fn not_an_artifact(folder: &Path, reason: String) -> ArtifactError {
    ArtifactError::NotAnArtifact {
        path: folder.into(),
        reason,
    }
}

fn read_manifest(folder: &Held) -> Result<Manifest, ArtifactError> {
    let not = |reason: String| not_an_artifact(folder.path(), reason);
    // A folder with a container file is an artifact, even if its manifest is missing or damaged.
    let is_ours = || folder.file(MODEL_FILE).is_ok();
    let damaged = |reason: String| damaged(folder.path(), MANIFEST_FILE, reason);
    let bytes = folder
        .file(MANIFEST_FILE)
        .and_then(|file| read_limited(file, manifest::MAX_BYTES));
    let bytes = bytes.map_err(|error| match error.kind() {
        ErrorKind::NotFound if is_ours() => damaged("it is missing".into()),
        ErrorKind::NotFound => not(format!("it has no {MANIFEST_FILE}")),
        _ => ArtifactError::io(&folder.path().join(MANIFEST_FILE))(error),
    })?;
    Manifest::decode(&bytes).map_err(|error| match error {
        ManifestError::Not(reason) if is_ours() => damaged(reason),
        ManifestError::Not(reason) => not(format!("its {MANIFEST_FILE} is none: {reason}")),
        ManifestError::Schema(found, made_by) if found > manifest::SCHEMA => ArtifactError::Newer {
            path: folder.path().into(),
            file: MANIFEST_FILE.to_owned(),
            what: format!("is of schema {found}, and schema {} is read", manifest::SCHEMA),
            made_by,
        },
        ManifestError::Schema(found, made_by) => ArtifactError::Older {
            path: folder.path().into(),
            found,
            known: manifest::SCHEMA,
            made_by,
        },
    })
}

/// Opens a file that the manifest lists.
fn open_file(folder: &Held, name: &str) -> Result<File, ArtifactError> {
    folder.file(name).map_err(|error: io::Error| match error.kind() {
        ErrorKind::NotFound => damaged(folder.path(), name, "it is missing".into()),
        ErrorKind::InvalidData => damaged(folder.path(), name, error.to_string()),
        _ => ArtifactError::io(&crate::path::place(folder.path(), name))(error),
    })
}
