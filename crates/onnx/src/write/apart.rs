//! Two grids of one value, one behind the other.
//!
//! ONNX Runtime makes one pair of QuantizeLinear and DequantizeLinear of two that follow each other, at every level of
//! optimization but the lowest, on a grid that is neither of theirs: its range is what both have in common. Values then differ by
//! several steps. A Concat of one operand between the pairs computes nothing, stays there, and becomes one step from codes to
//! codes (QLinearConcat), so that both neighbours keep their integer kernels. An Identity is taken away before.

use super::attributes::int;
use super::emitter::Emitter;
use strait_core::{Graph, Op, ValueId};

/// The name of the operand of a `quantize`, apart from the pair that it is behind, if it is behind one.
pub(super) fn apart(emitter: &mut Emitter<'_>, operand: Option<ValueId>) -> String {
    let name = emitter.operand(operand);
    let has_axes = emitter.ty(operand).is_some_and(|ty| !ty.shape.is_empty());
    if !has_axes || operand.is_none_or(|id| !is_behind_pair(emitter.graph(), id)) {
        return name;
    }
    emitter.step("Concat", &format!("{name}_apart"), vec![name], vec![int("axis", 0)])
}

/// True for real numbers of codes that a node makes.
fn is_behind_pair(graph: &Graph, id: ValueId) -> bool {
    let Some((_, node)) = graph.producer(id) else {
        return false;
    };
    let codes = node.inputs.first().copied().flatten();
    matches!(node.op, Op::Dequantize(_)) && codes.is_some_and(|codes| graph.producer(codes).is_some())
}
