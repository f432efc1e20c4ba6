//! A file of an artifact while it is being written.

use crate::ArtifactError;
use crate::digest::Hashing;
use crate::manifest::FileEntry;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use strait_file_names::FileNames;

/// A file of an artifact that is written piece by piece. If this value is dropped before the file is finished, the file
/// does not become part of the artifact and is removed.
#[derive(Debug)]
pub struct Unfinished<'a> {
    pub(crate) files: &'a Mutex<Files>,
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// The writer; `None` once the file is finished.
    pub(crate) out: Option<Hashing<Closable>>,
}

impl Unfinished<'_> {
    /// Closes the file until more is written to it. This way there can be more unfinished files than a process may have
    /// open.
    ///
    /// # Errors
    /// [`ArtifactError::Io`] if what was written cannot be stored in the file.
    pub fn rest(&mut self) -> Result<(), ArtifactError> {
        let closed = self.out.as_mut().map_or(Ok(()), |out| out.inner_mut().close());
        closed.map_err(ArtifactError::io(&self.path))
    }

    /// Makes the file part of the artifact and waits until the file is on the disk.
    ///
    /// # Errors
    /// [`ArtifactError::Io`] if the file cannot be stored on the disk.
    pub fn finish(mut self) -> Result<(), ArtifactError> {
        let io = ArtifactError::io(&self.path);
        let Some(out) = self.out.take() else { return Ok(()) };
        let (mut file, bytes, sha256) = out.finish();
        if let Err(error) = file
            .open()
            .and_then(BufWriter::flush)
            .and_then(|()| file.open()?.get_ref().sync_all())
        {
            drop(file);
            let _ = fs::remove_file(&self.path);
            return Err(io(error));
        }
        files(self.files).whole.insert(
            self.name.clone(),
            FileEntry {
                bytes,
                head: None,
                sha256,
            },
        );
        Ok(())
    }
}

impl Write for Unfinished<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.as_mut().map_or(Ok(0), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(out) = self.out.take() {
            // The file is removed below, so bytes that are still in memory need not be written.
            out.finish().0.abandon();
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A file that can be closed for a while. Writing opens it again.
#[derive(Debug)]
pub(crate) struct Closable {
    path: PathBuf,
    file: Option<BufWriter<File>>,
}

impl Closable {
    pub(crate) fn new(path: &Path, file: File) -> Closable {
        Closable {
            path: path.into(),
            file: Some(BufWriter::new(file)),
        }
    }

    fn open(&mut self) -> io::Result<&mut BufWriter<File>> {
        let file = match self.file.take() {
            Some(file) => file,
            None => BufWriter::new(OpenOptions::new().append(true).open(&self.path)?),
        };
        Ok(self.file.insert(file))
    }

    fn close(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file = None;
        Ok(())
    }

    fn abandon(self) {
        if let Some(file) = self.file {
            drop(file.into_parts());
        }
    }
}

impl Write for Closable {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.open()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// Makes a new file and the folders above it.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    File::create_new(path)
}

/// The files of an artifact that is being written.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// File names that are already used or reserved.
    pub(crate) names: FileNames,
    /// Files that are complete, by name.
    pub(crate) whole: BTreeMap<String, FileEntry>,
}

/// Locks the list of files. The list is complete after every change, so the list can be used even if another thread
/// panicked while holding the lock.
pub(crate) fn files(files: &Mutex<Files>) -> MutexGuard<'_, Files> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}
