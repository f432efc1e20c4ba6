//! Writing an artifact.

use crate::digest::{Hashing, sha256};
use crate::exchange::sync_folder;
use crate::folder::{artifact_around, check_replaceable};
use crate::format;
use crate::manifest::{FileEntry, MAX_BYTES, Manifest, Provenance};
use crate::model::{self, ModelError};
use crate::path::place;
use crate::staging::Staging;
use crate::unfinished::{Closable, Unfinished, create};
use crate::{ArtifactError, MANIFEST_FILE, MODEL_FILE};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use strait_core::{CertificateRecord, Module};
use strait_file_names::FileNames;

/// An artifact in the making, in a folder beside its destination. Unless it is committed, the destination stays as it
/// was and the folder goes away with this value; what an interrupted run leaves is removed by the next one. Threads may
/// add files at the same time.
#[derive(Debug)]
pub struct ArtifactWriter {
    destination: PathBuf,
    parent: PathBuf,
    staging: Staging,
    files: Mutex<Files>,
}

/// The files of an artifact in the making.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// Names that are given away.
    names: FileNames,
    /// Files that are whole, by name.
    pub(crate) whole: BTreeMap<String, FileEntry>,
}

/// A name that nobody else can write to any more.
#[derive(Debug)]
#[must_use]
pub struct Reserved(String);

impl ArtifactWriter {
    /// Prepares to write the artifact at `destination`: nothing, an empty folder, or a previous artifact, which
    /// [`commit`](ArtifactWriter::commit) replaces. A link to a folder is followed and stays a link. Folders above it are
    /// made. A destination inside another artifact is refused: it would be a file that is not part of that one.
    pub fn create(destination: &Path) -> Result<ArtifactWriter, ArtifactError> {
        let occupied = |reason: &str| ArtifactError::Occupied {
            path: destination.into(),
            reason: reason.into(),
        };
        let outside = |place: &Path| match place.parent().and_then(artifact_around) {
            Some(artifact) => {
                let reason = format!(
                    "it lies inside the artifact {}, which it would damage",
                    artifact.display()
                );
                Err(occupied(&reason))
            }
            None => Ok(()),
        };
        // Before a folder is made there, and once more where a link leads.
        outside(&std::path::absolute(destination).map_err(ArtifactError::io(destination))?)?;
        let resolved = resolve(destination)?;
        outside(&resolved)?;
        check_replaceable(&resolved)?;
        if std::env::current_dir().is_ok_and(|current| current.starts_with(&resolved)) {
            return Err(occupied(
                "this process runs in it, and would be left in a folder that is gone",
            ));
        }
        let (Some(parent), Some(name)) = (resolved.parent(), resolved.file_name()) else {
            return Err(occupied("it is the root of the file system"));
        };
        let name = name.to_str().ok_or_else(|| occupied("its name is not Unicode"))?;
        let staging = Staging::create(parent, name).map_err(ArtifactError::io(parent))?;
        let writer = ArtifactWriter {
            parent: parent.into(),
            staging,
            files: Mutex::default(),
            destination: resolved,
        };
        for own in [MANIFEST_FILE, MODEL_FILE] {
            let _ours = writer.reserve(own)?;
        }
        Ok(writer)
    }

    /// Takes a name, so that whoever writes at the same time cannot.
    ///
    /// # Errors
    /// [`ArtifactError::FileName`] for a name that cannot be, or not beside those that there are.
    pub fn reserve(&self, name: &str) -> Result<Reserved, ArtifactError> {
        match self.files().names.add(name) {
            Ok(()) => Ok(Reserved(name.into())),
            Err(fault) => Err(ArtifactError::FileName {
                name: name.into(),
                fault,
            }),
        }
    }

    /// Adds a file.
    pub fn add_bytes(&self, name: &str, bytes: &[u8]) -> Result<(), ArtifactError> {
        self.add_with(name, |out| out.write_all(bytes))
    }

    /// Adds a file whose bytes `write` produces.
    pub fn add_with(
        &self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), ArtifactError> {
        self.add_reserved(self.reserve(name)?, write)
    }

    /// Adds the file of a name that is reserved. One that fails leaves no part of it.
    pub fn add_reserved(
        &self,
        name: Reserved,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), ArtifactError> {
        let mut file = self.begin_reserved(name)?;
        write(&mut file).map_err(ArtifactError::io(&file.path))?;
        file.finish()
    }

