//! Reads and writes NumPy's `.npy` format (versions 1 to 3). Files are mapped, and numbers are read in place.
//!
//! ```text
//! \x93NUMPY  major  minor  header length (u16, from version 2 on u32)
//! {'descr': '<f4', 'fortran_order': False, 'shape': (500, 3, 32, 32), }   padded with blanks, ends with a newline
//! the numbers
//! ```
//! Source: `numpy.lib.format` in NumPy's documentation.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    ops::Range,
    path::Path,
    sync::Arc,
};

use bytes::Bytes;
use ndarray::{ArrayViewD, Axis, IxDyn, ShapeBuilder as _};
use strait_core::tensor::Element;
use strait_mapped::MappedFile;

use crate::{
    archive::Content,
    error::{DataError, Kind},
    numbers::NumberType,
};

const MAGIC: &[u8] = b"\x93NUMPY";

/// The largest size of a header in bytes. No array of numbers needs a longer one.
const LONGEST_HEADER: usize = 64 << 10;

/// The largest number of axes that NumPy allows.
const MOST_AXES: usize = 64;

/// The order of the numbers in a file, and the byte order of each number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Order {
    /// True if the first axis varies fastest (Fortran order), and false if the last axis does.
    first_fastest: bool,
    big_endian: bool,
}

/// An array in a file. The bytes of the file are not copied.
#[derive(Clone, Debug)]
pub struct Array {
    name: String,
    number_type: NumberType,
    shape: Vec<usize>,
    order: Order,
    /// The bytes of the numbers. There are as many bytes as type and shape require.
    bytes: Bytes,
    /// The file, and the offset of `bytes` in it. `None` if samples cannot be mapped one by one.
    file: Option<(Arc<MappedFile>, usize)>,
}

impl Array {
    /// Maps the file.
    ///
    /// # Errors
    /// The file cannot be read. The other errors are those of [`Array::parse`].
    pub fn open(path: &Path) -> Result<Array, DataError> {
        let name = path.display().to_string();
        let file = MappedFile::open(path, u64::MAX).map_err(|error| DataError::unreadable(path, error))?;
        let bytes = file.whole().clone();
        let content = Content {
            bytes,
            file: Some((Arc::new(file), 0)),
        };
        Array::of_content(&name, &content)
    }

    fn of_content(name: &str, content: &Content) -> Result<Array, DataError> {
        let mut array = Array::parse(name, &content.bytes)?;
        let begin = header(&content.bytes).map(|(_, begin)| begin);
        let place = content.file.clone().zip(begin);
        array.file = place.map(|((file, start), begin)| (file, start + begin));
        Ok(array)
    }

    /// The array in a member of an archive. The array is the whole content of the member.
    pub(crate) fn of_member(name: &str, content: &Content) -> Result<Array, DataError> {
        let array = Array::of_content(name, content)?;
        let whole = &content.bytes;
        let begin = header(whole).map_or(0, |(_, begin)| begin);
        match whole.len() - begin - array.bytes.len() {
            0 => Ok(array),
            more => {
                let message = format!("{name} is not an array of NumPy: {more} bytes follow its last number");
                Err(DataError::new(Kind::Format, message).help("write it again with numpy.savez"))
            }
        }
    }

    /// Reads an array from `bytes`, which are not copied. `name` is the name of the array in messages.
    ///
    /// # Errors
    /// The bytes are not an array, the array is truncated, or its numbers have a type that we do not read.
    pub fn parse(name: &str, bytes: &Bytes) -> Result<Array, DataError> {
        let broken = |what: &str| DataError::new(Kind::Format, format!("{name} is not an array of NumPy: {what}"));
        let (header, start) = header(bytes).ok_or_else(|| {
            broken("it does not begin as one").help("write it with numpy.save, or numpy.savez for several arrays")
        })?;
        let parsed = Header::parse(header).ok_or_else(|| broken(&format!("its header is {:?}", shortened(header))))?;
        let (number_type, big_endian) = number_type(name, parsed.descr)?;
        // Even for an empty array, the product of all extents other than 0 must not overflow, because strides are
        // computed from it.
        let mut most = parsed.shape.iter().filter(|&&extent| extent != 0);
        let most = most.try_fold(number_type.size(), |size, &extent| size.checked_mul(extent));
        let most = most.filter(|&size| size <= isize::MAX as usize);
        let expected = most.map(|size| if parsed.shape.contains(&0) { 0 } else { size });
        let found = bytes.len() - start;
        match expected {
            Some(expected) if expected <= found => Ok(Array {
                name: name.to_owned(),
                number_type,
                order: Order {
                    first_fastest: parsed.fortran_order,
                    big_endian,
                },
                shape: parsed.shape,
                bytes: bytes.slice(start..start + expected),
                file: None,
            }),
            _ => {
                let expected = expected.map_or("more than a computer has".to_owned(), |bytes| bytes.to_string());
                let text = format!("shape {:?} takes {expected} bytes, {found} are there", parsed.shape);
                Err(broken(&text).help("the file is cut short; write it again"))
            }
        }
    }

