//! Which graphs a graph has to itself, and which it shares.

use std::collections::BTreeSet;
use strait_core::{Graph, GraphId, Module, Op};

/// What is called from a graph, directly or not.
pub(super) struct Called {
    /// The graph and those that are called from nowhere else, however often; in the order of the module, the graph itself
    /// last.
    pub(super) own: Vec<GraphId>,
    /// Those that other graphs call too.
    pub(super) shared: Vec<GraphId>,
}

pub(super) fn from(module: &Module, root: GraphId) -> Called {
    let mut called = reached(module, [root]);
    let others = (0..module.graphs.len())
        .map(GraphId::new)
        .filter(|id| !called.contains(id));
    let others = reached(module, others);
    called.remove(&root);
    let (shared, own): (Vec<GraphId>, Vec<GraphId>) = called.into_iter().partition(|id| others.contains(id));
    let own = own.into_iter().chain([root]).collect();
    Called { own, shared }
}

/// These graphs and all that they call.
fn reached(module: &Module, from: impl IntoIterator<Item = GraphId>) -> BTreeSet<GraphId> {
    let mut open: Vec<GraphId> = from.into_iter().collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if seen.insert(id) {
            open.extend(module.graph(id).into_iter().flat_map(calls));
        }
    }
    seen
}

fn calls(graph: &Graph) -> impl Iterator<Item = GraphId> {
    graph.nodes().filter_map(|(_, node)| match &node.op {
        Op::Call(call) => Some(GraphId::new(call.graph as usize)),
        _ => None,
    })
}
