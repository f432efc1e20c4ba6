//! Merges equal requantizations of the same accumulator.
//!
//! An accumulator can be fused only if a single requantization reads it. Two requantizations with the same function and
//! the same grid compute the same codes, so one of them is enough for the readers of both. This needs no proof: the
//! remaining node has the same op, operand and grid as each of the merged nodes.

use smallvec::smallvec;
use strait_core::{Graph, GraphId, Module, NewNode, Node, NodeId, Op, Patch, PatchError, Source, ValueId};

/// Equal requantizations that were merged into one requantization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The name of the result of the requantization that remains.
    pub value: String,
    /// The names of the results of the other requantizations.
    pub gone: Vec<String>,
}

/// For each value that is read only by equal requantizations: merges these requantizations into the first one.
pub(super) fn equal_requantizations(module: &mut Module, graph: GraphId) -> Result<Vec<Merged>, PatchError> {
    let mut done = Vec::new();
    let Some(g) = module.graph(graph) else { return Ok(done) };
    let wide: Vec<ValueId> = g.values().map(|(id, _)| id).collect();
    for value in wide {
        let Some(g) = module.graph(graph) else { break };
        let Some(patch) = merged(g, value) else { continue };
        let name = |(id, _): &(ValueId, Source)| g.value(*id).map(|v| module.name(v.name).to_string());
        // The remaining value has the name of the value that was replaced last.
        let mut gone: Vec<String> = patch.replace.iter().filter_map(name).collect();
        let value = gone.pop().unwrap_or_default();
        gone.reverse();
        done.push(Merged { value, gone });
        module.apply(graph, patch)?;
    }
    Ok(done)
}

fn merged(graph: &Graph, value: ValueId) -> Option<Patch> {
    // A value without a producing node is a constant or an input. A constant is requantized once for each reader, so
    // its requantizations are not merged.
    graph.producer(value)?;
    let mut readers: Vec<(NodeId, &Node)> = Vec::new();
    for reader in graph.uses(value) {
        let node = graph.node(reader.node)?;
        if !matches!(node.op, Op::Requantize(_)) {
            return None;
        }
        readers.push((reader.node, node));
    }
    if readers.len() < 2 || graph.is_output(value) {
        return None;
    }
    readers.sort_unstable_by_key(|(id, _)| *id);
    let result = |node: &Node| node.result();
    let grid = |node: &Node| graph.value(result(node)?).map(|v| v.quant.clone());
    let (_, first) = readers[0];
    let same = |(_, node): &(NodeId, &Node)| {
        (&node.op, &node.inputs, &node.place) == (&first.op, &first.inputs, &first.place) && grid(node) == grid(first)
    };
    let mut results: Vec<ValueId> = readers.iter().filter_map(|(_, node)| result(node)).collect();
    // Programs find outputs by their names, so at most one of the merged values may be an output.
    let outputs = results.iter().filter(|&&value| graph.is_output(value)).count();
    if !readers.iter().all(same) || outputs > 1 || results.len() != readers.len() {
        return None;
    }
    // The merged value gets the name of the last value in this list: the name of the output if there is one, and
    // otherwise the name of the value that was first before `reverse`.
    results.reverse();
    results.sort_by_key(|&value| graph.is_output(value));
    let ids: Vec<NodeId> = readers.iter().map(|(id, _)| *id).collect();
    let operands: Vec<Option<Source>> = first.inputs.iter().map(|operand| operand.map(Source::Old)).collect();
    let mut new = NewNode::new(first.op.clone(), &operands, &ids);
    new.quant = smallvec![grid(first).flatten()];
    Some(Patch {
        add: vec![new],
        replace: results.into_iter().map(|value| (value, Source::New(0, 0))).collect(),
        remove: ids,
        ..Patch::default()
    })
}
