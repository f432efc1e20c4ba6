//! The values of all samples between two segments: in memory up to a bound, and beyond it in temporary files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};
use strait_core::{Elem, ValueId};
use strait_execute::Tensor;

/// The values of each sample that later segments read.
#[derive(Debug)]
pub(crate) struct Store {
    samples: Vec<BTreeMap<ValueId, Held>>,
    /// The bytes in memory, and the most of them.
    bytes: [usize; 2],
    /// The file for values that do not fit into memory any more. It is deleted as soon as no value in it is needed.
    file: Option<Arc<Mutex<File>>>,
}

#[derive(Clone, Debug)]
enum Held {
    Memory(Arc<Tensor>),
    File(Place),
}

/// The place of a tensor in a file.
#[derive(Clone, Debug)]
struct Place {
    file: Arc<Mutex<File>>,
    start: u64,
    elem: Elem,
    shape: Vec<usize>,
    bytes: usize,
}

impl Store {
    pub(crate) fn new(samples: usize, most: usize) -> Store {
        Store {
            samples: vec![BTreeMap::new(); samples],
            bytes: [0, most],
            file: None,
        }
    }

    pub(crate) fn get(&self, sample: usize, value: ValueId) -> io::Result<Option<Arc<Tensor>>> {
        match self.samples.get(sample).and_then(|values| values.get(&value)) {
            None => Ok(None),
            Some(Held::Memory(tensor)) => Ok(Some(tensor.clone())),
            Some(Held::File(place)) => place.read().map(|tensor| Some(Arc::new(tensor))),
        }
    }

    pub(crate) fn put(&mut self, sample: usize, value: ValueId, tensor: Tensor) -> io::Result<()> {
        let bytes = tensor.view().bytes().len();
        let held = if self.bytes[0] + bytes <= self.bytes[1] {
            self.bytes[0] += bytes;
            Held::Memory(Arc::new(tensor))
        } else {
            let file = match &self.file {
                Some(file) => file.clone(),
                None => self.file.insert(Arc::new(Mutex::new(tempfile::tempfile()?))).clone(),
            };
            let mut open = file.lock().unwrap_or_else(PoisonError::into_inner);
            let start = open.seek(SeekFrom::End(0))?;
            open.write_all(tensor.view().bytes())?;
            drop(open);
            Held::File(Place {
                file,
                start,
                elem: tensor.elem(),
                shape: tensor.shape().to_vec(),
                bytes,
            })
        };
        if let Some(values) = self.samples.get_mut(sample) {
            values.insert(value, held);
        }
        Ok(())
    }

    /// Takes over all values of another store, which has a file of its own.
    pub(crate) fn absorb(&mut self, other: Store) {
        self.bytes[0] += other.bytes[0];
        for (values, more) in self.samples.iter_mut().zip(other.samples) {
            values.extend(more);
        }
    }

    /// Removes the values that are not kept. A file is deleted as soon as none of its values is needed.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(ValueId) -> bool) {
        let bytes = &mut self.bytes[0];
        for values in &mut self.samples {
            values.retain(|&value, held| {
                let kept = is_kept(value);
                if let (false, Held::Memory(tensor)) = (kept, held) {
                    *bytes -= tensor.view().bytes().len();
                }
                kept
            });
        }
    }
}

impl Place {
    fn read(&self) -> io::Result<Tensor> {
        let mut bytes = vec![0; self.bytes];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.start))?;
        file.read_exact(&mut bytes)?;
        drop(file);
        Tensor::from_bytes(self.elem, &self.shape, &bytes).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_beyond_the_bound_come_back_from_a_file() {
        let mut store = Store::new(2, 16);
        let tensor = |first: f32| Tensor::from_values(&[3], &[first, 2.0, 3.0]).unwrap();
        let values = [ValueId::new(0), ValueId::new(1)];
        for (sample, first) in [(0, 1.0f32), (1, 5.0)] {
            for (at, &value) in values.iter().enumerate() {
                store.put(sample, value, tensor(first + at as f32)).unwrap();
            }
        }
        assert_eq!(store.bytes[0], 12);
        let first = |store: &Store, sample, value| {
            store
                .get(sample, value)
                .unwrap()
                .map(|tensor| tensor.values::<f32>().unwrap()[0])
        };
        assert_eq!(first(&store, 0, values[0]), Some(1.0));
        assert_eq!(first(&store, 1, values[1]), Some(6.0));
        store.retain(|value| value == values[1]);
        assert_eq!((store.bytes[0], first(&store, 0, values[0])), (0, None));
        assert_eq!(first(&store, 0, values[1]), Some(2.0));
    }
}
