//! `layer_normalization`: an integer function of rows of codes, whole. Its parameters follow from the grids of operand, gains
//! and result, and from the length of a row; gains and biases are the codes that these were baked to.

use super::NodeToLower;
use crate::lowering::Lowering;
use strait_core::op::IntegerLayerNormalization;
use strait_core::{Failure, Op, Port, Reason, ReasonCode};
use strait_requantize::function::{Definition, LayerNorm, LayerNormScales};

pub(super) fn lower(walk: &mut Lowering<'_>, site: &NodeToLower<'_>, definition: Definition) -> Result<(), Failure> {
    let (Op::LayerNormalization(op), Definition::LayerNorm) = (&site.node.op, definition) else {
        return Err(Failure::defect("it is no layer normalization"));
    };
    let (x, y) = (walk.operand_grid(site, 0)?, walk.needed_grid(site)?);
    let (grid, gains) = walk.weights(site.id)?;
    let missing = || Failure::defect("its gains have no single grid");
    let scales = LayerNormScales {
        input: x.scale,
        gain: grid.as_tensor().ok_or_else(missing)?.0,
        output: (y.scale, y.zero),
        result: y.ty,
    };
    let length = walk.parameter(gains)?.shape().iter().product::<u64>();
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let norm = LayerNorm::of(length, op.epsilon, scales);
    let norm = norm.map_err(|error| Reason::new(ReasonCode::LayerNormalizationDomain, error.to_string()))?;
    let mut operands = vec![walk.operand(site, 0)?.value, walk.shared("gain:codes", gains, grid)?];
    if site.node.inputs.get(2).copied().flatten().is_some() {
        let grid = walk.graph().quant.params_of(site.id, Port::Operand(2));
        let grid = grid.ok_or_else(|| Failure::defect("its bias has no grid"))?;
        let biases = walk.baked(site.id, 2)?;
        operands.push(walk.shared("bias:codes", biases, grid)?);
    }
    let primitive = IntegerLayerNormalization::new(op.axis, &norm);
    let made = walk.emit(site.node, primitive, &operands, Some(y.params()), "layer-normalization")?;
    walk.set_codes(site, 0, made)
}
