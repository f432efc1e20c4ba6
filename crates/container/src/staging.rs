//! The folder in which an artifact is written before it is put in place.
//!
//! A run owns three names beside the destination `NAME`: `.NAME.strait-XXXXXX.lock`, a file that it holds locked from
//! before the others exist until after they are gone; `.NAME.strait-XXXXXX`, the folder; and `.NAME.strait-XXXXXX.old`,
//! where the previous artifact stands for a moment on systems that cannot exchange. Names whose lock is free, or not
//! there, belong to a dead run: the next one to the same destination takes them away, and puts a previous artifact back
//! that the dead run had not yet replaced.

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

/// Number of times that a fresh lock may be lost to a run that cleans up before the lock is held.
const ATTEMPTS: usize = 16;

/// A folder beside the destination. Dropping it takes it away, with whatever it then holds.
#[derive(Debug)]
pub(crate) struct Staging {
    folder: PathBuf,
    displaced: PathBuf,
    _leftovers: [Leftover; 2],
    /// Last, so that it goes last: the lock says that the others are in use.
    _lock: NamedTempFile,
}

impl Staging {
    /// Makes a folder beside `parent/name`, after taking away what dead runs left.
    pub(crate) fn create(parent: &Path, name: &str) -> Result<Staging> {
        let prefix = format!(".{}.strait-", shortened(name));
        clean_up(parent, name, &prefix)?;
        for _ in 0..ATTEMPTS {
            let lock = tempfile::Builder::new()
                .prefix(&prefix)
                .suffix(LOCK)
                .tempfile_in(parent)?;
            // Where the file system has no locks, runs are told apart by name alone.
            if matches!(lock.as_file().try_lock(), Err(TryLockError::WouldBlock)) || !lock.path().exists() {
                continue;
            }
            // Dropping the lock's extension leaves the name of the folder.
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

    /// Exchanges the folder with the destination. What was there goes away when `self` does.
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

/// The longest part of a destination's name in names of ours: file systems take 255 bytes.
const LONGEST_NAME: usize = 160;

/// The name of a destination, or of a long one its beginning and its digest.
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

/// Takes away what dead runs left beside `parent/name`.
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
        // Held while its run's names are taken away, so that two that clean up do not meet.
        let held = match File::open(&lock) {
            Ok(file) if file.try_lock().is_ok() => Some(file),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            _ => continue,
        };
        // Fails, as it should, where an artifact is in place.
        let _ = fs::rename(with_suffix(&folder, OLD), parent.join(name));
        let _ = remove(&with_suffix(&folder, OLD));
        let _ = remove(&folder);
        let _ = fs::remove_file(&lock);
        drop(held);
    }
    Ok(())
}
