//! The right class of each sample.

use std::path::Path;

use crate::{
    error::{DataError, Kind, count as counted},
    npy::Array,
};

/// The classes in an `.npy` of one whole number for each sample, of any type; the first `count` are read. Where that is fewer
/// than the `stored` samples of the set, there may be labels for the others or not.
///
/// # Errors
/// A file that cannot be read, another shape, labels for fewer samples or for more, and labels that are no class.
pub fn read_labels(path: &Path, count: usize, stored: usize) -> Result<Vec<u32>, DataError> {
    let array = Array::open(path)?;
    let shown = path.display();
    let labels = array.samples().unwrap_or(0);
    if array.shape().is_empty() || array.shape().iter().skip(1).any(|&extent| extent != 1) {
        let message = format!(
            "{shown} has the shape {:?}, and labels are one number for each sample",
            array.shape()
        );
        return Err(DataError::new(Kind::Shape, message));
    }
    if !(count..=stored.max(count)).contains(&labels) {
        let samples = counted(if labels < count { count } else { stored }, "sample");
        let message = format!("{shown} has {} for {samples}", counted(labels, "label"));
        return Err(DataError::new(Kind::Count, message));
    }
    let class = |sample: usize| {
        let bytes = array.sample(sample);
        let class = array
            .number_type()
            .to_whole(&bytes)
            .and_then(|label| u32::try_from(label).ok());
        class.ok_or_else(|| {
            let message = format!("label {sample} of {shown} is not a class: a whole number from 0 on");
            DataError::new(Kind::Label, message)
        })
    };
    (0..count).map(class).collect()
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
        read_labels(&path, count, 2).map_err(|error| error.kind)
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
