//! Pools and reductions.

use super::{Analysis, Interval, Range};
use strait_core::ValueId;
use strait_core::op::{self, Reduction};

/// Whether some window of an axis lies beside all elements, for the worst of the axes.
fn may_be_empty(size: &[u32], pad: &[u32], dilation: &[u32], ceil: bool) -> bool {
    // A window without gaps that starts before the first element or ends behind the last one still meets an element as
    // long as each padding is narrower than it.
    let gaps = dilation.iter().any(|&d| d > 1);
    let wide = size.iter().cycle().zip(pad).any(|(&size, &pad)| pad >= size);
    pad.iter().any(|&p| p > 0) && (gaps || wide) || ceil
}

impl Analysis<'_> {
    /// Bounds per channel of something that is folded over other axes than the channels'.
    fn per_channel(&self, x: ValueId) -> Option<Range> {
        self.shape(x)?;
        Some(self.range(x)?.moved(|axis| (axis <= 1).then_some(axis)))
    }

    fn zero_point(&self, x: ValueId) -> Option<Interval> {
        match &self.graph.value(x)?.quant {
            Some(grid) => grid.as_tensor().map(|(_, zero)| Interval::point(zero.into())),
            None => Some(Interval::point(0)),
        }
    }

    /// The sum of as many elements as the window has taps; taps outside read the padding's value.
    pub(super) fn sum_pool(&self, op: &op::SumPool, x: ValueId) -> Option<Range> {
        let taps = op.size.iter().fold(1u64, |n, &s| n.saturating_mul(s.into()));
        let outside = op.ceil || op.pad.iter().any(|&p| p > 0);
        let padding = Interval::point(op.pad_value.into());
        let read = |i: &Interval| if outside { i.hull(padding) } else { *i };
        Some(self.per_channel(x)?.map(|i| read(i).summed(taps)))
    }

    /// One of the elements; the smallest code where a window has none.
    pub(super) fn max_pool(&self, op: &op::MaxPool, x: ValueId) -> Option<Range> {
        let range = self.per_channel(x)?;
        if !may_be_empty(&op.size, &op.pad, &op.dilation, op.ceil) {
            return Some(range);
        }
        let lowest = self.graph.value(x)?.ty.elem.int_type()?.min();
        Some(range.map(|i| i.hull(Interval::point(lowest.into()))))
    }

    /// A rounded mean lies between the integers that it is the mean of. Padding that counts reads as the zero point, which
    /// is also the result of a window without elements.
    pub(super) fn average_pool(&self, op: &op::AveragePool, x: ValueId) -> Option<Range> {
        let range = self.per_channel(x)?;
        let padded = op.pad.iter().any(|&p| p > 0) && op.count_include_pad;
        if !padded && !may_be_empty(&op.size, &op.pad, &op.dilation, op.ceil) {
            return Some(range);
        }
        let zero = self.zero_point(x)?;
        Some(range.map(|i| i.hull(zero)))
    }

    pub(super) fn global_average_pool(&self, x: ValueId) -> Option<Range> {
        self.per_channel(x)
    }

    /// Sums grow with the number of elements; the largest and the smallest are elements.
    pub(super) fn reduce(&self, op: &op::Reduce, x: ValueId) -> Option<Range> {
        let shape = self.shape(x)?;
        let reduced = op.reduced(shape.len()).ok()?;
        let kept = self
            .range(x)?
            .moved(|axis| match (reduced.contains(&axis), op.keep_dims) {
                (true, _) => None,
                (false, true) => Some(axis),
                (false, false) => Some(axis - reduced.iter().filter(|&&r| r < axis).count()),
            });
        let count = reduced.iter().fold(1u64, |n, &axis| n.saturating_mul(shape[axis]));
        match op.reduction {
            Reduction::Sum => Some(kept.map(|i| i.summed(count))),
            Reduction::Max | Reduction::Min => Some(kept),
            Reduction::Mean => None,
        }
    }
}
