//! Writes an `.npz` archive sample by sample. Each sample is appended to all arrays in the file, so no array has to be
//! in memory.
//!
//! Types and shapes are known in advance and nothing is compressed, so the offset of each member is known too. Only the
//! checksums are written at the end. A checksum is computed over the bytes of an array in their order, which is also
//! the order in which samples arrive.

use std::{
    fs::File,
    io::{self, Seek as _, SeekFrom, Write as _},
    path::Path,
};

use crate::{
    npy::encode,
    numbers::NumberType,
    pack::{PackError, directory_end, local_header},
};

/// An array of the archive that is being written.
#[derive(Debug)]
struct Member {
    name: String,
    /// The offset of the member's local header.
    begin: u64,
    /// Number of bytes of the whole array: of its header and of all its numbers.
    size: u64,
    /// Number of bytes written so far.
    written: u64,
    sum: crc32fast::Hasher,
}

/// An archive that is being written.
#[derive(Debug)]
pub struct Stacked {
    file: File,
    members: Vec<Member>,
}

/// Why an archive cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum StackedError {
    /// The file system reports an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// All arrays together are too large for an archive.
    #[error(transparent)]
    Large(#[from] PackError),
}

impl Stacked {
    /// Creates a file with these arrays. Each has a name, a type of numbers, and a shape with the number of samples
    /// first.
    ///
    /// # Errors
    /// Errors of the file system, or the arrays together have 4 GiB or more.
    pub fn create(path: &Path, arrays: &[(String, NumberType, Vec<usize>)]) -> Result<Stacked, StackedError> {
        let mut members = Vec::new();
        let (mut heads, mut begin) = (Vec::new(), 0);
        for (name, number_type, shape) in arrays {
            let name = format!("{name}.npy");
            let head = encode(*number_type, shape, &[]);
            let numbers = shape
                .iter()
                .try_fold(number_type.size(), |size, &extent| size.checked_mul(extent));
            let size = numbers.and_then(|size| size.checked_add(head.len())).ok_or(PackError)? as u64;
            members.push(Member {
                begin,
                size,
                written: 0,
                sum: crc32fast::Hasher::new(),
                name: name.clone(),
            });
            begin = begin
                .checked_add(local_header(&name, 0, 0)?.len() as u64)
                .and_then(|begin| begin.checked_add(size))
                .filter(|&end| end < u64::from(u32::MAX))
                .ok_or(PackError)?;
            heads.push(head);
        }
        let file = File::create(path)?;
        let mut stacked = Stacked { file, members };
        for (index, head) in heads.iter().enumerate() {
            stacked.append(index, head)?;
        }
        Ok(stacked)
    }

    /// Appends the numbers of a sample to the array at position `array`.
    ///
    /// # Errors
    /// Errors of the file system, or more bytes than the shape has room for.
    pub fn append(&mut self, array: usize, bytes: &[u8]) -> Result<(), StackedError> {
        let other = || io::Error::new(io::ErrorKind::InvalidInput, "more numbers than the shape says");
        let member = self.members.get_mut(array).ok_or_else(other)?;
        let end = member.written + bytes.len() as u64;
        if end > member.size {
            return Err(other().into());
        }
        let header = local_header(&member.name, 0, 0)?.len() as u64;
        self.file
            .seek(SeekFrom::Start(member.begin + header + member.written))?;
        self.file.write_all(bytes)?;
        member.sum.update(bytes);
        member.written = end;
        Ok(())
    }

    /// Finishes the file.
    ///
    /// # Errors
    /// Errors of the file system, or fewer bytes than the shapes need.
    pub fn finish(mut self) -> Result<(), StackedError> {
        let mut directory = Vec::new();
        let mut end = 0;
        for member in self.members {
            if member.written != member.size {
                let short = io::Error::new(io::ErrorKind::InvalidInput, "fewer numbers than the shape says");
                return Err(short.into());
            }
            let size = u32::try_from(member.size).map_err(|_| PackError)?;
            let sum = member.sum.finalize();
            let header = local_header(&member.name, sum, size)?;
            self.file.seek(SeekFrom::Start(member.begin))?;
            self.file.write_all(&header)?;
            end = member.begin + header.len() as u64 + member.size;
            directory.push((
                member.name,
                sum,
                size,
                u32::try_from(member.begin).map_err(|_| PackError)?,
            ));
        }
        self.file.seek(SeekFrom::Start(end))?;
        self.file
            .write_all(&directory_end(&directory, u32::try_from(end).map_err(|_| PackError)?)?)?;
        self.file.flush()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pack, read_arrays};

    #[test]
    fn arrays_that_grow_together_are_those_of_an_archive_that_is_written_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all.npz");
        let arrays = [
            ("a/b".to_owned(), NumberType::U8, vec![2, 2]),
            ("c".to_owned(), NumberType::I16, vec![2]),
        ];
        let mut stacked = Stacked::create(&path, &arrays).unwrap();
        for (array, bytes) in [(0, [1, 2]), (1, [7, 0]), (0, [3, 4]), (1, [8, 0])] {
            stacked.append(array, &bytes).unwrap();
        }
        assert!(stacked.append(0, &[9]).is_err());
        stacked.finish().unwrap();
        let mut pack = Pack::default();
        pack.add("a/b.npy", &encode(NumberType::U8, &[2, 2], &[1, 2, 3, 4]))
            .unwrap();
        pack.add("c.npy", &encode(NumberType::I16, &[2], &[7, 0, 8, 0]))
            .unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), pack.finish().unwrap());
        assert_eq!(read_arrays(&path, 1 << 20).unwrap()["c"].integers(), Some(vec![7, 8]));
    }

    #[test]
    fn what_is_too_large_or_too_short_is_no_archive() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all.npz");
        let large = [("a".to_owned(), NumberType::F32, vec![1 << 31])];
        assert!(matches!(Stacked::create(&path, &large), Err(StackedError::Large(_))));
        let huge = [("a".to_owned(), NumberType::F32, vec![usize::MAX, 2])];
        assert!(matches!(Stacked::create(&path, &huge), Err(StackedError::Large(_))));
        let one = [("a".to_owned(), NumberType::U8, vec![1])];
        assert!(Stacked::create(&path, &one).unwrap().finish().is_err());
    }
}
