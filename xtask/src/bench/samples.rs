//! Makes samples for the models of the benchmarks, as NumPy files.

use super::random::Random;

/// Normally distributed samples for a model with one input, as a NumPy file.
pub(super) fn samples(count: usize, extents: &[usize]) -> Vec<u8> {
    let mut shape = vec![count.to_string()];
    shape.extend(extents.iter().map(usize::to_string));
    let header = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}",
        shape.join(", ")
    );
    // There are ten bytes before the header. The header ends with a line feed, and it is padded so that it ends at a
    // multiple of 64 bytes.
    let padded = (header.len() + 11).next_multiple_of(64) - 11;
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend_from_slice(&(padded as u16 + 1).to_le_bytes());
    file.extend_from_slice(format!("{header:padded$}\n").as_bytes());
    let mut random = Random(1);
    let values: Vec<f32> = (0..count * extents.iter().product::<usize>())
        .map(|_| random.normal() as f32)
        .collect();
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    file.extend_from_slice(&bytes);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_samples_has_a_header_of_whole_lines() {
        let file = samples(4, &[4, 4, 4]);
        let length = usize::from(u16::from_le_bytes([file[8], file[9]]));
        assert_eq!(((10 + length) % 64, file[9 + length]), (0, b'\n'));
        assert_eq!(file.len(), 10 + length + 4 * 4 * 64);
        assert!(file[10..].starts_with(b"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 4, 4, 4), }"));
    }
}
