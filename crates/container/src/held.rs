//! A folder that is held open, so that it stays the same folder even if it is renamed or replaced.
//!
//! A writer replaces the whole folder of an artifact at once. A reader that opens the files one by one by path could
//! then get files of two artifacts. All files that are opened through a held folder belong to the same artifact.

#[cfg(not(unix))]
use std::fs;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use strait_file_names::{MOST_FILES, MOST_PARTS};

/// At most this many entries of a folder are listed. An artifact has far fewer entries, so files that do not belong to
/// the artifact are still found.
const MAX_ENTRIES: usize = 100_000;
const _: () = assert!(MOST_FILES < MAX_ENTRIES);

/// A folder that is held open, so that it stays the same folder even if it is renamed or replaced.
#[derive(Debug)]
pub(crate) struct Held {
    path: PathBuf,
    #[cfg(unix)]
    folder: rustix::fd::OwnedFd,
}

/// One entry of a folder.
struct Entry {
    name: String,
    is_folder: bool,
}

impl Held {
    /// Path of the folder at the time it was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Lists everything in the folder and its subfolders that is not a folder itself. The entries are paths with `/`,
    /// and are sorted.
    ///
    /// Links are not followed. In a name that is not Unicode, replacement characters stand for what cannot be read.
    pub(crate) fn entries(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let mut open = vec![(String::new(), 0)];
        while let Some((prefix, depth)) = open.pop() {
            for entry in self.list(&prefix)? {
                let name = format!("{prefix}{}", entry.name);
                if entry.is_folder && depth < MOST_PARTS {
                    open.push((format!("{name}/"), depth + 1));
                } else if found.len() < MAX_ENTRIES {
                    found.push(name);
                } else {
                    return Err(Error::other("there are too many files in it"));
                }
            }
        }
        found.sort_unstable();
        Ok(found)
    }
}

/// Refuses everything that is not a regular file, since only regular files can be part of an artifact.
fn regular(file: File) -> Result<File> {
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(Error::new(ErrorKind::InvalidData, "it is not a regular file")),
    }
}

/// Makes the error for a link. A link is not accepted as a file of an artifact, since it could lead to a place outside
/// the artifact.
fn link() -> Error {
    Error::new(ErrorKind::InvalidData, "it is a link, not a file of the artifact")
}

#[cfg(unix)]
impl Held {
    /// Opens the folder at this path. A link to a folder is followed.
    pub(crate) fn open(path: &Path) -> Result<Held> {
        use rustix::fs::{Mode, OFlags, open};
        // The folder is opened only to reach the files in it. This needs no right to list the folder.
        #[cfg(target_os = "linux")]
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        #[cfg(not(target_os = "linux"))]
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Held {
            path: path.into(),
            folder: open(path, flags, Mode::empty())?,
        })
    }

    /// Opens a regular file in the folder; a link to a file is refused. `name` is a path relative to the folder, with
    /// `/`.
    pub(crate) fn file(&self, name: &str) -> Result<File> {
        use rustix::fs::{Mode, OFlags, openat};
        use rustix::io::Errno;
        // Opening must not block. Without this flag, opening a pipe would wait until some process writes to the pipe.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match openat(&self.folder, name, flags, Mode::empty()) {
            Ok(file) => regular(file.into()),
            Err(Errno::LOOP) => Err(link()),
            Err(error) => Err(error.into()),
        }
    }

    /// True if the path by which the folder was opened still leads to it.
    pub(crate) fn is_current(&self) -> bool {
        use rustix::fs::{fstat, stat};
        let here = stat(&self.path).ok().zip(fstat(&self.folder).ok());
        here.is_some_and(|(named, held)| (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino))
    }

    fn list(&self, prefix: &str) -> Result<Vec<Entry>> {
        use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let place = if prefix.is_empty() { "." } else { prefix };
        let folder = openat(&self.folder, place, flags, Mode::empty())?;
        let mut found = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if [b".".as_slice(), b".."].contains(&name.to_bytes()) {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
                    FileType::from_raw_mode(stat.st_mode)
                }
                kind => kind,
            };
            found.push(Entry {
                name: name.to_string_lossy().into_owned(),
                is_folder: kind == FileType::Directory,
            });
        }
        Ok(found)
    }
}

#[cfg(not(unix))]
impl Held {
    /// Remembers the path of the folder. On this system a folder that is in use cannot be replaced.
    pub(crate) fn open(path: &Path) -> Result<Held> {
        match fs::metadata(path)?.is_dir() {
            true => Ok(Held { path: path.into() }),
            false => Err(ErrorKind::NotADirectory.into()),
        }
    }

    /// Opens a regular file in the folder; a link to a file is refused. `name` is a path relative to the folder, with
    /// `/`.
    pub(crate) fn file(&self, name: &str) -> Result<File> {
        let path = crate::path::place(&self.path, name);
        match fs::symlink_metadata(&path)?.is_symlink() {
            true => Err(link()),
            false => regular(File::open(path)?),
        }
    }

    /// True if the path by which the folder was opened still leads to it.
    pub(crate) fn is_current(&self) -> bool {
        self.path.is_dir()
    }

    fn list(&self, prefix: &str) -> Result<Vec<Entry>> {
        let entry = |entry: Result<fs::DirEntry>| {
            let entry = entry?;
            Ok(Entry {
                name: entry.file_name().to_string_lossy().into_owned(),
                is_folder: entry.file_type()?.is_dir(),
            })
        };
        fs::read_dir(self.path.join(prefix))?.map(entry).collect()
    }
}
