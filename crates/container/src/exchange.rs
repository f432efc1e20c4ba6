//! Puts a folder in the place of another one.

use crate::leftovers::remove;
use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// How often the exchange is tried when other writers interfere.
const ATTEMPTS: usize = 100;

/// Moves the folder `staged` to `destination`. Afterwards, the folder that was at `destination` is at `staged` if the
/// two folders were exchanged, and otherwise at `displaced`.
///
/// Some systems can exchange two names in one step. Then there is always an artifact at `destination`. On other systems
/// the previous artifact is at `displaced` for a moment. [`crate::staging`] describes what happens to the previous
/// artifact if the process is interrupted at that moment.
pub(crate) fn put_in_place(staged: &Path, displaced: &Path, destination: &Path) -> Result<()> {
    put_in_place_by(exchange, staged, displaced, destination)
}

fn put_in_place_by(
    exchange: impl Fn(&Path, &Path) -> Result<bool>,
    staged: &Path,
    displaced: &Path,
    destination: &Path,
) -> Result<()> {
    for _ in 0..ATTEMPTS {
        // A rename only succeeds if there is nothing or an empty folder at the destination.
        match fs::rename(staged, destination) {
            Ok(()) => return Ok(()),
            Err(error) if !destination.is_dir() && error.kind() != ErrorKind::NotFound => return Err(error),
            Err(_) => {}
        }
        match exchange(staged, destination) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            // Another writer has moved the destination away and has not yet put its own folder there.
            Err(error) if error.kind() == ErrorKind::NotFound && staged.is_dir() => continue,
            Err(error) => return Err(error),
        }
        match fs::rename(destination, displaced) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound && staged.is_dir() => continue,
            Err(error) => return Err(error),
        }
        match fs::rename(staged, destination) {
            Ok(()) => return Ok(()),
            // The previous artifact is put back, unless another writer has already put a folder there.
            Err(_) => match fs::rename(displaced, destination) {
                Ok(()) => {}
                Err(_) if destination.is_dir() => remove(displaced)?,
                Err(error) => return Err(error),
            },
        }
    }
    Err(Error::other("other processes keep writing to this folder"))
}

/// Exchanges two folders in one step. Returns `false` if the operating system or the file system does not support this.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(a: &Path, b: &Path) -> Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(true),
        Err(error) if [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP].contains(&error) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(_: &Path, _: &Path) -> Result<bool> {
    Ok(false)
}

/// Waits until the names in a folder are stored on the disk, on systems that can be asked to do so.
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    #[cfg(unix)]
    fs::File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_replaced_with_and_without_an_exchange_in_one_step() {
        let one_step: fn(&Path, &Path) -> Result<bool> = exchange;
        let two_steps: fn(&Path, &Path) -> Result<bool> = |_, _| Ok(false);
        for exchange in [one_step, two_steps] {
            for previous in [None, Some(""), Some("file")] {
                let root = tempfile::tempdir().unwrap();
                let [staged, displaced, destination] =
                    ["staged", "displaced", "destination"].map(|n| root.path().join(n));
                fs::create_dir(&staged).unwrap();
                fs::write(staged.join("new"), b"").unwrap();
                if let Some(file) = previous {
                    fs::create_dir(&destination).unwrap();
                    if !file.is_empty() {
                        fs::write(destination.join(file), b"").unwrap();
                    }
                }
                put_in_place_by(exchange, &staged, &displaced, &destination).unwrap();
                assert!(destination.join("new").exists() && !destination.join("file").exists());
                let kept = [&staged, &displaced].iter().any(|old| old.join("file").exists());
                assert_eq!(kept, previous == Some("file"));
            }
        }
    }

    #[test]
    fn a_staged_folder_that_is_gone_changes_nothing() {
        let root = tempfile::tempdir().unwrap();
        let [staged, displaced, destination] = ["staged", "displaced", "destination"].map(|n| root.path().join(n));
        fs::create_dir(&destination).unwrap();
        fs::write(destination.join("file"), b"").unwrap();
        for exchange in [exchange, |_: &Path, _: &Path| Ok(false)] {
            assert!(put_in_place_by(exchange, &staged, &displaced, &destination).is_err());
            assert!(destination.join("file").exists());
        }
    }
}
