//! The file format in which statistics are stored between runs and copied between machines.
//!
//! All numbers are little-endian. A text is stored as its length and its UTF-8 bytes. The file consists of:
//! - magic bytes, 32 bytes that identify the model, and 32 that identify the data
//! - the coverage: number of samples in the data, number of ranges, and for each range the first position and the
//!   position after the last one
//! - the number of sections, and the sections. A section is its key, the number of its records, and for each record the
//!   value's name, the record's length, and the record.
//! - the BLAKE3 hash of everything before it, in 32 bytes, by which a damaged or half-written file is recognised
//!
//! The records are:
//! - `elements` and `peaks`: the number of zeros, the numbers of elements that are −∞ and ∞, the samples (position,
//!   min, max, how many are NaN), and the histogram.
//! - `leaders.AXIS`, for the rows along AXIS: a flag that is 0 if no row was counted; the minimum of the second-largest
//!   elements of all rows; the maximum of all rows; the histogram of the second-largest elements; and the histogram of
//!   the margins (the largest minus the second-largest element of each row).
//! - `channels.AXIS`: the number of channels, and the smallest and largest element of each.
//! - A histogram: its exponent, and the bins that hold elements (index, count).
//!
//! A reader skips sections that it does not know, so a new kind of statistics does not change the rest of the file.

use super::{Channels, Coverage, Histogram, Kind, Leaders, MAX_BINS, Observation, Record, SampleRange, Statistics};
use std::io::{self, BufWriter, Write};

const MAGIC: &[u8; 8] = b"STRAITS5";

/// The file is written and hashed in pieces of this many bytes.
const BUFFER: usize = 1 << 16;

/// Digests of what statistics depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatisticsKey {
    /// The digest of the graph with its weights, and of the way in which the graph was observed.
    pub model: [u8; 32],
    /// The digest of all samples with their preprocessing.
    pub data: [u8; 32],
}

/// The reason why a file of statistics cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The file is not a file of statistics, or has another version.
    #[error("this is not a file of statistics of this version")]
    Format,
    /// The file is damaged.
    #[error("the file of statistics is damaged")]
    Damaged,
}

/// Writes the file. Records are encoded one by one, so the memory in use does not grow with the number of records.
///
/// # Errors
/// Errors of `out`.
pub fn write(observation: &Observation, key: &StatisticsKey, out: impl Write) -> io::Result<()> {
    let hasher = blake3::Hasher::new();
    let mut out = BufWriter::with_capacity(BUFFER, Hashed { hasher, out });
    let mut put = |bytes: &[u8]| out.write_all(bytes);
    let covered = observation.covered();
    let mut head = [&MAGIC[..], &key.model, &key.data].concat();
    numbers(&mut head, [covered.of(), covered.ranges().len() as u64]);
    for range in covered.ranges() {
        numbers(&mut head, [range.start, range.end]);
    }
    numbers(&mut head, [observation.sections().len() as u64]);
    put(&head)?;
    let (mut line, mut body) = (Vec::new(), Vec::new());
    for (kind, section) in observation.sections() {
        line.clear();
        text(&mut line, &kind.to_string());
        numbers(&mut line, [section.len() as u64]);
        put(&line)?;
        for (name, record) in section {
            line.clear();
            body.clear();
            match record {
                Record::Statistics(s) => statistics(&mut body, s),
                Record::Leaders(l) => leaders(&mut body, l),
                Record::Channels(c) => channels(&mut body, c),
            }
            text(&mut line, name);
            numbers(&mut line, [body.len() as u64]);
            put(&line)?;
            put(&body)?;
        }
    }
    let Hashed { hasher, mut out } = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    out.write_all(hasher.finalize().as_bytes())?;
    out.flush()
}

