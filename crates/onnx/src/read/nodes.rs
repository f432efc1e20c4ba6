//! State of the nodes of a graph while they are read.

use std::collections::BTreeMap;

use super::external::DataFiles;
use super::index::{Index, STANDARD_DOMAIN, domain};
use super::inline::Versions;

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
    pub(super) fn opset(&self, position: usize) -> Option<i64> {
        let domain = domain(&self.index.graph.node[position].domain);
        let own = self.own_versions.own.get(&position);
        let own = own.filter(|_| domain == STANDARD_DOMAIN);
        own.or_else(|| self.versions.get(domain)).copied()
    }
}
