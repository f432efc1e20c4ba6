//! Operators that read real numbers beside codes: bounds and padding.

use super::super::attributes::text;
use super::super::emitter::Emitter;
use super::super::ops::At;
use super::grids;
use crate::error::WriteError;
use strait_core::op::Pad;
use strait_core::{Elem, ValueId};
use strait_requantize::mixed::QuantizeLinear;

/// The code of a real number on the grid of the value `on`, as QuantizeLinear gives it.
fn code(emitter: &Emitter<'_>, at: At<'_>, on: Option<ValueId>, x: f32) -> Result<i32, WriteError> {
    let (scale, zero_point) = grids::single(emitter, at, on)?;
    let out = emitter.ty(on).and_then(|ty| ty.elem.int_type());
    let out = out.ok_or_else(|| at.unwritable("its result has no codes"))?;
    let quantization = QuantizeLinear { scale, zero_point, out };
    let code = quantization.check().ok().and_then(|()| quantization.eval(x).ok());
    code.ok_or_else(|| at.unwritable(format!("{x} has no code")))
}

/// The codes of a clamp's bounds. `None` if no code is outside of them, so that the result is the operand.
fn bounds(emitter: &Emitter<'_>, at: At<'_>, low: f32, high: f32) -> Result<Option<[i32; 2]>, WriteError> {
    let result = at.node.result();
    let (low, high) = (code(emitter, at, result, low)?, code(emitter, at, result, high)?);
    let types = [at.node.input(0), result].map(|id| emitter.ty(id).and_then(|ty| ty.elem.integers()));
    let [Some(codes), Some(_)] = types else {
        return Err(at.unwritable("its operand or its result has no codes"));
    };
    Ok((codes != (low.into(), high.into())).then_some([low, high]))
}

/// Handles a clamp that changes no code. If nothing else reads the operand of the clamp, the operand gets the name of
/// the clamp's result, so that the readers of the result find it.
pub(super) fn share_name(emitter: &mut Emitter<'_>, at: At<'_>, low: f32, high: f32) -> Result<(), WriteError> {
    let (Some(operand), Some(result)) = (at.node.input(0), at.node.result()) else {
        return Ok(());
    };
    let graph = emitter.graph();
    let is_alone = graph.only_use(operand).is_some() && graph.producer(operand).is_some() && !graph.is_output(operand);
    if is_alone && !graph.is_output(result) && bounds(emitter, at, low, high)?.is_none() {
        let name = emitter.value(result);
        emitter.scope.values.insert(operand, name);
    }
    Ok(())
}

/// Writes a clamp as a Clip of codes. If no code is outside of the bounds, no operator is written: the result is the
/// operand.
pub(super) fn clamp(emitter: &mut Emitter<'_>, at: At<'_>, low: f32, high: f32) -> Result<(), WriteError> {
    let elem = at.operand_type(emitter).0;
    let (operand, result) = (at.input(emitter, 0), at.node.result());
    let Some([low, high]) = bounds(emitter, at, low, high)? else {
        match result.filter(|result| !emitter.graph().is_output(*result)) {
            Some(result) => drop(emitter.scope.values.insert(result, operand)),
            None => at.plain(emitter, "Identity", vec![])?,
        }
        return Ok(());
    };
    let inputs = vec![
        operand,
        constant(emitter, at, "min", elem, low)?,
        constant(emitter, at, "max", elem, high)?,
    ];
    let outputs = at.outputs(emitter);
    emitter.node("Clip", at.name, inputs, outputs, vec![]);
    Ok(())
}

/// Writes a Pad. The number that it pads with is a code.
pub(super) fn pad(emitter: &mut Emitter<'_>, at: At<'_>, pad: &Pad) -> Result<(), WriteError> {
    let (elem, _) = at.operand_type(emitter);
    let value = code(emitter, at, at.node.result(), pad.value)?;
    let value = constant(emitter, at, "value", elem, value)?;
    let mut inputs = at.inputs(emitter);
    if inputs.len() < 2 {
        inputs.push(emitter.ints(&format!("{}_pads", at.name), &pad.amounts));
    }
    inputs.push(value);
    let outputs = at.outputs(emitter);
    emitter.node("Pad", at.name, inputs, outputs, vec![text("mode", pad.mode.name())]);
    Ok(())
}

fn constant(emitter: &mut Emitter<'_>, at: At<'_>, name: &str, elem: Elem, code: i32) -> Result<String, WriteError> {
    // Codes have at most 16 bits, so f32 holds them.
    at.scalar(emitter, name, elem, code as f32)
}
