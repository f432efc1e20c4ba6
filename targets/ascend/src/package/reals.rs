//! Converts constant codes to real numbers.

use strait_plugin_sdk::TargetError;
use strait_plugin_sdk::form::Per;
use strait_plugin_sdk::graph::{QuantParams, TensorData};

use super::unsupported;

/// The real numbers of constant codes q, which are scale · (q − zero point) in f32. If there are several scales, each
/// of them is for one channel.
pub(super) fn reals(codes: &TensorData, grid: &QuantParams) -> Result<TensorData, TargetError> {
    let wrong = |error: &dyn std::fmt::Display| unsupported(error.to_string());
    if grid.block.is_some() {
        return Err(wrong(&"weights with scales by block have no place in AMCT's models"));
    }
    let axis = usize::from(grid.axis.unwrap_or(0));
    let extent = codes.shape().get(axis).copied().unwrap_or(1).max(1) as usize;
    let inner = codes.shape().iter().skip(axis + 1).product::<u64>().max(1) as usize;
    let channel = |index: usize| (index / inner) % extent;
    let numbers = codes.to_i64().map_err(|error| wrong(&error))?;
    let numbers = numbers.iter().enumerate().map(|(index, &code)| {
        let zero = match &grid.zero_point {
            Per::Tensor(zero) => Some(*zero),
            Per::Channel(zeros) => zeros.get(channel(index)).copied(),
        };
        let scale = match &grid.scale {
            Per::Tensor(scale) => Some(*scale),
            Per::Channel(scales) => scales.get(channel(index)).copied(),
        };
        (code - i64::from(zero.unwrap_or(0))) as f32 * scale.unwrap_or(1.0)
    });
    TensorData::from_values(codes.shape(), &numbers.collect::<Vec<f32>>()).map_err(|error| wrong(&error))
}
