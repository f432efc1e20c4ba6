//! Kinds of grids that the configuration wants, as far as the target's table leaves a choice.

use std::collections::BTreeMap;
use strait_core::{Node, NodeId, ValueId};

/// Wish for the grids of some codes. What it does not say, nobody wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GridWish {
    /// True: the zero point is 0, though the table may have others. False: it need not be.
    pub symmetric: Option<bool>,
    /// True: scales are powers of two, though the table has others. False: they need not be.
    pub power_of_two: Option<bool>,
}

impl GridWish {
    /// True if it says nothing.
    pub fn is_none(&self) -> bool {
        *self == GridWish::default()
    }

    /// Key by key, what `self` does not say as `other` does.
    #[must_use]
    pub(super) fn or(self, other: GridWish) -> GridWish {
        GridWish {
            symmetric: self.symmetric.or(other.symmetric),
            power_of_two: self.power_of_two.or(other.power_of_two),
        }
    }
}

/// Wishes for the grids of a graph. Where the table says something, nothing is wished away.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GridWishes {
    /// Activations.
    pub activation: GridWish,
    /// Weights.
    pub weight: GridWish,
    /// Activations that single nodes compute on.
    pub activations: BTreeMap<NodeId, GridWish>,
    /// Weights of single nodes.
    pub weights: BTreeMap<NodeId, GridWish>,
    /// Single operands, by position. Where operands and results share a grid, this is for all of them.
    pub operands: BTreeMap<(NodeId, usize), GridWish>,
    /// Single values, as they leave the nodes that make them.
    pub values: BTreeMap<ValueId, GridWish>,
}

impl GridWishes {
    /// The wish for a node's own activations: also for one of its operands or results, where these share a grid.
    pub(super) fn own(&self, id: NodeId, node: &Node, share: bool) -> GridWish {
        let own = self.activations.get(&id).copied().unwrap_or_default();
        if !share {
            return own;
        }
        let results = node.outputs.iter().filter_map(|y| self.values.get(y));
        let operands = (0..node.inputs.len()).filter_map(|index| self.operands.get(&(id, index)));
        results.chain(operands).fold(own, |own, other| own.or(*other))
    }

    /// The wish for the weights of a node.
    pub(super) fn weight(&self, id: NodeId) -> GridWish {
        let own = self.weights.get(&id).copied().unwrap_or_default();
        own.or(self.weight)
    }
}
