//! The one wrapper around a memory map.

use bytes::Bytes;
use memmap2::Mmap;
use std::fs::{self, File};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// The bytes of the regular file at `path`, of at most `limit` bytes; empty for an empty file.
///
/// The file is mapped, so that opening costs the same for a kilobyte and for gigabytes, and pages are read when they are
/// looked at. Where the file system cannot map, the file is read instead. Anything but a regular file (a folder, a pipe,
/// a device) is refused before it is opened, as opening a pipe would wait for a writer.
///
/// The file must not change while the bytes are in use. A file that another process truncates takes the pages behind its
/// new end away, and touching one ends the process (SIGBUS on Unix); one that is replaced by a rename is safe.
pub fn map(path: &Path, limit: u64) -> Result<Bytes> {
    let refuse = |text: String| Err(Error::new(ErrorKind::InvalidInput, text));
    if !fs::metadata(path)?.is_file() {
        return refuse("this is not a regular file".into());
    }
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    if length > limit {
        return refuse(format!("the file has {length} bytes, at most {limit} are read"));
    }
    match map_file(&file) {
        _ if length == 0 => Ok(Bytes::new()),
        Ok(map) => Ok(Bytes::from_owner(map)),
        Err(_) => {
            let mut bytes = Vec::new();
            file.take(limit).read_to_end(&mut bytes)?;
            Ok(bytes.into())
        }
    }
}

#[allow(unsafe_code)]
fn map_file(file: &File) -> Result<Mmap> {
    // SAFETY: the map is private and read-only, and `Bytes` hands out shared slices only. What remains is another process
    // that writes to the file or truncates it: that is outside of what a program can rule out, is the stated condition of
    // `map`, and no value of the bytes is relied on for memory safety (every reader checks offsets and lengths).
    unsafe { Mmap::map(file) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        for content in [&b""[..], b"x", &[7; 10_000]] {
            let path = folder.path().join("file");
            fs::write(&path, content).unwrap();
            assert_eq!(map(&path, 10_000).unwrap(), content);
        }
    }

    #[test]
    fn a_slice_keeps_the_map_alive() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, [1, 2, 3, 4]).unwrap();
        let slice = map(&path, 4).unwrap().slice(1..3);
        fs::remove_file(&path).unwrap();
        assert_eq!(slice, [2, 3][..]);
    }

    #[test]
    fn folders_long_files_and_missing_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, [0; 11]).unwrap();
        assert_eq!(map(&path, 10).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(map(folder.path(), 10).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(
            map(&folder.path().join("none"), 10).unwrap_err().kind(),
            ErrorKind::NotFound
        );
    }
}
