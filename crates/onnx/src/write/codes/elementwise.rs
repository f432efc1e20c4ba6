//! Functions of single elements.

use super::super::attributes::float;
use super::super::emitter::{Emitter, RUNTIME_DOMAIN};
use super::super::ops::At;
use super::grids;
use crate::error::WriteError;
use crate::proto::AttributeProto;
use strait_core::Elem;

/// Writes a sum or a product of two operands, which broadcast.
pub(super) fn two(emitter: &mut Emitter<'_>, at: At<'_>, operator: &str) -> Result<(), WriteError> {
    let (a, b) = (grids::operand(emitter, at, 0)?, grids::operand(emitter, at, 1)?);
    let (inputs, outputs) = ([a, b, grids::result(emitter, at)?].concat(), at.outputs(emitter));
    emitter.node_of(RUNTIME_DOMAIN, operator, at.name, inputs, outputs, vec![]);
    Ok(())
}

/// Writes a conversion of codes to another grid, as a multiplication by the constant 1. A DequantizeLinear followed by
/// a QuantizeLinear is not used, because ONNX Runtime merges such a pair with its neighbours, and the merged grid gives
/// other codes.
pub(super) fn on_another_grid(emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
    let (elem, _) = at.operand_type(emitter);
    let x = grids::operand(emitter, at, 0)?;
    let one = at.scalar(emitter, "one", elem, 1.0)?;
    let scale = at.scalar(emitter, "one_scale", Elem::F32, 1.0)?;
    let zero = at.scalar(emitter, "one_zero_point", elem, 0.0)?;
    let inputs = [x, vec![one, scale, zero], grids::result(emitter, at)?].concat();
    let outputs = at.outputs(emitter);
    emitter.node_of(RUNTIME_DOMAIN, "QLinearMul", at.name, inputs, outputs, vec![]);
    Ok(())
}

pub(super) fn sigmoid(emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
    one(emitter, at, "QLinearSigmoid", vec![])
}

pub(super) fn leaky_relu(emitter: &mut Emitter<'_>, at: At<'_>, alpha: f32) -> Result<(), WriteError> {
    one(emitter, at, "QLinearLeakyRelu", vec![float("alpha", alpha)])
}

/// Writes a function of one operand.
fn one(
    emitter: &mut Emitter<'_>,
    at: At<'_>,
    operator: &str,
    attributes: Vec<AttributeProto>,
) -> Result<(), WriteError> {
    let inputs = [grids::operand(emitter, at, 0)?, grids::result(emitter, at)?].concat();
    let outputs = at.outputs(emitter);
    emitter.node_of(RUNTIME_DOMAIN, operator, at.name, inputs, outputs, attributes);
    Ok(())
}
