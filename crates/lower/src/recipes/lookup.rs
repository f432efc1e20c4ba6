//! `lookup`: a function of one variable as a table: entry i = quantize(f(dequantize(code i))).
//!
//! f is computed by the float executor, so the table holds what float execution would have seen for these inputs, rounded
//! once.

use super::NodeToLower;
use crate::lowering::{Lowering, integers};
use std::sync::Arc;
use strait_core::op::Lookup;
use strait_core::{Elem, Failure, QuantParams, Reason, ReasonCode, TensorData};
use strait_execute::evaluate;
use strait_requantize::IntType;
use strait_requantize::quantize::{dequantize, quantize};
use strait_target::spec::Integer;

pub(super) fn lower(walk: &mut Lowering<'_>, site: &NodeToLower<'_>, entries: Integer) -> Result<(), Failure> {
    let (x, y) = (site.input(0)?, site.output()?);
    let ((x_scale, x_zero), (y_scale, y_zero)) = (walk.grid(x)?, walk.grid(y)?);
    let (from, to) = (walk.spec.types.activation_type(), IntType::from(entries));
    if from.bits() != 8 || to != walk.spec.types.activation_type() {
        return Err(Reason::new(
            ReasonCode::TableType,
            format!("a table from {from} to {to} is not one of codes"),
        )
        .into());
    }
    let inputs: Vec<f32> = from.range().map(|q| dequantize(q, x_scale, x_zero)).collect();
    let inputs = TensorData::from_values(&[256], &inputs)?;
    let outputs = evaluate(&site.node.op, &[Some(&inputs)]);
    let outputs = outputs.map_err(|error| Failure::Defect(format!("its table: {error}")))?;
    let values = outputs
        .first()
        .ok_or_else(|| Failure::defect("its table has no entries"))?;
    let values = values.to_f32()?;
    let (range, rounding) = (walk.spec.types.activation_range(), walk.spec.quantize.rounding);
    // A pole of f (the reciprocal of 0) saturates; what has no value at all is real zero.
    let codes: Vec<i32> = values
        .iter()
        .map(|&v| quantize(v, y_scale, y_zero, rounding, &range))
        .collect();
    let grid = Arc::new(QuantParams::tensor(y_scale, y_zero));
    let table = integers(&[256], &codes, Elem::from(to))?;
    let table = walk.data("table", table, Some(grid.clone()));
    let operands = [walk.codes(x)?, table];
    let made = walk.emit(site.node, Lookup {}, &operands, Some(grid), "lookup")?;
    walk.set_codes(y, made);
    Ok(())
}
