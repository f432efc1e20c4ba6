//! Values of the lowered graph on their way to the run of the fused graph.

use crate::layers::Layers;
use std::collections::{BTreeMap, btree_map::Entry};
use std::sync::mpsc;
use strait_core::ValueId;
use strait_execute::Tensor;

/// The values of the lowered graph with which layers of the fused graph are compared.
pub(crate) struct Kept<'a> {
    layers: &'a Layers,
    /// Gets the values from the run of the lowered graph, in the order in which they are computed.
    values: mpsc::Receiver<(ValueId, Tensor)>,
    /// The values that were received, and how many results of layers have still to be compared with each.
    found: BTreeMap<ValueId, (Tensor, usize)>,
}

impl<'a> Kept<'a> {
    /// Takes the values that the run of the lowered graph sends to `values`.
    pub(crate) fn new(layers: &'a Layers, values: mpsc::Receiver<(ValueId, Tensor)>) -> Kept<'a> {
        Kept {
            layers,
            values,
            found: BTreeMap::new(),
        }
    }

    /// Waits for a value; `None` if the run of the lowered graph ends without it.
    pub(crate) fn get(&mut self, value: ValueId) -> Option<&Tensor> {
        while !self.found.contains_key(&value) {
            let (id, tensor) = self.values.recv().ok()?;
            self.found.insert(id, (tensor, self.layers.readers(id)));
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
