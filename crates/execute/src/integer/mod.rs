//! Integer primitives, one file each. They run on the loops of a target or on Strait's own loops.
//!
//! The loops of [`NodeSlots::loops`] also requantize a node's accumulators. The requantization is either fused into the
//! node, or a separate node that is joined to the node ([`crate::join`]). Some primitives have no fast loops, such as
//! sums over three spatial axes, or convolutions and matrix products whose weights are not constant. A [`plain`] step
//! computes such primitives by their definition in [`crate::reference`].

pub(crate) mod add;
mod addend;
pub(crate) mod average_pool;
pub(crate) mod clamp;
pub(crate) mod conv;
pub(crate) mod dequantize;
pub(crate) mod gemm;
pub(crate) mod layer_normalization;
pub(crate) mod lookup;
pub(crate) mod matmul;
pub(crate) mod max_pool;
pub(crate) mod mul;
pub(crate) mod operands;
mod picked;
pub(crate) mod plain;
pub(crate) mod quantize;
pub(crate) mod reduce;
pub(crate) mod requantize;
pub(crate) mod resize;
pub(crate) mod scaled_add;
pub(crate) mod shift_left;
pub(crate) mod softmax;
pub(crate) mod sum_pool;

use crate::prelude::*;
use crate::wide;
use strait_core::{Fused, Op};

/// Prepares the step of a primitive whose first operand is an integer.
pub(crate) fn prepare(site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    if let (Some(fused), None) = (&site.fused, site.node.op.channel_axis(site.output()?.dims.len()))
        && fused.requant.channels().is_some()
    {
        let op = site.node.op.term();
        return Err(StepError::Model(format!(
            "{op} has no channel axis for a requantization per channel"
        )));
    }
    if let (Op::Dequantize(_), Elem::I64) = (&site.node.op, site.input(0)?.elem) {
        return dequantize::wide(site);
    }
    if let Some(Fused {
        addend: Some(addend), ..
    }) = &site.fused
    {
        return match addend::prepare(addend, site)? {
            Some(step) => Ok(step),
            None => plain::prepare(site),
        };
    }
    if let Op::Binary(op) = &site.node.op {
        return wide::arithmetic::binary(op.function, site);
    }
    if let Op::Compare(op) = &site.node.op {
        return wide::compare::prepare(op.relation, site);
    }
    let step = match &site.node.op {
        Op::Conv(op) => conv::prepare(op, site),
        Op::Gemm(op) => gemm::prepare(op, site),
        Op::MatMul(op) => matmul::prepare(op, site),
        Op::Add(_) => add::prepare(site, i32::wrapping_add, i64::wrapping_add),
        Op::Sub(_) => add::prepare(site, i32::wrapping_sub, i64::wrapping_sub),
        Op::Mul(op) => mul::prepare(op, site),
        Op::SumPool(op) => sum_pool::prepare(op, site),
        Op::AveragePool(op) => average_pool::prepare(Some(op), site),
        Op::GlobalAveragePool(_) => average_pool::prepare(None, site),
        Op::MaxPool(op) => max_pool::prepare(op, site),
        Op::Reduce(op) => reduce::prepare(op, site),
        Op::Lookup(_) => lookup::prepare(site),
        Op::Interpolate(op) => lookup::interpolate(op, site),
        Op::IntegerResize(op) => resize::prepare(op, site),
        Op::IntegerSoftmax(op) => softmax::prepare(op, site),
        Op::IntegerLayerNormalization(op) => layer_normalization::prepare(op, site),
        Op::Clamp(op) => clamp::prepare(op, site),
        Op::Requantize(op) => requantize::prepare(op, site),
        Op::ScaledAdd(op) => scaled_add::prepare(op, site),
        Op::ShiftLeft(op) => shift_left::prepare(op, site),
        Op::Dequantize(_) => dequantize::prepare(site),
        _ => return unsupported(site),
    };
    match step? {
        Some(step) => Ok(step),
        None => plain::prepare(site),
    }
}
