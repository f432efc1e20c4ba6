//! Grids that cost accuracy, as passes note them.

use strait_core::{NodeId, Reason, ValueId};

/// A grid that is coarser than what was seen asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coarser {
    /// The node that makes the value, or reads it where it is a constant or an input.
    pub node: NodeId,
    /// The value.
    pub value: ValueId,
    /// The scale is 2^`doublings` times that of the range.
    pub doublings: u32,
    /// Reason why the finer grid does not serve.
    pub reason: Reason,
}

/// A value whose other readers have the grid of an aligned operand, because the configuration or the target forces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlapped {
    /// The value.
    pub value: ValueId,
    /// The node whose operands are aligned.
    pub aligned: NodeId,
    /// The readers that did not ask for that grid, in the order of the graph.
    pub readers: Vec<NodeId>,
}

/// Weights whose scale is larger than they ask for.
#[derive(Clone, Debug, PartialEq)]
pub struct Raised {
    /// The node that has them.
    pub node: NodeId,
    /// Their tensor.
    pub weights: ValueId,
    /// The channel whose scale is raised the most.
    pub channel: usize,
    /// By this factor.
    pub factor: f64,
    /// Number of channels whose scale is raised.
    pub channels: usize,
    /// Reason for the channel's.
    pub reason: Reason,
}
