//! Data that the nodes of a graph share while they are read.

use std::collections::BTreeMap;

use super::external::DataFiles;
use super::index::{Index, STANDARD_DOMAIN, domain};
use super::inline::Versions;

/// Data that the nodes of a graph share while they are read.
pub(crate) struct Nodes<'a> {
    pub(crate) index: &'a Index<'a>,
    /// The version of each domain's operator set.
    pub(crate) versions: &'a BTreeMap<&'a str, i64>,
    /// The versions of those nodes whose version is not the model's.
    pub(crate) own_versions: &'a Versions,
    pub(crate) files: &'a DataFiles,
    /// How many times a graph inside of a node has been read.
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
