//! **Pattern**: a dequantized value is read by a layer (a conv, a transposed conv or a gemm) that has float weights or a
//! float bias, and the result of the layer is quantized.
//! **Why**: ONNX Runtime treats a layer between a DequantizeLinear and a QuantizeLinear as quantized. It then also quantizes
//! float weights and biases, on grids that it chooses itself (`WeightBiasQuantization`). The rule prevents this by a clip
//! between the DequantizeLinear and the layer. The bounds of the clip are the smallest and the largest number of the grid,
//! so the clip changes nothing.
//! **Preconditions**: the dequantized value has one grid for the whole tensor.
//! **Exactness**: exact, because dequantized numbers never lie outside these bounds.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::rule::NodeRule;
use strait_core::op::Clip;
use strait_core::rule::EVERYWHERE;
use strait_core::{Elem, NewNode, NodeId, Op, Patch, Source, Term, ValueId};

/// The rule that inserts a clip between a dequantize and a layer. Without this clip, ONNX Runtime would treat the layer
/// as a quantized layer.
pub const RULE: NodeRule = NodeRule {
    name: "bounds-behind-grid",
    anchors: || vec![Term::Conv, Term::ConvTranspose, Term::Gemm],
    // The rule searches for a quantization after clamps, so a change at any distance matters.
    depth: || EVERYWHERE,
    is_fusion: false,
    look,
};

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let x = site.operand(0)?;
    let (grid, [min, max]) = ends(site, x).filter(|_| is_mistaken(site)).ok_or(NoMatch)?;
    let clip = NewNode::new(Clip { min, max }, &[Some(Source::Old(x))], &[grid]);
    let operands = site.operands_with(Source::New(0, 0));
    let node = NewNode::new(site.node.op.clone(), &operands, &[site.id]);
    site.replaced_by(vec![clip, node])
}

/// The node that dequantizes a value, and the real numbers of the smallest and the largest code of its grid.
fn ends(site: &GraphNode<'_>, x: ValueId) -> Option<(NodeId, [f32; 2])> {
    let real = site.producer(x, Term::Dequantize)?;
    let codes = site.graph.value(real.input(0)?)?;
    Some((real.id, codes.quant.as_ref()?.ends_of(codes.ty.elem)?))
}

/// True for a layer that ONNX Runtime would take for a quantized layer, although its weights or its bias are floats.
fn is_mistaken(site: &GraphNode<'_>) -> bool {
    let is_float = |index: usize| {
        let value = site.input(index).filter(|&value| site.graph.data_of(value).is_some());
        value
            .and_then(|value| site.graph.value(value))
            .is_some_and(|value| value.ty.elem == Elem::F32)
    };
    (is_float(1) || is_float(2)) && is_quantized(site)
}

/// True if the node's result is quantized, directly or after clamps.
fn is_quantized(site: &GraphNode<'_>) -> bool {
    let mut node = site.node;
    loop {
        let Some(&[result]) = node.outputs.first_chunk().filter(|_| node.outputs.len() == 1) else {
            return false;
        };
        let mut readers = site
            .graph
            .uses(result)
            .filter_map(|reader| site.graph.node(reader.node));
        node = match (readers.next(), readers.next()) {
            (Some(reader), None) => reader,
            _ => return false,
        };
        match node.op {
            Op::Quantize(_) => return true,
            Op::Relu(_) | Op::Clip(_) => {}
            _ => return false,
        }
    }
}
