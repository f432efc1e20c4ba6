//! Reads a container. Every part of the file is checked before it is used.

use super::error::damaged;
use super::header::Header;
use super::section::Entry;
use super::{FormatError, align, header, section};
use bytes::Bytes;

/// Which parts of a container are compared with their checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Integrity {
    /// Everything: every byte of the file is read once.
    #[default]
    Full,
    /// Everything except the tensors, which stay on disk until they are used. So a damaged weight is not noticed.
    SkipTensors,
}

/// A section of a container.
#[derive(Clone, Debug)]
pub struct Section {
    /// Name of the section.
    pub name: String,
    /// True if a reader that does not know the section must refuse the file.
    pub critical: bool,
    /// Contents of the section: a slice of the file that starts at a multiple of the alignment.
    pub bytes: Bytes,
    checksum: blake3::Hash,
}

/// The sections of a container whose header, table and padding have been checked.
#[derive(Clone, Debug)]
pub struct Sections(Vec<Section>);

impl Sections {
    /// Splits a file into its sections. Their contents are not checked yet; [`Sections::check`] does that.
    pub fn parse(file: &Bytes) -> Result<Sections, FormatError> {
        let header = Header::decode(file)?;
        // The sum cannot overflow, since there are at most MAX_SECTIONS entries.
        let table_end = header::SIZE + header.sections * section::SIZE;
        let Some(table) = file.get(header::SIZE..table_end) else {
            return damaged("it ends within the section table");
        };
        Header::check(file, table)?;
        let mut sections: Vec<Section> = Vec::with_capacity(header.sections);
        let mut end = table_end as u64;
        for entry in table.chunks_exact(section::SIZE) {
            let entry = Entry::decode(entry)?;
            if sections.iter().any(|s| s.name == entry.name) {
                return damaged(format!("section `{}` is there twice", entry.name));
            }
            let bytes = content(file, end, &entry)?;
            end = entry.offset + entry.length;
            sections.push(Section {
                name: entry.name,
                critical: entry.critical,
                bytes,
                checksum: entry.checksum,
            });
        }
        if end == header.length {
            Ok(Sections(sections))
        } else {
            damaged(format!("its sections end at byte {end} of {}", header.length))
        }
    }

    /// Compares every section with its checksum, except those that `except` names.
    pub fn check(&self, except: &[&str]) -> Result<(), FormatError> {
        let wanted = self.0.iter().filter(|s| !except.contains(&s.name.as_str()));
        for section in wanted {
            if blake3::hash(&section.bytes) != section.checksum {
                let what = format!("section `{}`", section.name);
                return Err(FormatError::Checksum { what });
            }
        }
        Ok(())
    }

    /// Refuses a file that has a section which must not be skipped and is not in `known`.
    pub fn refuse_unknown(&self, known: &[&str]) -> Result<(), FormatError> {
        let unknown = self.0.iter().find(|s| s.critical && !known.contains(&s.name.as_str()));
        unknown.map_or(Ok(()), |s| {
            let name = s.name.clone();
            Err(FormatError::UnknownSection { name })
        })
    }

    /// Contents of a section, if the file has it.
    pub fn get(&self, name: &str) -> Option<&Bytes> {
        self.iter().find(|s| s.name == name).map(|s| &s.bytes)
    }

    /// Contents of a section that the file must have.
    pub fn require(&self, name: &'static str) -> Result<&Bytes, FormatError> {
        self.get(name).ok_or(FormatError::MissingSection { name })
    }

    /// The sections in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Section> {
        self.0.iter()
    }
}

/// Returns the bytes of the section that starts at the first aligned offset at or after `end`. All bytes between `end`
/// and this offset must be zero.
fn content(file: &Bytes, end: u64, entry: &Entry) -> Result<Bytes, FormatError> {
    let name = &entry.name;
    if align(end) != Some(entry.offset) {
        return damaged(format!("section `{name}` starts at byte {}", entry.offset));
    }
    let range = |from: u64, to: Option<u64>| {
        let range = usize::try_from(from).ok()?..usize::try_from(to?).ok()?;
        file.get(range.clone()).map(|bytes| (range, bytes))
    };
    let between = range(end, Some(entry.offset));
    let within = range(entry.offset, entry.offset.checked_add(entry.length));
    let (Some((_, between)), Some((within, _))) = (between, within) else {
        return damaged(format!("section `{name}` ends behind the end of the file"));
    };
    if between.iter().any(|b| *b != 0) {
        return damaged(format!("there is something in front of section `{name}`"));
    }
    Ok(file.slice(within))
}
