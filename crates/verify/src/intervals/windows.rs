//! Intervals of pools and reductions.

use super::taps::{Attributes, Window};
use super::{Analysis, Interval, ValueRange};
use strait_core::ValueId;
use strait_core::op::{self, Reduction};

impl Analysis<'_> {
    /// The bounds of `x` for each image and each channel, for an op that combines elements along the other axes.
    pub(super) fn per_channel(&self, [x, y]: [ValueId; 2]) -> Option<ValueRange> {
        self.shape(x)?;
        Some(self.range(x)?.moved(self.dims(y)?, |axis| (axis <= 1).then_some(axis)))
    }

    fn zero_point(&self, x: ValueId) -> Option<Interval> {
        match &self.graph.value(x)?.quant {
            Some(grid) => grid.as_tensor().map(|(_, zero)| Interval::point(zero.into())),
            None => Some(Interval::point(0)),
        }
    }

    /// The window of a pool from `x` to `y`. `None` if extents are not known or do not fit together.
    fn window(&self, attributes: Attributes<'_>, size: &[u32], [x, y]: [ValueId; 2]) -> Option<Window> {
        let size = size.iter().map(|&extent| u64::from(extent));
        Window::new(attributes, size, &self.shape(x)?, &self.shape(y)?)
    }

    /// The bounds of a sum pool, which adds up as many numbers as the window has taps. Taps outside of the operand read
    /// the value of the padding.
    pub(super) fn sum_pool(&self, op: &op::SumPool, values: [ValueId; 2]) -> Option<ValueRange> {
        let taps = op.size.iter().fold(1u64, |n, &s| n.saturating_mul(s.into()));
        let attributes = Attributes::new(&op.stride, &op.dilation, &op.pad);
        let window = self.window(attributes, &op.size, values);
        let outside = window.is_none_or(|window| window.leaves());
        let padding = Interval::point(op.pad_value.into());
        let read = |i: Interval| if outside { i.hull(padding) } else { i };
        Some(self.per_channel(values)?.map(|i| read(i).summed(taps)))
    }

    /// The bounds of a max pool. Its result is one of the elements, or the smallest code if a window has no element.
    pub(super) fn max_pool(&self, op: &op::MaxPool, values: [ValueId; 2]) -> Option<ValueRange> {
        let range = self.per_channel(values)?;
        let attributes = Attributes::new(&op.stride, &op.dilation, &op.pad);
        let window = self.window(attributes, &op.size, values);
        if window.is_some_and(|window| !window.is_empty_somewhere()) {
            return Some(range);
        }
        let (lowest, _) = self.graph.value(values[0])?.ty.elem.integers()?;
        Some(range.map(|i| i.hull(Interval::point(lowest))))
    }

    /// The bounds of an average pool. A rounded mean lies between the smallest and the largest integer of its window.
    /// Padding that is included in the mean has the value of the zero point. The result for a window without elements
    /// is the zero point, too.
    pub(super) fn average_pool(&self, op: &op::AveragePool, values: [ValueId; 2]) -> Option<ValueRange> {
        let range = self.per_channel(values)?;
        let attributes = Attributes::new(&op.stride, &op.dilation, &op.pad);
        let meets_zero = |window: Window| op.count_include_pad && window.pads() || window.is_empty_somewhere();
        if !self.window(attributes, &op.size, values).is_none_or(meets_zero) {
            return Some(range);
        }
        let zero = self.zero_point(values[0])?;
        Some(range.map(|i| i.hull(zero)))
    }

    /// The bounds of a reduction. The bounds of a sum grow with the number of elements. A maximum or minimum is one of
    /// the elements.
    pub(super) fn reduce(&self, op: &op::Reduce, [x, y]: [ValueId; 2]) -> Option<ValueRange> {
        let shape = self.shape(x)?;
        let reduced = op.reduced(shape.len()).ok()?;
        let kept = self
            .range(x)?
            .moved(self.dims(y)?, |axis| match (reduced.contains(&axis), op.keep_dims) {
                (true, _) => None,
                (false, true) => Some(axis),
                (false, false) => Some(axis - reduced.iter().filter(|&&r| r < axis).count()),
            });
        let count = reduced.iter().fold(1u64, |n, &axis| n.saturating_mul(shape[axis]));
        match op.reduction {
            Reduction::Sum => Some(kept.map(|i| i.summed(count))),
            Reduction::Max | Reduction::Min => Some(kept),
            Reduction::Mean | Reduction::Product => None,
        }
    }
}
