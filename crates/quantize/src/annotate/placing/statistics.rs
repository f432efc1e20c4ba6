//! Recognises the statistics of a normalization: means from which a root, a logarithm or a quotient is computed.
//!
//! Near zero, where the means of the squares of small numbers lie, such a function can have arbitrarily large slopes.
//! These slopes multiply the errors that arise when the means are rounded to codes.

use strait_core::op::{Function, Reduction};
use strait_core::{Graph, Node, Op, ValueId};

/// True if a mean is used only as a divisor or by a root, a reciprocal, a logarithm or a power. Sums and products with
/// constants may lie in between.
pub(crate) fn is_statistic(graph: &Graph, node: &Node) -> bool {
    let Op::Reduce(reduce) = &node.op else { return false };
    if reduce.reduction != Reduction::Mean {
        return false;
    }
    let mut at = node;
    while let Some(used) = at.outputs.first().and_then(|&y| graph.only_use(y)) {
        let Some(reader) = graph.node(used.node) else {
            return false;
        };
        match &reader.op {
            Op::Unary(unary) if matches!(unary.function, Function::Sqrt | Function::Reciprocal | Function::Log) => {
                return true;
            }
            Op::Pow(_) => return true,
            Op::Div(_) if used.operand == 1 => return true,
            _ if is_elementwise(graph, reader) => at = reader,
            _ => return false,
        }
    }
    false
}

/// True if a node adds, subtracts, multiplies or divides two operands of which one is constant.
pub(crate) fn is_elementwise(graph: &Graph, node: &Node) -> bool {
    let elementwise = matches!(node.op, Op::Add(_) | Op::Sub(_) | Op::Mul(_) | Op::Div(_));
    elementwise && variables(graph, node).count() == 1
}

/// The operands of a node that are not constants.
pub(crate) fn variables<'a>(graph: &'a Graph, node: &'a Node) -> impl Iterator<Item = ValueId> + 'a {
    let operands = node.inputs.iter().copied().flatten();
    operands.filter(|&operand| graph.data_of(operand).is_none())
}
