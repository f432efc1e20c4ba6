//! The layers of an annotated graph. A layer is a node that is rounded somewhere, together with a clamp that follows it:
//! the clamp becomes part of the layer's requantization, so neither is quantized without the other.

use std::collections::BTreeSet;

use strait_core::{Graph, Kind, Module, NodeId, Op, Port, State, ValueId};

/// A layer.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// The nodes of the layer. All but the first are clamps.
    pub(crate) nodes: Vec<NodeId>,
    /// The first node.
    pub(crate) main: NodeId,
    /// The result of the last node.
    pub(crate) result: ValueId,
}

impl Group {
    /// The name that the layer has in the model.
    pub(crate) fn name(&self, module: &Module) -> String {
        name(module, self.main)
    }

    /// The names of the clamps.
    pub(crate) fn clamps(&self, module: &Module) -> Vec<String> {
        self.nodes.iter().skip(1).map(|&id| name(module, id)).collect()
    }

    /// The computed tensors on which the layer rests: its result, and what it reads.
    pub(crate) fn tensors<'g>(&self, graph: &'g Graph) -> impl Iterator<Item = ValueId> + 'g {
        let read = graph
            .node(self.main)
            .into_iter()
            .flat_map(|node| node.inputs.iter().flatten().copied());
        std::iter::once(self.result).chain(read.filter(|&value| graph.data_of(value).is_none()))
    }
}

fn name(module: &Module, id: NodeId) -> String {
    let node = module.main().node(id);
    let source = node.map(|node| node.sources.first().copied().unwrap_or(node.name));
    source.map_or_else(String::new, |name| module.name(name).to_owned())
}

/// The layers of a graph, in its order. Nodes that only give a tensor another shape are not listed: they do not round.
pub(crate) fn groups(annotated: &Module) -> Vec<Group> {
    let graph = annotated.main();
    let (mut found, mut joined) = (Vec::new(), BTreeSet::new());
    for id in graph.topological_order().unwrap_or_default() {
        let Some(node) = graph.node(id) else { continue };
        if joined.contains(&id) || !rounds(graph, id) || node.op.term().kind() == Kind::Rearranges {
            continue;
        }
        let Some(&first) = node.outputs.first() else { continue };
        let (mut nodes, mut result) = (vec![id], first);
        while let Some((clamp, behind)) = clamp_behind(graph, result) {
            joined.insert(clamp);
            nodes.push(clamp);
            result = behind;
        }
        found.push(Group {
            nodes,
            main: id,
            result,
        });
    }
    found
}

/// The clamp that is the only reader of a value, and its result.
fn clamp_behind(graph: &Graph, value: ValueId) -> Option<(NodeId, ValueId)> {
    let mut readers = graph.uses(value);
    let (Some(only), None, false) = (readers.next(), readers.next(), graph.is_output(value)) else {
        return None;
    };
    let node = graph.node(only.node)?;
    let is_clamp = matches!(node.op, Op::Relu(_) | Op::Clip(_)) && rounds(graph, only.node);
    is_clamp.then_some((only.node, *node.outputs.first()?))
}

/// True if an operand or a result of the node is rounded.
fn rounds(graph: &Graph, id: NodeId) -> bool {
    let [operands, results] = graph
        .node(id)
        .map_or([0; 2], |node| [node.inputs.len(), node.outputs.len()]);
    let mut ports = (0..operands).map(Port::Operand).chain((0..results).map(Port::Result));
    ports.any(|port| {
        let config = graph.quant.id(id, port);
        config.is_some_and(|config| graph.quant.state(config) != Some(State::Float))
    })
}
