//! Ops on whole rows of codes, by their definitions.

use super::array::Array;
use crate::error::StepError;
use crate::layout::{around, axis};
use strait_core::Elem;
use strait_core::op::{IntegerLayerNormalization, IntegerSoftmax};
use strait_requantize::function::FunctionError;

/// Computes the softmax of each row along the axis.
pub(super) fn softmax(op: &IntegerSoftmax, x: &Array) -> Result<Vec<i128>, StepError> {
    let rows = op.softmax().and_then(|softmax| softmax.rows()).map_err(wrong)?;
    let [outer, extent, inner] = around(&x.dims, axis(op.axis, x.dims.len())?);
    let mut results = vec![0; x.values.len()];
    let (mut row, mut shares) = (vec![0; extent], vec![0; extent]);
    for o in 0..outer {
        for i in 0..inner {
            let at = |k: usize| (o * extent + k) * inner + i;
            for (k, code) in row.iter_mut().enumerate() {
                // Codes have at most 16 bits.
                *code = x.values[at(k)] as i32;
            }
            rows.eval(&row, &mut shares).map_err(wrong)?;
            for (k, &share) in shares.iter().enumerate() {
                results[at(k)] = share.into();
            }
        }
    }
    Ok(results)
}

/// Computes the layer normalization of each row over the last axes, as codes of type `elem`.
pub(super) fn layer_normalization(
    op: &IntegerLayerNormalization,
    elem: Elem,
    x: &Array,
    gains: &Array,
    biases: Option<&Array>,
) -> Result<Vec<i128>, StepError> {
    let norm = op.norm().map_err(wrong)?;
    let from = elem
        .int_type()
        .ok_or_else(|| StepError::Model(format!("{} reads codes, not {elem}", op.definition)))?;
    // Gains are i16, and codes have at most 16 bits.
    let gains: Vec<i16> = gains.values.iter().map(|&gain| gain as i16).collect();
    let codes: Vec<i32> = x.values.iter().map(|&code| code as i32).collect();
    let length = x.dims[axis(op.axis, x.dims.len())?..].iter().product::<usize>().max(1);
    let mut results = vec![0; codes.len()];
    for (row, out) in codes.chunks(length).zip(results.chunks_mut(length)) {
        let biases = biases.map(|biases| &biases.values[..]);
        norm.eval(from, row, &gains, biases, out).map_err(wrong)?;
    }
    Ok(results.into_iter().map(i128::from).collect())
}

fn wrong(error: FunctionError) -> StepError {
    StepError::Model(error.to_string())
}
