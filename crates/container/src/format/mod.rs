//! The container file: a header, a table of sections, and the sections, each with a checksum.
//!
//! The layout is described byte by byte in `docs/container.md`. Nothing in a file is free: offsets follow from lengths,
//! and what lies between sections is zero, so that one file has one spelling and every changed byte is noticed.

mod error;
mod head;
mod header;
mod read;
mod section;
mod write;

pub use error::FormatError;
pub(crate) use head::{head, read_head};
pub use read::{Integrity, Section, Sections};
pub use write::{NewSection, write};

/// The first bytes of every container. Like PNG's: not text, and damaged by whatever converts line ends.
pub const MAGIC: [u8; 8] = [0x89, b'S', b'T', b'R', b'\r', b'\n', 0x1A, b'\n'];

/// Raised when an older reader could misunderstand the file. Readers refuse any other.
pub const MAJOR: u16 = 1;

/// Raised when something is added that an older reader may skip.
pub const MINOR: u16 = 0;

/// Sections, and parts within them, start at multiples of this: a cache line, and the widest vector register.
pub const ALIGNMENT: u64 = 64;

/// The most sections that a file may have.
pub const MAX_SECTIONS: usize = 256;

/// One field of a record.
#[derive(Clone, Copy, Debug)]
struct Field {
    offset: usize,
    size: usize,
}

impl Field {
    /// The bytes of this field in a record; empty where the record ends before it.
    fn of<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        record.get(self.offset..self.offset + self.size).unwrap_or_default()
    }

    /// The little-endian number in this field.
    fn number(&self, record: &[u8]) -> u64 {
        self.of(record)
            .iter()
            .rev()
            .fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    /// Puts bytes into this field of a record; shorter ones are followed by zeros.
    fn put(&self, record: &mut [u8], bytes: &[u8]) {
        let field = record.iter_mut().skip(self.offset).take(self.size);
        field.zip(bytes).for_each(|(to, from)| *to = *from);
    }
}

/// The next multiple of [`ALIGNMENT`].
fn align(offset: u64) -> Option<u64> {
    offset.checked_next_multiple_of(ALIGNMENT)
}

#[cfg(test)]
mod tests;
