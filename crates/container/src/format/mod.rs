//! The container file: a header, a table of sections, and the sections, each with a checksum.
//!
//! `docs/container.md` describes the layout byte by byte. The same contents always give the same bytes: the offsets
//! follow from the lengths, and all bytes between sections are zero. So every changed byte is noticed.

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

/// The first bytes of every container. As in PNG files, they cannot be mistaken for text. A transfer that converts line
/// ends changes these bytes, so such damage is noticed.
pub const MAGIC: [u8; 8] = [0x89, b'S', b'T', b'R', b'\r', b'\n', 0x1A, b'\n'];

/// Major version, raised when an older reader could misunderstand the file. Readers refuse any other.
pub const MAJOR: u16 = 1;

/// Minor version, raised when something is added that an older reader may skip.
pub const MINOR: u16 = 0;

/// Sections, and the parts within them, start at multiples of this many bytes. 64 bytes are the size of a cache line
/// and of the widest vector register.
pub const ALIGNMENT: u64 = 64;

/// The largest number of sections in a file.
pub const MAX_SECTIONS: usize = 256;

/// One field of a fixed-size record such as the header: its offset and length.
#[derive(Clone, Copy, Debug)]
struct Field {
    offset: usize,
    size: usize,
}

impl Field {
    /// The bytes of this field in a record; empty if the record ends before it.
    fn of<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        record.get(self.offset..self.offset + self.size).unwrap_or_default()
    }

    /// The field's value as a little-endian number.
    fn number(&self, record: &[u8]) -> u64 {
        self.of(record)
            .iter()
            .rev()
            .fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    /// Writes bytes into this field of a record. If the bytes are shorter than the field, zeros are written after them.
    fn put(&self, record: &mut [u8], bytes: &[u8]) {
        let field = record.iter_mut().skip(self.offset).take(self.size);
        field.zip(bytes).for_each(|(to, from)| *to = *from);
    }
}

/// The next multiple of [`ALIGNMENT`], or `None` on overflow.
fn align(offset: u64) -> Option<u64> {
    offset.checked_next_multiple_of(ALIGNMENT)
}

#[cfg(test)]
mod tests;
