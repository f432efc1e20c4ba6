//! `softmax`: applies one integer function to each row of codes. The function's parameters depend on the operand's
//! scale. The function fixes the grid of the result, and annotation has given the result this grid.

use super::NodeToLower;
use crate::lowering::Lowering;
use strait_core::op::IntegerSoftmax;
use strait_core::{Failure, Op, Reason, ReasonCode};
use strait_requantize::function::{Definition, Softmax};

/// In some runtimes, a softmax multiplies its operand by a factor beta. The softmax of the float graph has no such
/// factor, so it is 1.
const BETA: f32 = 1.0;

pub(super) fn lower(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    definition: Definition,
) -> Result<(), Failure> {
    let Op::Softmax(op) = &site.node.op else {
        return Err(Failure::defect("it is no softmax"));
    };
    let (x, y) = (lowering.operand_grid(site, 0)?, lowering.needed_grid(site)?);
    let softmax = Softmax::of(definition, x.scale, BETA);
    let softmax = softmax.map_err(|error| Reason::new(ReasonCode::SoftmaxDomain, error.to_string()))?;
    if (y.scale, y.zero, y.ty) != (softmax.output().0, softmax.output().1, softmax.elements()) {
        return Err(Failure::defect("its result is not on the grid of its function"));
    }
    let (multiplier, exponent) = softmax.factor();
    let primitive = IntegerSoftmax {
        axis: op.axis,
        definition,
        multiplier,
        exponent,
    };
    let operand = lowering.operand(site, 0)?.value;
    let made = lowering.emit(site.node, primitive, &[operand], Some(y.params()), "softmax")?;
    lowering.set_codes(site, 0, made)
}
