//! Rows: a statistic, such as a mean, is computed along some axes of a value and then combined with the value again.
//! The elements that one number of the statistic is computed from are a row.
//!
//! Some exporters keep the reduced axes. Others drop these axes and add them again with a reshape, directly or after
//! further steps. In either case, each number of the statistic belongs to one row of the value. This module checks this
//! by the shapes, because a statistic without the reduced axes could broadcast to the wrong rows.

use crate::matching::GraphNode;
use crate::rounding::rounded;
use strait_core::op::Transpose;
use strait_core::shape::Shape;
use strait_core::{Dim, NewNode, NodeId, Op, PassError, Patch, Source, ValueId};

/// The axes along which statistics of a value are computed, and the shapes of the value and of the statistics.
pub(crate) struct Rows {
    /// The axes, counted from 0, in ascending order.
    pub(crate) axes: Vec<usize>,
    whole: Shape,
    /// The shape of a statistic that keeps the reduced axes. `dropped` is the shape without them.
    kept: Shape,
    dropped: Shape,
}

impl Rows {
    /// The rows along which a reduction reduces.
    pub(crate) fn of(reduction: &GraphNode<'_>) -> Option<Rows> {
        let (Op::Reduce(reduce), Some(x)) = (&reduction.node.op, reduction.input(0)) else {
            return None;
        };
        let whole = reduction.graph.value(x)?.ty.shape.clone();
        let axes = reduce.reduced(whole.len()).ok()?.to_vec();
        let by_axis = || whole.iter().copied().enumerate();
        let is_row = |axis: &usize| axes.contains(axis);
        Some(Rows {
            kept: by_axis()
                .map(|(axis, dim)| if is_row(&axis) { Dim::Fixed(1) } else { dim })
                .collect(),
            dropped: by_axis()
                .filter(|(axis, _)| !is_row(axis))
                .map(|(_, dim)| dim)
                .collect(),
            axes,
            whole,
        })
    }

    /// True if `value` is computed from `x` for each row separately, elementwise and with statistics of the same row.
    pub(crate) fn separate(&self, site: &GraphNode<'_>, value: ValueId, x: ValueId) -> bool {
        let shape = |value| site.graph.value(value).map(|value| &value.ty.shape);
        let (Some(own), Some((id, node))) = (shape(value), site.graph.producer(value)) else {
            return value == x || site.graph.data_of(value).is_some();
        };
        if value == x {
            return true;
        }
        let is_statistic = |shape: &Shape| *shape == self.kept || *shape == self.dropped;
        let mut operands = node.inputs.iter().flatten().copied();
        let fits = match &node.op {
            Op::Reduce(_) => {
                let rows = Rows::of(&GraphNode { id, node, ..*site });
                rows.is_some_and(|rows| rows.axes == self.axes && rows.whole == self.whole)
            }
            op if op.term().keeps_order() || matches!(op, Op::Expand(_)) => {
                is_statistic(own) && operands.clone().take(1).filter_map(shape).all(is_statistic)
            }
            _ => operands.clone().all(|operand| {
                let is_constant = site.graph.data_of(operand).is_some();
                let beside =
                    || shape(operand).is_some_and(|shape| shape == own || *own == self.whole && *shape == self.kept);
                is_constant || beside()
            }),
        };
        (is_statistic(own) || *own == self.whole)
            && fits
            && operands.all(|operand| operand == x || self.separate(site, operand, x))
    }

    /// The order of axes in which the axes of the rows come last. `None` if they already come last.
    fn order(&self) -> Option<Vec<u32>> {
        let others = (0..self.whole.len()).filter(|axis| !self.axes.contains(axis));
        let order: Vec<usize> = others.chain(self.axes.iter().copied()).collect();
        let order = order.iter().map(|&axis| axis as u32).collect::<Vec<u32>>();
        (!order.iter().enumerate().all(|(at, &axis)| at == axis as usize)).then_some(order)
    }

    /// The first axis of the rows, counted from the end, when the axes of the rows come last.
    pub(crate) fn first(&self) -> i64 {
        -(self.axes.len() as i64)
    }

    /// Adds a normalization over the last axes of `x`, with a scale of ones, and returns its result. If the rows lie
    /// along other axes, transposes are added in front of it and behind it.
    pub(crate) fn normalized(
        &self,
        patch: &mut Patch,
        x: ValueId,
        op: impl Into<Op>,
        origins: &[NodeId],
    ) -> Result<Source, PassError> {
        let push = |patch: &mut Patch, op: Op, operands: &[Option<Source>], origins: &[NodeId]| {
            patch.add.push(NewNode::new(op, operands, origins));
            Source::New(patch.add.len() as u16 - 1, 0)
        };
        // The normalization takes the name of the node that is the first origin.
        let mut others = origins.to_vec();
        others.rotate_left(1.min(origins.len()));
        let ones = rounded(patch, "ones", &[1], vec![1.0])?;
        let order = self.order();
        let transpose = |order: &[u32]| Transpose {
            permutation: order.iter().copied().collect(),
        };
        let mut value = Source::Old(x);
        if let Some(order) = &order {
            value = push(patch, transpose(order).into(), &[Some(value)], &others);
        }
        value = push(patch, op.into(), &[Some(value), ones], origins);
        if let Some(order) = &order {
            let mut back = vec![0; order.len()];
            for (at, &axis) in (0..).zip(order) {
                back[axis as usize] = at;
            }
            value = push(patch, transpose(&back).into(), &[Some(value)], &others);
        }
        Ok(value)
    }
}
