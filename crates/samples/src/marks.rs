//! Samples that stay what they were when their digest was taken.
//!
//! A compilation is known by the digest of its samples, and reads them again later: other processes may have written to the
//! files in the meantime. So a sample's mark is taken with the digest, and whatever is read of it afterwards is held against
//! it.

use crate::error::{DataError, Kind};

/// BLAKE3 of a sample's bytes as they are stored.
pub(crate) type Mark = [u8; 32];

/// The marks of the samples of an input, as far as they have been taken.
pub(crate) type Marks<'a> = &'a [Mark];

/// The mark of these bytes.
pub(crate) fn mark(bytes: &[u8]) -> Mark {
    blake3::hash(bytes).into()
}

/// Holds the bytes of a sample against its mark, where it has one. `file` is for the message.
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
