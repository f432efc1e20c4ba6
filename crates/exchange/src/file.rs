//! The files of an exchange.
//!
//! A file has the results of one share at one step. It consists of
//! - the magic bytes
//! - the share (its number and the number of shares), the number of the step, the digest of what the step is, and the
//!   step's name
//! - the number of records, and each record as its length and its bytes
//! - the BLAKE3 hash of everything before it, in 32 bytes
//!
//! Numbers have 8 bytes and are little-endian. A file is written beside its place and renamed when it is complete.

use crate::error::ExchangeError;
use crate::portable::{Portable, Reader};
use crate::share::Share;
use bytes::Bytes;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

const MAGIC: &[u8; 8] = b"STRAITX1";

/// A file may have at most this many bytes. It is mapped and not read into memory.
const MOST_BYTES: u64 = 1 << 42;

/// What a file says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) share: Share,
    pub(crate) number: u64,
    /// The digest of what the step is, and of what led to it.
    pub(crate) digest: [u8; 32],
    pub(crate) name: String,
}

impl Head {
    /// The path of the file.
    pub(crate) fn path(&self, folder: &Path) -> PathBuf {
        let (part, parts) = (self.share.part(), self.share.parts());
        folder.join(format!("{:05}-{part}-of-{parts}", self.number))
    }

    fn write(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        (self.share.part(), self.share.parts()).write(&mut out);
        self.number.write(&mut out);
        out.extend_from_slice(&self.digest);
        self.name.len().write(&mut out);
        out.extend_from_slice(self.name.as_bytes());
        out
    }

    fn read(from: &mut Reader<'_>) -> Option<Head> {
        if from.array()? != *MAGIC {
            return None;
        }
        let (part, parts) = Portable::read(from)?;
        let (number, digest, length) = (u64::read(from)?, from.array()?, from.length()?);
        let name = std::str::from_utf8(from.bytes(length)?).ok()?.to_owned();
        Some(Head {
            share: Share::new(part, parts)?,
            number,
            digest,
            name,
        })
    }
}

/// A file that is being written.
#[derive(Debug)]
pub struct Outgoing {
    out: BufWriter<NamedTempFile>,
    hasher: blake3::Hasher,
    path: PathBuf,
}

impl Outgoing {
    /// Begins the file, which will have so many records.
    pub(crate) fn new(folder: &Path, head: &Head, records: usize) -> Result<Outgoing, ExchangeError> {
        let path = head.path(folder);
        let failed = |error: &io::Error| ExchangeError::file(folder, error);
        let file = temporary(folder);
        let mut outgoing = Outgoing {
            out: BufWriter::new(file.map_err(|error| failed(&error))?),
            hasher: blake3::Hasher::new(),
            path,
        };
        let mut head = head.write();
        records.write(&mut head);
        outgoing.write(&head)?;
        Ok(outgoing)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), ExchangeError> {
        self.hasher.update(bytes);
        let written = self.out.write_all(bytes);
        written.map_err(|error| ExchangeError::file(&self.path, &error))
    }

    /// Appends a record.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn put(&mut self, record: &[u8]) -> Result<(), ExchangeError> {
        self.write(&(record.len() as u64).to_le_bytes())?;
        self.write(record)
    }

    /// Completes the file and puts it in its place. If there is a file already, it has to have the hash `before`; returns
    /// false if it has another one.
    pub(crate) fn finish(mut self, before: Option<[u8; 32]>) -> Result<bool, ExchangeError> {
        let hash = *self.hasher.finalize().as_bytes();
        if let Some(before) = before {
            return Ok(before == hash);
        }
        let path = self.path;
        let failed = |error: io::Error| ExchangeError::file(&path, &error);
        self.out.write_all(&hash).map_err(failed)?;
        let file = self.out.into_inner().map_err(|error| failed(error.into_error()))?;
        // The others may run on other machines, and read the file as soon as it is there.
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(true)
    }
}

/// A temporary file in the folder. Unlike other temporary files, it may be read by whom the system allows it by default,
/// because the other processes may belong to other users.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// A file that a share has written.
#[derive(Clone, Debug)]
pub struct Incoming {
    pub(crate) path: PathBuf,
    pub(crate) head: Head,
    pub(crate) hash: [u8; 32],
    bytes: Bytes,
    /// Where the records begin, and how many there are.
    records: (usize, usize),
}

impl Incoming {
    /// Opens a file. `None` if it does not exist.
    pub(crate) fn open(path: &Path) -> Result<Option<Incoming>, ExchangeError> {
        let bytes = match strait_mapped::map(path, MOST_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ExchangeError::file(path, &error)),
        };
        let damaged = || ExchangeError::Damaged(path.to_owned());
        let (body, hash) = bytes.split_last_chunk::<32>().ok_or_else(damaged)?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(body);
        if hasher.finalize().as_bytes() != hash {
            return Err(damaged());
        }
        let mut reader = Reader::new(body);
        let head = Head::read(&mut reader).ok_or_else(damaged)?;
        let records = usize::read(&mut reader).ok_or_else(damaged)?;
        Ok(Some(Incoming {
            path: path.to_owned(),
            head,
            hash: *hash,
            records: (body.len() - reader.left(), records),
            bytes: bytes.slice(..body.len()),
        }))
    }

    /// The share that wrote the file.
    pub fn share(&self) -> Share {
        self.head.share
    }

    /// The records, which have to be so many.
    ///
    /// # Errors
    /// If the file has other contents.
    pub fn records(&self, count: usize) -> Result<Vec<&[u8]>, ExchangeError> {
        let (start, found) = self.records;
        let mut reader = Reader::new(self.bytes.get(start..).unwrap_or_default());
        let mut next = || {
            let length = reader.length()?;
            reader.bytes(length)
        };
        let records: Option<Vec<&[u8]>> = match found == count {
            true => (0..count).map(|_| next()).collect(),
            false => None,
        };
        records.filter(|_| reader.is_empty()).ok_or_else(|| self.damaged())
    }

    /// Reads a record that the file has.
    ///
    /// # Errors
    /// If the record has other contents.
    pub fn read<R: Portable>(&self, record: &[u8]) -> Result<R, ExchangeError> {
        let mut reader = Reader::new(record);
        let read = R::read(&mut reader).filter(|_| reader.is_empty());
        read.ok_or_else(|| self.damaged())
    }

    /// The error for a file with other contents than expected.
    pub fn damaged(&self) -> ExchangeError {
        ExchangeError::Damaged(self.path.clone())
    }
}
