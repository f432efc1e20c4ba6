//! Elementwise primitives, by their definitions.

use super::array::{Array, positions};
use crate::error::StepError;
use crate::tensor::Dims;
use strait_core::Fused;
use strait_requantize::Requantization;

/// Applies a function to each pair of elements of two operands, which broadcast as in NumPy.
pub(super) fn binary(a: &Array, b: &Array, function: impl Fn(i128, i128) -> i128) -> Result<Vec<i128>, StepError> {
    let rank = a.dims.len().max(b.dims.len());
    let extent = |array: &Array, axis: usize| (axis + array.dims.len()).checked_sub(rank).map_or(1, |i| array.dims[i]);
    let dims: Dims = (0..rank)
        .map(|axis| match (extent(a, axis), extent(b, axis)) {
            (x, y) if x == y || y == 1 => Ok(x),
            (1, y) => Ok(y),
            _ => Err(StepError::Model(format!(
                "{:?} and {:?} do not broadcast",
                a.dims, b.dims
            ))),
        })
        .collect::<Result<_, _>>()?;
    Ok(positions(&dims)
        .map(|position| function(broadcast(a, &position).into(), broadcast(b, &position).into()))
        .collect())
}

/// Returns the element of an operand for a position in the result, after broadcasting.
pub(super) fn broadcast(array: &Array, position: &[usize]) -> i64 {
    let own = position[position.len() - array.dims.len()..].iter().zip(&array.dims);
    array.at(&own
        .map(|(&p, &extent)| if extent == 1 { 0 } else { p })
        .collect::<Dims>())
}

/// How the channel of an element of the result is found.
#[derive(Clone, Copy)]
pub(super) enum Channels<'a> {
    /// The channel is the index along an axis.
    Axis(usize),
    /// An operand gives the channel. It broadcasts to the result.
    Picked(&'a Array),
}

/// Requantizes each value with the parameters for the channel of the value.
pub(super) fn requantize(
    form: &Requantization,
    channels: Channels<'_>,
    dims: &[usize],
    values: &[i64],
) -> Result<Vec<i64>, StepError> {
    if let (None, Ok(only)) = (form.channels(), form.channel(0)) {
        let each = values.iter();
        return each.map(|&value| Ok(i64::from(only.eval(value)?))).collect();
    }
    let channel = |position: &Dims| match channels {
        _ if form.channels().is_none() => Ok(0),
        Channels::Axis(axis) => Ok(position.get(axis).copied().unwrap_or(0)),
        Channels::Picked(picks) => {
            let pick = broadcast(picks, position);
            usize::try_from(pick).map_err(|_| StepError::Model(format!("there is no channel {pick}")))
        }
    };
    let each = positions(dims).zip(values);
    each.map(|(position, &value)| Ok(i64::from(form.eval(channel(&position)?, value)?)))
        .collect()
}

/// Applies the steps that are fused into a node, among them the requantization, to the node's accumulators.
pub(super) fn epilogue(
    fused: &Fused,
    channels: Channels<'_>,
    dims: &[usize],
    values: &[i64],
) -> Result<Vec<i64>, StepError> {
    let mut values = requantize(&fused.requant, channels, dims, values)?;
    if let Some([low, high]) = fused.clamp {
        values
            .iter_mut()
            .for_each(|v| *v = (*v).min(i64::from(high)).max(i64::from(low)));
    }
    Ok(values)
}
