//! One entry of the section table.

use super::error::damaged;
use super::{Field, FormatError};

pub(crate) const SIZE: usize = 80;

const NAME: Field = Field { offset: 0, size: 24 };
const FLAGS: Field = Field { offset: 24, size: 8 };
const OFFSET: Field = Field { offset: 32, size: 8 };
const LENGTH: Field = Field { offset: 40, size: 8 };
const CHECKSUM: Field = Field { offset: 48, size: 32 };

/// The fields, with the names that `docs/container.md` gives them.
#[cfg(test)]
pub(super) const FIELDS: [(&str, Field); 5] = [
    ("name", NAME),
    ("flags", FLAGS),
    ("offset", OFFSET),
    ("length", LENGTH),
    ("checksum", CHECKSUM),
];

/// The flag of a section that must not be skipped: a reader that does not know the section must refuse the file.
const CRITICAL: u64 = 1;

/// Where a section is, and its checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) critical: bool,
    /// Position of the section from the start of the file, in bytes.
    pub(crate) offset: u64,
    /// Length of the section in bytes, without the zeros that follow it.
    pub(crate) length: u64,
    /// BLAKE3 hash of the section's bytes.
    pub(crate) checksum: blake3::Hash,
}

impl Entry {
    pub(crate) fn encode(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        NAME.put(&mut bytes, self.name.as_bytes());
        FLAGS.put(&mut bytes, &[u8::from(self.critical)]);
        OFFSET.put(&mut bytes, &self.offset.to_le_bytes());
        LENGTH.put(&mut bytes, &self.length.to_le_bytes());
        CHECKSUM.put(&mut bytes, self.checksum.as_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Entry, FormatError> {
        let name = NAME.of(bytes);
        let name = &name[..name.iter().position(|b| *b == 0).unwrap_or(name.len())];
        let name = match std::str::from_utf8(name) {
            Ok(name) if is_name(name) => name.to_owned(),
            _ => return damaged("the name of a section is not one"),
        };
        let flags = FLAGS.number(bytes);
        if flags > CRITICAL {
            return damaged(format!("section `{name}` has unknown flags {flags:#x}"));
        }
        let mut checksum = [0; blake3::OUT_LEN];
        checksum.copy_from_slice(CHECKSUM.of(bytes));
        Ok(Entry {
            name,
            critical: flags == CRITICAL,
            offset: OFFSET.number(bytes),
            length: LENGTH.number(bytes),
            checksum: checksum.into(),
        })
    }
}

/// True if `name` may name a section: lower-case words joined by hyphens, short enough for the field.
pub(crate) fn is_name(name: &str) -> bool {
    let letters = name
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    letters && (1..=NAME.size).contains(&name.len())
}
