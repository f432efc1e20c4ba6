//! Bake: parameters become integers.

use std::ops::RangeInclusive;
use strait_core::{QuantParams, Reason, TensorData};
use strait_requantize::quantize::quantize;
use strait_requantize::{Per, Rounding};

/// The elements of a float tensor as codes of a grid whose channels, if it has any, run along axis 0.
pub(crate) fn codes(
    tensor: &TensorData,
    grid: &QuantParams,
    range: &RangeInclusive<i32>,
    rounding: Rounding,
) -> Result<Vec<i32>, Reason> {
    let unreadable = |error: strait_core::TensorError| Reason::new("parameter", error.to_string());
    let values = tensor.to_f32().map_err(unreadable)?;
    let channels = grid.scale.channels().unwrap_or(1).max(1);
    let each = values.len().div_ceil(channels).max(1);
    let code = |(index, &x): (usize, &f32)| {
        let scale = grid.scale.get(index / each).copied().unwrap_or(1.0);
        let zero = grid.zero_point.get(index / each).copied().unwrap_or(0);
        quantize(x, scale, zero, rounding, range)
    };
    Ok(values.iter().enumerate().map(code).collect())
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
