//! Matrix product with packed weights. Accumulators are requantized as soon as they are computed.

use super::operands::{Constant, ConstantBias, Prepared, carrier, codes};
use crate::prelude::*;
use strait_kernels::integer::{ChannelsLast, GemmWeights};
use strait_kernels::{Conv, Images, Window};
use strait_requantize::IntType;

/// The largest extent that a convolution takes.
const LARGEST_EXTENT: usize = 1 << 24;

/// Packs the weights of a product as those of a convolution with one tap, whose positions are the rows. Its channels are
/// last, so it reads the rows where they are. Returns `None` if it cannot compute the product.
fn as_convolution(
    [rows, columns, depth]: [usize; 3],
    element: IntType,
    weights: &Constant<'_>,
    strides: [usize; 2],
    bias: &ConstantBias,
) -> Result<Option<ChannelsLast>, StepError> {
    // Rows follow each other without gaps only if they consist of whole groups of four.
    if !depth.is_multiple_of(4) || rows.max(columns).max(depth) > LARGEST_EXTENT {
        return Ok(None);
    }
    let conv = Conv {
        window: Window::new([1, 1]),
        input: Images {
            batch: 1,
            channels: depth,
            size: [rows, 1],
        },
        out_channels: columns,
        groups: 1,
    };
    // A convolution has the weights of one output channel after the other.
    let moved = match weights {
        _ if strides == [1, depth] => None,
        Constant::I8(weights) => {
            let weight = |at: usize| weights[at % depth * strides[0] + at / depth * strides[1]];
            Some(Constant::I8((0..weights.len()).map(weight).collect()))
        }
        Constant::I32(_) => return Ok(None),
    };
    let weights = moved.as_ref().unwrap_or(weights).weights();
    Ok(ChannelsLast::new(conv, element, 0, weights, bias.bias())?)
}

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
    let rows = a.dims.iter().rev().skip(1).product();
    let loops = site.loops()?;
    if let Some(packed) = as_convolution([rows, columns, depth], element, &weights, strides, &bias)? {
        return Ok(Some(reading(1, move |io| {
            Ok(loops.conv_last(io.context, &packed, 1, io.input(0)?, io.output()?)?)
        })));
    }
    let weights = GemmWeights::new(element, [depth, columns], weights.weights(), strides, bias.bias())?;
    Ok(Some(reading(1, move |io| {
        Ok(loops.gemm(io.context, &weights, rows, io.input(0)?, io.output()?)?)
    })))
}
