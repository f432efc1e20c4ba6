//! Finds the sums that each channel of a requantization gets, if the requantization follows a pool, and if a constant
//! assigns a channel to each window of the pool.

use super::Interval;
use super::taps::{Attributes, Window};
use strait_core::{TensorData, op::SumPool};

/// The smallest and the largest number of elements in the windows of one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elements {
    pub(crate) least: u64,
    pub(crate) most: u64,
}

/// Returns, for each of `channels` channels, the smallest and the largest number of elements in the windows to which
/// the constant `picks` assigns the channel. The entry is `None` for a channel that is assigned to no window. Returns
/// `None` instead of a list in three cases: `picks` also depends on the batch or on the channel of the image, extents
/// do not fit together, or windows have too many taps.
pub(crate) fn elements(
    op: &SumPool,
    picks: &TensorData,
    (operand, result): (&[u64], &[u64]),
    channels: usize,
) -> Option<Vec<Option<Elements>>> {
    let attributes = Attributes::new(&op.stride, &op.dilation, &op.pad);
    let size = op.size.iter().map(|&extent| u64::from(extent));
    let along = Window::new(attributes, size, operand, result)?.elements()?;
    let (values, shape) = (picks.to_i64().ok()?, picks.shape());
    // For each axis of the result, the distance between the elements of `picks` for two neighbouring indices.
    let mut strides = vec![0u64; result.len()];
    let mut inner = 1u64;
    for (back, &extent) in shape.iter().rev().enumerate() {
        let axis = result.len().checked_sub(back + 1)?;
        if extent > 1 {
            strides[axis] = inner;
        }
        inner = inner.checked_mul(extent)?;
    }
    if strides.iter().take(2).any(|&stride| stride > 0) {
        return None;
    }
    let mut found: Vec<Option<Elements>> = vec![None; channels];
    for position in 0..along.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.len()))? {
        let (mut rest, mut at, mut count) = (position, 0u64, 1u64);
        for (axis, counts) in along.iter().enumerate().rev() {
            let index = rest % counts.len();
            rest /= counts.len();
            at += index as u64 * strides[axis + 2];
            count = count.checked_mul(counts[index])?;
        }
        let pick = values.get(usize::try_from(at).ok()?)?;
        let own = found.get_mut(usize::try_from(*pick).ok()?)?;
        let (least, most) = own.map_or((count, count), |e| (e.least.min(count), e.most.max(count)));
        *own = Some(Elements { least, most });
    }
    Some(found)
}

/// Returns the interval of the sums of each channel, for elements in `x`. If n taps of a window lie inside the image,
/// the window adds up n elements and, for each of its other taps, the value of the padding. The smallest and the
/// largest n give the smallest and the largest sums. For a channel that is assigned to no window, the interval is that
/// of a window that reads only padding.
pub(crate) fn sums(op: &SumPool, x: Interval, found: &[Option<Elements>]) -> Vec<Interval> {
    let taps = op.size.iter().fold(1u64, |n, &s| n.saturating_mul(s.into()));
    let padding = Interval::point(op.pad_value.into());
    let sum = |n: u64| x.summed(n).plus(padding.summed(taps.saturating_sub(n)));
    let of = |own: &Option<Elements>| own.map_or(sum(0), |e| sum(e.least).hull(sum(e.most)));
    found.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(pad: u32) -> SumPool {
        SumPool {
            accumulator: strait_core::Carrier::I32,
            size: [3, 3].into(),
            stride: [1, 1].into(),
            pad: [pad; 4].into(),
            dilation: [1, 1].into(),
            ceil: false,
            pad_value: -2,
        }
    }

    #[test]
    fn corners_edges_and_the_middle_have_sums_of_their_own() {
        let picks = [0, 1, 1, 0, 1, 2, 2, 1, 1, 2, 2, 1, 0, 1, 1, 0];
        let picks = TensorData::from_values(&[4, 4], &picks).expect("a tensor");
        let dims: &[u64] = &[1, 5, 4, 4];
        let found = elements(&pool(1), &picks, (dims, dims), 4).expect("what is picked by position");
        let only = |n| Some(Elements { least: n, most: n });
        assert_eq!(found, [only(4), only(6), only(9), None]);
        let x = Interval { low: -1, high: 10 };
        let ends: Vec<(i64, i64)> = sums(&pool(1), x, &found).iter().map(|i| (i.low, i.high)).collect();
        assert_eq!(ends, [(-14, 30), (-12, 54), (-9, 90), (-18, -18)]);
    }

    #[test]
    fn rows_may_be_picked_alone_and_images_not() {
        let dims: &[u64] = &[1, 2, 4, 4];
        let rows = TensorData::from_values(&[4, 1], &[0, 1, 1, 0]).expect("a tensor");
        let found = elements(&pool(1), &rows, (dims, dims), 2).expect("what is picked by row");
        let both = |least, most| Some(Elements { least, most });
        assert_eq!(found, [both(4, 6), both(6, 9)]);
        let images = TensorData::from_values(&[2, 1, 1], &[0, 1]).expect("a tensor");
        assert_eq!(elements(&pool(1), &images, (dims, dims), 2), None);
        let outside = TensorData::from_values(&[1], &[2]).expect("a tensor");
        assert_eq!(elements(&pool(1), &outside, (dims, dims), 2), None);
    }
}
