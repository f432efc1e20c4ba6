//! Pools and reductions, by their definitions.

use super::array::{Array, positions};
use crate::error::StepError;
use crate::tensor::Dims;
use smallvec::SmallVec;
use strait_core::op::{self, IntegerResize, Reduction};
use strait_requantize::function::resampled;

/// A sliding window over the spatial axes.
pub(super) struct Window<'a> {
    size: &'a [u32],
    stride: &'a [u32],
    pad: &'a [u32],
    dilation: &'a [u32],
}

impl<'a> Window<'a> {
    pub(super) fn new([size, stride, pad, dilation]: [&'a [u32]; 4]) -> Window<'a> {
        Window {
            size,
            stride,
            pad,
            dilation,
        }
    }

    /// Returns the number of taps of one window; the largest u128 if it does not fit.
    fn taps(&self) -> u128 {
        let each = self.size.iter().map(|&extent| u128::from(extent));
        each.fold(1, u128::saturating_mul)
    }
}

/// The largest number of taps that a window may have. With this limit, a sum of 32-bit numbers over a window fits in
/// 128 bits, including padding.
const MOST_TAPS: u128 = 1 << 40;

/// The part of a window that lies inside of the operand, for one position in the result. Padding elements are not
/// stored.
struct Under<'a> {
    x: &'a Array,
    /// The batch index and the channel index.
    image: &'a [usize],
    axes: SmallVec<[Along; 3]>,
    /// For each axis: the number of taps inside of the operand.
    inside: Dims,
}

/// The taps of a window along one axis. Their positions ascend, so the taps inside of the operand are consecutive.
struct Along {
    /// The position of the first tap inside of the operand, if there is one.
    first: usize,
    dilation: usize,
    /// The number of taps inside of the operand or its padding. If the number of windows is rounded up, there may be
    /// taps beyond the padding, which are not counted.
    padded: usize,
}

impl Under<'_> {
    /// Returns the elements of the operand that the window covers.
    fn elements(&self) -> impl Iterator<Item = i64> + '_ {
        positions(&self.inside).map(|taps| {
            let along = self
                .axes
                .iter()
                .zip(&taps)
                .map(|(axis, tap)| axis.first + tap * axis.dilation);
            let at: Dims = self.image.iter().copied().chain(along).collect();
            self.x.at(&at)
        })
    }

    /// Returns the number of elements of the operand that the window covers.
    fn inside(&self) -> i128 {
        self.inside.iter().map(|&taps| taps as i128).product()
    }

    /// Returns the number of elements of the padded operand that the window covers.
    fn padded(&self) -> i128 {
        self.axes.iter().map(|axis| axis.padded as i128).product()
    }
}

/// Calls `fold` with the window at each position in the result.
fn each<T>(window: &Window<'_>, x: &Array, dims: &[usize], fold: impl Fn(Under<'_>) -> T) -> Result<Vec<T>, StepError> {
    let spatial = window.size.len();
    if window.taps() > MOST_TAPS {
        return Err(StepError::Model(format!(
            "a window of {:?} has too many taps",
            window.size
        )));
    }
    let under = |position: &Dims| {
        let (image, position) = position.split_at(2);
        let (mut axes, mut inside) = (SmallVec::new(), Dims::new());
        for (axis, &at) in position.iter().enumerate().take(spatial) {
            let (begin, end) = (window.pad[axis] as usize, window.pad[axis + spatial] as usize);
            let (extent, dilation) = (x.dims[axis + 2], window.dilation[axis] as usize);
            // This coordinate counts from the start of the padding, where the first window begins.
            let start = at * window.stride[axis] as usize;
            let below = |end: usize| {
                end.saturating_sub(start)
                    .div_ceil(dilation)
                    .min(window.size[axis] as usize)
            };
            let skipped = below(begin);
            inside.push(below(begin + extent) - skipped);
            axes.push(Along {
                first: (start + skipped * dilation).saturating_sub(begin),
                dilation,
                padded: below(begin + extent + end),
            });
        }
        fold(Under { x, image, axes, inside })
    };
    Ok(positions(dims).map(|position| under(&position)).collect())
}

