//! Which graphs a graph has to itself.

use std::collections::BTreeSet;
use strait_core::{Graph, GraphId, Module, Op};

/// A graph and those that are called from it, directly or not, and from nowhere else; in the order of the module, the
/// graph itself last.
pub(super) fn from(module: &Module, root: GraphId) -> Vec<GraphId> {
    let mut own = reached(module, [root]);
    let others = (0..module.graphs.len())
        .map(GraphId::new)
        .filter(|id| !own.contains(id));
    let shared = reached(module, others);
    own.remove(&root);
    own.retain(|id| !shared.contains(id));
    own.into_iter().chain([root]).collect()
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
