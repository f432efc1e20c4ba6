//! The order in which a plan stores each value, and the steps that reorder values.

use crate::channels_last::has_order;
use crate::error::StepError;
use crate::step::{Orders, Step, reading};
use std::collections::BTreeMap;
use strait_core::ValueId;
use strait_kernels::integer::{Order, reorder};

/// The order of each value, and the copies of values in other orders.
#[derive(Default)]
pub(super) struct ValueOrders {
    /// The values whose channels are last, with their strides.
    strides: BTreeMap<ValueId, usize>,
    /// The copies of values. A copy in planes has the stride `None`.
    copies: BTreeMap<(ValueId, Option<usize>), ValueId>,
}

/// What a step reads in an order that differs from the order of the value.
pub(super) struct Reordering {
    /// The order that the step reads: the stride if channels are last, and `None` for planes.
    pub(super) to: Option<usize>,
    /// Extents of the operand: batch, channels, and positions.
    extents: [usize; 3],
    from: Option<usize>,
}

/// An order as the kernels name it.
fn order(stride: Option<usize>) -> Order {
    match stride {
        Some(stride) => Order::Last { stride },
        None => Order::Planes,
    }
}

impl Reordering {
    /// Number of elements of the copy.
    pub(super) fn elements(&self) -> Option<usize> {
        let [batch, channels, positions] = self.extents;
        order(self.to).elements(channels, positions)?.checked_mul(batch)
    }

    /// The step that writes the value as the copy, instead of `step`, which writes it in planes, if there is one.
    pub(super) fn instead_of(&self, step: &dyn Step) -> Option<Box<dyn Step>> {
        match (self.from, self.to) {
            (None, Some(stride)) => step.writing_last(self.extents, stride),
            _ => None,
        }
    }

    /// The step that makes the copy. Elements have `width` bytes.
    pub(super) fn step(&self, width: usize) -> Box<dyn Step> {
        let (extents, orders) = (self.extents, [order(self.from), order(self.to)]);
        reading(1, move |io| {
            let (context, x) = (io.context, io.input(0)?);
            Ok(reorder(context, extents, width, orders, x, io.output()?)?)
        })
    }
}

impl ValueOrders {
    /// Notes that the channels of a value with these extents are last.
    pub(super) fn set_last(&mut self, value: ValueId, dims: &[usize]) {
        if has_order(dims) {
            self.strides.insert(value, dims[1]);
        }
    }

    /// True if a value has its channels last, and would have another order in planes.
    pub(super) fn is_last(&self, value: ValueId) -> bool {
        self.strides.contains_key(&value)
    }

    /// Returns how a value with these extents has to be reordered so that it can be read with this stride, or in planes.
    /// `None` if it can be read as it is.
    pub(super) fn reordering(&self, value: ValueId, dims: &[usize], to: Option<usize>) -> Option<Reordering> {
        let [batch, channels, spatial @ ..] = dims else {
            return None;
        };
        if spatial.is_empty() {
            return None;
        }
        let from = self.strides.get(&value).copied();
        // If the order is no choice, planes are the same as channels last without gaps.
        let same = from == to || !has_order(dims) && to.is_none_or(|stride| stride == *channels);
        (!same).then(|| Reordering {
            to,
            extents: [*batch, *channels, spatial.iter().product()],
            from,
        })
    }

    /// Returns the copy of a value in this order, if there is one already.
    pub(super) fn copy(&self, value: ValueId, to: Option<usize>) -> Option<ValueId> {
        self.copies.get(&(value, to)).copied()
    }

    /// Notes a copy of a value.
    pub(super) fn add_copy(&mut self, value: ValueId, to: Option<usize>, copy: ValueId) {
        self.copies.insert((value, to), copy);
    }
}

/// The order in which a step reads its operands.
#[derive(Clone, Copy)]
pub(super) enum Reads {
    Planes,
    /// Each operand with channels last, without gaps.
    Last,
    /// The first operand with this stride, and the others in planes.
    First(usize),
}

impl Reads {
    /// The order of the operand at an index, whose extents are `dims`.
    pub(super) fn of(self, index: usize, dims: &[usize]) -> Option<usize> {
        match self {
            Reads::Last if dims.len() > 2 => Some(dims[1]),
            Reads::First(stride) if index == 0 => Some(stride),
            Reads::Planes | Reads::Last | Reads::First(_) => None,
        }
    }
}

/// Decides in which order a step reads and writes. `last` makes the version of the step that reads and writes tensors with
/// channels last, which is used if there is one and an operand has its channels last (`is_last`).
pub(super) fn decide(
    step: Box<dyn Step>,
    is_last: bool,
    last: impl FnOnce() -> Result<Option<Box<dyn Step>>, StepError>,
) -> Result<(Box<dyn Step>, Reads), StepError> {
    Ok(match (step.orders(), is_last) {
        (Orders::Last { stride }, _) => (step, Reads::First(stride)),
        (Orders::Any, true) => (step, Reads::Last),
        (Orders::Planes, true) => match last()? {
            Some(last) => (last, Reads::Last),
            None => (step, Reads::Planes),
        },
        (Orders::Any | Orders::Planes, false) => (step, Reads::Planes),
    })
}