/// Computes the largest element of each window. If a window covers no element, the result is `lowest`, the smallest
/// code of the type.
pub(super) fn max_pool(window: &Window<'_>, x: &Array, dims: &[usize], lowest: i64) -> Result<Vec<i64>, StepError> {
    each(window, x, dims, |under| under.elements().max().unwrap_or(lowest))
}

/// Computes the sum of each window. Every tap outside of the operand counts as `pad_value`.
pub(super) fn sum_pool(window: &Window<'_>, x: &Array, dims: &[usize], pad_value: i64) -> Result<Vec<i128>, StepError> {
    let taps = window.taps() as i128;
    each(window, x, dims, |under| {
        let elements: i128 = under.elements().map(i128::from).sum();
        elements + (taps - under.inside()) * i128::from(pad_value)
    })
}

/// Computes the mean of each window: Σ x / count, rounded half away from zero. Padding elements have the value of the
/// zero point. They count in the sum and in `count` only if `count_padding` is true.
pub(super) fn average_pool(
    window: &Window<'_>,
    x: &Array,
    dims: &[usize],
    count_padding: bool,
) -> Result<Vec<i128>, StepError> {
    let zero = i128::from(x.zero_point);
    each(window, x, dims, |under| {
        let inside = under.inside();
        let count = if count_padding { under.padded() } else { inside };
        let elements: i128 = under.elements().map(i128::from).sum();
        match count {
            0 => zero,
            _ => divide_half_away(elements + (count - inside) * zero, count),
        }
    })
}

/// Computes the mean of each channel over all spatial axes.
pub(super) fn global_average_pool(x: &Array) -> Vec<i128> {
    let plane: usize = x.dims[2..].iter().product();
    let mean = |values: &[i64]| divide_half_away(values.iter().map(|&v| i128::from(v)).sum(), plane as i128);
    if plane == 0 {
        return vec![x.zero_point.into(); x.dims[..2].iter().product()];
    }
    x.values.chunks(plane).map(mean).collect()
}

/// Returns the integer that is nearest to `sum / count`; ties are rounded away from zero. `count` is positive.
fn divide_half_away(sum: i128, count: i128) -> i128 {
    sum.signum() * ((2 * sum.abs() + count) / (2 * count))
}

/// Computes the sum, maximum or minimum of elements over axes.
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
            Reduction::Mean | Reduction::Product => {
                let term = op.reduction.term();
                Err(StepError::Unsupported(format!("{term} on integers")))
            }
        }
    };
    positions(&kept_dims).map(|position| at(&position)).collect()
}

/// Computes each element as the weighted sum of its neighbours along all resized axes at once, and rounds the sum.
pub(super) fn resize(op: &IntegerResize, x: &Array, dims: &[usize]) -> Result<Vec<i64>, StepError> {
    let resized: Vec<usize> = (0..dims.len())
        .filter(|&axis| x.dims.get(axis) != Some(&dims[axis]))
        .collect();
    let none = || StepError::Model("a position of the result has no neighbours".into());
    let element = |position: Dims| {
        let near = resized.iter().map(|&axis| {
            let from = x.dims.get(axis).copied().unwrap_or(0);
            op.along(from as u64, dims[axis] as u64).at(position[axis] as u64)
        });
        let near: Vec<_> = near.collect::<Option<_>>().ok_or_else(none)?;
        let mut sum = 0;
        // The sum is over all combinations of neighbours, with two neighbours along each resized axis. The bit of
        // `corner` for an axis is 1 for the upper neighbour.
        for corner in 0..1usize << resized.len() {
            let (mut at, mut weight) = (position.clone(), 1i64);
            for (bit, (&axis, near)) in resized.iter().zip(&near).enumerate() {
                let behind = corner >> bit & 1 == 1;
                at[axis] = if behind { near.upper } else { near.lower } as usize;
                let upper = i64::from(near.weight);
                weight *= if behind { upper } else { (1 << op.fraction) - upper };
            }
            sum += weight * x.at(&at);
        }
        Ok(resampled(sum, op.fraction * resized.len() as u8, op.rounding))
    };
    positions(dims).map(element).collect()
}