/// Computes the hash of everything that is written to `out`. BLAKE3 is fast on long pieces only.
struct Hashed<W> {
    hasher: blake3::Hasher,
    out: W,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(bytes.get(..written).unwrap_or(bytes));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn numbers<const N: usize>(out: &mut Vec<u8>, numbers: [u64; N]) {
    numbers
        .iter()
        .for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
}

fn text(out: &mut Vec<u8>, text: &str) {
    numbers(out, [text.len() as u64]);
    out.extend_from_slice(text.as_bytes());
}

fn statistics(out: &mut Vec<u8>, s: &Statistics) {
    let [below, above] = s.infinite;
    numbers(out, [s.zeros, below, above, s.samples.len() as u64]);
    for range in &s.samples {
        numbers(out, [range.sample]);
        out.extend_from_slice(&range.min.to_le_bytes());
        out.extend_from_slice(&range.max.to_le_bytes());
        numbers(out, [range.nan]);
    }
    histogram(out, &s.histogram);
}

fn leaders(out: &mut Vec<u8>, l: &Leaders) {
    out.push(u8::from(l.ends.is_some()));
    for end in l.ends.into_iter().flatten() {
        out.extend_from_slice(&end.to_le_bytes());
    }
    histogram(out, &l.seconds);
    histogram(out, &l.margins);
}

fn channels(out: &mut Vec<u8>, c: &Channels) {
    numbers(out, [c.ends.len() as u64]);
    for end in c.ends.iter().flatten() {
        out.extend_from_slice(&end.to_le_bytes());
    }
}

fn histogram(out: &mut Vec<u8>, h: &Histogram) {
    out.extend_from_slice(&h.exponent().to_le_bytes());
    numbers(out, [h.occupied().len() as u64]);
    for (index, count) in h.occupied() {
        out.extend_from_slice(&index.to_le_bytes());
        numbers(out, [count]);
    }
}

/// Reads the digests and the observation from a file.
///
/// # Errors
/// See [`FileError`].
pub fn read(bytes: &[u8]) -> Result<(StatisticsKey, Observation), FileError> {
    let (body, digest) = bytes.split_last_chunk::<32>().ok_or(FileError::Format)?;
    let mut reader = Reader(body);
    if reader.take::<8>() != Ok(*MAGIC) {
        return Err(FileError::Format);
    }
    if blake3::hash(body).as_bytes() != digest {
        return Err(FileError::Damaged);
    }
    let key = StatisticsKey {
        model: reader.take()?,
        data: reader.take()?,
    };
    let mut observation = Observation::new(reader.coverage()?);
    for _ in 0..reader.number()? {
        let kind = reader.text()?.parse::<Kind>();
        for _ in 0..reader.number()? {
            let name = reader.text()?;
            let length = reader.number()?;
            let mut record = Reader(reader.bytes(length)?);
            let Ok(kind) = kind else { continue };
            let decoded = match Record::new(kind) {
                Record::Statistics(_) => Record::Statistics(record.statistics()?),
                Record::Leaders(_) => Record::Leaders(record.leaders()?),
                Record::Channels(_) => Record::Channels(record.channels()?),
            };
            record.end()?;
            observation.insert(kind, name, decoded);
        }
    }
    reader.end()?;
    Ok((key, observation))
}

/// Reads values from the bytes of a file, and holds the bytes that are left. If the file states the length of a list,
/// memory for the list is allocated only if the file has enough bytes for it.
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

