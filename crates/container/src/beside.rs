//! A file that is written beside its destination and replaces it once it is complete.

use crate::leftovers::Leftover;
use std::fs::{self, File, TryLockError};
use std::io::{Error, Result};
use std::path::Path;
use tempfile::TempPath;

const PREFIX: &str = ".strait-";

/// Number of random letters between the prefix and the suffix of a name.
const RANDOM: usize = 6;

/// How often making a new file is tried. Another run that cleans up may remove the file before it is locked.
const ATTEMPTS: usize = 16;

/// A file that is being written and has not been moved to its destination yet.
///
/// The file is removed when this value is dropped, or by [`remove_leftovers`](crate::remove_leftovers). If a run is
/// killed before either happens, the next run that writes to the folder removes the file. The file is locked for as
/// long as its run lives, so that no other run removes it too early.
#[derive(Debug)]
pub struct Beside {
    path: TempPath,
    _leftover: Leftover,
    /// This is the last field, so that the file is removed before the lock is released.
    _lock: File,
}

impl Beside {
    /// Makes an empty file in `folder`, with a name that ends with `suffix`. Everybody who may read the folder may read
    /// the file.
    ///
    /// # Errors
    /// If no file can be made in the folder.
    pub fn new(folder: &Path, suffix: &str) -> Result<Beside> {
        sweep(folder);
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).rand_bytes(RANDOM).suffix(suffix);
        // The system still removes those rights that the user's umask excludes.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        for _ in 0..ATTEMPTS {
            let (lock, path) = builder.tempfile_in(folder)?.into_parts();
            let leftover = Leftover::new(&path);
            // On a file system without locks, other runs do not remove the file. So the file can be used there without
            // a lock.
            if !is_taken(&lock) && path.exists() {
                return Ok(Beside {
                    path,
                    _leftover: leftover,
                    _lock: lock,
                });
            }
        }
        Err(Error::other("other processes keep taking the new file away"))
    }

    /// Path of the file while it is being written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the file to `destination`, which has to be in the same folder.
    ///
    /// # Errors
    /// If the destination cannot be replaced.
    pub fn put_in_place(self, destination: &Path) -> Result<()> {
        self.path.persist(destination).map_err(|error| error.error)
    }
}

/// Locks a file and tells whether another process had locked it already. On Windows nothing is locked, since a locked
/// file could not be written through another handle there.
fn is_taken(file: &File) -> bool {
    cfg!(unix) && matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Removes the files of runs that ended without cleaning up. A file that cannot be removed is left for the next run.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if cfg!(unix)
            && is_file
            && is_ours(&name.to_string_lossy())
            && let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            // The lock is held until the file has been removed.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// True if [`Beside::new`] could have made this file name, such as `.strait-x1Y2z3.npy`.
fn is_ours(name: &str) -> bool {
    let rest = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('.'));
    rest.is_some_and(|(random, _)| random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_a_dead_run_left_is_removed_and_what_a_living_one_has_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in [
            ".strait-abc123.npy",
            ".strait-mine.npy",
            ".strait-abc123",
            ".strait-abc123.d/x",
        ] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), b"").unwrap();
        }
        let living = Beside::new(folder.path(), ".npy").unwrap();
        let other = Beside::new(folder.path(), ".statistics").unwrap();
        assert!(living.path().exists() && other.path().exists());
        let left = |name: &str| at(name).exists();
        assert!(!left(".strait-abc123.npy"));
        assert!(left(".strait-mine.npy") && left(".strait-abc123") && left(".strait-abc123.d/x"));
        other.put_in_place(&at("y.statistics")).unwrap();
        drop(living);
        Beside::new(folder.path(), ".npy").unwrap();
        assert!(left("y.statistics"));
    }
}
