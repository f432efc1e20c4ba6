//! Operands of quantized operators: codes, and the constants of their grids.

use super::super::emitter::Emitter;
use super::super::grid;
use super::super::ops::At;
use crate::error::WriteError;
use strait_core::ValueId;

/// The names of an operand, of its scale and of its zero point.
pub(super) fn operand(emitter: &mut Emitter<'_>, at: At<'_>, position: usize) -> Result<Vec<String>, WriteError> {
    let value = at.node.input(position);
    let value = value.ok_or_else(|| at.unwritable(format!("operand {position} is missing")))?;
    let grid = of(emitter, at, Some(value))?;
    Ok([vec![emitter.value(value)], grid].concat())
}

/// The names of the scale and the zero point of the node's result.
pub(super) fn result(emitter: &mut Emitter<'_>, at: At<'_>) -> Result<Vec<String>, WriteError> {
    of(emitter, at, at.node.result())
}

/// The names of the scale and the zero point of a value. Nodes that read or make the same value share these constants.
fn of(emitter: &mut Emitter<'_>, at: At<'_>, value: Option<ValueId>) -> Result<Vec<String>, WriteError> {
    let (names, _) = grid::constants(emitter, at, value)?;
    Ok(names)
}

/// The scale and the zero point of a value with a single grid.
pub(super) fn single(emitter: &Emitter<'_>, at: At<'_>, value: Option<ValueId>) -> Result<(f32, i32), WriteError> {
    let grid = value.and_then(|id| emitter.graph().value(id)?.quant.as_deref()?.as_tensor());
    grid.ok_or_else(|| at.unwritable("it has no grid, or several scales"))
}
