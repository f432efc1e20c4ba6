//! Zip archives of members that are stored as they are, and numpy's array files: what `numpy.savez` makes. Times are those
//! of the format's epoch, so that the same members are the same bytes.
//!
//! Sources: PKWARE's APPNOTE.TXT 4.3; numpy's format description (`numpy.lib.format`), version 1.0.

use strait_core::Elem;
use strait_target::TargetError;

/// Version 2.0 of the format is what an archiver needs to read it.
const VERSION: u16 = 20;

/// 1 January 1980, in the way of MS-DOS.
const EPOCH: u16 = (1 << 5) | 1;

/// An archive in the making.
#[derive(Default)]
pub(super) struct Zip {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    members: u16,
}

impl Zip {
    /// Appends a member.
    pub(super) fn add(&mut self, name: &str, content: &[u8]) -> Result<(), TargetError> {
        let offset = number(self.bytes.len())?;
        let size = number(content.len())?;
        let length = u16::try_from(name.len()).map_err(|_| too_large())?;
        let fields: [&[u8]; 9] = [
            &VERSION.to_le_bytes(),
            &[0; 2], // flags
            &[0; 2], // stored
            &[0; 2], // midnight
            &EPOCH.to_le_bytes(),
            &crc32(content).to_le_bytes(),
            &size.to_le_bytes(),
            &size.to_le_bytes(),
            &length.to_le_bytes(),
        ];
        let header = fields.concat();
        self.bytes.extend_from_slice(b"PK\x03\x04");
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(&[0; 2]); // no extra field
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(content);
        self.directory.extend_from_slice(b"PK\x01\x02");
        self.directory.extend_from_slice(&VERSION.to_le_bytes());
        self.directory.extend_from_slice(&header);
        // No extra field, comment, disk or attributes.
        self.directory.extend_from_slice(&[0; 12]);
        self.directory.extend_from_slice(&offset.to_le_bytes());
        self.directory.extend_from_slice(name.as_bytes());
        self.members = self.members.checked_add(1).ok_or_else(too_large)?;
        Ok(())
    }

    /// The whole archive.
    pub(super) fn finish(mut self) -> Result<Vec<u8>, TargetError> {
        let start = number(self.bytes.len())?;
        let length = number(self.directory.len())?;
        self.bytes.append(&mut self.directory);
        let end: [&[u8]; 7] = [
            b"PK\x05\x06",
            &[0; 4], // one disk
            &self.members.to_le_bytes(),
            &self.members.to_le_bytes(),
            &length.to_le_bytes(),
            &start.to_le_bytes(),
            &[0; 2], // no comment
        ];
        self.bytes.extend_from_slice(&end.concat());
        Ok(self.bytes)
    }
}

/// An array file: a header that names type and shape, and the elements, the last axis fastest.
pub(super) fn npy(elem: Elem, shape: &[u64], elements: &[u8]) -> Vec<u8> {
    let description = match elem {
        Elem::I8 => "|i1",
        Elem::U8 => "|u1",
        Elem::Bool => "|b1",
        Elem::I16 => "<i2",
        Elem::I32 => "<i4",
        Elem::I64 => "<i8",
        Elem::F16 => "<f2",
        Elem::F32 => "<f4",
        Elem::F64 => "<f8",
    };
    let extents: String = shape.iter().map(|extent| format!("{extent}, ")).collect();
    // A tuple of one keeps its comma.
    let extents = if shape.len() == 1 {
        extents.trim_end()
    } else {
        extents.trim_end_matches(", ")
    };
    let mut header = format!("{{'descr': '{description}', 'fortran_order': False, 'shape': ({extents}), }}");
    // Magic, version and length are 10 bytes; the elements begin at a multiple of 64.
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut file = Vec::with_capacity(10 + header.len() + elements.len());
    file.extend_from_slice(b"\x93NUMPY\x01\x00");
    // At most 16 axes of 20 digits each: far below 2^16.
    file.extend_from_slice(&(header.len() as u16).to_le_bytes());
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(elements);
    file
}

fn number(length: usize) -> Result<u32, TargetError> {
    // 2^32 − 1 itself announces 64-bit fields.
    u32::try_from(length)
        .ok()
        .filter(|&n| n != u32::MAX)
        .ok_or_else(too_large)
}

fn too_large() -> TargetError {
    TargetError::Unsupported("a package of 4 GiB, or of 65,536 tensors,".into())
}

/// The checksum of zip: the reflected polynomial 0xEDB88320, all bits inverted before and after.
fn crc32(content: &[u8]) -> u32 {
    let step = |crc: u32, &byte: &u8| TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8);
    !content.iter().fold(!0, step)
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                0xedb8_8320 ^ (crc >> 1)
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_format() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn arrays_begin_at_a_multiple_of_64() {
        for (shape, text) in [(&[][..], "()"), (&[3], "(3,)"), (&[2, 3], "(2, 3)")] {
            let file = npy(Elem::I16, shape, &[1, 2]);
            assert_eq!(file.len() % 64, 2);
            let header = String::from_utf8_lossy(&file[10..file.len() - 2]).into_owned();
            assert!(
                header.contains(&format!("'<i2', 'fortran_order': False, 'shape': {text}, ")),
                "{header}"
            );
        }
    }

    #[test]
    fn an_archive_has_its_members_and_a_directory_of_them() -> Result<(), TargetError> {
        let mut zip = Zip::default();
        zip.add("a", b"one")?;
        zip.add("b", b"")?;
        let bytes = zip.finish()?;
        // Two local headers of 30 bytes, two entries of 46 and the end of 22; names twice, content once.
        assert_eq!(bytes.len(), 2 * (30 + 46 + 2) + 22 + 3);
        let start = 2 * (30 + 1) + 3;
        assert_eq!(&bytes[start..start + 4], b"PK\x01\x02");
        let end = &bytes[bytes.len() - 22..];
        assert_eq!((&end[..4], end[8], end[16]), (&b"PK\x05\x06"[..], 2, start as u8));
        Ok(())
    }
}
