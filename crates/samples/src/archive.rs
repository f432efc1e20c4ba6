//! Reads members of the archives that `numpy.savez` and `numpy.savez_compressed` write. Members are stored without
//! compression, or deflated.

use std::io::{self, Cursor};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use strait_mapped::MappedFile;
use zip::{CompressionMethod, ZipArchive};

use crate::error::{DataError, Kind};

/// A deflated member may always inflate to this many bytes, even if it is much shorter in the archive.
const MOST_INFLATED: u64 = 256 << 20;

/// If a deflated member inflates to more than [`MOST_INFLATED`] bytes, it may inflate to at most this many times its
/// length in the archive. Real samples do not compress better than that. A factor of a thousand only occurs if all
/// numbers are zero, or if the file was made to fill the disk.
const MOST_TIMES: u64 = 100;

/// An archive in a mapped file.
pub(crate) struct Archive {
    name: String,
    bytes: Bytes,
    /// The mapped file; `None` for an archive in memory.
    file: Option<Arc<MappedFile>>,
    zip: ZipArchive<Cursor<Bytes>>,
}

/// The content of a member. For a stored member, this is a slice of the archive. A deflated member is inflated into a
/// temporary file, so that memory does not grow with the number of samples. The temporary file has no name, so it
/// disappears when the process ends, however it ends.
pub(crate) struct Content {
    /// The bytes of the whole content.
    pub(crate) bytes: Bytes,
    /// The file that contains these bytes, and the offset at which they begin. `None` if the archive is in memory.
    pub(crate) file: Option<(Arc<MappedFile>, usize)>,
}

impl Archive {
    /// Maps the archive and reads its directory.
    pub(crate) fn open(path: &Path) -> Result<Archive, DataError> {
        let name = path.display().to_string();
        let file = MappedFile::open(path, u64::MAX).map_err(|error| DataError::unreadable(path, error))?;
        let bytes = file.whole().clone();
        Archive::new(name, bytes, Some(Arc::new(file)))
    }

    fn new(name: String, bytes: Bytes, file: Option<Arc<MappedFile>>) -> Result<Archive, DataError> {
        match ZipArchive::new(Cursor::new(bytes.clone())) {
            // If two members had the same name, it would not be clear which of them is meant.
            Ok(zip) if zip.has_duplicate_names() => Err(broken(&name, "two of its members have one name")),
            Ok(zip) => Ok(Archive { name, bytes, file, zip }),
            Err(error) => Err(broken(&name, &format!("{error}; it may be cut short"))),
        }
    }

