//! Which channel of a requantization's parameters an element goes through.

use crate::graph::Node;
use crate::ids::ValueId;
use crate::op::Op;

/// Channels of the elements of a result among the parameters of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// By their index along this axis.
    Axis(usize),
    /// By an operand that says it of each of them: a constant of i32 whose shape broadcasts to the result's. So
    /// channels can be something else than a slice of the tensor: the mean of a window that leaves out padding has one
    /// divisor in the middle of an image, and others at its edges and corners.
    Picked(ValueId),
}

impl Op {
    /// The axis of the result that the channels of a requantization run along: the one that is fused into this op, or
    /// that the op is. `None` where one set of parameters serves all elements.
    pub fn channel_axis(&self, rank: usize) -> Option<usize> {
        match self {
            Op::Conv(_) | Op::SumPool(_) | Op::AveragePool(_) | Op::GlobalAveragePool(_) | Op::MaxPool(_) => Some(1),
            Op::Gemm(_) | Op::MatMul(_) => rank.checked_sub(1),
            Op::Requantize(op) => Some(op.axis as usize),
            _ => None,
        }
    }

    /// The position of the operand that picks channels, for ops that may have one.
    pub fn channel_operand(&self) -> Option<usize> {
        match self {
            Op::Requantize(_) | Op::SumPool(_) => Some(1),
            _ => None,
        }
    }
}

impl Node {
    /// The operand that picks channels, where there is one.
    pub fn picked_channels(&self) -> Option<ValueId> {
        self.inputs.get(self.op.channel_operand()?).copied().flatten()
    }

    /// Channels of the elements of the first result, which has `rank` axes; `None` where one set of parameters
    /// serves all of them.
    pub fn channels(&self, rank: usize) -> Option<Channels> {
        match self.picked_channels() {
            Some(operand) => Some(Channels::Picked(operand)),
            None => self.op.channel_axis(rank).map(Channels::Axis),
        }
    }
}
