//! Functions that find a node's operands by their role, and its requantization and channels.

use crate::addend::Addend;
use crate::graph::Node;
use crate::ids::ValueId;
use crate::op::Op;
use strait_requantize::Requantization;

/// Which channel an element belongs to. Each channel has its own requantization parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// An element belongs to the channel whose number is the element's index along this axis.
    Axis(usize),
    /// A constant operand states the channel of each element. The constant is i32, and its shape broadcasts to the
    /// result's shape. So the elements of a channel can be anywhere in the tensor. An average pool that does not count
    /// the padding needs this: windows at the edges and corners of an image have other divisors than windows in the
    /// middle.
    Picked(ValueId),
}

impl Node {
    /// Returns the operand at `index`. Returns `None` if it is absent.
    pub fn input(&self, index: usize) -> Option<ValueId> {
        self.inputs.get(index).copied().flatten()
    }

    /// Returns the first result. Every node of a valid graph has one.
    pub fn result(&self) -> Option<ValueId> {
        self.outputs.first().copied()
    }

    /// Returns the requantization that the node computes. It is fused into the node, or it is the node's own op.
    pub fn requantization(&self) -> Option<&Requantization> {
        match (&self.op, &self.fused) {
            (_, Some(fused)) => Some(&fused.requant),
            (Op::Requantize(op), None) => Some(&op.form),
            _ => None,
        }
    }

    /// Returns the addend of a fused node, and the value that is added.
    pub fn addend(&self) -> Option<(&Addend, ValueId)> {
        let addend = self.fused.as_deref()?.addend.as_ref()?;
        Some((addend, self.inputs.get(Addend::OPERAND).copied().flatten()?))
    }

    /// Returns the operands that belong to the node's op: all operands except the addend.
    pub fn own_inputs(&self) -> &[Option<ValueId>] {
        let adds = self.fused.as_deref().is_some_and(|fused| fused.addend.is_some());
        let own = if adds { Addend::OPERAND } else { self.inputs.len() };
        self.inputs.get(..own).unwrap_or(&self.inputs)
    }

    /// Returns the operand that gives the channel of each element, if the node has one.
    pub fn picked_channels(&self) -> Option<ValueId> {
        self.inputs.get(self.op.channel_operand()?).copied().flatten()
    }

    /// Returns how the channel of each element of the first result is determined. `rank` is the number of axes of this
    /// result. Returns `None` if all elements have the same requantization parameters.
    pub fn channels(&self, rank: usize) -> Option<Channels> {
        match self.picked_channels() {
            Some(operand) => Some(Channels::Picked(operand)),
            None => self.op.channel_axis(rank).map(Channels::Axis),
        }
    }
}
