//! Reads the nodes of a graph. To read a node, the function for the node's operator is called, in the version that the
//! model uses.

use super::index::domain;
use super::nodes::Nodes;
use super::operator_reader::OperatorReader;
use super::ops;
use strait_import::{Builder, Reader, Refusal};

impl<'a> Reader<'a> for Nodes<'a> {
    fn read(&mut self, builder: &mut Builder<'a>, position: usize) -> Result<(), Refusal> {
        let node = &self.index.graph.node[position];
        let found = ops::find(domain(&node.domain), &node.op_type, self.opset(position));
        let (opset, map) = found.map_err(Refusal::Unsupported)?;
        let mut reader = OperatorReader::new(builder, self, position, opset);
        map(&mut reader)?;
        reader.check_attributes()?;
        reader.finish_results(&node.op_type);
        Ok(())
    }

    fn operator(&self, position: usize) -> String {
        let node = &self.index.graph.node[position];
        let set = match self.opset(position) {
            Some(version) => format!("operator set {version}"),
            None => "no operator set".into(),
        };
        format!("{}.{}, {set}", domain(&node.domain), node.op_type)
    }
}
