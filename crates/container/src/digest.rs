use sha2::{Digest as _, Sha256};
use std::io;
use strait_requantize::certificate::Digest;

/// The SHA-256 digest of some bytes.
pub fn sha256(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

/// Passes bytes on, and counts and hashes them on the way.
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

    /// The writer, the number of bytes, and their digest.
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
    use std::io::Write;

    /// FIPS 180-4, the example of one block.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

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
