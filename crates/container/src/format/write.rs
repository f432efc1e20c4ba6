//! Writes a container.

use super::header::Header;
use super::section::{Entry, is_name};
use super::{ALIGNMENT, MAX_SECTIONS, align, header, section};
use std::io::{Error, ErrorKind, Result, Write};

/// A section to be written.
#[derive(Clone, Debug)]
pub struct NewSection<'a> {
    /// Name of the section: at most 24 lower-case letters, digits and hyphens.
    pub name: &'a str,
    /// True if a reader that does not know the section must refuse the file.
    pub critical: bool,
    /// Contents of the section. Each part starts at a multiple of [`ALIGNMENT`], with zeros before it.
    pub parts: Vec<&'a [u8]>,
}

/// Zeros to fill the space between parts.
const ZEROS: [u8; ALIGNMENT as usize] = [0; ALIGNMENT as usize];

/// Writes a container with these sections in this order. The bytes of the container depend on nothing else.
///
/// The contents of the sections are read twice: first to compute the checksums, which are written before the contents,
/// and then to write the contents. The contents are never copied.
pub fn write(sections: &[NewSection<'_>], out: &mut dyn Write) -> Result<()> {
    let mut offset = aligned(header::SIZE as u64 + (sections.len() * section::SIZE) as u64)?;
    let mut end = offset;
    let mut table = Vec::with_capacity(sections.len() * section::SIZE);
    for (position, section) in sections.iter().enumerate() {
        let earlier = &sections[..position];
        if sections.len() > MAX_SECTIONS || !is_name(section.name) || earlier.iter().any(|e| e.name == section.name) {
            return invalid(format!("section {position} cannot be called `{}`", section.name));
        }
        let mut hasher = blake3::Hasher::new();
        let length = section.put(&mut hasher)?;
        let entry = Entry {
            name: section.name.into(),
            critical: section.critical,
            offset,
            length,
            checksum: hasher.finalize(),
        };
        table.extend(entry.encode());
        end = offset + length;
        offset = aligned(end)?;
    }
    let header = Header {
        sections: sections.len(),
        length: end,
    };
    out.write_all(&header.encode(&table))?;
    out.write_all(&table)?;
    let mut at = (header::SIZE + table.len()) as u64;
    for section in sections {
        at += fill(at, out)?;
        at += section.put(out)?;
    }
    out.flush()
}

impl NewSection<'_> {
    /// Writes the parts with zeros between them and returns the length.
    fn put(&self, out: &mut dyn Write) -> Result<u64> {
        let mut length = 0;
        for part in &self.parts {
            length += fill(length, out)?;
            out.write_all(part)?;
            length += part.len() as u64;
        }
        Ok(length)
    }
}

/// Writes zeros up to the next multiple of the alignment and returns the number of zeros.
fn fill(at: u64, out: &mut dyn Write) -> Result<u64> {
    let zeros = aligned(at)? - at;
    out.write_all(&ZEROS[..zeros as usize])?;
    Ok(zeros)
}

fn aligned(offset: u64) -> Result<u64> {
    align(offset).map_or_else(|| invalid("the container would be too long".into()), Ok)
}

fn invalid<T>(text: String) -> Result<T> {
    Err(Error::new(ErrorKind::InvalidInput, text))
}
