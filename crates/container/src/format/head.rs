//! The head of a container file: its header and its section table. The section table has the checksums of all sections,
//! so the digest of the head identifies the whole file.

use super::{MAX_SECTIONS, header, section};
use std::fs::File;
use std::io::Result;
use strait_mapped::read_part;

/// Length of the longest head in bytes.
const LONGEST: u64 = (header::SIZE + MAX_SECTIONS * section::SIZE) as u64;

/// The header and the section table, or as much of them as the file has.
pub(crate) fn head(file: &[u8]) -> &[u8] {
    let sections = header::sections(file).min(MAX_SECTIONS);
    file.get(..header::SIZE + sections * section::SIZE).unwrap_or(file)
}

/// Reads the head of an open file.
pub(crate) fn read_head(file: &File) -> Result<Vec<u8>> {
    let length = file.metadata()?.len().min(LONGEST);
    let mut bytes = read_part(file, 0, length as usize)?;
    bytes.truncate(head(&bytes).len());
    Ok(bytes)
}
