//! `dequantize_weights`: lowers a weight-only convolution, Gemm or Gather. Only its weights have codes, and it computes on
//! real numbers.
//!
//! A dequantize before the op turns the codes q of the weights into the real numbers w = s_w·(q − z_w), with the
//! weights' scale s_w and zero point z_w. The op itself does not change. Operand, bias and result are real numbers, and
//! nothing is requantized, so no certificate is needed. The host computes such a node in the same way, even without a
//! row in the table.

use crate::lowering::Lowering;
use strait_core::op::Dequantize;
use strait_core::{Failure, Node, NodeId, Port, ValueId};

pub(super) fn lower(lowering: &mut Lowering<'_>, id: NodeId, node: &Node) -> Result<(), Failure> {
    let weights = dequantized(lowering, id, node)?;
    lowering.on_reals(id, node, Some(weights)).map(drop)
}

/// The dequantized weights of a host node, if its weights have codes.
pub(crate) fn on_host(lowering: &mut Lowering<'_>, id: NodeId, node: &Node) -> Result<Option<ValueId>, Failure> {
    let has_codes = lowering
        .graph()
        .quant
        .id(id, Port::Operand(node.op.weights_operand()))
        .is_some();
    has_codes.then(|| dequantized(lowering, id, node)).transpose()
}

fn dequantized(lowering: &mut Lowering<'_>, id: NodeId, node: &Node) -> Result<ValueId, Failure> {
    let (grid, codes) = lowering.weights_at(id, node.op.weights_operand())?;
    let codes = lowering.walk.shared("weight:codes", codes, grid)?;
    lowering.emit(node, Dequantize {}, &[codes], None, "weight")
}
