//! Writes large tensors to a second file beside the model.

use super::main_graph::{MainGraph, is_large};
use crate::proto::{NodeProto, StringStringEntryProto, TensorProto};
use crate::read::EXTERNAL;
use bytes::Bytes;
use std::io::{self, Write};

/// Every tensor begins at a multiple of this number of bytes, the size of a page, so that runtimes can map the file.
const ALIGNMENT: u64 = 1 << 12;

/// A file beside the file of a model. It has the elements of the model's large tensors, and shares these tensors with
/// the module without copying them.
#[derive(Debug, Default)]
pub struct DataFile {
    tensors: Vec<Bytes>,
    end: u64,
}

impl DataFile {
    /// Writes the file.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (zeros, mut end) = ([0; ALIGNMENT as usize], 0);
        for tensor in &self.tensors {
            let gap = aligned(end) - end;
            out.write_all(&zeros[..gap as usize])?;
            out.write_all(tensor)?;
            end += gap + tensor.len() as u64;
        }
        Ok(())
    }

    /// Moves the large tensors of the main graph and of its nested graphs to this file. `name` is the name of the file.
    pub(super) fn take(&mut self, name: &str, graph: &mut MainGraph) {
        self.take_of(name, graph.initializers.messages(), graph.nodes.messages());
    }

    fn take_of<'m>(
        &mut self,
        name: &str,
        initializers: impl Iterator<Item = &'m mut TensorProto>,
        nodes: impl Iterator<Item = &'m mut NodeProto>,
    ) {
        for tensor in initializers.filter(|tensor| is_large(tensor)) {
            let Some(data) = tensor.raw_data.take() else { continue };
            let (offset, length) = (aligned(self.end), data.len() as u64);
            let entry = |key: &str, value: String| StringStringEntryProto { key: key.into(), value };
            tensor.data_location = EXTERNAL;
            tensor.external_data = vec![
                entry("location", name.into()),
                entry("offset", offset.to_string()),
                entry("length", length.to_string()),
            ];
            self.end = offset + length;
            self.tensors.push(data);
        }
        let attributes = nodes.flat_map(|node| &mut node.attribute);
        for body in attributes.filter_map(|attribute| attribute.g.as_deref_mut()) {
            let nodes: Box<dyn Iterator<Item = &mut NodeProto>> = Box::new(body.node.iter_mut());
            self.take_of(name, body.initializer.iter_mut(), nodes);
        }
    }
}

fn aligned(end: u64) -> u64 {
    end.next_multiple_of(ALIGNMENT)
}
