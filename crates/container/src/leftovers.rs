//! Files and folders that are not to outlive the process.
//!
//! A process that ends in order removes them by itself. One that has to end at once, because it was told so twice or
//! because its work does not listen, calls [`remove_leftovers`] first.

use std::fs;
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static NAMES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn names() -> MutexGuard<'static, Vec<PathBuf>> {
    // A list of names is whole after each statement.
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A name that is removed by [`remove_leftovers`] for as long as this value lives.
#[derive(Debug)]
pub(crate) struct Leftover(PathBuf);

impl Leftover {
    /// Notes the name of a file, or of a folder with all that is in it.
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

/// Removes everything that is noted. For the moment before the process ends: whoever still works with it fails.
pub fn remove_leftovers() {
    for name in names().drain(..) {
        // What cannot be removed now is removed by the next run to the same place.
        let _ = remove(&name);
    }
}

/// Does `work` at a time when nothing is removed from under it.
pub(crate) fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
    let _names = names();
    work()
}

/// Removes a file, or a folder and all that is in it. A folder of ours that nobody may write to is made one that we
/// may.
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

/// True if [`remove`] can take away a folder of ours, as far as the rights to its folders say.
pub(crate) fn is_removable(folder: &Path) -> bool {
    #[cfg(unix)]
    {
        use rustix::fs::{Access, access};
        let may_change = |folder: &Path| {
            // Only the owner of a folder may set its rights, if only to what they are.
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

/// Lets the owner of these folders change them.
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

/// Visits a folder and then those in it. An artifact has a handful; links are not followed.
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
