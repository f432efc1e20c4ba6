//! Constraints on weights and biases.

use super::unless;
use crate::accelerator::site::Site;
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
/// `SHORT` for 16.
pub(in crate::accelerator) fn weight_sum<const BYTE: u64, const SHORT: u64>(site: &Site<'_>) -> Option<String> {
    let (x, weights) = (site.input(0)?, site.input(1)?);
    let most = if x.type_name() == "INT16" { SHORT } else { BYTE };
    let (data, extents) = (weights.data.as_ref()?, weights.extents());
    let zero = weights.grid.as_ref().and_then(QuantParams::as_tensor);
    let zero = zero.map_or(0, |(_, zero)| i64::from(zero));
    let is_signed = weights.type_name() == "INT8";
    // The channels of the result are the first axis of the weights, and the last one in a depthwise convolution.
    let is_last = matches!(site.options, Some(BuiltinOptions::DepthwiseConv2DOptions(_)));
    let channels = if is_last { extents.last() } else { extents.first() };
    let channels = channels.and_then(|&channels| usize::try_from(channels).ok());
    let channels = channels.unwrap_or(1).clamp(1, data.len().max(1));
    let row = data.len().div_ceil(channels).max(1);
    let mut sums = vec![0u64; channels];
    for (at, &byte) in data.iter().enumerate() {
        let code = if is_signed {
            byte.cast_signed().into()
        } else {
            i64::from(byte)
        };
        sums[if is_last { at % channels } else { at / row }] += (code - zero).unsigned_abs();
    }
    let sum = sums.into_iter().find(|&sum| sum > most)?;
    Some(format!(
        "the magnitudes of a channel's weights have the sum {sum}, more than {most}"
    ))
}
