use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};
use std::{fmt, io};

/// A SHA-256 digest, written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// A digest that was computed elsewhere.
    pub fn from_bytes(digest: [u8; 32]) -> Digest {
        Digest(digest)
    }

    /// The inverse of [`Digest`]'s text.
    pub fn parse(text: &str) -> Option<Digest> {
        let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 64 || !text.bytes().all(is_digit) {
            return None;
        }
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
        }
        Some(Digest(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(deserializer)?;
        Digest::parse(&text).ok_or_else(|| de::Error::custom("a digest has 64 lower-case hexadecimal digits"))
    }
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

    /// Where the bytes went, how many there were, and their digest.
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
        assert_eq!(Digest::of(b"abc").to_string(), ABC);
        assert_eq!(Digest::parse(ABC), Some(Digest::of(b"abc")));
        assert_eq!(Digest::parse(&ABC.to_uppercase()), None);
        assert_eq!(Digest::parse(&ABC[1..]), None);
        assert_eq!(Digest::parse(&format!("{}é", &ABC[2..])), None);
        let mut hashing = Hashing::new(Vec::new());
        hashing.write_all(b"ab").unwrap();
        hashing.write_all(b"c").unwrap();
        let (out, bytes, digest) = hashing.finish();
        assert_eq!((out.as_slice(), bytes, digest), (&b"abc"[..], 3, Digest::of(b"abc")));
    }
}
