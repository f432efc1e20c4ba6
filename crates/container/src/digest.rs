use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{self, Write as _};
use strait_mapped::read_part;
use strait_requantize::certificate::Digest;

/// How many bytes of a file are read at a time.
const AT_ONCE: u64 = 1 << 20;

/// Pages of a mapped file are released after so many bytes.
const RELEASED: usize = 16 << 20;

/// The SHA-256 digest of some bytes.
pub fn sha256(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

/// The SHA-256 digest of a mapped file. Its pages, which count as memory of the process once they are read, are released
/// on the way.
pub(crate) fn of_mapped(bytes: &[u8]) -> Digest {
    let mut hasher = Sha256::new();
    for part in bytes.chunks(RELEASED) {
        hasher.update(part);
        strait_mapped::release();
    }
    Digest(hasher.finalize().into())
}

/// Computes one digest for a file together with further files that belong to it.
///
/// If there are further files, this is the digest of a text in the format of `sha256sum`, with one line `DIGEST  NAME`
/// for each file. The file itself comes first, without a name. If there are no further files, the result is the digest
/// of the file itself.
pub(crate) fn of_files(file: Digest, others: &[(String, Bytes)]) -> Digest {
    if others.is_empty() {
        return file;
    }
    let line = |(name, bytes): &(String, Bytes)| format!("{}  {name}\n", of_mapped(bytes));
    let lines: String = others.iter().map(line).collect();
    sha256(format!("{file}\n{lines}").as_bytes())
}

/// The length of a file and its digest. The memory needed does not grow with the file.
pub(crate) fn of_file(file: &File) -> io::Result<(u64, Digest)> {
    let mut hashing = Hashing::new(io::sink());
    let length = file.metadata()?.len();
    let mut done = 0;
    while done < length {
        let part = (length - done).min(AT_ONCE);
        hashing.write_all(&read_part(file, done, part as usize)?)?;
        done += part;
    }
    let (_, bytes, digest) = hashing.finish();
    Ok((bytes, digest))
}

/// A writer that passes bytes on to another writer and computes their number and their digest.
#[derive(Debug)]
pub(crate) struct Hashing<W> {
    inner: W,
    hasher: Sha256,
    bytes: u64,
}

impl<W> Hashing<W> {
    pub(crate) fn new(inner: W) -> Hashing<W> {
        Hashing {
            inner,
            hasher: Sha256::new(),
            bytes: 0,
        }
    }

    pub(crate) fn inner_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    /// Returns the inner writer, the number of bytes and their digest.
    pub(crate) fn finish(self) -> (W, u64, Digest) {
        (self.inner, self.bytes, Digest(self.hasher.finalize().into()))
    }
}

impl<W: io::Write> io::Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The SHA-256 digest of `abc`, from the one-block example of FIPS 180-4.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn the_digest_of_a_file_covers_those_that_belong_to_it() {
        let file = sha256(b"model");
        let with =
            |name: &str, content: &'static [u8]| of_files(file, &[(name.to_owned(), Bytes::from_static(content))]);
        assert_eq!(of_files(file, &[]), file);
        let one = with("weights", b"1");
        assert!(one != file && one != with("weights", b"2") && one != with("other", b"1"));
    }

    #[test]
    fn the_digest_is_sha_256_and_survives_as_text() {
        assert_eq!(sha256(b"abc").to_string(), ABC);
        assert_eq!(Digest::parse(ABC), Some(sha256(b"abc")));
        assert_eq!(Digest::parse(&ABC.to_uppercase()), None);
        assert_eq!(Digest::parse(&ABC[1..]), None);
        assert_eq!(Digest::parse(&format!("{}é", &ABC[2..])), None);
        let mut hashing = Hashing::new(Vec::new());
        hashing.write_all(b"ab").unwrap();
        hashing.write_all(b"c").unwrap();
        let (out, bytes, digest) = hashing.finish();
        assert_eq!((out.as_slice(), bytes, digest), (&b"abc"[..], 3, sha256(b"abc")));
    }
}