    /// The names of the members.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.zip.file_names().filter_map(|name| Some(name.ok()?.into_owned()))
    }

    /// The length of a member's content according to the directory. At most this many bytes are ever inflated.
    pub(crate) fn size(&mut self, member: &str) -> Option<u64> {
        let index = self.zip.index_for_name(member)?;
        Some(self.zip.by_index_raw(index).ok()?.size())
    }

    /// Returns the content of a member, or `None` if there is no member of this name. The content is a slice of the
    /// archive if the member is stored, and an inflated copy if it is deflated. Its length and its checksum are checked
    /// against the directory.
    pub(crate) fn member(&mut self, member: &str) -> Result<Option<Content>, DataError> {
        let Some(index) = self.zip.index_for_name(member) else {
            return Ok(None);
        };
        let broken = |what: &str| broken(&self.name, &format!("its member {member} {what}"));
        let entry = self
            .zip
            .by_index_raw(index)
            .map_err(|error| broken(&error.to_string()))?;
        let (size, compressed, sum) = (entry.size(), entry.compressed_size(), entry.crc32());
        match entry.compression() {
            CompressionMethod::Stored if !entry.encrypted() => {
                let start = entry.data_start().and_then(|start| usize::try_from(start).ok());
                let end = start.and_then(|start| start.checked_add(usize::try_from(size).ok()?));
                match start.zip(end) {
                    Some((start, end)) if size == compressed && end <= self.bytes.len() => {
                        let content = self.bytes.slice(start..end);
                        match crc32fast::hash(&content) == sum {
                            true => Ok(Some(Content {
                                bytes: content,
                                file: self.file.clone().map(|file| (file, start)),
                            })),
                            false => Err(broken("is damaged: it has another checksum than the directory says")),
                        }
                    }
                    _ => Err(broken("is cut short")),
                }
            }
            CompressionMethod::Deflated if !entry.encrypted() => {
                drop(entry);
                let name = format!("{}, {member}", self.name);
                if size > MOST_INFLATED.max(compressed.saturating_mul(MOST_TIMES)) {
                    let message =
                        format!("{name} is {compressed} bytes and would become {size} in the temporary folder");
                    let note = format!(
                        "a deflated array may take {MOST_INFLATED} bytes, or {MOST_TIMES} times its length in the archive"
                    );
                    let help = "if these are the samples, write them with numpy.savez, which does not deflate";
                    return Err(DataError::new(Kind::Format, message).note(note).help(help));
                }
                let inflated = self.inflate(index, size);
                let inflated = inflated
                    .map_err(|error| DataError::new(Kind::File, format!("{name} cannot be inflated: {error}")))?;
                Ok(Some(Content {
                    bytes: inflated.whole().clone(),
                    file: Some((Arc::new(inflated), 0)),
                }))
            }
            _ if entry.encrypted() => Err(broken("is encrypted, which is not read")),
            other => Err(broken(&format!(
                "is compressed by method {other}; only deflate is read"
            ))),
        }
    }

    fn inflate(&mut self, index: usize, size: u64) -> io::Result<MappedFile> {
        let mut file = tempfile::tempfile()?;
        // The reader stops if the content is longer than the directory says, so no member can fill the disk.
        let written = io::copy(&mut self.zip.by_index(index)?, &mut file)?;
        if written != size {
            let text = "it is shorter than the directory says";
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        MappedFile::of(file, size)
    }
}

