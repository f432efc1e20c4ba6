//! Bake: parameters become integers.

use std::ops::RangeInclusive;
use strait_core::{QuantParams, Scheme, TensorData, TensorError};
use strait_requantize::quantize::quantize;
use strait_requantize::{Per, Rounding};

/// The elements of a float tensor as codes of a grid whose channels, if it has any, run along axis 0.
pub(crate) fn codes(
    tensor: &TensorData,
    grid: &QuantParams,
    range: &RangeInclusive<i32>,
    rounding: Rounding,
) -> Result<Vec<i32>, TensorError> {
    let values = tensor.to_f32()?;
    let channels = grid.scale.channels().unwrap_or(1).max(1);
    let each = values.len().div_ceil(channels).max(1);
    let code = |(index, &x): (usize, &f32)| {
        let scale = grid.scale.get(index / each).copied().unwrap_or(1.0);
        let zero = grid.zero_point.get(index / each).copied().unwrap_or(0);
        quantize(x, scale, zero, rounding, range)
    };
    Ok(values.iter().enumerate().map(code).collect())
}

/// The codes of weights, whose channels, if their grid has any, run along axis 0.
pub(crate) fn weights(
    tensor: &TensorData,
    grid: &QuantParams,
    scheme: &Scheme,
    folding: Option<Folding>,
) -> Result<Vec<i32>, TensorError> {
    let [first, last] = scheme.range().unwrap_or([-127, 127]);
    // The codes of weights have 16 bits at most.
    let (range, rounding) = (first as i32..=last as i32, scheme.rounding());
    let Some(Folding { x, y }) = folding else {
        return codes(tensor, grid, &range, rounding);
    };
    let finest = QuantParams {
        scale: finest(tensor, &grid.scale, &range)?,
        ..grid.clone()
    };
    let codes = codes(tensor, &finest, &range, rounding)?;
    let shifts = shifts(x, &grid.scale, y);
    let channels = finest.scale.channels().unwrap_or(1).max(1);
    let each = codes.len().div_ceil(channels).max(1);
    let fold = |(index, &code): (usize, &i32)| {
        let scale = f64::from(finest.scale.get(index / each).copied().unwrap_or(0.0));
        let shift = shifts.get(index / each).copied().unwrap_or(0);
        // A product of two f32 is an f64, and so is one with a power of two: the division alone rounds.
        let correction = f64::from(x) * scale * f64::from(shift).exp2() / f64::from(y);
        Rounding::HalfEven.round_f64(f64::from(code) * correction) as i32
    };
    Ok(codes.iter().enumerate().map(fold).collect())
}

/// Weights that reach their grid, s_w' = 2^−n·s_y / s_x, in two roundings: w = rint(W / s_w) on the finest grid that holds
/// them, then w' = rint(w·f) with the correction f = s_w·s_x / s_y·2^n, which is at most 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Folding {
    /// s_x, the scale of the operand.
    pub(crate) x: f32,
    /// s_y, the scale of the result.
    pub(crate) y: f32,
}

/// The shifts that lead to the result's grid: s_x·s_w / s_y = 2^−n, for weights whose grid was made to that.
pub(crate) fn shifts(x: f32, weights: &Per<f32>, y: f32) -> Per<u8> {
    // The weights' scale was rounded to f32, so the logarithm is within 2^−20 of a whole number.
    let shift = |w: &f32| {
        (f64::from(y) / (f64::from(x) * f64::from(*w)))
            .log2()
            .round()
            .clamp(0.0, 31.0) as u8
    };
    weights.map(shift)
}

/// The smallest scales that hold a tensor, one for each of `like`; that itself for zeros alone.
fn finest(tensor: &TensorData, like: &Per<f32>, range: &RangeInclusive<i32>) -> Result<Per<f32>, TensorError> {
    let values = tensor.to_f32()?;
    let each = values.len().div_ceil(like.channels().unwrap_or(1).max(1)).max(1);
    let mut rows = values.chunks(each);
    Ok(like.map(|&scale| {
        let end = |w: f32| f64::from(if w < 0.0 { *range.start() } else { *range.end() });
        let row = rows.next().unwrap_or_default().iter();
        let least = row.map(|&w| f64::from(w) / end(w)).fold(0.0, f64::max) as f32;
        if least > 0.0 { least } else { scale }
    }))
}

/// The biases of a product with constant weights, on the accumulator's grid s_x·s_w with everything folded in that does
/// not depend on x:
///
/// Σ w·(q − z_x) + b/(s_x·s_w) = Σ w·q + [b/(s_x·s_w) − z_x·Σ w], rounded once.
///
/// `bias` is in real units, one number per channel or none at all; `weight` holds the codes, channel by channel.
pub(crate) fn biases(
    bias: &[f32],
    weight: &[i32],
    weight_scale: &Per<f32>,
    x: (f32, i32),
    channels: usize,
    rounding: Rounding,
) -> Vec<i64> {
    let each = weight.len() / channels.max(1);
    (0..channels)
        .map(|c| {
            let step = f64::from(x.0) * f64::from(weight_scale.get(c).copied().unwrap_or(1.0));
            let real = f64::from(bias.get(c).copied().unwrap_or(0.0));
            // A bias past ±2^62 saturates in the cast; it is refused with everything else that i32 cannot hold.
            let code = rounding.round_f64(real / step) as i64;
            let sum: i64 = weight[c * each..(c + 1) * each].iter().map(|&w| i64::from(w)).sum();
            code.saturating_sub(i64::from(x.1) * sum)
        })
        .collect()
}
