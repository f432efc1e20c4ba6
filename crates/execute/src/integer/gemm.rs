//! Matrix product with packed weights. Accumulators are requantized as soon as they are computed.

use super::operands::{Constant, ConstantBias, Prepared, carrier, codes};
use crate::prelude::*;
use strait_kernels::integer::GemmWeights;

pub(crate) fn prepare(op: &op::Gemm, site: &NodeSlots<'_>) -> Prepared {
    if (op.alpha, op.beta) != (1.0, 1.0) {
        return Err(StepError::Model(
            "an integer product with factors alpha and beta".into(),
        ));
    }
    let (a, b) = (site.input(0)?, site.input(1)?);
    let bias = ConstantBias::of(site.optional(2), carrier(op.accumulator));
    let (Some(element), Some(weights), Some(bias), false) = (
        codes(a),
        Constant::of(b, &op.weight_zero, usize::from(!op.transpose_b)),
        bias,
        op.transpose_a,
    ) else {
        return Ok(None);
    };
    let [depth, columns] = if op.transpose_b {
        [b.dims[1], b.dims[0]]
    } else {
        [b.dims[0], b.dims[1]]
    };
    let strides = if op.transpose_b { [1, depth] } else { [columns, 1] };
    let Some(bias) = bias.repeated(columns) else {
        return Ok(None);
    };
    let weights = GemmWeights::new(element, [depth, columns], weights.weights(), strides, bias.bias())?;
    let rows = a.dims.iter().rev().skip(1).product();
    let loops = site.loops()?;
    Ok(Some(reading(1, move |io| {
        Ok(loops.gemm(io.context, &weights, rows, io.input(0)?, io.output()?)?)
    })))
}
