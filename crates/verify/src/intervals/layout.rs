//! Intervals of ops that move codes without changing them.

use super::{Analysis, Interval, ValueRange};
use strait_core::op::{BinaryFunction, PadMode};
use strait_core::{Node, Op, ValueId};

/// The largest number of indices along an axis for which intervals are kept when operands are concatenated along this
/// axis. Without this limit, a shape in a file could ask for any number of intervals.
const MOST_JOINED: u64 = 1 << 20;

impl Analysis<'_> {
    /// The bounds of each result of an op that moves codes. `None` for any other op.
    pub(super) fn moved(&self, node: &Node) -> Option<Vec<ValueRange>> {
        if let Op::Select(_) | Op::Binary(_) = &node.op {
            return self.chosen(node);
        }
        let x = node.inputs.first().copied().flatten()?;
        let (range, y) = (self.range(x)?, *node.outputs.first()?);
        let all = || Some(vec![ValueRange::tensor(range.hull())]);
        let normal = |axis: i64| {
            let rank = self.dims(x)?.len() as i64;
            usize::try_from(if axis < 0 { axis + rank } else { axis }).ok()
        };
        match &node.op {
            Op::Identity(_) => Some(vec![range.clone()]),
            Op::Reshape(_) | Op::Flatten(_) | Op::Squeeze(_) | Op::Unsqueeze(_) => Some(vec![self.reshaped(x, y)?]),
            Op::Transpose(op) => {
                let position = |axis: usize| op.permutation.iter().position(|&p| p as usize == axis);
                Some(vec![range.moved(self.dims(y)?, position)])
            }
            Op::Split(op) => {
                let axis = normal(op.axis)?;
                let piece = |&id: &ValueId| Some(range.moved(self.dims(id)?, |own| (own != axis).then_some(own)));
                node.outputs.iter().map(piece).collect()
            }
            Op::Slice(op) => {
                let sliced = op.axes.iter().map(|&a| normal(a)).collect::<Option<Vec<_>>>()?;
                let kept = |own| (!sliced.contains(&own)).then_some(own);
                Some(vec![range.moved(self.dims(y)?, kept)])
            }
            Op::Concat(op) => Some(vec![self.concat(node, y, normal(op.axis)?)?]),
            Op::Pad(op) => {
                let padded = match op.mode {
                    // Codes have at most 16 bits, so a float can hold them exactly.
                    PadMode::Constant => range.hull().hull(Interval::point(op.value as i64)),
                    PadMode::Reflect | PadMode::Edge => range.hull(),
                };
                Some(vec![ValueRange::tensor(padded)])
            }
            Op::Resize(op) if op.moves() => all(),
            Op::Gather(_) | Op::GatherElements(_) | Op::GatherNd(_) | Op::Expand(_) => all(),
            // All other ops compute new numbers, and this function has no rule for them.
            _ => None,
        }
    }

    /// Returns the bounds of a select, a minimum or a maximum. Each element of the result is an element of one of two
    /// operands. Returns `None` for other ops.
    fn chosen(&self, node: &Node) -> Option<Vec<ValueRange>> {
        let of = |index: usize| Some(self.range(node.inputs.get(index).copied().flatten()?)?.hull());
        let range = match &node.op {
            Op::Select(_) => of(1)?.hull(of(2)?),
            Op::Binary(op) => {
                let (a, b) = (of(0)?, of(1)?);
                let (low, high) = match op.function {
                    BinaryFunction::Minimum => (a.low.min(b.low), a.high.min(b.high)),
                    BinaryFunction::Maximum => (a.low.max(b.low), a.high.max(b.high)),
                    _ => return None,
                };
                Interval { low, high }
            }
            _ => return None,
        };
        Some(vec![ValueRange::tensor(range)])
    }

    /// Returns the bounds of a reshape. Let p be the position of an element in row-major order, and `inner` the product
    /// of the extents after an axis. The index of the element along this axis is p / inner % extent. So if an axis of
    /// the result has the same extent and the same `inner` as an axis of the operand, the bounds along this axis are
    /// kept.
    fn reshaped(&self, x: ValueId, result: ValueId) -> Option<ValueRange> {
        let (from, to) = (self.shape(x)?, self.shape(result)?);
        let inner = |shape: &[u64], axis: usize| shape[axis + 1..].iter().product::<u64>();
        let same = |axis: usize| {
            let extent = *from.get(axis)?;
            (0..to.len()).find(|&a| to[a] == extent && inner(&to, a) == inner(&from, axis))
        };
        Some(self.range(x)?.moved(self.dims(result)?, same))
    }

    /// The bounds of a concatenation along `axis`. If there are too many indices along `axis`, there is one interval
    /// for all of them.
    fn concat(&self, node: &Node, result: ValueId, axis: usize) -> Option<ValueRange> {
        let operands: Vec<(&ValueRange, u64)> = node
            .inputs
            .iter()
            .map(|input| Some((self.range((*input)?)?, *self.shape((*input)?)?.get(axis)?)))
            .collect::<Option<_>>()?;
        let extent = operands
            .iter()
            .fold(0u64, |sum, (_, extent)| sum.saturating_add(*extent));
        if extent > MOST_JOINED {
            let hulls = operands.iter().map(|(range, _)| range.hull());
            return hulls.reduce(Interval::hull).map(ValueRange::tensor);
        }
        let each = operands
            .iter()
            .flat_map(|(range, extent)| (0..*extent as usize).map(|index| range.at(axis, index)));
        ValueRange::along(self.dims(result)?, axis, each.collect())
    }
}
