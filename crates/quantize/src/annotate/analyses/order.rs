//! The topological order of a graph, and the position of each node in this order. The order is the same whichever nodes
//! run on the accelerator.

use strait_core::{Graph, NodeId};

/// The topological order of a graph without cycles.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// All nodes. Each comes after the producers of its operands.
    pub(crate) nodes: Vec<NodeId>,
    /// For each node, its position among `nodes`.
    positions: Vec<u32>,
}

impl Order {
    /// The order of a graph. `None` if the graph has a cycle.
    pub(crate) fn new(graph: &Graph) -> Option<Order> {
        let nodes = graph.topological_order().ok()?;
        let mut positions = vec![u32::MAX; graph.node_bound()];
        for (position, id) in nodes.iter().enumerate() {
            positions[id.index()] = position as u32;
        }
        Some(Order { nodes, positions })
    }

    /// The node at a position.
    pub(crate) fn at(&self, position: u32) -> Option<NodeId> {
        self.nodes.get(position as usize).copied()
    }

    /// The position of a node.
    pub(crate) fn position(&self, id: NodeId) -> Option<u32> {
        self.positions.get(id.index()).copied().filter(|&at| at != u32::MAX)
    }

    /// The positions of the nodes that read results of node `id`.
    pub(crate) fn readers<'a>(&'a self, graph: &'a Graph, id: NodeId) -> impl Iterator<Item = u32> + 'a {
        let results = graph.node(id).into_iter().flat_map(|node| &node.outputs);
        let readers = results.flat_map(|&value| graph.uses(value));
        readers.filter_map(|at| self.position(at.node))
    }

    /// The positions of the nodes that make operands of node `id`.
    pub(crate) fn producers<'a>(&'a self, graph: &'a Graph, id: NodeId) -> impl Iterator<Item = u32> + 'a {
        let operands = graph.node(id).into_iter().flat_map(|node| node.inputs.iter().flatten());
        operands.filter_map(|&value| self.position(graph.producer(value)?.0))
    }
}
