//! Operands and requantization of a node, by their meaning.

use crate::addend::Addend;
use crate::graph::Node;
use crate::ids::ValueId;
use crate::op::Op;
use strait_requantize::Requantization;

/// How the channel of an element is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// The channel of an element is its index along this axis.
    Axis(usize),
    /// A constant operand gives the channel of each element. The constant is i32, and its shape broadcasts to the
    /// result's shape. So channels do not have to be slices of a tensor: if a mean over windows leaves out the padding,
    /// one divisor is needed in the middle of an image, and others at its edges and corners.
    Picked(ValueId),
}

impl Node {
    /// The requantization that the node computes: the one fused into it, or the node itself if it is a `requantize`.
    pub fn requantization(&self) -> Option<&Requantization> {
        match (&self.op, &self.fused) {
            (_, Some(fused)) => Some(&fused.requant),
            (Op::Requantize(op), None) => Some(&op.form),
            _ => None,
        }
    }

    /// The addend of a fused node, and its operand.
    pub fn addend(&self) -> Option<(&Addend, ValueId)> {
        let addend = self.fused.as_deref()?.addend.as_ref()?;
        Some((addend, self.inputs.get(Addend::OPERAND).copied().flatten()?))
    }

    /// The operands of the node's own op: all except the addend.
    pub fn own_inputs(&self) -> &[Option<ValueId>] {
        let adds = self.fused.as_deref().is_some_and(|fused| fused.addend.is_some());
        let own = if adds { Addend::OPERAND } else { self.inputs.len() };
        self.inputs.get(..own).unwrap_or(&self.inputs)
    }

    /// The operand that picks channels, if there is one.
    pub fn picked_channels(&self) -> Option<ValueId> {
        self.inputs.get(self.op.channel_operand()?).copied().flatten()
    }

    /// How the channels of the first result's elements are found; the result has `rank` axes. `None` if one set of
    /// parameters serves all elements.
    pub fn channels(&self, rank: usize) -> Option<Channels> {
        match self.picked_channels() {
            Some(operand) => Some(Channels::Picked(operand)),
            None => self.op.channel_axis(rank).map(Channels::Axis),
        }
    }
}
