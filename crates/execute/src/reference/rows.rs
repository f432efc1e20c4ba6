//! Functions of whole rows of codes.

use super::array::Array;
use crate::error::StepError;
use crate::layout::{around, axis};
use strait_core::op::IntegerSoftmax;

/// The definition's probabilities of each row along the axis.
pub(super) fn softmax(op: &IntegerSoftmax, x: &Array) -> Result<Vec<i128>, StepError> {
    let wrong = |error: strait_requantize::function::FunctionError| StepError::Model(error.to_string());
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
