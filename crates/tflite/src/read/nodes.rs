//! Reads the operators of a graph, each with the function for its kind. An operator is refused if its version is newer
//! than the versions that we know.

use super::{grids, operator_reader::OperatorReader, ops, tensors};
use crate::graph::Graph;
use strait_import::{Builder, Reader, Refusal};

/// The operators of a graph.
pub(super) struct Nodes<'g> {
    pub(super) graph: &'g Graph<'g>,
    /// If true, the integer weights of hybrid layers, which have float activations, are read as floats; see
    /// [`strait_import::ReadOptions`].
    pub(super) hybrid_as_float: bool,
}

impl<'g> Reader<'g> for Nodes<'g> {
    fn read(&mut self, builder: &mut Builder<'g>, position: usize) -> Result<(), Refusal> {
        let node = &self.graph.nodes[position];
        let code = self.graph.code(position);
        let row = ops::find(code).map_err(Refusal::Unsupported)?;
        let operands = node.inputs.iter().flatten().map(|&index| &self.graph.tensors[index]);
        let results = node.outputs.iter().flatten().map(|&index| &self.graph.tensors[index]);
        let operands = operands.filter(|tensor| !(row.has_states && tensor.is_variable));
        for tensor in operands.chain(results) {
            tensors::check(tensor).map_err(Refusal::Unsupported)?;
        }
        grids::check(self.graph, position, row.keeps_grid).map_err(Refusal::Unsupported)?;
        let mut reader = OperatorReader::new(builder, self.graph, position, self.hybrid_as_float);
        (row.map)(&mut reader)?;
        reader.give_grids()?;
        reader.finish_results(&code.name());
        Ok(())
    }

    fn operator(&self, position: usize) -> String {
        let code = self.graph.code(position);
        match code.custom {
            Some(_) => format!("custom operator {}", code.name()),
            None => format!("{}, version {}", code.name(), code.version),
        }
    }
}
