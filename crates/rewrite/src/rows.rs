//! Rows: a statistic, such as a mean, is computed along some axes of a value and then combined with the value again.
//! The elements that one number of the statistic is computed from are a row.
//!
//! Some exporters keep the reduced axes. Others drop these axes and add them again with a reshape, directly or after
//! further steps. In either case, each number of the statistic has to belong to one row of the value. This module
//! compares the shapes to check this, because a statistic without the reduced axes could broadcast to the wrong rows.

use crate::matching::{GraphNode, push};
use crate::miss::Miss;
use crate::permute::{Permutation, inverse, is_identity};
use crate::rounding::rounded;
use strait_core::op::Transpose;
use strait_core::shape::Shape;
use strait_core::{Dim, NewNode, Op, Patch, Source, ValueId};

/// The axes along which statistics of a value are computed, and the shapes of the value and of the statistics.
pub(crate) struct Rows {
    /// The reduced axes, counted from 0, in ascending order.
    pub(crate) axes: Vec<usize>,
    whole: Shape,
    /// The shape of a statistic if the reduction keeps the reduced axes with extent 1. `dropped` is the shape without
    /// these axes.
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
        let (Some(own), Some(maker)) = (shape(value), site.maker(value)) else {
            return value == x || site.graph.data_of(value).is_some();
        };
        if value == x {
            return true;
        }
        let is_statistic = |shape: &Shape| *shape == self.kept || *shape == self.dropped;
        let mut operands = maker.node.inputs.iter().flatten().copied();
        let fits = match &maker.node.op {
            Op::Reduce(_) => {
                let rows = Rows::of(&maker);
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

    /// The permutation of axes that puts the axes of the rows last. `None` if they already come last.
    fn order(&self) -> Option<Permutation> {
        let others = (0..self.whole.len()).filter(|axis| !self.axes.contains(axis));
        let order = others.chain(self.axes.iter().copied()).map(|axis| axis as u32);
        Some(order.collect()).filter(|order: &Permutation| !is_identity(order))
    }

    /// The first axis of the rows after they were put last, counted from the end.
    pub(crate) fn first(&self) -> i64 {
        -(self.axes.len() as i64)
    }

    /// Makes the patch that replaces the node at `site`. The patch adds a normalization over the last axes of `x`, with
    /// a scale that is all ones. After the normalization, it adds the ops `behind`, each of which has one constant
    /// operand; another rule may fold them into the normalization. If the rows lie along other axes than the last ones,
    /// the patch also adds transposes before and after the normalization.
    pub(crate) fn normalization(
        &self,
        site: &GraphNode<'_>,
        x: ValueId,
        op: impl Into<Op>,
        behind: Vec<(Op, ValueId)>,
    ) -> Result<Patch, Miss> {
        let mut origins = site.down_to(x);
        if !behind.is_empty() {
            // The last node takes the name of the old result.
            origins.rotate_left(1);
        }
        // The normalization takes the name of the node that is the first origin.
        let mut others = origins.clone();
        others.rotate_left(1.min(origins.len()));
        let mut patch = Patch::default();
        let ones = rounded(&mut patch, "ones", &[1], vec![1.0])?;
        let order = self.order();
        let mut value = Source::Old(x);
        let transposed = |patch: &mut Patch, value: Source, permutation: Permutation| {
            push(patch, NewNode::new(Transpose { permutation }, &[Some(value)], &others))
        };
        if let Some(order) = &order {
            value = transposed(&mut patch, value, order.clone());
        }
        value = push(&mut patch, NewNode::new(op, &[Some(value), ones], &origins));
        if let Some(order) = &order {
            value = transposed(&mut patch, value, inverse(order));
        }
        let last = behind.len().saturating_sub(1);
        for (index, (op, constant)) in behind.into_iter().enumerate() {
            let operands = [Some(value), Some(Source::Old(constant))];
            let origins = if index == last { &[site.id] } else { &origins[..] };
            value = push(&mut patch, NewNode::new(op, &operands, origins));
        }
        site.completed(patch)
    }
}