fn broken(name: &str, what: &str) -> DataError {
    DataError::new(Kind::Format, format!("{name} is not an archive of NumPy: {what}"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::io::Write as _;
    use zip::write::{SimpleFileOptions, ZipWriter};

    /// Makes an archive as NumPy writes it.
    pub(crate) fn archive(members: &[(&str, &[u8])], deflated: bool) -> Bytes {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        let method = if deflated {
            CompressionMethod::Deflated
        } else {
            CompressionMethod::Stored
        };
        for (name, content) in members {
            let options = SimpleFileOptions::default().compression_method(method).large_file(true);
            writer.start_file(*name, options).unwrap();
            writer.write_all(content).unwrap();
        }
        Bytes::from(writer.finish().unwrap().into_inner())
    }

    fn read(bytes: &Bytes) -> Result<Vec<(String, Vec<u8>)>, String> {
        let mut archive = Archive::new("x.npz".into(), bytes.clone(), None).map_err(|error| error.message)?;
        let names: Vec<String> = archive.names().collect();
        let read = |name: String| {
            let content = archive.member(&name).map_err(|error| error.message)?;
            let content = content.ok_or("the member is not there")?.bytes.to_vec();
            Ok((name, content))
        };
        names.into_iter().map(read).collect()
    }

    #[test]
    fn stored_and_deflated_members_are_read() {
        let long: Vec<u8> = (0..200_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        let members: [(&str, &[u8]); 3] = [("a.npy", b"one"), ("/b:0.npy", &long), ("c", b"")];
        let expected = members.map(|(name, content)| (name.to_owned(), content.to_vec()));
        for deflated in [false, true] {
            assert_eq!(read(&archive(&members, deflated)), Ok(expected.to_vec()));
        }
        let mut pack = crate::Pack::default();
        members
            .iter()
            .for_each(|(name, content)| pack.add(name, content).unwrap());
        assert_eq!(read(&pack.finish().unwrap().into()), Ok(expected.to_vec()));
    }

    #[test]
    fn stored_members_are_slices_of_the_archive() {
        let bytes = archive(&[("a.npy", b"one")], false);
        let mut archive = Archive::new("x.npz".into(), bytes.clone(), None).unwrap();
        let content = archive.member("a.npy").unwrap().unwrap();
        assert!(bytes.as_ptr_range().contains(&content.bytes.as_ptr()));
    }

    /// A killed process cannot remove its temporary files, so the file must have no name.
    #[cfg(target_os = "linux")]
    #[test]
    fn inflated_content_is_in_a_file_without_a_name() {
        let mut archive = Archive::new("x.npz".into(), archive(&[("a.npy", b"one")], true), None).unwrap();
        let content = archive.member("a.npy").unwrap().unwrap();
        let address = content.bytes.as_ptr() as usize;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let holds = |line: &&str| {
            let (begin, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let [begin, end] = [begin, end].map(|end| usize::from_str_radix(end, 16).unwrap());
            (begin..end).contains(&address)
        };
        let map = maps.lines().find(holds).unwrap();
        assert!(map.ends_with("(deleted)"), "{map}");
    }

    #[test]
    fn archives_that_are_cut_short_or_garbled_are_refused() {
        for deflated in [false, true] {
            let content: Vec<u8> = (0..3000u32).map(|i| ((i * 37) >> 3) as u8).collect();
            let whole = archive(&[("a.npy", &content), ("b.npy", b"two")], deflated);
            for length in 0..whole.len() {
                assert!(read(&whole.slice(..length)).is_err(), "{length}");
            }
            for at in 0..whole.len() {
                let mut garbled = whole.to_vec();
                garbled[at] ^= 0xff;
                // Reading never panics, whichever byte was changed. If the changed byte is in a member's content,
                // reading fails.
                let result = read(&Bytes::from(garbled));
                if (80..whole.len() - 300).contains(&at) {
                    assert!(result.is_err(), "{at}");
                }
            }
        }
    }

    #[test]
    fn two_members_of_one_name_are_refused() {
        for deflated in [false, true] {
            let mut twice = archive(&[("a.npy", b"one"), ("b.npy", b"two")], deflated).to_vec();
            while let Some(at) = twice.windows(5).position(|bytes| bytes == b"b.npy") {
                twice[at] = b'a';
            }
            let error = read(&Bytes::from(twice)).unwrap_err();
            assert!(error.contains("two of its members have one name"), "{error}");
        }
    }

    #[test]
    fn a_stored_member_with_another_checksum_is_refused() {
        let mut other = archive(&[("a.npy", b"content")], false).to_vec();
        let at = other.windows(7).position(|bytes| bytes == b"content").unwrap();
        other[at] ^= 1;
        let error = read(&Bytes::from(other)).unwrap_err();
        assert!(error.contains("a.npy is damaged"), "{error}");
    }

    #[test]
    fn a_member_cannot_grow_beyond_what_its_directory_says() {
        let mut bomb = archive(&[("a", &[0; 100_000])], true).to_vec();
        let size = 100_000u32.to_le_bytes();
        while let Some(at) = bomb.windows(4).position(|bytes| bytes == size) {
            bomb[at..at + 4].copy_from_slice(&10u32.to_le_bytes());
        }
        let error = read(&Bytes::from(bomb)).unwrap_err();
        assert!(error.contains("cannot be inflated"), "{error}");
    }

    #[test]
    fn a_member_that_would_fill_the_disk_is_refused_before_it_is_inflated() {
        let mut bomb = archive(&[("a.npy", &[0; 100_000])], true).to_vec();
        // The size in the directory is enough to refuse the member: it is not inflated first.
        let size = 100_000u32.to_le_bytes();
        while let Some(at) = bomb.windows(4).position(|bytes| bytes == size) {
            bomb[at..at + 4].copy_from_slice(&(1u32 << 30).to_le_bytes());
        }
        let error = read(&Bytes::from(bomb)).unwrap_err();
        assert!(
            error.contains("would become 1073741824 in the temporary folder"),
            "{error}"
        );
    }
}
