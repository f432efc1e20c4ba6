//! Paths of files in an artifact.

use std::path::{Path, PathBuf};

/// Path of a file in a folder, joined part by part, so that the path has the separator of the operating system.
pub(crate) fn place(folder: &Path, name: &str) -> PathBuf {
    folder.join(name.split('/').collect::<PathBuf>())
}
