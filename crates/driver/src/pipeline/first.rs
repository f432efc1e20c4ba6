//! The outputs of the float model for the first samples. The sanity check compares the integer model's outputs with
//! them. They are taken while the model is observed, and stored beside the statistics. So a later compilation that finds
//! the statistics does not run the float model either.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use strait_container::Beside;
use strait_exchange::{Portable, Reader};
use strait_execute::Tensor;
use strait_quantize::statistics::StatisticsKey;

/// Outputs are kept of at most this many samples, which is as many as are compared with the integer model.
const MOST_KEPT: usize = crate::sanity::MOST_SAMPLES;

/// Outputs of a sample that have more bytes than this are not kept.
const MOST_BYTES_KEPT: usize = 4 << 20;

/// A file may have at most this many bytes. Larger files are not read.
const MOST_BYTES: u64 = 2 * (MOST_KEPT * MOST_BYTES_KEPT) as u64;

/// The first bytes of a file. After them, the file has the two digests of the statistics' key, the outputs, and the BLAKE3
/// hash of everything before it, by which a damaged file is recognised.
const MAGIC: [u8; 8] = *b"STRAITO1";

/// Takes the outputs of the first samples, from several threads.
#[derive(Default)]
pub(super) struct FirstOutputs(Mutex<BTreeMap<usize, Vec<Tensor>>>);

impl FirstOutputs {
    pub(super) fn take(&self, index: usize, outputs: Vec<Tensor>) {
        let bytes = outputs.iter().map(|output| output.view().bytes().len());
        if index < MOST_KEPT && bytes.sum::<usize>() <= MOST_BYTES_KEPT {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.insert(index, outputs);
        }
    }

    /// The outputs for all samples up to the first one whose outputs are not kept.
    pub(super) fn in_order(self) -> Vec<Vec<Tensor>> {
        let kept = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let numbered = kept.into_iter().enumerate();
        let first = numbered.take_while(|(at, (index, _))| at == index);
        first.map(|(_, (_, outputs))| outputs).collect()
    }
}

/// The file with the outputs that belong to a file of statistics.
fn beside(statistics: &Path) -> PathBuf {
    statistics.with_extension("outputs")
}

/// Stores outputs beside a file of statistics.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn keep(statistics: &Path, outputs: &[Vec<Tensor>], key: &StatisticsKey) -> std::io::Result<()> {
    let path = beside(statistics);
    let written = Beside::new(path.parent().unwrap_or(Path::new("")), ".outputs")?;
    fs::write(written.path(), encoded(outputs, key))?;
    written.put_in_place(&path)
}

/// The outputs that are stored beside a file of statistics. There are none if no undamaged file belongs to the same
/// model and samples.
pub(super) fn kept(statistics: &Path, key: &StatisticsKey) -> Vec<Vec<Tensor>> {
    let bytes = strait_mapped::map(&beside(statistics), MOST_BYTES).ok();
    bytes.and_then(|bytes| decoded(&bytes, key)).unwrap_or_default()
}

fn encoded(outputs: &[Vec<Tensor>], key: &StatisticsKey) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    (key.model, key.data).write(&mut bytes);
    outputs.len().write(&mut bytes);
    outputs.iter().for_each(|outputs| outputs.write(&mut bytes));
    let hash = blake3::hash(&bytes);
    bytes.extend(hash.as_bytes());
    bytes
}

fn decoded(bytes: &[u8], key: &StatisticsKey) -> Option<Vec<Vec<Tensor>>> {
    let (body, hash) = bytes.split_last_chunk::<32>()?;
    let mut reader = Reader::new(body.strip_prefix(&MAGIC)?);
    let is_own = <([u8; 32], [u8; 32])>::read(&mut reader)? == (key.model, key.data);
    if !is_own || blake3::hash(body).as_bytes() != hash {
        return None;
    }
    let outputs = Portable::read(&mut reader)?;
    reader.is_empty().then_some(outputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_for_the_same_key_is_read() {
        let key = |data| StatisticsKey {
            model: [1; 32],
            data: [data; 32],
        };
        let tensor = |numbers: &[f32]| Tensor::from_values(&[numbers.len()], numbers).unwrap();
        let outputs = vec![
            vec![tensor(&[1.5, -0.0]), tensor(&[])],
            vec![tensor(&[3.0; 5]), tensor(&[2.0])],
        ];
        let mut bytes = encoded(&outputs, &key(2));
        let read = decoded(&bytes, &key(2)).unwrap();
        assert_eq!(encoded(&read, &key(2)), bytes);
        assert!(decoded(&bytes, &key(3)).is_none());
        for at in 0..bytes.len() {
            assert!(decoded(&bytes[..at], &key(2)).is_none(), "{at}");
            bytes[at] ^= 1;
            assert!(decoded(&bytes, &key(2)).is_none(), "{at}");
            bytes[at] ^= 1;
        }
    }

    #[test]
    fn outputs_are_kept_up_to_the_first_that_are_too_large() {
        let first = FirstOutputs::default();
        let of = |count: usize| vec![Tensor::from_values(&[count], &vec![0f32; count]).unwrap()];
        for (index, count) in [(1, 3), (0, 1), (3, 1), (2, 1 + MOST_BYTES_KEPT / 4), (MOST_KEPT, 1)] {
            first.take(index, of(count));
        }
        let shapes: Vec<usize> = first.in_order().iter().map(|outputs| outputs[0].shape()[0]).collect();
        assert_eq!(shapes, [1, 3]);
    }
}
