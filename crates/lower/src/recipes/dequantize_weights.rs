//! `dequantize_weights`: a product of real numbers, whose weights alone have codes.
//!
//! The codes become real numbers, w = s_w·(q − z_w), in front of the op as it is. Operand, bias and result are real, and
//! nothing is requantized, so that there is nothing to certify.

use super::NodeToLower;
use crate::lowering::Lowering;
use crate::walk::Build;
use strait_core::Failure;
use strait_core::op::Dequantize;

pub(super) fn lower(walk: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let (grid, codes) = walk.weights(site)?;
    let codes = walk.shared("weight:codes", codes, grid)?;
    let weights = walk.emit(site.node, Dequantize {}, &[codes], None, "weight")?;
    let mut operands = Vec::with_capacity(site.node.inputs.len());
    for (index, input) in site.node.inputs.iter().enumerate() {
        operands.push(match (*input, index) {
            (Some(_), 1) => Some(weights),
            (input, _) => input.map(|value| walk.real(value)).transpose()?,
        });
    }
    walk.on_reals(site.node, &operands).map(drop)
}
