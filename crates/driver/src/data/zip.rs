//! The part of the zip format that `numpy.savez` and `numpy.savez_compressed` write: members that are stored or deflated,
//! with the 64-bit sizes of large archives. Nothing is trusted: every offset and size is checked against the file.
//!
//! ```text
//! … member: local header (30 bytes, name, extra), data …
//! … directory: one entry of 46 bytes, name, extra, comment for each member …
//! [64-bit end record, its locator]  end record (22 bytes, comment)
//! ```
//! Source: PKWARE's APPNOTE.TXT, sections 4.3 and 4.5.3.

use std::io::{self, Write};

use bytes::Bytes;
use miniz_oxide::{
    DataFormat, MZError, MZFlush, MZStatus,
    inflate::stream::{InflateState, inflate},
};

/// More members than any set of inputs.
const MOST_MEMBERS: u64 = 65_536;

const END: &[u8] = b"PK\x05\x06";
const END_LENGTH: usize = 22;
const END_64: &[u8] = b"PK\x06\x06";
const LOCATOR_64: &[u8] = b"PK\x06\x07";
const LOCATOR_64_LENGTH: usize = 20;
const ENTRY: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";
const EXTRA_64: u16 = 1;

/// A file in an archive.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Its name.
    pub name: String,
    method: u16,
    checksum: u32,
    compressed: u64,
    size: u64,
    offset: u64,
}

/// What is wrong with an archive; text for a message.
pub(super) type Broken = String;

/// The members of the archive, in the order of its directory.
pub(super) fn members(archive: &[u8]) -> Result<Vec<Member>, Broken> {
    let (count, start) = directory(archive).ok_or("it has no directory; it may be cut short")?;
    if count > MOST_MEMBERS {
        return Err(format!("it has {count} members, at most {MOST_MEMBERS} are read"));
    }
    let mut rest = usize::try_from(start).ok().and_then(|start| archive.get(start..));
    let mut members = Vec::new();
    for _ in 0..count {
        let (member, behind) = rest.and_then(entry).ok_or("its directory is garbled")?;
        members.push(member);
        rest = Some(behind);
    }
    Ok(members)
}

/// How many entries the directory has, and where it begins.
fn directory(archive: &[u8]) -> Option<(u64, u64)> {
    // The end record is followed by a comment of at most 65535 bytes.
    let earliest = archive.len().saturating_sub(END_LENGTH + usize::from(u16::MAX));
    let last = archive.len().checked_sub(END_LENGTH)?;
    let end = (earliest..=last).rev().find(|&at| archive[at..].starts_with(END))?;
    let (count, start) = (
        u64::from(u16_at(archive, end + 10)?),
        u64::from(u32_at(archive, end + 16)?),
    );
    if count != u64::from(u16::MAX) && start != u64::from(u32::MAX) {
        return Some((count, start));
    }
    let locator = end.checked_sub(LOCATOR_64_LENGTH)?;
    if !archive[locator..].starts_with(LOCATOR_64) {
        return Some((count, start));
    }
    let end = usize::try_from(u64_at(archive, locator + 8)?).ok()?;
    archive.get(end..)?.starts_with(END_64).then_some(())?;
    Some((
        u64_at(archive, end.checked_add(32)?)?,
        u64_at(archive, end.checked_add(48)?)?,
    ))
}

/// The entry of the directory that `bytes` begins with, and what follows it.
fn entry(bytes: &[u8]) -> Option<(Member, &[u8])> {
    bytes.starts_with(ENTRY).then_some(())?;
    let length = |at| u16_at(bytes, at).map(usize::from);
    let (name, extra, comment) = (length(28)?, length(30)?, length(32)?);
    let rest = bytes.get(46..)?;
    let (name, rest) = rest.split_at_checked(name)?;
    let (extra, rest) = rest.split_at_checked(extra)?;
    // What does not fit into 32 bits is set to ones here and stands in the extra field, in this order.
    let mut wide = extra_64(extra);
    let mut wide_or = |narrow: u32| {
        if narrow != u32::MAX {
            return Some(u64::from(narrow));
        }
        let (value, rest) = wide.split_first_chunk::<8>()?;
        wide = rest;
        Some(u64::from_le_bytes(*value))
    };
    let size = wide_or(u32_at(bytes, 24)?)?;
    let compressed = wide_or(u32_at(bytes, 20)?)?;
    let offset = wide_or(u32_at(bytes, 42)?)?;
    let member = Member {
        name: String::from_utf8_lossy(name).into_owned(),
        method: u16_at(bytes, 10)?,
        checksum: u32_at(bytes, 16)?,
        compressed,
        size,
        offset,
    };
    Some((member, rest.get(comment..)?))
}

