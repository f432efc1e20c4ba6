//! Constraints on weights and biases.

use super::unless;
use crate::accelerator::site::Site;
use crate::graph::Tensor;
use crate::schema::BuiltinOptions;
use strait_core::QuantParams;

/// Weights have 8 bits, and the biases are constants with one number for each channel.
pub(in crate::accelerator) fn weights(site: &Site<'_>) -> Option<String> {
    let weights = site.input(1)?;
    let bits = weights.type_name();
    unless(matches!(bits, "INT8" | "UINT8"), || {
        format!("weights of {bits} are not supported")
    })
    .or_else(|| bias(site))
}

fn bias(site: &Site<'_>) -> Option<String> {
    let bias = site
        .inputs
        .last()
        .copied()
        .flatten()
        .filter(|_| site.inputs.len() > 2)?;
    unless(bias.data.is_some(), || "the bias is not a constant".into()).or_else(|| {
        unless(matches!(bias.type_name(), "INT32" | "INT64"), || {
            format!("a bias of {}", bias.type_name())
        })
    })
}

/// Biases of 64 bits are smaller than `MOST`.
pub(in crate::accelerator) fn wide_bias<const MOST: i64>(site: &Site<'_>) -> Option<String> {
    let bias = site
        .inputs
        .last()
        .copied()
        .flatten()
        .filter(|_| site.inputs.len() > 2)?;
    let bytes = bias.data.as_ref().filter(|_| bias.type_name() == "INT64")?;
    let mut numbers = bytes.as_chunks().0.iter().map(|chunk| i64::from_le_bytes(*chunk));
    numbers
        .any(|number| number.unsigned_abs() >= MOST as u64)
        .then(|| format!("a bias reaches {MOST}"))
}

/// For each channel of the result, the sum of the weights' magnitudes is at most `BYTE` for operands of 8 bits, and
/// `SHORT` for operands of 16 bits.
pub(in crate::accelerator) fn weight_sum<const BYTE: u64, const SHORT: u64>(site: &Site<'_>) -> Option<String> {
    let (x, weights) = (site.input(0)?, site.input(1)?);
    let most = if x.type_name() == "INT16" { SHORT } else { BYTE };
    let data = weights.data.as_ref()?;
    let zero = weights
        .grid
        .as_ref()
        .and_then(QuantParams::as_tensor)
        .map_or(0, |(_, zero)| zero);
    let signed = weights.type_name() == "INT8";
    let magnitude = |byte: &u8| {
        let code = if signed {
            i64::from(byte.cast_signed())
        } else {
            i64::from(*byte)
        };
        (code - i64::from(zero)).unsigned_abs()
    };
    // Each channel of the result has a row of weights, except in a depthwise convolution.
    let channels = match site.options {
        Some(BuiltinOptions::DepthwiseConv2DOptions(_)) => return depthwise_sum(data, weights, most, magnitude),
        _ => weights.extents().first().copied().unwrap_or(1),
    };
    let row = (data.len() / usize::try_from(channels).unwrap_or(1).max(1)).max(1);
    data.chunks(row).find_map(|row| {
        let sum: u64 = row.iter().map(magnitude).sum();
        (sum > most).then(|| format!("the magnitudes of a channel's weights have the sum {sum}, more than {most}"))
    })
}

fn depthwise_sum(data: &[u8], weights: &Tensor, most: u64, magnitude: impl Fn(&u8) -> u64) -> Option<String> {
    let channels = weights.extents().last().copied().unwrap_or(1);
    let channels = usize::try_from(channels).unwrap_or(1).clamp(1, data.len().max(1));
    (0..channels).find_map(|channel| {
        let sum: u64 = data.iter().skip(channel).step_by(channels).map(&magnitude).sum();
        (sum > most).then(|| format!("the magnitudes of a channel's weights have the sum {sum}, more than {most}"))
    })
}
