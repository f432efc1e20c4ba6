//! Detects samples that have changed since their digest was taken.
//!
//! A compilation is identified by the digest of its samples, but reads the samples again later. Other processes may
//! have written to the files in the meantime. So each sample gets a mark together with the digest, and whenever the
//! sample is read again, it is checked against its mark.

use crate::error::{DataError, Kind};

/// The BLAKE3 hash of a sample's bytes as they are stored.
pub(crate) type Mark = [u8; 32];

/// The marks of the samples of an input, as far as they have been taken.
pub(crate) type Marks<'a> = &'a [Mark];

/// The mark for these bytes.
pub(crate) fn mark(bytes: &[u8]) -> Mark {
    blake3::hash(bytes).into()
}

/// Checks the bytes of a sample against its mark, if it has one. `file` is named in the error.
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