    fn end(&self) -> Result<(), FileError> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(FileError::Damaged)
        }
    }

    fn number(&mut self) -> Result<u64, FileError> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    fn float(&mut self) -> Result<f32, FileError> {
        Ok(f32::from_le_bytes(self.take()?))
    }

    fn text(&mut self) -> Result<&'a str, FileError> {
        let length = self.number()?;
        std::str::from_utf8(self.bytes(length)?).map_err(|_| FileError::Damaged)
    }

    fn coverage(&mut self) -> Result<Coverage, FileError> {
        let (of, mut ranges) = (self.number()?, Vec::new());
        for _ in 0..self.number()? {
            ranges.push(self.number()?..self.number()?);
        }
        Coverage::from_parts(of, ranges).ok_or(FileError::Damaged)
    }

    fn statistics(&mut self) -> Result<Statistics, FileError> {
        let mut s = Statistics {
            zeros: self.number()?,
            infinite: [self.number()?, self.number()?],
            ..Statistics::default()
        };
        for _ in 0..self.number()? {
            s.samples.push(SampleRange {
                sample: self.number()?,
                min: self.float()?,
                max: self.float()?,
                nan: self.number()?,
            });
        }
        if !s.samples.is_sorted_by(|one, next| one.sample < next.sample) {
            return Err(FileError::Damaged);
        }
        s.histogram = self.histogram()?;
        Ok(s)
    }

    fn leaders(&mut self) -> Result<Leaders, FileError> {
        let ends = match self.take()? {
            [0] => None,
            [1] => Some([self.float()?, self.float()?]),
            _ => return Err(FileError::Damaged),
        };
        Ok(Leaders {
            ends,
            seconds: self.histogram()?,
            margins: self.histogram()?,
        })
    }

    fn channels(&mut self) -> Result<Channels, FileError> {
        let ends = (0..self.number()?).map(|_| Ok([self.float()?, self.float()?]));
        Ok(Channels {
            ends: ends.collect::<Result<_, FileError>>()?,
        })
    }

    fn histogram(&mut self) -> Result<Histogram, FileError> {
        let exponent = i16::from_le_bytes(self.take()?);
        let length = self.number()?;
        if length > MAX_BINS as u64 {
            return Err(FileError::Damaged);
        }
        let bin = |_| Ok((i16::from_le_bytes(self.take()?), self.number()?));
        let bins = (0..length).map(bin).collect::<Result<Vec<_>, FileError>>()?;
        Histogram::from_parts(exponent, bins).ok_or(FileError::Damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: StatisticsKey = StatisticsKey {
        model: [7; 32],
        data: [9; 32],
    };

    fn example() -> Observation {
        let mut s = Statistics::default();
        s.add(3, &[0.0, 1.5, -2.0, f32::NAN, f32::INFINITY]);
        s.add(1, &[9.0]);
        let mut peaks = Statistics::default();
        peaks.add(3, &[1.5]);
        let mut leaders = Leaders::default();
        leaders.add(&[1.5, 0.25, -3.0, -2.0], &[2, 2], 1);
        let mut observation = Observation::new(Coverage::from_parts(5, vec![1..2, 3..4]).unwrap());
        observation.insert(Kind::Elements, "/a:0", Record::Statistics(s));
        observation.insert(Kind::Peaks, "/a:0", Record::Statistics(peaks));
        observation.insert(Kind::Leaders { axis: 1 }, "/a:0", Record::Leaders(leaders));
        observation.insert(
            Kind::Leaders { axis: 1 },
            "/b:0",
            Record::new(Kind::Leaders { axis: 1 }),
        );
        observation
    }

    fn written(observation: &Observation) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(observation, &KEY, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(read(&written(&example())), Ok((KEY, example())));
    }

    #[test]
    fn a_damaged_byte_or_a_cut_is_noticed() {
        let bytes = written(&example());
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(read(&damaged).is_err(), "byte {at}");
            assert!(read(&bytes[..at]).is_err(), "cut at {at}");
        }
    }

    /// The file has a section that only a later version of Strait would write.
    #[test]
    fn a_section_that_is_not_known_is_passed_over() {
        let mut bytes = written(&example());
        let at = bytes.windows(5).position(|five| five == b"peaks").unwrap();
        bytes[at..at + 5].copy_from_slice(b"means");
        let body = bytes.len() - 32;
        let hash = *blake3::hash(&bytes[..body]).as_bytes();
        bytes[body..].copy_from_slice(&hash);
        let (_, found) = read(&bytes).unwrap();
        assert_eq!(found.elements("/a:0"), example().elements("/a:0"));
        assert_eq!((found.peaks("/a:0"), found.sections().len()), (None, 2));
    }

    /// The hash fits, but the contents are wrong, for example lengths beyond the end of the file, or records of another
    /// length.
    #[test]
    fn hostile_bytes_do_no_harm() {
        let bytes = written(&example());
        let body = bytes.len() - 32;
        for at in 72..body {
            for value in [0, 0x7f, 0xff] {
                let mut hostile = bytes[..body].to_vec();
                hostile[at] = value;
                let hash = *blake3::hash(&hostile).as_bytes();
                hostile.extend(hash);
                let _ = read(&hostile);
            }
        }
    }
}