/// The 64-bit part of an extra field; empty where there is none.
fn extra_64(mut extra: &[u8]) -> &[u8] {
    while let (Some(kind), Some(length)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let Some((content, rest)) = extra[4..].split_at_checked(usize::from(length)) else {
            return &[];
        };
        if kind == EXTRA_64 {
            return content;
        }
        extra = rest;
    }
    &[]
}

impl Member {
    /// Its data as it lies in the archive.
    fn raw(&self, archive: &Bytes) -> Option<Bytes> {
        let start = usize::try_from(self.offset).ok()?;
        let local = archive.get(start..)?;
        local.starts_with(LOCAL).then_some(())?;
        // Name and extra field may differ in length from those of the directory.
        let skipped = 30 + usize::from(u16_at(local, 26)?) + usize::from(u16_at(local, 28)?);
        let from = start.checked_add(skipped)?;
        let to = from.checked_add(usize::try_from(self.compressed).ok()?)?;
        (to <= archive.len()).then(|| archive.slice(from..to))
    }

    /// Its content where it is stored as it is; `None` where it has to be inflated.
    pub(super) fn stored(&self, archive: &Bytes) -> Result<Option<Bytes>, Broken> {
        match self.method {
            0 => {
                let raw = self.raw(archive).filter(|raw| raw.len() as u64 == self.size);
                raw.map(Some)
                    .ok_or_else(|| format!("its member {} is cut short", self.name))
            }
            8 => Ok(None),
            other => Err(format!(
                "its member {} is compressed by method {other}; only deflate is read",
                self.name
            )),
        }
    }

    /// Writes the content of a deflated member to `out`: never more than the directory says, with its checksum checked.
    pub(super) fn inflate(&self, archive: &Bytes, out: &mut dyn Write) -> io::Result<()> {
        let broken = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("member {}: {what}", self.name));
        let raw = self.raw(archive).ok_or_else(|| broken("cut short"))?;
        let mut state = InflateState::new_boxed(DataFormat::Raw);
        let (mut input, mut left, mut checksum) = (raw.as_ref(), self.size, Checksum::default());
        let mut buffer = vec![0; 1 << 16];
        loop {
            let result = inflate(&mut state, input, &mut buffer, MZFlush::None);
            input = &input[result.bytes_consumed..];
            let piece = &buffer[..result.bytes_written];
            left = left
                .checked_sub(piece.len() as u64)
                .ok_or_else(|| broken("longer than the directory says"))?;
            checksum.add(piece);
            out.write_all(piece)?;
            match result.status {
                Ok(MZStatus::StreamEnd) => break,
                Ok(_) if result.bytes_consumed + result.bytes_written > 0 => {}
                Ok(_) | Err(MZError::Buf) => return Err(broken("cut short")),
                Err(_) => return Err(broken("garbled")),
            }
        }
        match (left, checksum.value() == self.checksum) {
            (0, true) => Ok(()),
            (0, false) => Err(broken("its checksum is wrong")),
            _ => Err(broken("shorter than the directory says")),
        }
    }
}

/// CRC-32 (ISO 3309): reflected, polynomial 0xEDB88320, begun and ended with all ones.
struct Checksum(u32);

impl Default for Checksum {
    fn default() -> Self {
        Checksum(u32::MAX)
    }
}

