//! A folder that stays the same one, whatever becomes of its name.
//!
//! A writer exchanges the whole folder of an artifact. Whoever opened it by its name, file by file, would see files of
//! two artifacts. Below an open folder every file is of this one.

#[cfg(not(unix))]
use std::fs;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use strait_file_names::{MOST_FILES, MOST_PARTS};

/// The most entries that are looked at: more than an artifact has, so that what does not belong to it is found.
const MAX_ENTRIES: usize = 100_000;
const _: () = assert!(MOST_FILES < MAX_ENTRIES);

/// See the module.
#[derive(Debug)]
pub(crate) struct Held {
    path: PathBuf,
    #[cfg(unix)]
    folder: rustix::fd::OwnedFd,
}

/// One thing in a folder.
struct Entry {
    name: String,
    is_folder: bool,
}

impl Held {
    /// The folder's name when it was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Everything in the folder and below that is not a folder, by its path with `/`, sorted. Links are not followed. A
    /// name that is not Unicode is spelled with replacement characters.
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

/// A file that may be a part of an artifact: a regular one.
fn regular(file: File) -> Result<File> {
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(Error::new(ErrorKind::InvalidData, "it is not a regular file")),
    }
}

/// A link is not a file of the artifact, as it could lead outside.
fn link() -> Error {
    Error::new(ErrorKind::InvalidData, "it is a link, not a file of the artifact")
}

#[cfg(unix)]
impl Held {
    /// Opens the folder of this name. A link to a folder is followed.
    pub(crate) fn open(path: &Path) -> Result<Held> {
        use rustix::fs::{Mode, OFlags, open};
        // Only to look below it: that needs no right to list it.
        #[cfg(target_os = "linux")]
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        #[cfg(not(target_os = "linux"))]
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Held {
            path: path.into(),
            folder: open(path, flags, Mode::empty())?,
        })
    }

    /// A regular file in the folder; a link to one is not one. Its name is a path from the folder on, with `/`.
    pub(crate) fn file(&self, name: &str) -> Result<File> {
        use rustix::fs::{Mode, OFlags, openat};
        use rustix::io::Errno;
        // A pipe would wait for somebody who writes into it.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match openat(&self.folder, name, flags, Mode::empty()) {
            Ok(file) => regular(file.into()),
            Err(Errno::LOOP) => Err(link()),
            Err(error) => Err(error.into()),
        }
    }

    /// True if the folder still has the name by which it was opened.
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
    /// Notes the name of a folder. Here a folder that is in use cannot be exchanged.
    pub(crate) fn open(path: &Path) -> Result<Held> {
        match fs::metadata(path)?.is_dir() {
            true => Ok(Held { path: path.into() }),
            false => Err(ErrorKind::NotADirectory.into()),
        }
    }

    /// A regular file in the folder; a link to one is not one. Its name is a path from the folder on, with `/`.
    pub(crate) fn file(&self, name: &str) -> Result<File> {
        let path = crate::path::place(&self.path, name);
        match fs::symlink_metadata(&path)?.is_symlink() {
            true => Err(link()),
            false => regular(File::open(path)?),
        }
    }

    /// True if the folder still has the name by which it was opened.
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
