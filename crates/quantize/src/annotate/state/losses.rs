//! The types in which the passes record grids that cost accuracy.

use strait_core::{NodeId, Reason, ValueId};

/// A grid that is coarser than the observed range requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coarser {
    /// The node that makes the value. For a constant or an input, the node that reads it.
    pub node: NodeId,
    /// The value.
    pub value: ValueId,
    /// The scale is 2^`doublings` times the scale that the observed range requires.
    pub doublings: u32,
    /// Why the finer grid cannot be used.
    pub reason: Reason,
}

/// A value that all readers have to read on one grid: the grid to which one reader has aligned its operand. The
/// configuration or the target requires this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlapped {
    /// The value.
    pub value: ValueId,
    /// The node whose operands are aligned.
    pub aligned: NodeId,
    /// The readers that would have used another grid, in the order of the graph.
    pub readers: Vec<NodeId>,
}

/// Weights whose scale is larger than their range requires.
#[derive(Clone, Debug, PartialEq)]
pub struct Raised {
    /// The node that the weights belong to.
    pub node: NodeId,
    /// The tensor of the weights.
    pub weights: ValueId,
    /// The channel whose scale is raised the most.
    pub channel: usize,
    /// The factor by which that channel's scale is raised.
    pub factor: f64,
    /// The number of channels whose scale is raised.
    pub channels: usize,
    /// Why that channel's scale is raised.
    pub reason: Reason,
}
