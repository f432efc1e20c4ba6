//! Finds nodes with an extent that depends on data, and suggests where to cut a model so that the rest has no such
//! nodes.

use std::collections::BTreeSet;
use strait_core::{Graph, Module, Node, NodeId, Reason, ReasonCode, Symbol, ValueId};

/// A reason names at most this many values for one cut.
const MOST_NAMED: usize = 8;

fn is_open(graph: &Graph, value: ValueId) -> bool {
    graph
        .value(value)
        .is_some_and(|value| value.ty.shape.iter().any(|dim| dim.fixed().is_none()))
}

fn open(graph: &Graph, node: &Node) -> Option<ValueId> {
    let mut all = node.inputs.iter().flatten().chain(&node.outputs).copied();
    all.find(|&value| is_open(graph, value))
}

/// The reason why a node cannot run on the target, if it reads or makes a value with an extent that depends on data.
pub(crate) fn depends_on_data(module: &Module, graph: &Graph, node: &Node) -> Option<Reason> {
    let value = graph.value(open(graph, node)?)?;
    let text = format!("an extent of `{}` depends on data", module.name(value.name));
    Some(Reason::new(ReasonCode::ExtentDependsOnData, text))
}

/// Returns the nodes in `from` and all nodes that are connected with them, in either direction. Connections through
/// constants do not count.
fn connected(graph: &Graph, from: &BTreeSet<NodeId>) -> BTreeSet<NodeId> {
    let mut found = from.clone();
    let mut open: Vec<NodeId> = from.iter().copied().collect();
    let mut seen = BTreeSet::new();
    while let Some(node) = open.pop().and_then(|id| graph.node(id)) {
        for &value in node.inputs.iter().flatten().chain(&node.outputs) {
            if graph.data_of(value).is_some() || !seen.insert(value) {
                continue;
            }
            let readers = graph.uses(value).map(|at| at.node);
            let next = readers.chain(graph.producer(value).map(|(id, _)| id));
            open.extend(next.filter(|&id| found.insert(id)));
        }
    }
    found
}

/// Finds where to cut the graph so that all nodes with extents that depend on data are left out. Returns the cuts as
/// text, in the form of keys of a configuration. The keys name the values in front of these nodes as ends of the graph,
/// and the values behind these nodes as its beginnings. If no cut is possible, returns an empty text.
pub(crate) fn cuts(module: &Module, graph: &Graph) -> String {
    let Ok(order) = graph.topological_order() else {
        return String::new();
    };
    let nodes = || order.iter().filter_map(|&id| Some((id, graph.node(id)?)));
    let sources: BTreeSet<Symbol> = nodes()
        .filter(|(_, node)| open(graph, node).is_some())
        .flat_map(|(_, node)| node.sources.iter().copied())
        .collect();
    // A cut lies between nodes of the original model, and such a node may have become several nodes of this graph.
    let is_left_out = |node: &Node| open(graph, node).is_some() || node.sources.iter().any(|s| sources.contains(s));
    let (mut left_out, mut behind) = (BTreeSet::<NodeId>::new(), BTreeSet::<NodeId>::new());
    let made_by = |value: ValueId| graph.producer(value).map(|(id, _)| id);
    for (id, node) in nodes() {
        let reads = |of: &BTreeSet<NodeId>| {
            let makers = node.inputs.iter().flatten().filter_map(|&value| made_by(value));
            makers.into_iter().any(|maker| of.contains(&maker))
        };
        if is_left_out(node) {
            left_out.insert(id);
        } else if reads(&left_out) || reads(&behind) {
            behind.insert(id);
        }
    }
    // If a node lies between two nodes that a cut leaves out, the cut leaves it out too.
    for (id, node) in order.iter().rev().filter_map(|&id| Some((id, graph.node(id)?))) {
        if left_out.contains(&id) {
            let makers = node.inputs.iter().flatten().filter_map(|&value| made_by(value));
            left_out.extend(makers.filter(|maker| behind.remove(maker)));
        }
    }
    let is_in_front = |value: ValueId| made_by(value).is_none_or(|id| !left_out.contains(&id) && !behind.contains(&id));
    let (mut ends, mut begins) = (Vec::new(), Vec::new());
    // The graph also contains inlined bodies of control flow. They are not connected with the rest of the graph, and
    // have no outputs of the model.
    let around = connected(graph, &left_out);
    let is_kept = |&&value: &&ValueId| is_in_front(value) && made_by(value).is_some_and(|id| around.contains(&id));
    let kept = graph.outputs().iter().filter(is_kept);
    ends.extend(kept.copied());
    for (id, node) in nodes() {
        let read = || {
            node.inputs
                .iter()
                .flatten()
                .copied()
                .filter(|&value| graph.data_of(value).is_none())
        };
        if left_out.contains(&id) {
            ends.extend(read().filter(|&value| is_in_front(value) && made_by(value).is_some()));
        } else if behind.contains(&id) {
            begins.extend(read().filter(|&value| made_by(value).is_none_or(|id| !behind.contains(&id))));
        }
    }
    let option = |key: &str, values: Vec<ValueId>| {
        let mut named = BTreeSet::new();
        let values = values.into_iter().filter(|&value| named.insert(value));
        let mut names: Vec<String> = values
            .filter_map(|value| Some(format!("\"{}\"", module.name(graph.value(value)?.name))))
            .collect();
        if names.len() > MOST_NAMED {
            names.truncate(MOST_NAMED);
            names.push("…".into());
        }
        (!names.is_empty()).then(|| format!("`{key} = [{}]`", names.join(", ")))
    };
    match (option("outputs", ends), option("inputs", begins)) {
        (Some(ends), Some(begins)) => {
            format!("; {ends} ends the model in front of all that does, and {begins} begins one behind")
        }
        (Some(ends), None) => format!("; {ends} ends the model in front of all that does"),
        (None, Some(begins)) => format!("; {begins} begins the model behind all that does"),
        (None, None) => String::new(),
    }
}