    /// The name of the array for messages: the name of its file, and the name in the archive if it is in one.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of the numbers.
    pub fn number_type(&self) -> NumberType {
        self.number_type
    }

    /// The extents, with the axis of the samples first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The extent of the first axis; `None` for a single number.
    pub fn samples(&self) -> Option<usize> {
        self.shape.first().copied()
    }

    /// The bytes of the numbers, in the order of the file.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Returns a view of the numbers in place, in the order of the file. Returns `None` if the numbers have another
    /// type than `T`, are big-endian, or are not aligned (as in members of an archive).
    pub fn view<T: Element>(&self) -> Option<ArrayViewD<'_, T>> {
        if NumberType::from(T::ELEM) != self.number_type || self.order.big_endian {
            return None;
        }
        self.arranged(bytemuck::try_cast_slice(&self.bytes).ok()?)
    }

    /// Views `numbers` as an array with this array's shape and order. `numbers` has an element for each number of the
    /// array: the number itself or its bytes.
    fn arranged<'a, T>(&self, numbers: &'a [T]) -> Option<ArrayViewD<'a, T>> {
        let shape = IxDyn(&self.shape).set_f(self.order.first_fastest);
        ArrayViewD::from_shape(shape, numbers).ok()
    }

    /// Returns the numbers of one sample as little-endian bytes, in an order in which the last axis varies fastest. If
    /// the array is in a file, only this sample is mapped, so memory does not grow with the number of samples that were
    /// read. If the file has the numbers in another order, they are copied.
    ///
    /// # Panics
    /// If the array is a single number, or there is no such sample, which would be a bug in the caller.
    pub fn sample(&self, sample: usize) -> Bytes {
        if self.order != Order::default() {
            return self.in_order(Some(sample));
        }
        let range = self.range_of(sample);
        match &self.file {
            Some((file, begin)) => file.part(begin + range.start..begin + range.end),
            None => self.bytes.slice(range),
        }
    }

    /// The position of a sample's bytes within the bytes of all samples.
    fn range_of(&self, sample: usize) -> Range<usize> {
        let size = self.shape[1..].iter().product::<usize>() * self.number_type.size();
        sample * size..(sample + 1) * size
    }

    /// Like [`Array::sample`], but copies the numbers, so that later changes of the file have no effect on them.
    ///
    /// # Errors
    /// The file has become shorter since it was opened.
    pub(crate) fn read_sample(&self, sample: usize) -> Result<Bytes, DataError> {
        if self.order != Order::default() {
            return Ok(self.in_order(Some(sample)));
        }
        let range = self.range_of(sample);
        let Some((file, begin)) = &self.file else {
            return Ok(Bytes::copy_from_slice(&self.bytes[range]));
        };
        let read = file.read(begin + range.start..begin + range.end);
        read.map(Bytes::from)
            .map_err(|error| DataError::unreadable(self.name.as_ref(), error))
    }

    /// The array as the only sample of an array.
    pub(crate) fn into_sample(mut self) -> Array {
        self.shape.insert(0, 1);
        self
    }

    /// Returns all numbers as little-endian bytes, in an order in which the last axis varies fastest. They are only
    /// copied if the file has them in another order.
    pub(crate) fn numbers(&self) -> Bytes {
        if self.order == Order::default() {
            self.bytes.clone()
        } else {
            self.in_order(None)
        }
    }

    /// Copies the numbers of one sample, or of all samples if `sample` is `None`. The copy has little-endian bytes, in
    /// an order in which the last axis varies fastest.
    fn in_order(&self, sample: Option<usize>) -> Bytes {
        match self.number_type.size() {
            1 => self.gathered::<1>(sample),
            2 => self.gathered::<2>(sample),
            4 => self.gathered::<4>(sample),
            _ => self.gathered::<8>(sample),
        }
    }

    fn gathered<const N: usize>(&self, sample: Option<usize>) -> Bytes {
        let Some(all) = self.arranged(self.bytes.as_chunks::<N>().0) else {
            // This does not happen, because the length was checked against the shape when the array was read.
            return Bytes::new();
        };
        let numbers = match sample {
            Some(sample) => all.index_axis(Axis(0), sample).into_dyn(),
            None => all.view(),
        };
        let mut bytes = Vec::new();
        for mut number in numbers.iter().copied() {
            if self.order.big_endian {
                number.reverse();
            }
            bytes.extend(number);
        }
        bytes.into()
    }
}

