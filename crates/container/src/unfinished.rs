//! A file of an artifact while it is written.

use crate::ArtifactError;
use crate::digest::Hashing;
use crate::manifest::FileEntry;
use crate::writer::ArtifactWriter;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file of an artifact that is written piece by piece. Dropped before it is finished, it is no part of the artifact and leaves
/// nothing in its folder.
#[derive(Debug)]
pub struct Unfinished<'a> {
    pub(crate) writer: &'a ArtifactWriter,
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// None once it is finished.
    pub(crate) out: Option<Hashing<Closable>>,
}

impl Unfinished<'_> {
    /// Closes the file until more is written, so that more files may be unfinished than a process may have open.
    ///
    /// # Errors
    /// [`ArtifactError::Io`] where what was written does not get into the file.
    pub fn rest(&mut self) -> Result<(), ArtifactError> {
        let closed = self.out.as_mut().map_or(Ok(()), |out| out.inner_mut().close());
        closed.map_err(ArtifactError::io(&self.path))
    }

    /// Makes the file a part of the artifact, and waits until it is on the disk.
    ///
    /// # Errors
    /// [`ArtifactError::Io`] where it does not get there.
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
        self.writer.files().whole.insert(
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
            // What is still in memory need not come to the disk.
            out.finish().0.abandon();
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A file that is opened again where it was closed.
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

/// A new file, and the folders that it is in.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    File::create_new(path)
}
