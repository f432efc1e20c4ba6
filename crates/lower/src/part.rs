//! The part of a graph that a walk covers: either the whole graph, or the nodes that a change of the configs affects.

use crate::error::LowerError;
use std::collections::BTreeSet;
use strait_core::{Def, Graph, Module, NodeId, Port, ValueId};

/// Nodes of a graph, with the values that they need and make.
pub(crate) struct Part {
    /// The nodes, in the order of the graph.
    pub(crate) nodes: Vec<NodeId>,
    /// Values that the nodes read but that none of them makes.
    pub(crate) inputs: Vec<ValueId>,
    /// The indices of the graph's outputs that belong to the part.
    pub(crate) outputs: Vec<usize>,
}

impl Part {
    /// The whole graph.
    ///
    /// # Errors
    /// The graph has a cycle.
    pub(crate) fn whole(graph: &Graph) -> Result<Part, LowerError> {
        Ok(Part {
            nodes: order(graph)?,
            inputs: graph.inputs().to_vec(),
            outputs: (0..graph.outputs().len()).collect(),
        })
    }

    /// Finds the part of the graph that changes if the annotation `before` is replaced by the annotation of `module`.
    /// This part consists of the nodes of the main graph that have other configs or parameters than in `before`, all
    /// nodes that depend on their results, and the outputs that these nodes make. If these nodes need a value that is
    /// not stored, the nodes that make this value are included. If only the grid of an operand has changed, its node is
    /// affected, but the producer of the operand is not.
    ///
    /// # Errors
    /// The graph has a cycle.
    pub(crate) fn touched(
        module: &Module,
        before: &Module,
        is_kept: impl Fn(ValueId) -> bool,
    ) -> Result<Part, LowerError> {
        let graph = module.main();
        let (mut open, mut left) = (Vec::new(), BTreeSet::new());
        let differences = graph.quant.differences(&before.main().quant, |one, other| {
            module.data(*one) == before.data(*other)
        });
        for (id, port) in differences {
            match port {
                Port::Operand(_) => open.push(id),
                Port::Result(_) | Port::Input(_) => left.extend(graph.value_at(id, port)),
                // An output of the graph depends only on the node that makes it.
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
        let is_made =
            |touched: &[bool], value: ValueId| graph.producer(value).is_some_and(|(id, _)| touched[id.index()]);
        let outputs = graph.outputs().iter().enumerate();
        let outputs = outputs.filter(|(_, value)| is_made(&touched, **value) || left.contains(value));
        let outputs: Vec<usize> = outputs.map(|(position, _)| position).collect();
        let order = order(graph)?;
        let operands = |id: NodeId| graph.node(id).into_iter().flat_map(|node| node.inputs.iter().flatten());
        let given = outputs.iter().filter_map(|&position| graph.outputs().get(position));
        let mut needed: BTreeSet<ValueId> = given.copied().collect();
        // The loop goes backwards, so that all readers of a node are known before the node.
        for &id in order.iter().rev() {
            let made = graph.node(id).into_iter().flat_map(|node| &node.outputs);
            touched[id.index()] |= made.copied().any(|value| needed.contains(&value) && !is_kept(value));
            if touched[id.index()] {
                needed.extend(operands(id));
            }
        }
        let constant = |value: ValueId| matches!(graph.value(value).map(|value| value.def), Some(Def::Data(_)));
        needed.retain(|&value| !is_made(&touched, value) && !constant(value));
        Ok(Part {
            nodes: order.into_iter().filter(|id| touched[id.index()]).collect(),
            inputs: needed.into_iter().collect(),
            outputs,
        })
    }
}

fn order(graph: &Graph) -> Result<Vec<NodeId>, LowerError> {
    let order = graph.topological_order();
    order.map_err(|_| LowerError::Ours("the graph has a cycle".into()))
}
