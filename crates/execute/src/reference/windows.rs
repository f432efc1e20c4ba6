//! Pools and reductions, written as their definitions.

use super::array::Array;
use super::products::positions;
use crate::error::StepError;
use crate::tensor::Dims;
use strait_core::op::{self, Reduction};

/// A sliding window over the spatial axes.
pub(super) struct Window<'a> {
    pub(super) size: &'a [u32],
    pub(super) stride: &'a [u32],
    pub(super) pad: &'a [u32],
    pub(super) dilation: &'a [u32],
}

/// Element under one tap of a window.
enum Tap {
    /// An element.
    Inside(i64),
    /// The padding that the attributes name.
    Padding,
    /// Position beyond the padding, where rounding up lets a window hang over.
    Beyond,
}

/// Folds the taps of each window with `fold`.
fn each<T>(window: &Window<'_>, x: &Array, dims: &[usize], fold: impl Fn(Vec<Tap>) -> T) -> Vec<T> {
    let size: Vec<usize> = window.size.iter().map(|&s| s as usize).collect();
    let spatial = size.len();
    let tap = |position: &[usize], tap: &[usize]| {
        let mut from: Dims = position[..2].into();
        let mut result = None;
        for axis in 0..spatial {
            let extent = x.dims[axis + 2];
            let (begin, end) = (window.pad[axis] as usize, window.pad[axis + spatial] as usize);
            let at = position[axis + 2] * window.stride[axis] as usize + tap[axis] * window.dilation[axis] as usize;
            if at >= begin + extent + end {
                return Tap::Beyond;
            }
            if at < begin || at >= begin + extent {
                result = Some(Tap::Padding);
            }
            from.push(at.saturating_sub(begin).min(extent.saturating_sub(1)));
        }
        result.unwrap_or_else(|| Tap::Inside(x.at(&from)))
    };
    let taps = |position: &Dims| positions(&size).map(|t| tap(position, &t)).collect();
    positions(dims).map(|position| fold(taps(&position))).collect()
}

/// The largest element; the smallest code of the type, `lowest`, where there is none.
pub(super) fn max_pool(window: &Window<'_>, x: &Array, dims: &[usize], lowest: i64) -> Vec<i64> {
    each(window, x, dims, |taps| {
        let inside = taps
            .iter()
            .filter_map(|tap| if let Tap::Inside(v) = tap { Some(*v) } else { None });
        inside.max().unwrap_or(lowest)
    })
}

/// Σ x, where whatever is not an element reads as `pad_value`.
pub(super) fn sum_pool(window: &Window<'_>, x: &Array, dims: &[usize], pad_value: i64) -> Vec<i128> {
    each(window, x, dims, |taps| {
        taps.iter()
            .map(|tap| i128::from(if let Tap::Inside(v) = tap { *v } else { pad_value }))
            .sum()
    })
}

/// Σ x / count, half away from zero. Padding reads as the zero point and counts only with `count_padding`.
pub(super) fn average_pool(window: &Window<'_>, x: &Array, dims: &[usize], count_padding: bool) -> Vec<i128> {
    each(window, x, dims, |taps| {
        let counted = taps.iter().filter_map(|tap| match tap {
            Tap::Inside(v) => Some(i128::from(*v)),
            Tap::Padding if count_padding => Some(x.zero_point.into()),
            _ => None,
        });
        let count = counted.clone().count() as i128;
        if count == 0 {
            x.zero_point.into()
        } else {
            divide_half_away(counted.sum(), count)
        }
    })
}

/// The mean over all spatial axes.
pub(super) fn global_average_pool(x: &Array) -> Vec<i128> {
    let plane: usize = x.dims[2..].iter().product();
    let mean = |values: &[i64]| divide_half_away(values.iter().map(|&v| i128::from(v)).sum(), plane as i128);
    if plane == 0 {
        return vec![x.zero_point.into(); x.dims[..2].iter().product()];
    }
    x.values.chunks(plane).map(mean).collect()
}

/// The quotient's nearest integer, ties away from zero; `count` is positive.
fn divide_half_away(sum: i128, count: i128) -> i128 {
    sum.signum() * ((2 * sum.abs() + count) / (2 * count))
}

/// Σ, largest or smallest over axes.
pub(super) fn reduce(op: &op::Reduce, x: &Array) -> Result<Vec<i128>, StepError> {
    let reduced = op.reduced(x.dims.len())?;
    let extents: Dims = reduced.iter().map(|&axis| x.dims[axis]).collect();
    let kept: Vec<usize> = (0..x.dims.len()).filter(|axis| !reduced.contains(axis)).collect();
    let kept_dims: Dims = kept.iter().map(|&axis| x.dims[axis]).collect();
    let at = |position: &Dims| {
        let values = positions(&extents).map(|inner| {
            let mut from: Dims = x.dims.clone();
            kept.iter().zip(position).for_each(|(&axis, &p)| from[axis] = p);
            reduced.iter().zip(&inner).for_each(|(&axis, &p)| from[axis] = p);
            i128::from(x.at(&from))
        });
        match op.reduction {
            Reduction::Sum => Ok(values.sum()),
            Reduction::Max => values
                .max()
                .ok_or_else(|| StepError::Model("the maximum of nothing".into())),
            Reduction::Min => values
                .min()
                .ok_or_else(|| StepError::Model("the minimum of nothing".into())),
            Reduction::Mean => Err(StepError::Unsupported("reduce_mean on integers".into())),
        }
    };
    positions(&kept_dims).map(|position| at(&position)).collect()
}
