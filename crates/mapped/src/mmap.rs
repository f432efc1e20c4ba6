//! Maps files into memory. Only this file uses memory maps directly.

use crate::read_part;
use bytes::Bytes;
use memmap2::{Mmap, MmapOptions};
use std::fs::{self, File};
use std::io::{Error, ErrorKind, Read, Result, Seek};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The maps of whole files that are in use. See [`release`].
static WHOLE: Mutex<Vec<Weak<Map>>> = Mutex::new(Vec::new());

/// A map whose pages can be released while slices of it exist.
#[derive(Debug)]
struct Map(Mmap);

/// What keeps a map alive.
struct Owner(Arc<Map>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.0.0
    }
}

/// Gives the memory of all files that this process has mapped as a whole back to the system. The bytes stay usable: if a
/// page is accessed again, the system maps it again, in general without reading the file, because it keeps files that
/// were read recently.
///
/// A page of a map counts as memory of the process once it was accessed. So a program calls this when it will not need
/// most of what it has read for a while. It also reaches maps that other parts of the program use at the moment, which
/// become slower for a moment. Where the system cannot do this, nothing happens.
pub fn release() {
    let maps = WHOLE.lock().unwrap_or_else(PoisonError::into_inner);
    maps.iter().filter_map(Weak::upgrade).for_each(|map| map.release());
}

impl Map {
    /// Wraps a map and lists it in [`WHOLE`]. Maps that are not in use any more are removed from the list.
    fn listed(map: Mmap) -> Arc<Map> {
        let map = Arc::new(Map(map));
        let mut maps = WHOLE.lock().unwrap_or_else(PoisonError::into_inner);
        maps.retain(|map| map.strong_count() > 0);
        maps.push(Arc::downgrade(&map));
        map
    }

    #[cfg(unix)]
    #[allow(unsafe_code)]
    fn release(&self) {
        // SAFETY: the advice is only unsafe because, in maps of other kinds, a page loses its content. This map is of a
        // file and is never written, so that a page that is mapped again has the same bytes as before, and slices that
        // are borrowed at the moment stay as they are. That the file does not change is a condition of `map`.
        let released = unsafe { self.0.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        // If the system refuses, the pages stay in memory, which changes no result.
        drop(released);
    }

    #[cfg(not(unix))]
    fn release(&self) {}
}

/// The bytes of the regular file at `path`, which may have at most `limit` bytes. The result is empty if the file is
/// empty.
///
/// The file is mapped: opening takes the same time for a kilobyte and for gigabytes, and pages are read when they are
/// used. If the file system cannot map the file, it is read instead. Anything but a regular file (a folder, a pipe, a
/// device) is refused before it is opened, since opening a pipe would wait for a writer.
///
/// The file must not change while the bytes are in use. If another process truncates the file, the pages after its new
/// end are gone, and accessing such a page ends this process (SIGBUS on Unix). Replacing the file by a rename is safe.
pub fn map(path: &Path, limit: u64) -> Result<Bytes> {
    Ok(MappedFile::open(path, limit)?.whole)
}

/// The bytes of the file at `path`, under the conditions of [`map`]. This function reads the file instead of mapping
/// it. Use it for small files that people edit while programs read them.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let (file, _) = open(path, limit)?;
    let mut bytes = Vec::new();
    // One byte more than allowed is read, to detect a file that has grown or whose length the system does not state.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        length if length > limit => Err(too_long(length, limit)),
        _ => Ok(bytes),
    }
}

/// Opens the regular file at `path` and returns its length, which is at most `limit`.
fn open(path: &Path, limit: u64) -> Result<(File, u64)> {
    if !fs::metadata(path)?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "this is not a regular file"));
    }
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    match length > limit {
        true => Err(too_long(length, limit)),
        false => Ok((file, length)),
    }
}

fn too_long(length: u64, limit: u64) -> Error {
    let text = format!("the file has {length} bytes, at most {limit} are read");
    Error::new(ErrorKind::InvalidInput, text)
}

/// A mapped file that can be used part by part. Once a page of a map has been accessed, it counts as memory of the
/// process until the map is dropped. So each part is a map of its own, whose pages are released when the part is
/// dropped.
#[derive(Debug)]
pub struct MappedFile {
    file: File,
    whole: Bytes,
}

impl MappedFile {
    /// Opens the file under the conditions of [`map`].
    pub fn open(path: &Path, limit: u64) -> Result<MappedFile> {
        let (file, length) = open(path, limit)?;
        MappedFile::of(file, length)
    }

