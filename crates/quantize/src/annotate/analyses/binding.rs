//! Binding: why operands and results of one node share a grid.

use super::roles::{Role, keeps_grid};
use crate::annotate::settings::Annotation;
use strait_core::op::PadMode;
use strait_core::{Graph, Node, NodeId, Op, ValueId};
use strait_target::spec::{Alignment, Recipe};

/// Why operands and results of a node on the accelerator share a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    /// Operands and results do not share a grid.
    Free,
    /// The node only moves or compares codes, so the results have the grid of the first operand.
    Passive,
    /// The node moves codes, as for `Passive`, but also inserts numbers that are not in the operand, such as padding.
    /// The operand has the grid of the result, and this grid covers the operand's elements and the inserted numbers.
    Padded,
    /// Operands and results share a grid by alignment: a setting for this kind of node says whose grid they share.
    Aligned {
        /// Whose grid the operands and results share.
        to: Alignment,
        /// True if the node's recipe itself needs the same grid for all operands and results.
        moves: bool,
    },
}

/// Finds out whether the operands and results of a node share a grid, and why.
pub(crate) fn binding(graph: &Graph, how: &Annotation<'_>, id: NodeId) -> Binding {
    let Some((node, kind)) = how.roles().computed(graph, id) else {
        return Binding::Free;
    };
    let (term, passes) = (node.op.term(), &how.spec.passes);
    if kind == Recipe::Compare {
        // Whatever the alignment says, codes of two operands can be compared only if both operands have the same grid.
        // This grid must cover the numbers of both operands.
        return Binding::Aligned {
            to: Alignment::Large,
            moves: true,
        };
    }
    let own = how.settings.alignment(id);
    let alignments = &how.settings.default.alignments;
    let of_kind = || match passes.is_activation(term) && how.roles().clamp_producer(graph, node).is_some() {
        true => alignments.activation,
        false => match alignments.of(term) {
            None | Some(Alignment::None) if passes.is_passive(term) => alignments.passive,
            to => to.unwrap_or(Alignment::None),
        },
    };
    let to = own.unwrap_or_else(of_kind);
    let moves = keeps_grid(kind);
    let operands = activations(graph, how, (id, node), kind).count();
    if operands > 1 && moves {
        return Binding::Aligned { to, moves };
    }
    match to {
        _ if matches!(&node.op, Op::Pad(pad) if pad.mode == PadMode::Constant && pad.value != 0.0) => Binding::Padded,
        Alignment::Output => Binding::Aligned { to, moves },
        Alignment::Large | Alignment::Share if operands > 1 => Binding::Aligned { to, moves },
        Alignment::Input => Binding::Passive,
        _ if moves => Binding::Passive,
        Alignment::None | Alignment::Large | Alignment::Share => Binding::Free,
    }
}

/// Returns the values that a node binds to each other: they have to share a grid, or their grids depend on each other.
/// If the node binds no values, the result is empty.
pub(crate) fn binds(graph: &Graph, how: &Annotation<'_>, id: NodeId) -> Vec<ValueId> {
    let Some((node, kind)) = how.roles().computed(graph, id) else {
        return Vec::new();
    };
    if let Some(pair) = how.roles().shifted_pair(graph, id) {
        // If the shifted accumulators of two nodes are added, the grids of the weights of both nodes are chosen so that
        // both accumulators have the same grid. So the grids of these weights depend on the operands of both nodes.
        let read = pair
            .into_iter()
            .filter_map(|id| graph.node(id)?.inputs.first().copied().flatten());
        return read.chain(node.inputs.iter().copied().flatten()).collect();
    }
    let bound: Vec<ValueId> = match binding(graph, how, id) {
        Binding::Free => Vec::new(),
        _ => activations(graph, how, (id, node), kind)
            .chain(node.outputs.iter().copied())
            .collect(),
    };
    // One operand of this addition may stay an accumulator. The choice of this operand, and the grid of the weights of
    // the node that makes it, depend on both operands.
    let adds = how.roles().may_add(id, node);
    let operands = node.inputs.iter().copied().flatten().filter(|_| adds);
    operands.chain(bound).collect()
}

fn activations<'a>(
    graph: &'a Graph,
    how: &'a Annotation<'_>,
    (id, node): (NodeId, &'a Node),
    kind: Recipe,
) -> impl Iterator<Item = ValueId> + 'a {
    let operands = node.inputs.iter().enumerate();
    let role = move |index| how.roles().role(graph, id, node, kind, index);
    operands.filter_map(move |(index, value)| (*value).filter(|_| role(index) == Role::Activation))
}
