//! Cuts the order of a graph's nodes into segments, so that each node runs once for each sample.

use std::collections::BTreeSet;
use strait_core::{Def, Graph, NodeId, ValueId};
use strait_lower::Segment;

/// The nodes of a graph that have run, and those that have to run later.
#[derive(Debug)]
pub(crate) struct Frontier {
    order: Vec<NodeId>,
    done: Vec<bool>,
    /// The nodes on which a value that will be wanted depends.
    relevant: Vec<bool>,
}

impl Frontier {
    /// Starts before the first node. `wanted` are all values that will be wanted.
    pub(crate) fn new(graph: &Graph, wanted: impl Iterator<Item = ValueId>) -> Frontier {
        let mut frontier = Frontier {
            order: graph.topological_order().unwrap_or_default(),
            done: vec![false; graph.node_bound()],
            relevant: vec![false; graph.node_bound()],
        };
        for id in frontier.open(graph, wanted) {
            frontier.relevant[id.index()] = true;
        }
        frontier
    }

    /// The nodes that have not run and on which one of these values depends.
    fn open(&self, graph: &Graph, values: impl Iterator<Item = ValueId>) -> BTreeSet<NodeId> {
        let (mut found, mut open) = (BTreeSet::new(), values.collect::<Vec<_>>());
        while let Some(value) = open.pop() {
            if let Some((id, node)) = graph.producer(value)
                && !self.done[id.index()]
                && found.insert(id)
            {
                open.extend(node.inputs.iter().flatten());
            }
        }
        found
    }

    /// The segment after which these values exist. Its values are those that later segments read.
    pub(crate) fn advance(&mut self, graph: &Graph, wanted: &[ValueId]) -> Segment {
        let open = self.open(graph, wanted.iter().copied());
        let nodes: Vec<NodeId> = self.order.iter().copied().filter(|id| open.contains(id)).collect();
        let is_read_from_outside = |value: &ValueId| match graph.value(*value).map(|value| value.def) {
            Some(Def::Node(id, _)) => self.done[id.index()],
            Some(Def::Input(_)) => true,
            _ => false,
        };
        let read = nodes
            .iter()
            .filter_map(|&id| graph.node(id))
            .flat_map(|node| node.inputs.iter().flatten());
        let inputs: BTreeSet<ValueId> = read.chain(wanted).copied().filter(is_read_from_outside).collect();
        for id in &nodes {
            self.done[id.index()] = true;
        }
        let made = nodes
            .iter()
            .filter_map(|&id| graph.node(id))
            .flat_map(|node| node.outputs.iter().copied());
        Segment {
            inputs: inputs.into_iter().collect(),
            values: made.filter(|&value| self.is_needed(graph, value)).collect(),
            operands: Vec::new(),
            nodes,
        }
    }

    /// True if a node that will run later reads the value.
    pub(crate) fn is_needed(&self, graph: &Graph, value: ValueId) -> bool {
        let mut readers = graph.uses(value).filter(|at| at.node != NodeId::OUTSIDE);
        readers.any(|at| self.relevant[at.node.index()] && !self.done[at.node.index()])
    }
}

/// For each of these nodes, the number of such nodes that have to run one after the other before it: its level.
pub(crate) fn levels(graph: &Graph, nodes: &BTreeSet<NodeId>) -> Vec<Vec<NodeId>> {
    let mut behind = vec![0usize; graph.value_bound()];
    let mut levels: Vec<Vec<NodeId>> = Vec::new();
    for id in graph.topological_order().unwrap_or_default() {
        let Some(node) = graph.node(id) else { continue };
        let before = node.inputs.iter().flatten().map(|value| behind[value.index()]).max();
        let mut level = before.unwrap_or(0);
        if nodes.contains(&id) {
            if levels.len() <= level {
                levels.resize(level + 1, Vec::new());
            }
            levels[level].push(id);
            level += 1;
        }
        node.outputs.iter().for_each(|value| behind[value.index()] = level);
    }
    levels
}
