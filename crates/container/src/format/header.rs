//! The header: the first 64 bytes of a container file.

use super::error::damaged;
use super::{Field, FormatError, MAGIC, MAJOR, MAX_SECTIONS, MINOR};

pub(crate) const SIZE: usize = 64;

const SIGNATURE: Field = Field { offset: 0, size: 8 };
const MAJOR_VERSION: Field = Field { offset: 8, size: 2 };
const MINOR_VERSION: Field = Field { offset: 10, size: 2 };
const SECTIONS: Field = Field { offset: 12, size: 4 };
const LENGTH: Field = Field { offset: 16, size: 8 };
const CHECKSUM: Field = Field { offset: 32, size: 32 };

/// The fields, with the names that `docs/container.md` gives them.
#[cfg(test)]
pub(super) const FIELDS: [(&str, Field); 6] = [
    ("signature", SIGNATURE),
    ("major", MAJOR_VERSION),
    ("minor", MINOR_VERSION),
    ("sections", SECTIONS),
    ("length", LENGTH),
    ("checksum", CHECKSUM),
];

/// Values of the header's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Number of sections.
    pub(crate) sections: usize,
    /// Length of the file in bytes.
    pub(crate) length: u64,
}

impl Header {
    /// Returns the bytes of the header. They include a checksum of the header and of the section table `table`.
    pub(crate) fn encode(&self, table: &[u8]) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        SIGNATURE.put(&mut bytes, &MAGIC);
        MAJOR_VERSION.put(&mut bytes, &MAJOR.to_le_bytes());
        MINOR_VERSION.put(&mut bytes, &MINOR.to_le_bytes());
        // The number fits 32 bits, since there are at most MAX_SECTIONS sections.
        SECTIONS.put(&mut bytes, &(self.sections as u32).to_le_bytes());
        LENGTH.put(&mut bytes, &self.length.to_le_bytes());
        let checksum = checksum(&bytes, table);
        CHECKSUM.put(&mut bytes, checksum.as_bytes());
        bytes
    }

    /// Reads the header and checks what can be checked without the section table. The version is checked first, because
    /// the fields after it may mean something else in another version.
    pub(crate) fn decode(file: &[u8]) -> Result<Header, FormatError> {
        if SIGNATURE.of(file) != MAGIC {
            return Err(FormatError::Signature);
        }
        if file.len() < SIZE {
            return damaged(format!("it ends after {} bytes, within the header", file.len()));
        }
        let major = MAJOR_VERSION.number(file) as u16;
        if major != MAJOR {
            return Err(FormatError::Major { found: major });
        }
        let (sections, length) = (sections(file), LENGTH.number(file));
        if sections > MAX_SECTIONS {
            return damaged(format!("{sections} sections are more than {MAX_SECTIONS}"));
        }
        if length != file.len() as u64 {
            return damaged(format!("it has {} bytes, but its header says {length}", file.len()));
        }
        Ok(Header { sections, length })
    }

    /// Checks that the checksum in the header fits the header and the section table.
    pub(crate) fn check(file: &[u8], table: &[u8]) -> Result<(), FormatError> {
        if CHECKSUM.of(file) == checksum(file, table).as_bytes() {
            Ok(())
        } else {
            let what = "header or section table".into();
            Err(FormatError::Checksum { what })
        }
    }
}

/// Number of sections that a header states; 0 if the file ends before the field with this number.
pub(super) fn sections(file: &[u8]) -> usize {
    SECTIONS.number(file) as usize
}

fn checksum(header: &[u8], table: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(header.get(..CHECKSUM.offset).unwrap_or_default());
    hasher.update(table);
    hasher.finalize()
}