impl Checksum {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut index = 0;
        while index < 256 {
            let mut value = index as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 {
                    0xedb8_8320 ^ (value >> 1)
                } else {
                    value >> 1
                };
                bit += 1;
            }
            table[index] = value;
            index += 1;
        }
        table
    };

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = Self::TABLE[usize::from(self.0 as u8 ^ byte)] ^ (self.0 >> 8);
        }
    }

    fn value(&self) -> u32 {
        !self.0
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An archive as NumPy writes it: stored or deflated, sizes of the local header in a 64-bit extra field.
    pub(in crate::data) fn archive(members: &[(&str, &[u8])], deflated: bool) -> Bytes {
        let (mut file, mut directory) = (Vec::new(), Vec::new());
        for (name, content) in members {
            let mut checksum = Checksum::default();
            checksum.add(content);
            let data = match deflated {
                true => miniz_oxide::deflate::compress_to_vec(content, 6),
                false => content.to_vec(),
            };
            let offset = file.len() as u32;
            let mut common = vec![45, 0, 0, 0, if deflated { 8 } else { 0 }, 0, 0, 0, 0, 0];
            common.extend(checksum.value().to_le_bytes());
            let length = (name.len() as u16).to_le_bytes();
            file.extend(LOCAL);
            file.extend(&common);
            file.extend([0xff; 8]);
            file.extend(length);
            file.extend(20u16.to_le_bytes());
            file.extend(name.as_bytes());
            file.extend([1, 0, 16, 0]);
            file.extend((content.len() as u64).to_le_bytes());
            file.extend((data.len() as u64).to_le_bytes());
            file.extend(&data);
            directory.extend(ENTRY);
            directory.extend([45, 3]);
            directory.extend(&common);
            directory.extend((data.len() as u32).to_le_bytes());
            directory.extend((content.len() as u32).to_le_bytes());
            directory.extend(length);
            directory.extend([0; 12]);
            directory.extend(offset.to_le_bytes());
            directory.extend(name.as_bytes());
        }
        let (start, count) = (file.len() as u32, (members.len() as u16).to_le_bytes());
        file.extend(&directory);
        file.extend(END);
        file.extend([0; 4]);
        file.extend([count, count].concat());
        file.extend((directory.len() as u32).to_le_bytes());
        file.extend(start.to_le_bytes());
        file.extend([0, 0]);
        Bytes::from(file)
    }

    fn read(archive: &Bytes) -> Result<Vec<(String, Vec<u8>)>, String> {
        let mut found = Vec::new();
        for member in members(archive)? {
            let content = match member.stored(archive)? {
                Some(content) => content.to_vec(),
                None => {
                    let mut content = Vec::new();
                    member
                        .inflate(archive, &mut content)
                        .map_err(|error| error.to_string())?;
                    content
                }
            };
            found.push((member.name, content));
        }
        Ok(found)
    }

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        let mut checksum = Checksum::default();
        checksum.add(b"123456789");
        assert_eq!(checksum.value(), 0xcbf4_3926);
    }

    #[test]
    fn stored_and_deflated_members_are_read() {
        let long: Vec<u8> = (0..200_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        for deflated in [false, true] {
            let archive = archive(&[("a.npy", b"one"), ("/b:0.npy", &long), ("c", b"")], deflated);
            let expected: Vec<(String, Vec<u8>)> = vec![
                ("a.npy".into(), b"one".to_vec()),
                ("/b:0.npy".into(), long.clone()),
                ("c".into(), vec![]),
            ];
            assert_eq!(read(&archive), Ok(expected));
        }
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
                // Whatever comes out, it comes out without a panic; a garbled deflated stream never comes out as content.
                let result = read(&Bytes::from(garbled));
                if deflated && (60..whole.len() - 300).contains(&at) {
                    assert!(result.is_err(), "{at}");
                }
            }
        }
    }

    #[test]
    fn a_member_cannot_grow_beyond_what_it_declares() {
        let mut bomb = archive(&[("a", &[0; 100_000])], true).to_vec();
        let size = bomb
            .windows(4)
            .rposition(|bytes| bytes == 100_000u32.to_le_bytes())
            .unwrap();
        bomb[size..size + 4].copy_from_slice(&10u32.to_le_bytes());
        assert!(read(&Bytes::from(bomb)).unwrap_err().contains("longer"));
    }
}
