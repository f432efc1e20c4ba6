//! Values of the lowered graph on their way to the run of the fused graph.

use std::collections::{BTreeMap, btree_map::Entry};
use std::sync::mpsc;
use strait_core::ValueId;
use strait_execute::Tensor;

/// A value, and how many results of layers have still to be compared with it.
pub(crate) type Waiting = (Tensor, usize);

/// The values of the lowered graph with which layers of the fused graph are compared.
pub(crate) struct Kept {
    /// Gets the values from the run of the lowered graph, in the order in which they are computed.
    values: mpsc::Receiver<(ValueId, Waiting)>,
    /// The values that were received and are still needed.
    found: BTreeMap<ValueId, Waiting>,
}

impl Kept {
    /// Takes the values that the run of the lowered graph sends to `values`.
    pub(crate) fn new(values: mpsc::Receiver<(ValueId, Waiting)>) -> Kept {
        Kept {
            values,
            found: BTreeMap::new(),
        }
    }

    /// Waits for a value; `None` if the run of the lowered graph ends without it.
    pub(crate) fn get(&mut self, value: ValueId) -> Option<&Tensor> {
        while !self.found.contains_key(&value) {
            let (id, waiting) = self.values.recv().ok()?;
            self.found.insert(id, waiting);
        }
        self.found.get(&value).map(|(tensor, _)| tensor)
    }

    /// Says that a result was compared with a value. The value is freed after the last of them.
    pub(crate) fn release(&mut self, value: ValueId) {
        if let Entry::Occupied(mut entry) = self.found.entry(value) {
            let (_, readers) = entry.get_mut();
            *readers = readers.saturating_sub(1);
            if *readers == 0 {
                entry.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_execute::TensorView;

    #[test]
    fn a_value_is_there_until_all_its_results_were_compared() {
        let (send, values) = mpsc::channel();
        for (index, readers) in [(0, 1), (1, 2)] {
            let tensor = TensorView::of(&[1], &[index as i8]).unwrap().to_tensor();
            send.send((ValueId::new(index), (tensor, readers))).unwrap();
        }
        drop(send);
        let mut kept = Kept::new(values);
        let mut is_there = |index: usize| {
            let value = ValueId::new(index);
            let found = kept.get(value).map(|tensor| tensor.view().bytes() == [index as u8]);
            kept.release(value);
            found
        };
        // Values may be asked for in another order than they are computed in.
        assert_eq!([1, 0, 1].map(&mut is_there), [Some(true); 3]);
        assert_eq!([0, 1, 2].map(is_there), [None; 3]);
    }
}