/// Finds the text of the header, and the offset at which the numbers begin.
fn header(bytes: &[u8]) -> Option<(&str, usize)> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (&[major, _minor], rest) = rest.split_first_chunk::<2>()?;
    let (length, rest) = match major {
        1 => rest
            .split_first_chunk::<2>()
            .map(|(length, rest)| (usize::from(u16::from_le_bytes(*length)), rest))?,
        2 | 3 => rest
            .split_first_chunk::<4>()
            .map(|(length, rest)| (u32::from_le_bytes(*length) as usize, rest))?,
        _ => return None,
    };
    let text = rest.get(..length).filter(|_| length <= LONGEST_HEADER)?;
    Some((std::str::from_utf8(text).ok()?, bytes.len() - rest.len() + length))
}

fn shortened(text: &str) -> String {
    text.trim_end().chars().take(80).collect()
}

/// The type that a code such as `<f4` stands for, and whether the numbers are big-endian.
fn number_type(name: &str, code: &str) -> Result<(NumberType, bool), DataError> {
    let (order, rest) = code.split_at_checked(1).unwrap_or(("", code));
    match (order, NumberType::of_code(rest)) {
        ("<" | "=", Some(found)) => Ok((found, false)),
        ("|", Some(found)) if found.size() == 1 => Ok((found, false)),
        (">", Some(found)) => Ok((found, true)),
        _ => {
            let message = format!(
                "the numbers of {name} have the type {:?}, which is not read",
                shortened(code)
            );
            let finding = DataError::new(Kind::Type, message).note(format!("read are {}", NumberType::names()));
            Err(finding.help("convert them: array.astype(\"float32\")"))
        }
    }
}

/// The entries of the header's dictionary.
struct Header<'a> {
    descr: &'a str,
    fortran_order: bool,
    shape: Vec<usize>,
}

impl<'a> Header<'a> {
    /// Parses a dictionary, written as in Python, with exactly the keys `descr`, `fortran_order` and `shape`. Their
    /// values are a string, a boolean, and a tuple of whole numbers. (For records, the value of `descr` is a list;
    /// files with records are refused, because they are not arrays of numbers.)
    fn parse(text: &'a str) -> Option<Header<'a>> {
        let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        while !rest.is_empty() {
            let (key, value) = quoted(rest)?;
            let value = value.trim_start().strip_prefix(':')?.trim_start();
            rest = match key {
                "descr" => {
                    let (text, rest) = quoted(value)?;
                    descr = Some(text);
                    rest
                }
                "fortran_order" => {
                    let end = value
                        .find(|letter: char| !letter.is_ascii_alphabetic())
                        .unwrap_or(value.len());
                    fortran_order = Some(match &value[..end] {
                        "True" => true,
                        "False" => false,
                        _ => return None,
                    });
                    &value[end..]
                }
                "shape" => {
                    let (inner, rest) = value.strip_prefix('(')?.split_once(')')?;
                    shape = Some(extents(inner)?);
                    rest
                }
                _ => return None,
            };
            rest = rest.trim_start();
            rest = match rest.strip_prefix(',') {
                Some(rest) => rest.trim_start(),
                None if rest.is_empty() => rest,
                None => return None,
            };
        }
        Some(Header {
            descr: descr?,
            fortran_order: fortran_order?,
            shape: shape?,
        })
    }
}

/// Reads a string in single or double quotes. Returns the string and the text after it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|letter| matches!(letter, '\'' | '"'))?;
    text[1..].split_once(quote)
}

