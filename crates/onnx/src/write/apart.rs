//! Keeps two grids of the same value apart when both are written.
//!
//! If two pairs of QuantizeLinear and DequantizeLinear follow each other, ONNX Runtime merges them into one, at every
//! optimization level except the lowest. The merged grid is neither of the two: its range is the intersection of both
//! ranges. Values then differ by several steps. A Concat with one operand between the pairs computes nothing and
//! prevents the merge. ONNX Runtime turns it into a single integer step (QLinearConcat), so the layers before and after
//! it keep their integer kernels. An Identity would not help, because it is removed before the merge.

use super::attributes::int;
use super::emitter::Emitter;
use strait_core::{Graph, Op, ValueId};

/// Returns the name of the operand that a `quantize` gets in the file. If the operand comes from another pair of
/// quantize and dequantize, a Concat is added before the `quantize`.
pub(super) fn apart(emitter: &mut Emitter<'_>, operand: Option<ValueId>) -> String {
    let name = emitter.operand(operand);
    let has_axes = emitter.ty(operand).is_some_and(|ty| !ty.shape.is_empty());
    if !has_axes || operand.is_none_or(|id| !is_behind_pair(emitter.graph(), id)) {
        return name;
    }
    emitter.step("Concat", &format!("{name}_apart"), vec![name], vec![int("axis", 0)])
}

/// True if the value is dequantized from codes that a node computes, and not from a constant.
fn is_behind_pair(graph: &Graph, id: ValueId) -> bool {
    let Some((_, node)) = graph.producer(id) else {
        return false;
    };
    let codes = node.inputs.first().copied().flatten();
    matches!(node.op, Op::Dequantize(_)) && codes.is_some_and(|codes| graph.producer(codes).is_some())
}
