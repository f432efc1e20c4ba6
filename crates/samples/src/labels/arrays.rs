//! Labels in arrays: classes, masks and reference outputs.

use std::path::Path;

use strait_core::counted;

use crate::{
    arrays::read_arrays,
    error::{DataError, Kind},
    names::extension,
    npy::Array,
};

use super::LabelCount;

/// The largest total size of the arrays of a label file, in bytes.
const MOST_BYTES: u64 = 1 << 40;

/// Reads classes from an array that has one whole number for each sample, in any numeric type. The array is chosen
/// as in [`label_array`].
///
/// # Errors
/// The file cannot be read, the shape is different, the number of labels does not match, or a label is not a class.
pub fn read_labels(path: &Path, names: &[&str], wanted: LabelCount) -> Result<Vec<u32>, DataError> {
    let array = find(path, names)?;
    if array.shape().is_empty() || array.shape().iter().skip(1).any(|&extent| extent != 1) {
        let message = format!(
            "{} has the shape {:?}, and labels are one number for each sample",
            array.name(),
            array.shape()
        );
        return Err(DataError::new(Kind::Shape, message));
    }
    let array = fitting(array, wanted)?;
    let class = |sample: usize| {
        let number = array.integers_of(sample).and_then(|numbers| numbers.first().copied());
        number.and_then(|number| u32::try_from(number).ok()).ok_or_else(|| {
            let message = format!(
                "label {sample} of {} is not a class: a whole number from 0 on",
                array.name()
            );
            DataError::new(Kind::Label, message)
        })
    };
    (0..wanted.samples).map(class).collect()
}

/// Reads the array of an `.npy`, or an array of an `.npz`: the array with one of the names in `names`, or the only
/// array of the file. Along its first axis, the array has one label for each sample.
///
/// # Errors
/// The file cannot be read, the archive has no such array, or the number of labels does not match.
pub fn label_array(path: &Path, names: &[&str], wanted: LabelCount) -> Result<Array, DataError> {
    fitting(find(path, names)?, wanted)
}

fn find(path: &Path, names: &[&str]) -> Result<Array, DataError> {
    if extension(path) != "npz" {
        return Array::open(path);
    }
    let mut arrays = read_arrays(path, MOST_BYTES)?;
    let named = names.iter().find_map(|&name| arrays.remove(name));
    let only = match arrays.len() {
        1 => arrays.pop_first().map(|(_, array)| array),
        _ => None,
    };
    named.or(only).ok_or_else(|| {
        let message = format!("{} has no array {}", path.display(), names.join(" or "));
        let there: Vec<&str> = arrays.keys().map(String::as_str).take(20).collect();
        DataError::new(Kind::Name, message).note(format!("its arrays are {}", there.join(", ")))
    })
}

/// Checks that an array has a label for each sample. A single number is refused.
fn fitting(array: Array, wanted: LabelCount) -> Result<Array, DataError> {
    let labels = array.samples().unwrap_or(0);
    // A single number is not an empty list of labels, so it is refused even if there are no samples.
    match array.shape().is_empty() || !wanted.fits(labels) {
        true => Err(wanted.refused(array.name(), &counted(labels, "label"), labels)),
        false => Ok(array),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NumberType, Writer};

    fn read(number_type: NumberType, shape: &[usize], bytes: &[u8], count: usize) -> Result<Vec<u32>, Kind> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("y.npy");
        let mut writer = Writer::create(&path, number_type, shape).unwrap();
        writer.append(bytes).unwrap();
        writer.finish().unwrap();
        let wanted = LabelCount {
            samples: count,
            stored: 2,
        };
        read_labels(&path, &[], wanted).map_err(|error| error.kind)
    }

    #[test]
    fn whole_numbers_of_any_type_are_classes() {
        assert_eq!(read(NumberType::U8, &[2], &[0, 255], 2), Ok(vec![0, 255]));
        assert_eq!(read(NumberType::I16, &[2, 1], &[1, 1, 2, 0], 2), Ok(vec![257, 2]));
        assert_eq!(read(NumberType::U8, &[2], &[1, 2], 1), Ok(vec![1]));
    }

    #[test]
    fn what_is_no_class_is_refused() {
        let half = 0.5f32.to_le_bytes();
        for (number_type, shape, bytes, count, expected) in [
            (NumberType::I8, &[1][..], &[255][..], 1, Kind::Label),
            (NumberType::F32, &[1], &half, 1, Kind::Label),
            (NumberType::U8, &[1], &[1], 2, Kind::Count),
            (NumberType::U8, &[3], &[1, 2, 3], 2, Kind::Count),
            (NumberType::U8, &[3], &[1, 2, 3], 1, Kind::Count),
            (NumberType::U8, &[1, 2], &[1, 2], 1, Kind::Shape),
            (NumberType::U8, &[], &[1], 1, Kind::Shape),
        ] {
            assert_eq!(read(number_type, shape, bytes, count), Err(expected), "{shape:?}");
        }
    }
}
