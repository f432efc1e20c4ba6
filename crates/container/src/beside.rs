//! A file in the making, beside the one whose place it takes when it is whole.

use crate::leftovers::Leftover;
use std::io::Result;
use std::path::Path;
use tempfile::TempPath;

/// A file that is not yet in its place. It goes away when this is dropped, or with
/// [`remove_leftovers`](crate::remove_leftovers).
#[derive(Debug)]
pub struct Beside {
    path: TempPath,
    _leftover: Leftover,
}

impl Beside {
    /// An empty file in `folder`, for whoever may read the folder. Its name ends with `suffix`.
    ///
    /// # Errors
    /// A folder in which no file can be made.
    pub fn new(folder: &Path, suffix: &str) -> Result<Beside> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".strait-").suffix(suffix);
        // The user's mask still applies.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let path = builder.tempfile_in(folder)?.into_temp_path();
        Ok(Beside {
            _leftover: Leftover::new(&path),
            path,
        })
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
