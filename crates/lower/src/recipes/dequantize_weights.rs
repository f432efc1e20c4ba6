//! `dequantize_weights`: a weight-only product: the weights have codes, and it computes on real numbers.
//!
//! The codes become real numbers, w = s_w·(q − z_w), in front of the op as it is. Operand, bias and result are real, and
//! nothing is requantized, so that there is nothing to certify. The host computes such a product, too, without a row.

use crate::lowering::Lowering;
use strait_core::op::Dequantize;
use strait_core::{Failure, Node, NodeId, Port, ValueId};

pub(super) fn lower(lowering: &mut Lowering<'_>, id: NodeId, node: &Node) -> Result<(), Failure> {
    let weights = dequantized(lowering, id, node)?;
    lowering.on_reals(id, node, Some(weights)).map(drop)
}

/// The weights of a node of the host, if they have codes.
pub(crate) fn on_host(lowering: &mut Lowering<'_>, id: NodeId, node: &Node) -> Result<Option<ValueId>, Failure> {
    let has_codes = lowering.graph().quant.id(id, Port::Operand(1)).is_some();
    has_codes.then(|| dequantized(lowering, id, node)).transpose()
}

fn dequantized(lowering: &mut Lowering<'_>, id: NodeId, node: &Node) -> Result<ValueId, Failure> {
    let (grid, codes) = lowering.weights(id)?;
    let codes = lowering.shared("weight:codes", codes, grid)?;
    lowering.emit(node, Dequantize {}, &[codes], None, "weight")
}
