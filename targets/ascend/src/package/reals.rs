//! Converts constant codes to real numbers.

use strait_plugin_sdk::TargetError;
use strait_plugin_sdk::graph::{QuantParams, TensorData};

use super::unsupported;

/// Computes the real numbers of constant codes: for a code q, the real number is scale · (q − zero point) in f32. If
/// there are several scales, each of them is for one channel.
pub(super) fn reals(codes: &TensorData, grid: &QuantParams) -> Result<TensorData, TargetError> {
    if grid.block.is_some() {
        return Err(unsupported(
            "weights with scales by block have no place in AMCT's models",
        ));
    }
    let axis = usize::from(grid.axis.unwrap_or(0));
    let extent = codes.shape().get(axis).copied().unwrap_or(1).max(1) as usize;
    let inner = codes.shape().iter().skip(axis + 1).product::<u64>().max(1) as usize;
    let channel = |index: usize| (index / inner) % extent;
    let numbers = codes.to_i64().map_err(unsupported)?;
    let numbers = numbers.iter().enumerate().map(|(index, &code)| {
        let zero = grid.zero_point.get(channel(index)).copied().unwrap_or(0);
        let scale = grid.scale.get(channel(index)).copied().unwrap_or(1.0);
        (code - i64::from(zero)) as f32 * scale
    });
    TensorData::from_values(codes.shape(), &numbers.collect::<Vec<f32>>()).map_err(unsupported)
}
