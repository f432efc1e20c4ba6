//! Elementwise ops.

use super::{Analysis, Interval, Range};
use strait_core::Node;

impl Analysis<'_> {
    /// A function of two operands that broadcast as in numpy: axes are counted from the last one.
    pub(super) fn binary(&self, node: &Node, f: impl Fn(Interval, Interval) -> Interval) -> Option<Range> {
        let [a, b] = [0, 1].map(|i| node.inputs.get(i).copied().flatten());
        let (a, b) = (a?, b?);
        let result = self.shape(*node.outputs.first()?)?;
        let aligned = |id| {
            let (range, rank) = (self.range(id)?, self.shape(id)?.len());
            // An operand with one element along the axis is the same for every index of the result.
            Some(range.moved(|axis| {
                let axis = axis + result.len().checked_sub(rank)?;
                (result.get(axis) == Some(&(range.intervals().len() as u64))).then_some(axis)
            }))
        };
        let (a, b) = (aligned(a)?, aligned(b)?);
        match a.axis().or(b.axis()) {
            Some(axis) => {
                let count = a.intervals().len().max(b.intervals().len());
                Range::channels(axis, (0..count).map(|c| f(a.at(axis, c), b.at(axis, c))).collect())
            }
            None => Some(Range::tensor(f(a.hull(), b.hull()))),
        }
    }

    /// The entries of a table that can be asked for, one for every 2^`step`th code. Codes count from the smallest of their type;
    /// what is between two entries is on the line from one to the other.
    pub(super) fn lookup(&self, node: &Node, step: u8) -> Option<Range> {
        let [x, table] = [0, 1].map(|i| node.inputs.get(i).copied().flatten());
        let (x, table) = (x?, table?);
        let Some(entries) = self.constant(table) else {
            return Some(Range::tensor(self.range(table)?.hull()));
        };
        let lowest = i64::from(self.graph.value(x)?.ty.elem.int_type()?.min());
        let entries = entries.to_i64().ok()?;
        let hull = |entries: &[i64]| {
            let (low, high) = (*entries.iter().min()?, *entries.iter().max()?);
            Some(Interval { low, high })
        };
        let read = |codes: &Interval| {
            let index = |code: i64| usize::try_from(code.checked_sub(lowest)? >> step.min(62)).ok();
            // The line behind the last entry that is asked for ends in the next one.
            let last = |code: i64| Some(index(code)? + usize::from(step > 0));
            let read = index(codes.low).zip(last(codes.high));
            // A code that is past the table has no entry; whatever is read is one.
            hull(
                read.and_then(|(first, last)| entries.get(first..=last))
                    .unwrap_or(&entries),
            )
        };
        let found: Option<Vec<Interval>> = self.range(x)?.intervals().iter().map(read).collect();
        match self.range(x)?.axis() {
            Some(axis) => Range::channels(axis, found?),
            None => found?.first().copied().map(Range::tensor),
        }
    }
}
