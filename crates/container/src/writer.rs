//! Writes an artifact.

use crate::digest::{Hashing, sha256};
use crate::error::ModelError;
use crate::exchange::sync_folder;
use crate::folder::{artifact_around, check_replaceable};
use crate::format;
use crate::manifest::{MAX_BYTES, Manifest, Provenance};
use crate::model;
use crate::path::place;
use crate::staging::Staging;
use crate::unfinished::{Closable, Files, Unfinished, create, files};
use crate::{ArtifactError, MANIFEST_FILE, MODEL_FILE};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use strait_core::{CertificateRecord, Module};

/// An artifact that is being written, in a folder beside its destination.
///
/// The destination stays as it was until the artifact is committed. If the artifact is never committed, the folder is
/// removed when this value is dropped. If the run is killed, the next run removes the folder. Several threads may add
/// files at the same time.
#[derive(Debug)]
pub struct ArtifactWriter {
    destination: PathBuf,
    parent: PathBuf,
    staging: Staging,
    files: Mutex<Files>,
}

/// The number of bytes of a file that are collected before they are hashed and written.
const BUFFER: usize = 1 << 16;

/// A reserved file name: nobody else can write a file of this name any more.
#[derive(Debug)]
#[must_use]
pub struct Reserved(String);

impl ArtifactWriter {
    /// Prepares to write an artifact at `destination`.
    ///
    /// At `destination` there may be nothing, an empty folder, or a previous artifact, which
    /// [`commit`](ArtifactWriter::commit) replaces. A link to a folder is followed and stays a link. Missing folders
    /// above the destination are made. A destination inside another artifact is refused, since it would put files into
    /// that artifact that do not belong to it.
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
        // This is checked before any folder is made, and again after links have been followed.
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

    /// Reserves a name, so that others who write at the same time cannot use it.
    ///
    /// # Errors
    /// [`ArtifactError::FileName`] if the name is not allowed, or clashes with a name that is already used.
    pub fn reserve(&self, name: &str) -> Result<Reserved, ArtifactError> {
        match files(&self.files).names.add(name) {
            Ok(()) => Ok(Reserved(name.into())),
            Err(fault) => Err(ArtifactError::FileName {
                name: name.into(),
                fault,
            }),
        }
    }

    /// Adds a file with these bytes.
    pub fn add_bytes(&self, name: &str, bytes: &[u8]) -> Result<(), ArtifactError> {
        self.add_with(name, |out| out.write_all(bytes))
    }

    /// Adds a file whose bytes the function `write` produces.
    pub fn add_with(
        &self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), ArtifactError> {
        self.add_reserved(self.reserve(name)?, write)
    }

    /// Adds the file for a name that has been reserved. If writing fails, nothing of the file is left.
    pub fn add_reserved(
        &self,
        name: Reserved,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), ArtifactError> {
        let mut file = self.begin_reserved(name)?;
        // Text is written word by word. It is hashed and handed to the system in long pieces.
        let mut out = BufWriter::with_capacity(BUFFER, &mut file);
        let written = write(&mut out).and_then(|()| out.flush());
        drop(out);
        written.map_err(ArtifactError::io(&file.path))?;
        file.finish()
    }

    /// Begins a file that is written piece by piece. It becomes part of the artifact when it is finished.
    pub fn begin(&self, name: &str) -> Result<Unfinished<'_>, ArtifactError> {
        self.begin_reserved(self.reserve(name)?)
    }

    fn begin_reserved(&self, Reserved(name): Reserved) -> Result<Unfinished<'_>, ArtifactError> {
        let path = place(self.staging.folder(), &name);
        let file = create(&path).map_err(ArtifactError::io(&path))?;
        Ok(Unfinished {
            files: &self.files,
            name,
            out: Some(Hashing::new(Closable::new(&path, file))),
            path,
        })
    }

    /// Adds the container file with the graphs of `module`, its tensors and the certificates of its fusions.
    pub fn add_model(&self, module: &Module, certificates: &[CertificateRecord]) -> Result<(), ArtifactError> {
        let path = self.destination.join(MODEL_FILE);
        let encoded = model::encode(module, certificates).map_err(|source| ArtifactError::Model { path, source })?;
        self.add_reserved(Reserved(MODEL_FILE.into()), |out| encoded.write(out))?;
        let path = place(self.staging.folder(), MODEL_FILE);
        let head = File::open(&path).and_then(|file| format::read_head(&file));
        let head = sha256(&head.map_err(ArtifactError::io(&path))?);
        if let Some(entry) = files(&self.files).whole.get_mut(MODEL_FILE) {
            entry.head = Some(head);
        }
        Ok(())
    }

    /// Writes the manifest, waits until everything is on the disk, and moves the folder to the destination.
    ///
    /// Until this returns, the destination holds either the complete previous artifact or the complete new one. Other
    /// writers may commit to the same destination at the same time; the artifact of the last one stays.
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
        // Another program may have put something at the destination meanwhile.
        check_replaceable(&self.destination)?;
        self.staging
            .put_in_place(&self.destination)
            .and_then(|()| sync_folder(&self.parent))
            .map_err(ArtifactError::io(&self.destination))?;
        Ok(manifest)
    }
}

/// Follows the links of a destination, and makes the folders above it.
fn resolve(destination: &Path) -> Result<PathBuf, ArtifactError> {
    let io = || ArtifactError::io(destination);
    match fs::symlink_metadata(destination) {
        // If the destination is a link, the folder that it leads to is used. That folder has to exist.
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

/// All folders that contain one of the files.
fn folders<'a>(files: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    let above = |name: &'a String| name.match_indices('/').map(move |(end, _)| name[..end].to_owned());
    files.flat_map(above).collect()
}