/// Parses extents, written as `2, 3`, `2,` or nothing.
fn extents(text: &str) -> Option<Vec<usize>> {
    let text = text.trim();
    let text = text.strip_suffix(',').unwrap_or(text);
    if text.is_empty() {
        return Some(Vec::new());
    }
    let parts = text.split(',').take(MOST_AXES + 1);
    let extents: Option<Vec<usize>> = parts
        .map(|part| part.trim().trim_end_matches('L').parse().ok())
        .collect();
    extents.filter(|extents| extents.len() <= MOST_AXES)
}

/// Writes an array piece by piece, so that the whole array never has to be in memory.
#[derive(Debug)]
pub struct Writer {
    out: BufWriter<File>,
    left: usize,
}

impl Writer {
    /// Creates a file for an array of this type and shape.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn create(path: &Path, number_type: NumberType, shape: &[usize]) -> io::Result<Writer> {
        let size = shape
            .iter()
            .try_fold(number_type.size(), |size, &extent| size.checked_mul(extent));
        let left = size.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the array is too large"))?;
        let mut out = BufWriter::new(File::create(path)?);
        out.write_all(&encode_header(number_type, shape))?;
        Ok(Writer { out, left })
    }

    /// Appends the bytes of the next numbers.
    ///
    /// # Errors
    /// Errors of the file system, or more bytes than the shape has room for.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let left = self.left.checked_sub(bytes.len());
        self.left =
            left.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "more numbers than the shape says"))?;
        self.out.write_all(bytes)
    }

    /// Finishes the file.
    ///
    /// # Errors
    /// Errors of the file system, or fewer bytes than the shape needs.
    pub fn finish(mut self) -> io::Result<()> {
        if self.left != 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "fewer numbers than the shape says",
            ));
        }
        self.out.flush()
    }
}

/// Returns the bytes of a whole file: the header with type and shape, and then `numbers`, which has to be
/// little-endian, with the last axis varying fastest.
pub fn encode(number_type: NumberType, shape: &[usize], numbers: &[u8]) -> Vec<u8> {
    let mut file = encode_header(number_type, shape);
    file.extend_from_slice(numbers);
    file
}