    /// Maps the first `length` bytes of an open regular file, which may have been unlinked. The file must not change
    /// while it is mapped; see [`map`].
    pub fn of(mut file: File, length: u64) -> Result<MappedFile> {
        let whole = match map_file(&file, MmapOptions::new()) {
            _ if length == 0 => Bytes::new(),
            Ok(map) => Bytes::from_owner(Owner(Map::listed(map))),
            Err(_) => {
                let mut bytes = Vec::new();
                file.rewind()?;
                (&file).take(length).read_to_end(&mut bytes)?;
                bytes.into()
            }
        };
        Ok(MappedFile { file, whole })
    }

    /// The whole file, as [`map`] returns it.
    pub fn whole(&self) -> &Bytes {
        &self.whole
    }

    /// The bytes in `range` as a map of their own. If they cannot be mapped separately, the result is a slice of the
    /// map of the whole file.
    ///
    /// # Panics
    /// If the range does not lie in the file, which is a bug of the caller.
    pub fn part(&self, range: Range<usize>) -> Bytes {
        let slice = self.whole.slice(range.clone());
        if slice.is_empty() {
            return slice;
        }
        let mut options = MmapOptions::new();
        options.offset(range.start as u64).len(range.len());
        map_file(&self.file, options).map_or(slice, Bytes::from_owner)
    }

    /// The bytes in `range`, read and not mapped: see [`read_part`].
    ///
    /// # Errors
    /// If the file ends before the end of the range.
    pub fn read(&self, range: Range<usize>) -> Result<Vec<u8>> {
        read_part(&self.file, range.start as u64, range.len())
    }
}

#[allow(unsafe_code)]
fn map_file(file: &File, options: MmapOptions) -> Result<Mmap> {
    // SAFETY: the map is private and read-only, and `Bytes` only hands out shared slices. Another process might still
    // write to the file or truncate it. The documentation of `map` forbids this, and a program cannot prevent it.
    // Memory safety does not depend on any value of the bytes: every reader checks offsets and lengths.
    unsafe { options.map(file) }
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

    /// The memory, in bytes, that the pages of the map that contains `bytes` take.
    #[cfg(target_os = "linux")]
    fn resident(bytes: &[u8]) -> u64 {
        let start = format!("{:x}-", bytes.as_ptr() as usize);
        let maps = fs::read_to_string("/proc/self/smaps").unwrap();
        let own = maps.lines().skip_while(|line| !line.starts_with(&start));
        let line = own.skip(1).find(|line| line.starts_with("Rss:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn released_pages_take_no_memory_and_have_the_same_bytes_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let content: Vec<u8> = (0..1 << 20).map(|i| (i % 251) as u8).collect();
        fs::write(&path, &content).unwrap();
        let bytes = map(&path, 1 << 20).unwrap();
        let slice = bytes.slice(5..100_000);
        assert_eq!(bytes, content);
        assert_eq!(resident(&bytes), 1 << 20);
        release();
        assert_eq!(resident(&bytes), 0);
        assert_eq!((&slice[..], &bytes[..]), (&content[5..100_000], &content[..]));
    }

    #[test]
    fn a_part_is_the_same_as_the_slice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let content: Vec<u8> = (0..20_000).map(|i| (i % 251) as u8).collect();
        fs::write(&path, &content).unwrap();
        let file = MappedFile::open(&path, 20_000).unwrap();
        for range in [0..20_000, 5000..5001, 4096..8192, 19_999..20_000, 7..7] {
            assert_eq!(file.part(range.clone()), content[range.clone()], "{range:?}");
        }
    }

    #[test]
    fn what_is_read_is_what_is_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for content in [&b""[..], &[7; 10_000]] {
            fs::write(&path, content).unwrap();
            assert_eq!(read(&path, 10_000).unwrap(), content);
        }
        assert_eq!(read(&path, 9_999).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(read(folder.path(), 10).unwrap_err().kind(), ErrorKind::InvalidInput);
    }

    /// Opening a pipe would block until another process writes into it.
    #[cfg(unix)]
    #[test]
    fn pipes_and_devices_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        for path in [pipe.as_path(), Path::new("/dev/zero")] {
            assert_eq!(map(path, 10).unwrap_err().kind(), ErrorKind::InvalidInput);
            assert_eq!(read(path, 10).unwrap_err().kind(), ErrorKind::InvalidInput);
        }
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
