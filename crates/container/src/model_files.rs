//! The files that a model was read from.

use bytes::Bytes;
use strait_requantize::certificate::Digest;
use thiserror::Error;

use crate::digest::{of_files, of_mapped, sha256};

/// The files of a model: the model's own file, and the data files that hold its tensors.
///
/// The files may be mapped into memory and not copied. Then the tensors change if another program writes to a file.
/// [`unchanged`](ModelFiles::unchanged) detects that.
#[derive(Clone, Debug)]
pub struct ModelFiles {
    name: String,
    bytes: Bytes,
    others: Vec<(String, Bytes)>,
    file: Digest,
    digest: Digest,
}

/// A file of the model was written to after the model was read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{changed} was changed while it was in use")]
pub struct ModelChanged {
    changed: String,
}

impl ModelChanged {
    /// The advice for the user if a file of the model has changed.
    pub const HELP: &str =
        "run it again when nothing writes to the model; replace its file by a rename, and not in place";
}

impl ModelFiles {
    /// Computes the digests of the files. `name` stands for the model's own file in errors. `others` are the model's
    /// data files with their names.
    pub fn new(name: impl Into<String>, bytes: Bytes, others: Vec<(String, Bytes)>) -> ModelFiles {
        let file = sha256(&bytes);
        ModelFiles::of_digest(name, (bytes, file), others)
    }

    /// Like [`ModelFiles::new`], for a file whose digest was already computed, by [`sha256`].
    pub fn of_digest(
        name: impl Into<String>,
        (bytes, file): (Bytes, Digest),
        others: Vec<(String, Bytes)>,
    ) -> ModelFiles {
        ModelFiles {
            name: name.into(),
            digest: of_files(file, &others),
            file,
            bytes,
            others,
        }
    }

    /// The digest of the model's own file.
    pub fn file(&self) -> Digest {
        self.file
    }

    /// The digest of the model's own file and its data files. Without data files it is the same as [`ModelFiles::file`].
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Computes the digests again. Call this before a result is stored under one of these digests.
    ///
    /// # Errors
    /// If a file has changed.
    pub fn unchanged(&self) -> Result<(), ModelChanged> {
        let file = of_mapped(&self.bytes);
        if of_files(file, &self.others) == self.digest {
            return Ok(());
        }
        let changed = if file == self.file {
            let names: Vec<&str> = self.others.iter().map(|(name, _)| name.as_str()).collect();
            format!("a data file of {} ({})", self.name, names.join(", "))
        } else {
            self.name.clone()
        };
        Err(ModelChanged { changed })
    }
}
