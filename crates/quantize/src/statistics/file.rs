//! The file that statistics are kept in between runs.
//!
//! Little-endian: magic, 32 bytes of key, number of samples, then twice, of values and of the peaks of their rows: how
//! many, and of each: name, zeros, how many are NaN, −∞ and ∞, samples (index, min, max), exponent, bins that hold
//! elements (index, count). The last 32 bytes are the BLAKE3 hash of all before, so a damaged or half-written file is
//! not taken for data.

use super::{Histogram, MAX_BINS, Observation, SampleRange, Statistics};
use std::io::{self, BufWriter, Write};

const MAGIC: &[u8; 8] = b"STRAITS3";

/// Reason why a file of statistics is not used. It is a cache: the caller observes anew.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// Not such a file, or one of another version.
    #[error("this is not a file of statistics of this version")]
    Format,
    /// It was damaged.
    #[error("the file of statistics is damaged")]
    Damaged,
    /// It belongs to another graph, other data or other preprocessing.
    #[error("the statistics belong to another graph, other data or other preprocessing")]
    Key,
}

/// Writes the file. One value is encoded at a time, so that this takes no memory for all of them.
///
/// # Errors
/// Those of `out`.
pub fn write(observation: &Observation, key: &[u8; 32], out: impl Write) -> io::Result<()> {
    let (mut hasher, mut out) = (blake3::Hasher::new(), BufWriter::new(out));
    let mut put = |bytes: &[u8]| {
        hasher.update(bytes);
        out.write_all(bytes)
    };
    put(&[&MAGIC[..], key, &observation.samples.to_le_bytes()].concat())?;
    let mut record: Vec<u8> = Vec::new();
    for statistics in [&observation.values, &observation.peaks] {
        put(&(statistics.len() as u64).to_le_bytes())?;
        for (name, statistics) in statistics {
            record.clear();
            encode(&mut record, name, statistics);
            put(&record)?;
        }
    }
    out.write_all(hasher.finalize().as_bytes())?;
    out.flush()
}

/// Appends the statistics of one value.
fn encode(record: &mut Vec<u8>, name: &str, s: &Statistics) {
    record.extend_from_slice(&(name.len() as u64).to_le_bytes());
    record.extend_from_slice(name.as_bytes());
    let [below, above] = s.infinite;
    for number in [s.zeros, s.nan, below, above, s.samples.len() as u64] {
        record.extend_from_slice(&number.to_le_bytes());
    }
    for range in &s.samples {
        record.extend_from_slice(&range.sample.to_le_bytes());
        record.extend_from_slice(&range.min.to_le_bytes());
        record.extend_from_slice(&range.max.to_le_bytes());
    }
    record.extend_from_slice(&s.histogram.exponent().to_le_bytes());
    record.extend_from_slice(&(s.histogram.occupied().len() as u64).to_le_bytes());
    for (index, count) in s.histogram.occupied() {
        record.extend_from_slice(&index.to_le_bytes());
        record.extend_from_slice(&count.to_le_bytes());
    }
}

/// Observation in the bytes, if they are whole and carry this key.
pub fn read(bytes: &[u8], key: &[u8; 32]) -> Result<Observation, FileError> {
    let (body, digest) = bytes.split_last_chunk::<32>().ok_or(FileError::Format)?;
    let mut reader = Reader(body);
    if reader.take::<8>()? != *MAGIC {
        return Err(FileError::Format);
    }
    if blake3::hash(body).as_bytes() != digest {
        return Err(FileError::Damaged);
    }
    if reader.take::<32>()? != *key {
        return Err(FileError::Key);
    }
    let mut observation = Observation {
        samples: reader.number()?,
        ..Observation::default()
    };
    for statistics in [&mut observation.values, &mut observation.peaks] {
        for _ in 0..reader.number()? {
            let length = reader.number()?;
            let name = String::from_utf8(reader.bytes(length)?.to_vec()).map_err(|_| FileError::Damaged)?;
            statistics.insert(name, reader.statistics()?);
        }
    }
    if reader.0.is_empty() {
        Ok(observation)
    } else {
        Err(FileError::Damaged)
    }
}

/// Bytes that are left to read. Nothing is allocated for a length before as many bytes are there.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, length: u64) -> Result<&'a [u8], FileError> {
        let length = usize::try_from(length).map_err(|_| FileError::Damaged)?;
        let (head, tail) = self.0.split_at_checked(length).ok_or(FileError::Damaged)?;
        self.0 = tail;
        Ok(head)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], FileError> {
        let (head, tail) = self.0.split_first_chunk::<N>().ok_or(FileError::Damaged)?;
        self.0 = tail;
        Ok(*head)
    }

    fn number(&mut self) -> Result<u64, FileError> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    fn statistics(&mut self) -> Result<Statistics, FileError> {
        let mut s = Statistics {
            zeros: self.number()?,
            nan: self.number()?,
            infinite: [self.number()?, self.number()?],
            ..Statistics::default()
        };
        for _ in 0..self.number()? {
            s.samples.push(SampleRange {
                sample: self.number()?,
                min: f32::from_le_bytes(self.take()?),
                max: f32::from_le_bytes(self.take()?),
            });
        }
        let exponent = i16::from_le_bytes(self.take()?);
        let length = self.number()?;
        if length > MAX_BINS as u64 {
            return Err(FileError::Damaged);
        }
        let bin = |_| Ok((i16::from_le_bytes(self.take()?), self.number()?));
        let bins = (0..length).map(bin).collect::<Result<Vec<_>, FileError>>()?;
        s.histogram = Histogram::from_parts(exponent, bins).ok_or(FileError::Damaged)?;
        Ok(s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Observation {
        let mut s = Statistics::default();
        s.add(3, &[0.0, 1.5, -2.0, f32::NAN, f32::INFINITY]);
        s.add(1, &[9.0]);
        let mut peaks = Statistics::default();
        peaks.add(3, &[1.5]);
        Observation {
            samples: 2,
            values: [("/a:0".to_string(), s)].into(),
            peaks: [("/a:0".to_string(), peaks)].into(),
        }
    }

    fn written(observation: &Observation, key: &[u8; 32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(observation, key, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let (observation, key) = (example(), [7; 32]);
        assert_eq!(read(&written(&observation, &key), &key).unwrap(), observation);
    }

    #[test]
    fn another_key_or_a_damaged_byte_is_noticed() {
        let bytes = written(&example(), &[7; 32]);
        assert_eq!(read(&bytes, &[8; 32]), Err(FileError::Key));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(read(&damaged, &[7; 32]).is_err(), "byte {at}");
            assert!(read(&bytes[..at], &[7; 32]).is_err(), "cut at {at}");
        }
    }
}
