//! Temporary files and folders that must be gone when the process ends.
//!
//! In a process that ends normally, they are removed when the values that own them are dropped. A process may also have
//! to end at once, because the user interrupted it twice or because its work does not respond. Such a process calls
//! [`remove_leftovers`] just before it ends.

use std::fs;
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static NAMES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn names() -> MutexGuard<'static, Vec<PathBuf>> {
    // The list is complete after every statement, so the list can be used even if another thread panicked while holding
    // the lock.
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A path that [`remove_leftovers`] removes for as long as this value lives.
#[derive(Debug)]
pub(crate) struct Leftover(PathBuf);

impl Leftover {
    /// Registers the path of a file, or of a folder with everything in it.
    pub(crate) fn new(path: &Path) -> Leftover {
        names().push(path.into());
        Leftover(path.into())
    }
}

impl Drop for Leftover {
    fn drop(&mut self) {
        let mut names = names();
        if let Some(position) = names.iter().position(|name| *name == self.0) {
            names.remove(position);
        }
    }
}

/// Removes everything that is registered. Call it just before the process ends: code that still uses these files fails.
pub fn remove_leftovers() {
    for name in names().drain(..) {
        // What cannot be removed now is removed by the next run that writes to the same place.
        let _ = remove(&name);
    }
}

/// Runs `work`. Until it returns, [`remove_leftovers`] waits and removes nothing.
pub(crate) fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
    let _names = names();
    work()
}

/// Removes a file, or a folder with everything in it. If a folder is write-protected, its owner is given the right to
/// write first.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return fs::remove_file(path),
        Err(error) => return Err(error),
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            unlock(path)?;
            fs::remove_dir_all(path)
        }
        done => done,
    }
}

/// True if [`remove`] should be able to remove a folder that Strait has made, judging by the access rights of the
/// folders in it.
pub(crate) fn is_removable(folder: &Path) -> bool {
    #[cfg(unix)]
    {
        use rustix::fs::{Access, access};
        let may_change = |folder: &Path| {
            // Only the owner of a folder may set its access rights, even to what they already are. So this call
            // succeeds only if the folder belongs to the user.
            let owned =
                |folder| fs::symlink_metadata(folder).and_then(|m| fs::set_permissions(folder, m.permissions()));
            access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok() || owned(folder).is_ok()
        };
        each_folder(folder, |folder| match may_change(folder) {
            true => Ok(()),
            false => Err(ErrorKind::PermissionDenied.into()),
        })
        .is_ok()
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        true
    }
}

/// Gives the owner of these folders the right to change them.
fn unlock(folder: &Path) -> Result<()> {
    each_folder(folder, |folder| {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mut permissions = fs::symlink_metadata(folder)?.permissions();
            permissions.set_mode(permissions.mode() | 0o700);
            fs::set_permissions(folder, permissions)?;
        }
        #[cfg(not(unix))]
        let _ = folder;
        Ok(())
    })
}

/// Visits a folder and all folders in it. An artifact has only a few folders. Links are not followed.
fn each_folder(folder: &Path, visit: impl Fn(&Path) -> Result<()>) -> Result<()> {
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        visit(&folder)?;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Beside;

    #[test]
    fn only_what_is_noted_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let [folder, file, kept] = ["folder", "file", "kept"].map(|name| root.path().join(name));
        fs::create_dir_all(folder.join("in/it")).unwrap();
        fs::write(&file, b"").unwrap();
        fs::write(&kept, b"").unwrap();
        let noted = [Leftover::new(&folder), Leftover::new(&file)];
        drop(Leftover::new(&kept));
        let unfinished = Beside::new(root.path(), ".npy").unwrap();
        let finished = Beside::new(root.path(), ".npy").unwrap();
        finished.put_in_place(&root.path().join("finished")).unwrap();
        remove_leftovers();
        let left = fs::read_dir(root.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        let mut left: Vec<_> = left.collect();
        left.sort_unstable();
        assert_eq!(left, ["finished", "kept"]);
        drop((noted, unfinished));
    }

    #[cfg(unix)]
    #[test]
    fn folders_are_unlocked_all_the_way_down() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let folders = ["a", "a/b", "a/b/c"].map(|name| root.path().join(name));
        fs::create_dir_all(&folders[2]).unwrap();
        for folder in folders.iter().rev() {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o500)).unwrap();
        }
        unlock(&folders[0]).unwrap();
        for folder in &folders {
            assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }
}
