//! Writes zip archives whose members are stored without compression, as `numpy.savez` does. All members get the same
//! time, the earliest one that the format can express, so that the same members always give the same bytes.
//!
//! Source: PKWARE's APPNOTE.TXT 4.3.

/// The version of the format that a reader has to support: 2.0.
const VERSION: u16 = 20;

/// 1 January 1980, in MS-DOS format.
const EPOCH: u16 = (1 << 5) | 1;

/// The archive would exceed the limits of the zip format without 64-bit sizes, because its contents are too large or
/// too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an archive of 4 GiB, or of 65,536 members")]
pub struct PackError;

/// An archive that is being written.
#[derive(Debug, Default)]
pub struct Pack {
    bytes: Vec<u8>,
    /// Name, checksum, size and offset of each member.
    members: Vec<(String, u32, u32, u32)>,
}

impl Pack {
    /// Appends a member.
    ///
    /// # Errors
    /// The member exceeds the limits of the format.
    pub fn add(&mut self, name: &str, content: &[u8]) -> Result<(), PackError> {
        let offset = number(self.bytes.len())?;
        let size = number(content.len())?;
        let sum = crc32fast::hash(content);
        self.bytes.extend_from_slice(&local_header(name, sum, size)?);
        self.bytes.extend_from_slice(content);
        self.members.push((name.to_owned(), sum, size, offset));
        Ok(())
    }

    /// Finishes the archive and returns its bytes.
    ///
    /// # Errors
    /// The directory exceeds the limits of the format.
    pub fn finish(mut self) -> Result<Vec<u8>, PackError> {
        let start = number(self.bytes.len())?;
        self.bytes.extend_from_slice(&directory_end(&self.members, start)?);
        Ok(self.bytes)
    }
}

/// The header before a member: its checksum, size and name.
pub(crate) fn local_header(name: &str, sum: u32, size: u32) -> Result<Vec<u8>, PackError> {
    let fields = fields(name, sum, size)?;
    // There is no extra field after the name.
    Ok([b"PK\x03\x04", fields.as_slice(), &[0; 2], name.as_bytes()].concat())
}

/// The fields that a member's header and its directory entry have in common.
fn fields(name: &str, sum: u32, size: u32) -> Result<Vec<u8>, PackError> {
    let length = u16::try_from(name.len()).map_err(|_| PackError)?;
    let fields: [&[u8]; 9] = [
        &VERSION.to_le_bytes(),
        &[0; 2], // flags
        &[0; 2], // stored
        &[0; 2], // midnight
        &EPOCH.to_le_bytes(),
        &sum.to_le_bytes(),
        &size.to_le_bytes(),
        &size.to_le_bytes(),
        &length.to_le_bytes(),
    ];
    Ok(fields.concat())
}

/// Returns the directory that follows the members. It has the name, checksum, size and offset of each member, and
/// begins at offset `start` of the archive.
pub(crate) fn directory_end(members: &[(String, u32, u32, u32)], start: u32) -> Result<Vec<u8>, PackError> {
    let mut directory = Vec::new();
    for (name, sum, size, offset) in members {
        directory.extend_from_slice(b"PK\x01\x02");
        directory.extend_from_slice(&VERSION.to_le_bytes());
        directory.extend_from_slice(&fields(name, *sum, *size)?);
        // The entry has no extra field, comment, disk number or attributes.
        directory.extend_from_slice(&[0; 12]);
        directory.extend_from_slice(&offset.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let count = u16::try_from(members.len()).map_err(|_| PackError)?;
    let length = number(directory.len())?;
    let end: [&[u8]; 7] = [
        b"PK\x05\x06",
        &[0; 4], // one disk
        &count.to_le_bytes(),
        &count.to_le_bytes(),
        &length.to_le_bytes(),
        &start.to_le_bytes(),
        &[0; 2], // no comment
    ];
    directory.extend_from_slice(&end.concat());
    Ok(directory)
}

/// A length as a 32-bit field. The length 2^32 − 1 is refused too, because in the format it announces 64-bit fields.
fn number(length: usize) -> Result<u32, PackError> {
    u32::try_from(length).ok().filter(|&n| n != u32::MAX).ok_or(PackError)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_its_members_and_a_directory_of_them() {
        let mut pack = Pack::default();
        pack.add("a", b"123456789").unwrap();
        pack.add("b", b"").unwrap();
        let bytes = pack.finish().unwrap();
        // There are two local headers of 30 bytes, two directory entries of 46 bytes, and the end record of 22 bytes.
        // Names occur twice, contents once.
        assert_eq!(bytes.len(), 2 * (30 + 46 + 2) + 22 + 9);
        // The check value of CRC-32, which is the checksum of the text `123456789`.
        assert_eq!(&bytes[14..18], 0xcbf4_3926u32.to_le_bytes());
        let start = 2 * (30 + 1) + 9;
        assert_eq!(&bytes[start..start + 4], b"PK\x01\x02");
        let end = &bytes[bytes.len() - 22..];
        assert_eq!((&end[..4], end[8], end[16]), (&b"PK\x05\x06"[..], 2, start as u8));
    }
}