/// A header of version 1. It is padded so that the numbers begin at a multiple of 64 bytes.
fn encode_header(number_type: NumberType, shape: &[usize]) -> Vec<u8> {
    let order = if number_type.size() == 1 { '|' } else { '<' };
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let (code, shape) = (number_type.code(), extents.join(", "));
    let mut text = format!("{{'descr': '{order}{code}', 'fortran_order': False, 'shape': ({shape}{comma}), }}");
    while !(MAGIC.len() + 4 + text.len() + 1).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    // The text has at most MOST_AXES numbers of 20 digits each, so it is far shorter than 65536 bytes.
    [MAGIC, &[1, 0], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, numbers: &[u8]) -> Bytes {
        let length = (header.len() as u16).to_le_bytes();
        Bytes::from([MAGIC, &[1, 0], &length, header.as_bytes(), numbers].concat())
    }

    fn kind_of(bytes: &Bytes) -> Kind {
        Array::parse("x.npy", bytes).unwrap_err().kind
    }

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        for shape in [&[2, 3][..], &[6], &[1, 6, 1]] {
            let mut writer = Writer::create(&path, NumberType::I16, shape).unwrap();
            writer.append(&[1, 0, 2, 0, 3, 0]).unwrap();
            writer.append(&[4, 0, 5, 0, 6, 0]).unwrap();
            writer.finish().unwrap();
            let array = Array::open(&path).unwrap();
            assert_eq!((array.number_type, array.shape.as_slice()), (NumberType::I16, shape));
            assert_eq!(array.bytes.as_ref(), [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
        }
        let start = std::fs::read(&path).unwrap().len() - 12;
        assert_eq!(start % 64, 0);
    }

    #[test]
    fn a_writer_holds_to_its_shape() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(&folder.path().join("x"), NumberType::U8, &[3]).unwrap();
        writer.append(&[1, 2]).unwrap();
        assert!(writer.append(&[3, 4]).is_err());
        let writer = Writer::create(&folder.path().join("x"), NumberType::U8, &[3]).unwrap();
        assert!(writer.finish().is_err());
    }

    #[test]
    fn headers_of_other_writers_are_read() {
        for header in [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }          \n",
            "{\"shape\":(2),\"descr\":\"<f4\",\"fortran_order\":False}",
            "{'descr': '<f4', 'fortran_order': True, 'shape': (2L, 1L)}",
        ] {
            let array = Array::parse("x", &file(header, &[0; 8])).unwrap_or_else(|e| panic!("{header}: {e}"));
            assert_eq!(array.shape[0], 2);
        }
    }

    #[test]
    fn what_is_not_read_is_told_apart() {
        let header = |descr: &str, order: &str, shape: &str| {
            file(
                &format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}}}"),
                &[0; 64],
            )
        };
        for (bytes, expected) in [
            (header("<f4", "False", "(4, 4)"), None),
            (header("<f4", "True", "(4, 4)"), None),
            (header(">f4", "False", "(4, 4)"), None),
            (header("<c8", "False", "(4,)"), Some(Kind::Type)),
            (header("|O", "False", "(4,)"), Some(Kind::Type)),
            (header("", "False", "(4,)"), Some(Kind::Type)),
            (header("ü", "False", "(4,)"), Some(Kind::Type)),
            (header("<f4", "False", "(4, 5)"), Some(Kind::Format)),
            (header("<f4", "False", "(99999999999, 99999999999)"), Some(Kind::Format)),
            (
                header("<f4", "False", "(99999999999, 99999999999, 0)"),
                Some(Kind::Format),
            ),
            (header("<f4", "False", "(-4,)"), Some(Kind::Format)),
            (header("<f4", "Maybe", "(4,)"), Some(Kind::Format)),
            (
                header("<f4", "False", &format!("({})", "1,".repeat(65))),
                Some(Kind::Format),
            ),
            (
                file(
                    "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
                    &[0; 4],
                ),
                Some(Kind::Format),
            ),
            (Bytes::from_static(b"\x93NUMPY\x01\x00\xff\xff{"), Some(Kind::Format)),
            (Bytes::from_static(b"\x93NUMPY\x09\x00\x00\x00"), Some(Kind::Format)),
            (Bytes::from_static(b"PK\x03\x04"), Some(Kind::Format)),
            (Bytes::new(), Some(Kind::Format)),
        ] {
            match expected {
                None => assert!(Array::parse("x.npy", &bytes).is_ok()),
                Some(code) => assert_eq!(kind_of(&bytes), code, "{bytes:?}"),
            }
        }
    }

    #[test]
    fn fortran_order_and_big_endian_numbers_are_the_same_samples() {
        // [[1, 2, 3], [4, 5, 6]] in each of the four orders.
        for (descr, fortran, bytes) in [
            ("<i2", "False", [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]),
            ("<i2", "True", [1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0]),
            (">i2", "False", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6]),
            (">i2", "True", [0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6]),
        ] {
            let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': (2, 3)}}");
            let array = Array::parse("x", &file(&header, &bytes)).unwrap();
            assert_eq!(array.sample(0).as_ref(), [1, 0, 2, 0, 3, 0], "{header}");
            assert_eq!(array.sample(1).as_ref(), [4, 0, 5, 0, 6, 0], "{header}");
        }
    }

    #[test]
    fn views_are_of_the_mapped_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        for (fortran, expected) in [("False", [[1, 2], [3, 4]]), ("True", [[1, 3], [2, 4]])] {
            let header = format!("{{'descr': '<i4', 'fortran_order': {fortran}, 'shape': (2, 2)}}");
            let header = format!("{header:117}\n");
            let numbers: Vec<u8> = [1i32, 2, 3, 4].iter().flat_map(|number| number.to_le_bytes()).collect();
            std::fs::write(&path, file(&header, &numbers)).unwrap();
            let array = Array::open(&path).unwrap();
            let view = array.view::<i32>().unwrap();
            assert_eq!(view, ndarray::arr2(&expected).into_dyn());
            assert_eq!(view.as_ptr().cast(), array.bytes().as_ptr());
            assert!(array.view::<f32>().is_none());
        }
    }

    #[test]
    fn damaged_files_do_no_harm() {
        let whole = file("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 2), }\n", &[7; 16]);
        let look = |bytes: &[u8]| {
            if let Ok(array) = Array::parse("x", &Bytes::copy_from_slice(bytes)) {
                array.view::<i32>();
                (0..array.samples().unwrap_or(0).min(9)).for_each(|sample| _ = array.sample(sample));
            }
        };
        (0..whole.len()).for_each(|length| look(&whole[..length]));
        for at in 0..whole.len() {
            for value in [0, b'0', b'9', 0x7f, 0xff, whole[at] ^ 0x20] {
                let mut damaged = whole.to_vec();
                damaged[at] = value;
                look(&damaged);
            }
        }
    }
}
