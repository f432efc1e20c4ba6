//! Reads files of a folder, and checks whether the folder may be replaced.

use crate::held::Held;
use crate::leftovers::is_removable;
use crate::manifest::{MAX_BYTES, listed_files};
use crate::{ArtifactError, MANIFEST_FILE};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Reads a whole regular file of at most `limit` bytes. A link to a file is refused.
pub(crate) fn read_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "this is not a regular file"));
    }
    read_limited(File::open(path)?, limit)
}

/// Reads all bytes of a file that has at most `limit` bytes.
pub(crate) fn read_limited(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is too long"));
    }
    Ok(bytes)
}

/// If `place` is inside of an artifact, returns the artifact's folder. If `place` is an artifact itself, returns
/// `place`. Otherwise returns `None`. Only the artifact's own files may be in such a folder. `place` need not exist
/// yet.
pub fn artifact_around(place: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(place).ok()?;
    // The nearest folder above that exists is used, since everything that is made later will be inside it.
    let there = absolute.ancestors().find_map(|folder| fs::canonicalize(folder).ok())?;
    let is_artifact = |folder: &&Path| {
        let manifest = read_file(&folder.join(MANIFEST_FILE), MAX_BYTES);
        manifest.is_ok_and(|bytes| listed_files(&bytes).is_some())
    };
    there.ancestors().find(is_artifact).map(Path::to_path_buf)
}

/// Refuses a destination that contains anything other than an artifact, since replacing the folder removes everything
/// in it.
pub(crate) fn check_replaceable(folder: &Path) -> Result<(), ArtifactError> {
    let occupied = |reason: String| {
        Err(ArtifactError::Occupied {
            path: folder.into(),
            reason,
        })
    };
    match fs::symlink_metadata(folder) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return occupied("it is not a folder".into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(ArtifactError::io(folder)(error)),
    }
    let entries = Held::open(folder).and_then(|folder| folder.entries());
    let entries = entries.map_err(ArtifactError::io(folder))?;
    let Some(first) = entries.first() else {
        return Ok(());
    };
    let manifest = read_file(&folder.join(MANIFEST_FILE), MAX_BYTES);
    let Some(listed) = manifest.ok().as_deref().and_then(listed_files) else {
        return occupied(format!(
            "it is not empty (it holds `{first}`), and it is not an artifact of strait"
        ));
    };
    match entries.iter().find(|e| *e != MANIFEST_FILE && !listed.contains(e)) {
        Some(foreign) => occupied(format!(
            "it is an artifact, but it holds `{foreign}`, which is not part of it; move that elsewhere first"
        )),
        None if !is_removable(folder) => occupied("it is an artifact that this user may not take away".into()),
        None => Ok(()),
    }
}
