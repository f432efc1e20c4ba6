//! `lookup`: a function of one variable as a table: entry i = quantize(f(dequantize(code i))).
//!
//! f is computed by the float executor, so the table holds what float execution would have seen for these inputs, rounded
//! once.

use super::NodeToLower;
use crate::lowering::{Lowering, integers};
use strait_core::op::Lookup;
use strait_core::{Elem, Failure, Reason, ReasonCode, TensorData};
use strait_execute::evaluate;
use strait_requantize::quantize::dequantize;

pub(super) fn lower(walk: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let (x, y) = (walk.operand_grid(site, 0)?, walk.needed_grid(site)?);
    if x.ty.bits() != 8 || y.ty != x.ty {
        let text = format!("a table from {} to {} is not one of codes", x.ty, y.ty);
        return Err(Reason::new(ReasonCode::TableType, text).into());
    }
    let inputs: Vec<f32> = x.ty.range().map(|q| dequantize(q, x.scale, x.zero)).collect();
    let inputs = TensorData::from_values(&[256], &inputs)?;
    let outputs = evaluate(&site.node.op, &[Some(&inputs)]);
    let outputs = outputs.map_err(|error| Failure::Defect(format!("its table: {error}")))?;
    let values = outputs
        .first()
        .ok_or_else(|| Failure::defect("its table has no entries"))?;
    // A pole of f (the reciprocal of 0) saturates; what has no value at all is real zero.
    let codes: Vec<i32> = values.to_f32()?.iter().map(|&v| y.code(v)).collect();
    let table = integers(&[256], &codes, Elem::from(y.ty))?;
    let table = walk.data("table", table, Some(y.params()));
    let operands = [walk.operand(site, 0)?.value, table];
    let made = walk.emit(site.node, Lookup {}, &operands, Some(y.params()), "lookup")?;
    walk.set_codes(site, 0, made)
}
