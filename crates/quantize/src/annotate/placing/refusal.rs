//! Reasons why a node cannot run on the accelerator.

use super::{extents, requirements};
use strait_core::{Def, Graph, Module, Node, Reason};
use strait_target::TargetSpec;
use strait_target::spec::{Activation, Integer, OpSite, Operand};

/// The operands of a node, as the check of the limits in a target's table needs them.
pub(crate) fn operands<'a>(graph: &'a Graph, node: &Node) -> Vec<Option<Operand<'a>>> {
    let operand = |value| {
        let value = graph.value(value)?;
        Some(Operand {
            ty: &value.ty,
            constant: matches!(value.def, Def::Data(_)),
        })
    };
    node.inputs.iter().map(|input| input.and_then(operand)).collect()
}

/// Returns the reason why a node cannot run on the accelerator with these types of activations and weights. Checks the
/// table's limits first, then the requirements of the recipe.
pub(crate) fn refusal(
    module: &Module,
    graph: &Graph,
    spec: &TargetSpec,
    node: &Node,
    (activation, weight): (Activation, Option<Integer>),
) -> Option<Reason> {
    if let Some(reason) = extents::depends_on_data(module, graph, node) {
        return Some(reason);
    }
    let operands = operands(graph, node);
    let result = node.outputs.first().and_then(|&y| graph.value(y))?;
    let site = OpSite {
        op: &node.op,
        operands: &operands,
        result: &result.ty,
        weight_sum: None,
    };
    let row = match spec.place(&site, activation, weight) {
        Ok((_, row)) => row,
        Err(reason) => return Some(reason),
    };
    requirements::check(module, graph, node, row.recipe?).err()
}
