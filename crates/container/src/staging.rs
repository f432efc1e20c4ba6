//! The folder in which an artifact is written before it is moved to its destination.
//!
//! A run owns three names beside the destination `NAME`:
//! - `.NAME.strait-XXXXXX.lock` is a file that the run keeps locked. It is made before the other two and removed after
//!   them.
//! - `.NAME.strait-XXXXXX` is the folder in which the artifact is written.
//! - `.NAME.strait-XXXXXX.old` holds the previous artifact for a moment, on systems that cannot exchange two folders.
//!
//! If the lock is free or missing, the run that owned the names is dead. The next run to the same destination removes
//! what has these names. If the dead run had moved the previous artifact away and not yet replaced it, the previous
//! artifact is put back.

use crate::digest::sha256;
use crate::exchange::put_in_place;
use crate::leftovers::{Leftover, remove, undisturbed};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

const LOCK: &str = ".lock";
const OLD: &str = ".old";

/// How often making a new lock file is tried. Another run that cleans up may remove the file before it is locked.
const ATTEMPTS: usize = 16;

/// The folder beside the destination in which an artifact is written. When this value is dropped, the folder is removed
/// with everything in it.
#[derive(Debug)]
pub(crate) struct Staging {
    folder: PathBuf,
    displaced: PathBuf,
    _leftovers: [Leftover; 2],
    /// This is the last field, so that the lock file is removed last. While it is locked, other runs know that the
    /// other names are in use.
    _lock: NamedTempFile,
}

impl Staging {
    /// Makes a folder beside `parent/name`, after removing what dead runs left there.
    pub(crate) fn create(parent: &Path, name: &str) -> Result<Staging> {
        let prefix = format!(".{}.strait-", shortened(name));
        clean_up(parent, name, &prefix)?;
        for _ in 0..ATTEMPTS {
            let lock = tempfile::Builder::new()
                .prefix(&prefix)
                .suffix(LOCK)
                .tempfile_in(parent)?;
            // A file system may have no locks. Then runs are only kept apart by their different names.
            if matches!(lock.as_file().try_lock(), Err(TryLockError::WouldBlock)) || !lock.path().exists() {
                continue;
            }
            // The folder has the name of the lock file, without the extension.
            let folder = lock.path().with_extension("");
            let leftovers = [Leftover::new(&folder), Leftover::new(lock.path())];
            fs::create_dir(&folder)?;
            return Ok(Staging {
                _leftovers: leftovers,
                displaced: with_suffix(&folder, OLD),
                folder,
                _lock: lock,
            });
        }
        Err(std::io::Error::other("other processes keep taking the lock away"))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Exchanges the folder with the destination. The folder that was at the destination is removed when `self` is
    /// dropped.
    pub(crate) fn put_in_place(&self, destination: &Path) -> Result<()> {
        undisturbed(|| put_in_place(&self.folder, &self.displaced, destination))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next run.
        let _ = remove(&self.folder);
        let _ = remove(&self.displaced);
    }
}

/// The number of bytes of the destination's name that may be used in the names beside it. File systems allow 255 bytes
/// for a whole name.
const LONGEST_NAME: usize = 160;

/// The name of a destination. A long name is replaced by its beginning and its digest.
fn shortened(name: &str) -> Cow<'_, str> {
    if name.len() <= LONGEST_NAME {
        return name.into();
    }
    let end = (0..=LONGEST_NAME).rev().find(|&end| name.is_char_boundary(end));
    let digest = sha256(name.as_bytes()).to_string();
    format!("{}-{}", &name[..end.unwrap_or(0)], &digest[..16]).into()
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Removes what dead runs left beside `parent/name`.
fn clean_up(parent: &Path, name: &str, prefix: &str) -> Result<()> {
    let mut runs = BTreeSet::new();
    for entry in fs::read_dir(parent)? {
        let entry = entry?.file_name();
        let entry = entry.to_string_lossy();
        let run = entry
            .strip_suffix(LOCK)
            .or_else(|| entry.strip_suffix(OLD))
            .unwrap_or(&entry);
        if run.starts_with(prefix) {
            runs.insert(parent.join(run));
        }
    }
    for folder in runs {
        let lock = with_suffix(&folder, LOCK);
        // The lock is held while the files of the dead run are removed, so that two runs do not remove the same files.
        let held = match File::open(&lock) {
            Ok(file) if file.try_lock().is_ok() => Some(file),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            _ => continue,
        };
        // Renaming fails if there is an artifact at the destination. This is intended, since that artifact stays.
        let _ = fs::rename(with_suffix(&folder, OLD), parent.join(name));
        let _ = remove(&with_suffix(&folder, OLD));
        let _ = remove(&folder);
        let _ = fs::remove_file(&lock);
        drop(held);
    }
    Ok(())
}
