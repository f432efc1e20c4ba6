//! Intervals of elementwise ops.

use super::{Analysis, Interval, ValueRange};
use strait_core::Node;

impl Analysis<'_> {
    /// The bounds of a function of two operands that broadcast as in NumPy, so that axes are counted from the last one.
    pub(super) fn binary(&self, node: &Node, f: impl Fn(Interval, Interval) -> Interval) -> Option<ValueRange> {
        let [a, b] = [0, 1].map(|i| node.inputs.get(i).copied().flatten());
        let result = self.dims(*node.outputs.first()?)?;
        let aligned = |id| {
            let missing = result.len().checked_sub(self.dims(id)?.len())?;
            // If an operand has a single element along the axis, every index of the result uses this element.
            Some(self.range(id)?.moved(result, |axis| axis.checked_add(missing)))
        };
        Some(aligned(a?)?.combined(&aligned(b?)?, f))
    }

    /// Returns the bounds of a lookup, which are the bounds of the table's entries that the codes can select. The table
    /// has one entry for every 2^`step`th code, counted from the smallest code of the type. Results for codes in
    /// between are interpolated linearly between two neighbouring entries.
    pub(super) fn lookup(&self, node: &Node, step: u8) -> Option<ValueRange> {
        let [x, table] = [0, 1].map(|i| node.inputs.get(i).copied().flatten());
        let (x, table) = (x?, table?);
        let Some(entries) = self.constant(table) else {
            return Some(ValueRange::tensor(self.range(table)?.hull()));
        };
        let lowest = i64::from(self.graph.value(x)?.ty.elem.int_type()?.min());
        let entries = entries.to_i64().ok()?;
        let hull = |entries: &[i64]| {
            let (low, high) = (*entries.iter().min()?, *entries.iter().max()?);
            Some(Interval { low, high })
        };
        let whole = hull(&entries)?;
        Some(self.range(x)?.map(|codes| {
            let index = |code: i64| usize::try_from(code.checked_sub(lowest)? >> step.min(62)).ok();
            // Results after the last selected entry are interpolated between that entry and the next one, so the next
            // entry counts too.
            let last = |code: i64| Some(index(code)? + usize::from(step > 0));
            let read = index(codes.low).zip(last(codes.high));
            // If the table has no entry for a code, the lookup still reads some entry, so the bounds of all entries are
            // used.
            let read = read.and_then(|(first, last)| hull(entries.get(first..=last)?));
            read.unwrap_or(whole)
        }))
    }
}