    /// Begins a file that is written piece by piece. It is part of the artifact once it is finished.
    pub fn begin(&self, name: &str) -> Result<Unfinished<'_>, ArtifactError> {
        self.begin_reserved(self.reserve(name)?)
    }

    fn begin_reserved(&self, Reserved(name): Reserved) -> Result<Unfinished<'_>, ArtifactError> {
        let path = place(self.staging.folder(), &name);
        let file = create(&path).map_err(ArtifactError::io(&path))?;
        Ok(Unfinished {
            writer: self,
            name,
            out: Some(Hashing::new(Closable::new(&path, file))),
            path,
        })
    }

    /// Names and files are whole at any time, so that a thread that panicked leaves nothing half done in them.
    pub(crate) fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the container file with the graphs of `module`, its tensors and the certificates of its fusions.
    pub fn add_model(&self, module: &Module, certificates: &[CertificateRecord]) -> Result<(), ArtifactError> {
        let path = self.destination.join(MODEL_FILE);
        let encoded = model::encode(module, certificates).map_err(|source| ArtifactError::Model { path, source })?;
        self.add_reserved(Reserved(MODEL_FILE.into()), |out| encoded.write(out))?;
        let path = place(self.staging.folder(), MODEL_FILE);
        let head = File::open(&path).and_then(|file| format::read_head(&file));
        let head = sha256(&head.map_err(ArtifactError::io(&path))?);
        if let Some(entry) = self.files().whole.get_mut(MODEL_FILE) {
            entry.head = Some(head);
        }
        Ok(())
    }

    /// Writes the manifest, waits until everything is on the disk, and puts the folder in the place of the destination.
    ///
    /// Until this returns the destination is the previous artifact or the new one, whole. Other writers to the same
    /// destination may commit at the same time; the last one stays.
    pub fn commit(self, provenance: Provenance) -> Result<Manifest, ArtifactError> {
        let staged = self.staging.folder();
        let path = staged.join(MANIFEST_FILE);
        let files = self.files.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !files.whole.contains_key(MODEL_FILE) {
            let source = ModelError::Missing;
            return Err(ArtifactError::Model { path, source });
        }
        let encoded = Manifest::new(provenance, files.whole).and_then(|manifest| Ok((manifest.encode()?, manifest)));
        let (bytes, manifest) = encoded.map_err(io::Error::from).map_err(ArtifactError::io(&path))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(ArtifactError::LongManifest {
                path: self.destination,
                bytes: bytes.len() as u64,
                most: MAX_BYTES,
            });
        }
        write_file(&path, &bytes).map_err(ArtifactError::io(&path))?;
        for folder in folders(manifest.files.keys()) {
            let folder = place(staged, &folder);
            sync_folder(&folder).map_err(ArtifactError::io(&folder))?;
        }
        sync_folder(staged).map_err(ArtifactError::io(staged))?;
        // Something may have come there since the beginning.
        check_replaceable(&self.destination)?;
        self.staging
            .put_in_place(&self.destination)
            .and_then(|()| sync_folder(&self.parent))
            .map_err(ArtifactError::io(&self.destination))?;
        Ok(manifest)
    }
}

/// Resolves a destination, and makes the folders above it.
fn resolve(destination: &Path) -> Result<PathBuf, ArtifactError> {
    let io = || ArtifactError::io(destination);
    match fs::symlink_metadata(destination) {
        // Of a link, the folder that it leads to; an error where that is not there.
        Ok(_) => destination.canonicalize().map_err(io()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let Some(name) = destination.file_name() else {
                return Err(io()(error));
            };
            let parent = match destination.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            };
            fs::create_dir_all(parent).map_err(ArtifactError::io(parent))?;
            Ok(parent.canonicalize().map_err(ArtifactError::io(parent))?.join(name))
        }
        Err(error) => Err(io()(error)),
    }
}

/// Writes a new file and waits until it is on the disk.
fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Every folder above one of the files.
fn folders<'a>(files: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    let above = |name: &'a String| name.match_indices('/').map(move |(end, _)| name[..end].to_owned());
    files.flat_map(above).collect()
}
