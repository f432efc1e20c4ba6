//! Detects samples that have changed since their digest was taken.
//!
//! The digest of the samples identifies a compilation, but the compilation reads the samples again later. In between,
//! other processes may write to the files. So when the digest is computed, each sample also gets a mark, which is a
//! hash of its bytes. Whenever the sample is read again, its bytes are checked against the mark.

use crate::error::{DataError, Kind};

/// The mark of a sample: the BLAKE3 hash of its bytes as they are stored.
pub(crate) type Mark = [u8; 32];

/// The marks of the samples of one input. Samples that the digest does not cover have no marks.
pub(crate) type Marks<'a> = &'a [Mark];

/// Computes the mark for these bytes.
pub(crate) fn mark(bytes: &[u8]) -> Mark {
    blake3::hash(bytes).into()
}

/// Checks the bytes of a sample against the sample's mark, if there is one. Errors name `file`.
pub(crate) fn hold(bytes: &[u8], sample: usize, marks: Marks<'_>, file: impl Fn() -> String) -> Result<(), DataError> {
    match marks.get(sample) {
        Some(before) if *before != mark(bytes) => {
            let message = format!("{} was changed while it was in use", file());
            let note = format!("sample {sample} has other bytes than when the digest of the samples was taken");
            let help =
                "run it again when nothing writes to the file; replace files of samples before a run or behind it";
            Err(DataError::new(Kind::File, message).note(note).help(help))
        }
        _ => Ok(()),
    }
}
