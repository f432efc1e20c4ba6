//! The digest by which a configuration pins a library.

use sha2::{Digest, Sha256};
use std::{fmt::Write as _, fs::File, io, path::Path};

/// SHA-256 of a file, as 64 lower-case hexadecimal digits.
///
/// # Errors
/// If the file cannot be read, or is a device or a pipe.
pub fn sha256(path: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut file = regular(path)?;
    io::copy(&mut file, &mut Hashing(&mut hasher))?;
    Ok(hex(&hasher.finalize()))
}

/// Opens a regular file. All other files are refused: opening a pipe waits until somebody writes, and reading a device
/// may never end.
pub(crate) fn regular(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    File::open(path)
}

struct Hashing<'a>(&'a mut Sha256);

impl io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// SHA-256 of bytes.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(digest: &[u8]) -> String {
    digest.iter().fold(String::new(), |mut text, byte| {
        // Writing to a `String` never fails.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_digest_is_that_of_the_standard() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(super::of_bytes(b"abc"), abc);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("abc");
        std::fs::write(&file, "abc").unwrap();
        assert_eq!(super::sha256(&file).unwrap(), abc);
    }
}
