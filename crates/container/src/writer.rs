//! Writing an artifact.

use crate::digest::{Hashing, sha256};
use crate::exchange::sync_folder;
use crate::folder::{artifact_around, check_replaceable};
use crate::format;
use crate::manifest::{FileEntry, Manifest, Provenance};
use crate::model::{self, ModelError};
use crate::path::{is_file_name, place};
use crate::staging::Staging;
use crate::{ArtifactError, MANIFEST_FILE, MODEL_FILE};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use strait_core::{CertificateRecord, Module};

/// An artifact in the making, in a folder beside its destination. Unless it is committed, the destination stays as it
/// was and the folder goes away with this value; what an interrupted run leaves is removed by the next one. Threads may
/// add files at the same time.
#[derive(Debug)]
pub struct ArtifactWriter {
    destination: PathBuf,
    parent: PathBuf,
    staging: Staging,
    /// By name; without an entry until a file is whole.
    files: Mutex<BTreeMap<String, Option<FileEntry>>>,
}

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
        Ok(ArtifactWriter {
            parent: parent.into(),
            staging,
            files: Mutex::default(),
            destination: resolved,
        })
    }

    /// Adds a file. Names are parts of ASCII letters, digits and `._-+`, separated by `/`.
    pub fn add_bytes(&self, name: &str, bytes: &[u8]) -> Result<(), ArtifactError> {
        self.add_with(name, |out| out.write_all(bytes))
    }

    /// Adds a file whose bytes `write` produces.
    pub fn add_with(
        &self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), ArtifactError> {
        if !is_file_name(name) || name == MANIFEST_FILE {
            return Err(ArtifactError::FileName(name.into()));
        }
        match self.files().entry(name.into()) {
            Entry::Occupied(_) => return Err(ArtifactError::SameFile(name.into())),
            Entry::Vacant(place) => place.insert(None),
        };
        let path = place(self.staging.folder(), name);
        let entry = write_file(&path, write).map_err(ArtifactError::io(&path))?;
        self.files().insert(name.into(), Some(entry));
        Ok(())
    }

    /// The map is whole at any time, so that a thread that panicked leaves nothing half done in it.
    fn files(&self) -> MutexGuard<'_, BTreeMap<String, Option<FileEntry>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the container file with the graphs of `module`, its tensors and the certificates of its fusions.
    pub fn add_model(&self, module: &Module, certificates: &[CertificateRecord]) -> Result<(), ArtifactError> {
        let path = self.destination.join(MODEL_FILE);
        let encoded = model::encode(module, certificates).map_err(|source| ArtifactError::Model { path, source })?;
        self.add_with(MODEL_FILE, |out| encoded.write(out))?;
        let path = place(self.staging.folder(), MODEL_FILE);
        let head = File::open(&path).and_then(|file| format::read_head(&file));
        let head = sha256(&head.map_err(ArtifactError::io(&path))?);
        if let Some(Some(entry)) = self.files().get_mut(MODEL_FILE) {
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
        let files: BTreeMap<String, FileEntry> = files
            .into_iter()
            .filter_map(|(name, file)| Some((name, file?)))
            .collect();
        if !files.contains_key(MODEL_FILE) {
            let source = ModelError::Missing;
            return Err(ArtifactError::Model { path, source });
        }
        let encoded = Manifest::new(provenance, files).and_then(|manifest| Ok((manifest.encode()?, manifest)));
        let (bytes, manifest) = encoded.map_err(io::Error::from).map_err(ArtifactError::io(&path))?;
        write_file(&path, |out| out.write_all(&bytes)).map_err(ArtifactError::io(&path))?;
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
fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<FileEntry> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut out = Hashing::new(BufWriter::new(File::create_new(path)?));
    write(&mut out)?;
    let (file, bytes, sha256) = out.finish();
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    let head = None;
    Ok(FileEntry { bytes, head, sha256 })
}

/// Every folder above one of the files.
fn folders<'a>(files: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    let above = |name: &'a String| name.match_indices('/').map(move |(end, _)| name[..end].to_owned());
    files.flat_map(above).collect()
}
