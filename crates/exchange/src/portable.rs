//! How results are written as bytes.
//!
//! All numbers are little-endian. A list is its length in 8 bytes and its elements.

/// A result that can be written as bytes and read again. What is read is equal to what was written, bit for bit.
pub trait Portable: Sized {
    /// Appends the bytes.
    fn write(&self, out: &mut Vec<u8>);

    /// Reads the result from the first bytes that are left. `None` if they do not fit.
    fn read(from: &mut Reader<'_>) -> Option<Self>;
}

/// The bytes that are left to read. Memory for a list is only allocated if there are enough bytes for its elements.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Begins to read bytes.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    /// Takes the next bytes.
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(count)?;
        self.0 = tail;
        Some(head)
    }

    /// Takes as many bytes as the array has.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk::<N>()?;
        self.0 = tail;
        Some(*head)
    }

    /// Takes the length of a list. `None` if there are fewer bytes left than the list has elements.
    pub fn length(&mut self) -> Option<usize> {
        let length = usize::try_from(u64::read(self)?).ok()?;
        (length <= self.0.len()).then_some(length)
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.0.len()
    }

    /// True if no bytes are left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl Portable for $number {
            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn read(from: &mut Reader<'_>) -> Option<Self> {
                from.array().map(<$number>::from_le_bytes)
            }
        })*
    };
}

numbers! { u8 u16 u32 u64 i64 f32 f64 }

impl Portable for usize {
    fn write(&self, out: &mut Vec<u8>) {
        (*self as u64).write(out);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        u64::read(from)?.try_into().ok()
    }
}

impl<A: Portable, B: Portable> Portable for (A, B) {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
        self.1.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some((A::read(from)?, B::read(from)?))
    }
}

impl<T: Portable, const N: usize> Portable for [T; N] {
    fn write(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|element| element.write(out));
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let elements: Option<Vec<T>> = (0..N).map(|_| T::read(from)).collect();
        elements?.try_into().ok()
    }
}

impl<T: Portable> Portable for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        self.iter().for_each(|inside| inside.write(out));
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        match u8::read(from)? {
            0 => Some(None),
            1 => T::read(from).map(Some),
            _ => None,
        }
    }
}

impl<T: Portable> Portable for Vec<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.len().write(out);
        self.iter().for_each(|element| element.write(out));
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        // The elements are collected one by one, so a wrong length allocates no more than the bytes that are there.
        let length = from.length()?;
        (0..length).map(|_| T::read(from)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Example = Vec<(Option<[f64; 2]>, Vec<u32>)>;

    fn example() -> Example {
        vec![
            (None, vec![]),
            (Some([-0.0, f64::INFINITY]), vec![7, u32::MAX]),
            (Some([f64::MIN_POSITIVE, 3.5]), vec![0]),
        ]
    }

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = Vec::new();
        (example(), usize::MAX).write(&mut bytes);
        let mut reader = Reader::new(&bytes);
        assert_eq!(<(Example, usize)>::read(&mut reader), Some((example(), usize::MAX)));
        assert!(reader.is_empty());
        let mut nan = Vec::new();
        f32::from_bits(0x7fc1_2345).write(&mut nan);
        assert_eq!(f32::read(&mut Reader::new(&nan)).map(f32::to_bits), Some(0x7fc1_2345));
    }

    #[test]
    fn bytes_that_do_not_fit_are_refused() {
        let mut bytes = Vec::new();
        example().write(&mut bytes);
        for cut in 0..bytes.len() {
            assert_eq!(Example::read(&mut Reader::new(&bytes[..cut])), None, "{cut}");
        }
        for at in 0..bytes.len() {
            for value in [2, 0x7f, 0xff] {
                let mut hostile = bytes.clone();
                hostile[at] = value;
                let _ = Example::read(&mut Reader::new(&hostile));
            }
        }
    }
}
