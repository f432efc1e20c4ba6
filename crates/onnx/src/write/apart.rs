//! Keeps operators apart that ONNX Runtime would merge into one that computes something else.
//!
//! ## Two grids of the same value
//!
//! If two pairs of QuantizeLinear and DequantizeLinear follow each other, ONNX Runtime merges them into one, at every
//! optimization level except the lowest. The merged grid is neither of the two: its range is the intersection of both
//! ranges. Values then differ by several steps. A Concat with one operand between the pairs computes nothing and
//! prevents the merge. ONNX Runtime turns it into a single integer step (QLinearConcat), so the layers before and after
//! it keep their integer kernels. An Identity would not help, because it is removed before the merge.
//!
//! ## A softmax on a fine grid
//!
//! A Softmax between a DequantizeLinear and a QuantizeLinear becomes a QLinearSoftmax. Its exponentials are floats of at
//! most `f32::MAX` / (n · e⁵) for a softmax over n elements, and it multiplies them by the reciprocal of the scale. If this
//! is above n · e⁵, the largest products overflow, and the largest results become 0. Grids are as fine as this if all
//! results are near 1 / n. With a Concat in front of the QuantizeLinear, the softmax stays in float.

use super::attributes::int;
use super::emitter::Emitter;
use strait_core::shape::axis_of;
use strait_core::{Graph, Op, QuantParams, ValueId};

/// Returns the name of the operand that a `quantize` gets in the file. If the operand comes from another pair of
/// quantize and dequantize, or is a softmax that is too flat for the scale of the result, a Concat is added before the
/// `quantize`.
pub(super) fn apart(emitter: &mut Emitter<'_>, operand: Option<ValueId>, result: Option<ValueId>) -> String {
    let name = emitter.operand(operand);
    let has_axes = emitter.ty(operand).is_some_and(|ty| !ty.shape.is_empty());
    let graph = emitter.graph();
    let is_merged = |id| is_behind_pair(graph, id) || is_flat_softmax(graph, id, result);
    if !has_axes || operand.is_none_or(|id| !is_merged(id)) {
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

/// True if the value is a softmax, perhaps in another shape or order, whose results overflow in a QLinearSoftmax with the
/// scale of `result`.
fn is_flat_softmax(graph: &Graph, mut id: ValueId, result: Option<ValueId>) -> bool {
    let grid = result.and_then(|id| graph.value(id)?.quant.as_deref());
    let Some((scale, _)) = grid.and_then(QuantParams::as_tensor) else {
        return false;
    };
    while let Some((_, node)) = graph.producer(id) {
        let operand = node.inputs.first().copied().flatten();
        match (&node.op, operand) {
            (Op::Softmax(softmax), _) => {
                let shape = graph.value(id).map(|value| &value.ty.shape[..]).unwrap_or_default();
                let extent = axis_of(softmax.axis, shape.len()).and_then(|axis| shape.get(axis)?.fixed());
                // The extent of an open axis may be anything.
                let terms = extent.unwrap_or(1).max(1) as f64;
                return 1.0 / f64::from(scale) > terms * 5f64.exp();
            }
            (op, Some(operand)) if op.term().moves_codes() => id = operand,
            _ => return false,
        }
    }
    false
}
