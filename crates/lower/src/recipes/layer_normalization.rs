//! `layer_normalization`: applies one integer function to each row of codes. The function's parameters depend on the
//! grids of operand, gains (the factors of the normalized elements) and result, and on the length of a row. Gains and
//! biases are baked codes.

use super::NodeToLower;
use crate::lowering::Lowering;
use std::sync::Arc;
use strait_core::op::IntegerLayerNormalization;
use strait_core::shape::axis_of;
use strait_core::{
    DataId, Failure, Op, Port, QuantParams, Reason, ReasonCode, TensorData, TensorType, ValueId, refused,
};
use strait_requantize::function::{Definition, LayerNorm, LayerNormScales};

pub(super) fn lower(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    definition: Definition,
) -> Result<(), Failure> {
    let (centred, axis, epsilon) = match (&site.node.op, definition) {
        (Op::LayerNormalization(op), Definition::LayerNorm) => (true, op.axis, op.epsilon),
        (Op::RmsNormalization(op), Definition::RmsNorm) => (false, op.axis, op.epsilon),
        _ => return Err(Failure::defect("it is no layer normalization")),
    };
    let (x, y) = (lowering.operand_grid(site, 0)?, lowering.needed_grid(site)?);
    let (grid, gains) = lowering.weights(site.id)?;
    let missing = || Failure::defect("its gains have no single grid");
    if !centred && x.zero != 0 {
        let text = format!(
            "{definition} reads codes without a zero point, and its operand has {}",
            x.zero
        );
        return refused(ReasonCode::LayerNormalizationDomain, text);
    }
    let scales = LayerNormScales {
        input: x.scale,
        gain: grid.as_tensor().ok_or_else(missing)?.0,
        output: (y.scale, y.zero),
        result: y.ty,
    };
    let row = lowering.graph().value(site.input(0)?).and_then(|x| row(&x.ty, axis));
    let row = row.ok_or_else(|| Failure::defect("its rows have no length"))?;
    let length = usize::try_from(row.iter().product::<u64>()).unwrap_or(usize::MAX);
    let norm = LayerNorm::of(centred, length, epsilon, scales);
    let norm = norm.map_err(|error| Reason::new(ReasonCode::LayerNormalizationDomain, error.to_string()))?;
    let mut operands = vec![
        lowering.operand(site, 0)?.value,
        along(lowering, "gain:codes", gains, grid, &row)?,
    ];
    if site.node.input(2).is_some() {
        let grid = lowering.graph().quant.params_of(site.id, Port::Operand(2));
        let grid = grid.ok_or_else(|| Failure::defect("its bias has no grid"))?;
        let biases = lowering.baked(site.id, 2)?;
        operands.push(along(lowering, "bias:codes", biases, grid, &row)?);
    }
    let primitive = IntegerLayerNormalization::new(axis, &norm);
    let made = lowering.emit(site.node, primitive, &operands, Some(y.params()), "layer-normalization")?;
    lowering.set_codes(site, 0, made)
}

/// The extents of the axes from `axis` to the last one.
fn row(x: &TensorType, axis: i64) -> Option<Vec<u64>> {
    let dims = x.dims()?;
    Some(dims.get(axis_of(axis, dims.len())?..)?.to_vec())
}

/// Returns the gains or biases with one code for each element of a row. If the constant has a single code, the code is
/// repeated for all elements of the row.
fn along(
    lowering: &mut Lowering<'_>,
    base: &str,
    codes: DataId,
    grid: Arc<QuantParams>,
    row: &[u64],
) -> Result<ValueId, Failure> {
    let tensor = lowering.walk.parameter(codes)?;
    if tensor.shape() == row {
        return lowering.walk.shared(base, codes, grid);
    }
    let mut extents = vec![1u64; row.len()];
    let own = tensor.shape().iter().rev();
    extents.iter_mut().rev().zip(own).for_each(|(to, &extent)| *to = extent);
    let values = tensor.to_i64()?;
    let length = row.iter().product::<u64>();
    let place = |mut position: u64| {
        let (mut at, mut step) = (0, 1);
        for (&extent, &own) in row.iter().zip(&extents).rev() {
            at += (position % extent.max(1)) % own.max(1) * step;
            position /= extent.max(1);
            step *= own;
        }
        values.get(at as usize).copied()
    };
    let repeated: Option<Vec<i64>> = (0..length).map(place).collect();
    let repeated = repeated.ok_or_else(|| Failure::defect("its codes are not those of a row"))?;
    let repeated = TensorData::from_integers(tensor.elem(), row, &repeated)?;
    Ok(lowering.walk.data(base, repeated, Some(grid)))
}
