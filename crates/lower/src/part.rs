//! The part of a graph that a walk makes: the whole of it, or what a change of the table touches.

use crate::lowering::LowerError;
use std::collections::BTreeSet;
use strait_core::{Def, Graph, NodeId, Port, QuantTable, ValueId};

/// Nodes of a graph with the values that they need and give.
pub(crate) struct Part {
    /// In the order of the graph.
    pub(crate) nodes: Vec<NodeId>,
    /// Values that none of the nodes makes, as their producers make them.
    pub(crate) inputs: Vec<ValueId>,
    /// Outputs of the graph, by position.
    pub(crate) outputs: Vec<usize>,
}

impl Part {
    /// The whole of a graph.
    ///
    /// # Errors
    /// A graph with a cycle.
    pub(crate) fn whole(graph: &Graph) -> Result<Part, LowerError> {
        Ok(Part {
            nodes: order(graph)?,
            inputs: graph.inputs().to_vec(),
            outputs: (0..graph.outputs().len()).collect(),
        })
    }

    /// The nodes that read something else than under the table `before`, those behind them, and the outputs that they
    /// make. Who reads a result on another grid is touched, and who makes it is not.
    ///
    /// # Errors
    /// A graph with a cycle.
    pub(crate) fn touched(graph: &Graph, before: &QuantTable) -> Result<Part, LowerError> {
        let (mut open, mut left) = (Vec::new(), BTreeSet::new());
        for (id, port) in graph.quant.differences(before) {
            match port {
                Port::Operand(_) => open.push(id),
                Port::Result(_) | Port::Input(_) => left.extend(graph.value_at(id, port)),
                // It has what is left.
                Port::Output(_) => {}
            }
        }
        let readers = |value: ValueId| graph.uses(value).map(|at| at.node);
        open.extend(left.iter().flat_map(|&value| readers(value)));
        let mut touched = vec![false; graph.node_bound()];
        while let Some(id) = open.pop() {
            if let Some(node) = graph.node(id)
                && !std::mem::replace(&mut touched[id.index()], true)
            {
                open.extend(node.outputs.iter().flat_map(|&value| readers(value)));
            }
        }
        let mut nodes = order(graph)?;
        nodes.retain(|id| touched[id.index()]);
        let is_made = |value: ValueId| graph.producer(value).is_some_and(|(id, _)| touched[id.index()]);
        let outputs = graph.outputs().iter().enumerate();
        let outputs = outputs.filter(|(_, value)| is_made(**value) || left.contains(value));
        let outputs: Vec<usize> = outputs.map(|(position, _)| position).collect();
        let read = nodes
            .iter()
            .filter_map(|&id| graph.node(id))
            .flat_map(|node| &node.inputs);
        let given = outputs.iter().filter_map(|&position| graph.outputs().get(position));
        let constant = |value: ValueId| matches!(graph.value(value).map(|value| value.def), Some(Def::Data(_)));
        let needed: BTreeSet<ValueId> = read.flatten().chain(given).copied().collect();
        Ok(Part {
            nodes,
            inputs: needed
                .into_iter()
                .filter(|&value| !is_made(value) && !constant(value))
                .collect(),
            outputs,
        })
    }
}

fn order(graph: &Graph) -> Result<Vec<NodeId>, LowerError> {
    let order = graph.topological_order();
    order.map_err(|_| LowerError::Ours("the graph has a cycle".into()))
}
