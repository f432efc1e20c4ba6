//! Elementwise primitives, written as their definitions.

use super::array::Array;
use super::products::positions;
use crate::error::StepError;
use crate::tensor::Dims;
use strait_core::Fused;
use strait_requantize::Requantization;

/// A function of two operands that broadcast as in numpy.
pub(super) fn binary(a: &Array, b: &Array, function: impl Fn(i64, i64) -> i64) -> Result<Vec<i64>, StepError> {
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
    let at = |array: &Array, position: &Dims| {
        let own = position[rank - array.dims.len()..].iter().zip(&array.dims);
        array.at(&own
            .map(|(&p, &extent)| if extent == 1 { 0 } else { p })
            .collect::<Dims>())
    };
    Ok(positions(&dims)
        .map(|position| function(at(a, &position), at(b, &position)))
        .collect())
}

/// Each value through a form whose channels run along `axis`.
pub(super) fn requantize(
    form: &Requantization,
    axis: usize,
    dims: &[usize],
    values: &[i64],
) -> Result<Vec<i64>, StepError> {
    let inner: usize = dims.get(axis + 1..).unwrap_or(&[]).iter().product();
    let channels = dims.get(axis).copied().unwrap_or(1).max(1);
    let value = |(index, &value): (usize, &i64)| {
        let channel = if form.channels().is_some() {
            index / inner.max(1) % channels
        } else {
            0
        };
        Ok(i64::from(form.eval(channel, value)?))
    };
    values.iter().enumerate().map(value).collect()
}

/// What a fused node does with its accumulators.
pub(super) fn epilogue(fused: &Fused, axis: usize, dims: &[usize], values: &[i64]) -> Result<Vec<i64>, StepError> {
    let mut values = requantize(&fused.requant, axis, dims, values)?;
    if let Some([low, high]) = fused.clamp {
        values
            .iter_mut()
            .for_each(|v| *v = (*v).min(i64::from(high)).max(i64::from(low)));
    }
    Ok(values)
}
