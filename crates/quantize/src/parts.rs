//! Parts: the values that concatenations put side by side in one tensor.

use std::collections::BTreeSet;
use strait_core::{Elem, Graph, Kind, Op, ValueId};

/// Returns the values that one or several nested concatenations join in `value`, in their order. Ops that only
/// rearrange elements may come between two concatenations or after the last one. A value that is joined several times
/// is listed once. If `value` is not the result of a concatenation, returns only `value`.
pub fn parts(graph: &Graph, value: ValueId) -> Vec<ValueId> {
    let (mut open, mut seen, mut found) = (vec![value], BTreeSet::new(), Vec::new());
    while let Some(value) = open.pop() {
        if seen.insert(value) {
            match joined(graph, value) {
                Some(operands) => open.extend(operands.into_iter().rev()),
                None => found.push(value),
            }
        }
    }
    found
}

/// Returns the operands of the concatenation that makes a value. Nodes between the concatenation and the value that
/// only rearrange elements are skipped.
fn joined(graph: &Graph, mut value: ValueId) -> Option<Vec<ValueId>> {
    loop {
        let (_, node) = graph.producer(value)?;
        let mut operands = node.inputs.iter().copied().flatten();
        if matches!(node.op, Op::Concat(_)) {
            let is_real = |&operand: &ValueId| graph.value(operand).is_some_and(|value| value.ty.elem == Elem::F32);
            return Some(operands.filter(is_real).collect());
        }
        value = operands.next().filter(|_| node.op.term().kind() == Kind::Rearranges)?;
    }
}
