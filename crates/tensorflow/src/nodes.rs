//! Reads the nodes of a graph, as the builder requires.

use crate::graph::Graph;
use crate::operator_reader::OperatorReader;
use crate::ops;
use smallvec::SmallVec;
use strait_import::{Builder, Layer, Reader, Refusal};

/// The nodes of a graph, from which the builder reads one at a time.
pub(crate) struct Nodes<'a> {
    pub(crate) graph: &'a Graph,
}

impl<'a> Reader<'a> for Nodes<'a> {
    fn read(&mut self, builder: &mut Builder<'a>, node: usize) -> Result<(), Refusal> {
        let map = ops::find(self.graph, node)?;
        let def = self.graph.node(node);
        let mut reader = OperatorReader {
            layer: Layer::new(builder, node),
            def,
            asked: SmallVec::new(),
        };
        map(&mut reader)?;
        reader.check_attributes()?;
        reader.layer.finish_results(&def.op);
        Ok(())
    }

    fn operator(&self, node: usize) -> String {
        self.graph.node(node).op.clone()
    }
}
