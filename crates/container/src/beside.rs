//! A file in the making, beside the one whose place it takes when it is whole.

use crate::leftovers::Leftover;
use std::fs::{self, File, TryLockError};
use std::io::{Error, Result};
use std::path::Path;
use tempfile::TempPath;

const PREFIX: &str = ".strait-";

/// Letters between the prefix and the suffix.
const RANDOM: usize = 6;

/// Number of times that a fresh file may be lost to a run that cleans up before it is locked.
const ATTEMPTS: usize = 16;

/// A file that is not yet in its place. It goes away when this is dropped, or with
/// [`remove_leftovers`](crate::remove_leftovers). What a run left that could do neither is removed by the next one in the folder:
/// a file is locked for as long as its run lives.
#[derive(Debug)]
pub struct Beside {
    path: TempPath,
    _leftover: Leftover,
    /// Last, so that the name goes first.
    _lock: File,
}

impl Beside {
    /// An empty file in `folder`, for whoever may read the folder. Its name ends with `suffix`.
    ///
    /// # Errors
    /// A folder in which no file can be made.
    pub fn new(folder: &Path, suffix: &str) -> Result<Beside> {
        sweep(folder);
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).rand_bytes(RANDOM).suffix(suffix);
        // The user's mask still applies.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        for _ in 0..ATTEMPTS {
            let (lock, path) = builder.tempfile_in(folder)?.into_parts();
            let leftover = Leftover::new(&path);
            // Where the file system has no locks nothing is swept either.
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

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the file in the place of `destination`, in the same folder.
    ///
    /// # Errors
    /// A destination that cannot be replaced.
    pub fn put_in_place(self, destination: &Path) -> Result<()> {
        self.path.persist(destination).map_err(|error| error.error)
    }
}

/// Locks a file, unless it is locked by another. Windows would keep others from writing to a locked file, so there none is.
fn is_taken(file: &File) -> bool {
    cfg!(unix) && matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Removes the files of runs that ended without a chance to do it. What cannot be removed stays for the next.
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
            // Held until it is gone.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// True of a name as [`Beside::new`] makes them: `.strait-x1Y2z3.npy`.
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
