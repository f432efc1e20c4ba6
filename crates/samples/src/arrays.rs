//! Reads whole arrays instead of single samples, and converts arrays to integers or floats.

use std::{collections::BTreeMap, path::Path};

use crate::{
    archive::Archive,
    error::{DataError, Kind},
    npy::Array,
};

/// Reads all arrays of an `.npz`. The keys of the result are the names of the arrays without `.npy`.
///
/// # Errors
/// The file cannot be read, a member is not an array, or the contents have more than `most` bytes together. The total
/// size is checked before anything is inflated.
pub fn read_arrays(path: &Path, most: u64) -> Result<BTreeMap<String, Array>, DataError> {
    let shown = path.display();
    let mut archive = Archive::open(path)?;
    let members: Vec<String> = archive.names().collect();
    let sizes: Option<u64> = members
        .iter()
        .try_fold(0u64, |sum, member| sum.checked_add(archive.size(member)?));
    if sizes.is_none_or(|sum| sum > most) {
        let message = format!("{shown} has arrays of more than {most} bytes");
        return Err(DataError::new(Kind::Format, message).help("write several files with fewer layers each"));
    }
    let mut arrays = BTreeMap::new();
    for member in members {
        let Some(name) = member.strip_suffix(".npy") else {
            let message = format!("{shown} has the member {member:?}, which is no array");
            return Err(DataError::new(Kind::Format, message).help("write it with numpy.savez"));
        };
        if let Some(content) = archive.member(&member)? {
            arrays.insert(
                name.to_owned(),
                Array::of_member(&format!("{shown}, {name}"), &content)?,
            );
        }
    }
    Ok(arrays)
}

impl Array {
    /// Returns all numbers as integers, in an order in which the last axis varies fastest. Returns `None` if one of the
    /// numbers is not whole or does not fit in `i64`.
    pub fn integers(&self) -> Option<Vec<i64>> {
        self.whole(&self.numbers())
    }

    /// All numbers as float32. The last axis varies fastest.
    pub fn reals(&self) -> Vec<f32> {
        self.real(&self.numbers())
    }

    /// Like [`Array::integers`], for one sample.
    ///
    /// # Panics
    /// As for [`Array::sample`].
    pub fn integers_of(&self, sample: usize) -> Option<Vec<i64>> {
        self.whole(&self.sample(sample))
    }

    /// Like [`Array::reals`], for one sample.
    ///
    /// # Panics
    /// As for [`Array::sample`].
    pub fn reals_of(&self, sample: usize) -> Vec<f32> {
        self.real(&self.sample(sample))
    }

    fn whole(&self, numbers: &[u8]) -> Option<Vec<i64>> {
        let each = numbers.chunks_exact(self.number_type().size());
        each.map(|bytes| self.number_type().to_whole(bytes)).collect()
    }

    fn real(&self, numbers: &[u8]) -> Vec<f32> {
        let mut reals = vec![0.0; numbers.len() / self.number_type().size()];
        self.number_type().to_f32(numbers, &mut reals);
        reals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NumberType, Pack, encode};

    fn file(members: &[(&str, &[u8])]) -> tempfile::NamedTempFile {
        let mut pack = Pack::default();
        for (name, content) in members {
            pack.add(name, content).unwrap();
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), pack.finish().unwrap()).unwrap();
        file
    }

    #[test]
    fn arrays_are_found_by_name_and_read_as_integers_or_reals() {
        let two = encode(NumberType::I16, &[2], &[1, 0, 0xff, 0xff]);
        let half = encode(NumberType::F32, &[], &0.5f32.to_le_bytes());
        let file = file(&[("a/output.npy", &two), ("a/scale.npy", &half)]);
        let arrays = read_arrays(file.path(), 1 << 20).unwrap();
        assert_eq!(arrays.keys().collect::<Vec<_>>(), ["a/output", "a/scale"]);
        assert_eq!(arrays["a/output"].integers(), Some(vec![1, -1]));
        assert_eq!(arrays["a/scale"].integers(), None);
        assert_eq!(arrays["a/scale"].reals(), [0.5]);
    }

    #[test]
    fn fortran_order_and_big_endian_numbers_come_in_the_order_of_the_axes() {
        let header = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }\n";
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend([0, 1, 0, 3, 0, 2, 0, 4]);
        let array = Array::parse("x", &bytes.into()).unwrap();
        assert_eq!(array.integers(), Some(vec![1, 2, 3, 4]));
    }

    #[test]
    fn bytes_behind_the_last_number_are_refused() {
        let mut two = encode(NumberType::I16, &[2], &[1, 0, 2, 0]);
        assert!(read_arrays(file(&[("a.npy", &two)]).path(), 1 << 20).is_ok());
        two.extend(b"abc");
        let error = read_arrays(file(&[("a.npy", &two)]).path(), 1 << 20).unwrap_err();
        assert!(
            error.message.contains("3 bytes follow its last number"),
            "{}",
            error.message
        );
    }

    #[test]
    fn what_is_too_large_or_no_array_is_refused() {
        let two = encode(NumberType::I16, &[2], &[1, 0, 2, 0]);
        let small = file(&[("a.npy", &two)]);
        assert!(
            read_arrays(small.path(), 100)
                .unwrap_err()
                .message
                .contains("more than 100 bytes")
        );
        let text = file(&[("a.txt", &two)]);
        assert!(read_arrays(text.path(), 1 << 20).unwrap_err().message.contains("a.txt"));
    }
}
