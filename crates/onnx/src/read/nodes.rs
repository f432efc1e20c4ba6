//! Reads the nodes of a graph. Each is read by the function for its operator, in the version that the model uses.

use std::collections::BTreeMap;

use strait_import::{Builder, Reader, Refusal};

use super::external::DataFiles;
use super::index::{Index, STANDARD_DOMAIN, domain};
use super::inline::Versions;
use super::operator_reader::OperatorReader;
use super::ops;

/// What the nodes of a graph have in common while they are read.
pub(crate) struct Nodes<'a> {
    pub(crate) index: &'a Index<'a>,
    /// The version of each domain's operator set.
    pub(crate) versions: &'a BTreeMap<&'a str, i64>,
    /// The versions of single nodes that differ from those of the model.
    pub(crate) own_versions: &'a Versions,
    pub(crate) files: &'a DataFiles,
    /// How many times graphs inside of nodes have been read.
    pub(crate) bodies: usize,
}

impl Nodes<'_> {
    /// The version of a node's operator set, if the model states it.
    fn opset(&self, position: usize) -> Option<i64> {
        let domain = domain(&self.index.graph.node[position].domain);
        let own = self.own_versions.own.get(&position);
        let own = own.filter(|_| domain == STANDARD_DOMAIN);
        own.or_else(|| self.versions.get(domain)).copied()
    }
}

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
