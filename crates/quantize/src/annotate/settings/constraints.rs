//! Constraints: grids and codes that are given, by a record, a program or a quantized model, and what follows from them
//! for the types of nodes and the ranges of values.

use super::RangeFrom;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use strait_core::{DataId, Elem, NodeId, Port, QuantParams, ValueId};
use strait_target::spec::{Activation, Integer, WeightPer};

/// The constraints on a graph. They do not change while it is annotated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Constraints {
    /// Given grids and codes of operands and results.
    pub given: BTreeMap<(NodeId, Port), Given>,
    /// Constraints on nodes that read or make a value with a grid in the model.
    pub nodes: BTreeMap<NodeId, NodeConstraints>,
    /// Constraints on values that have a grid in the model.
    pub values: BTreeMap<ValueId, ValueConstraints>,
}

/// The given grid of an operand or a result. No observer, alignment or coarsening changes it. If a pass needs another
/// grid, it refuses the node. Host nodes have no configs, so they ignore it.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// The type of the codes. It has to be the one that follows from the target's table and the settings.
    pub elem: Elem,
    /// Scale and zero point. For a bias, they have to match the product of the grids of operand and weights, to a part
    /// in a million.
    pub params: Arc<QuantParams>,
    /// For a constant: its codes, as a tensor of the module with the same shape. For a bias, the two grids that they
    /// depend on have to be given as well.
    pub codes: Option<DataId>,
}

/// Constraints on a node. If settings choose a type, they have priority over it. The granularity of given weights is
/// that of their grid.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeConstraints {
    /// The type of the activations that the node computes on.
    pub activation: Option<Activation>,
    /// The type of its weights.
    pub weight: Option<Integer>,
    /// The granularity of the scales of its weights.
    pub per: Option<WeightPer>,
    /// How many inputs share a scale of its weights.
    pub block: Option<NonZeroU32>,
    /// Which of its values are codes in the model.
    pub on_codes: OnCodes,
}

/// Which values of a node are codes in the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnCodes {
    /// None of its results.
    #[default]
    Nothing,
    /// A result. It has codes even if only the host reads it.
    Results,
    /// All operands and results: the node computes on integers in the model.
    All,
}

/// Constraints on a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueConstraints {
    /// The type in which the value leaves the node that makes it.
    pub ty: Option<Integer>,
    /// The range of the model's grid, if the target does not support that grid.
    pub range: Option<RangeFrom>,
}

impl Constraints {
    /// True if the grid of an operand or a result of the node is given.
    pub(crate) fn has_given(&self, id: NodeId) -> bool {
        let mut ports = self.given.range((id, Port::Operand(0))..);
        ports.next().is_some_and(|(&(node, _), _)| node == id)
    }

    /// Which values of a node are codes in the model.
    pub(crate) fn on_codes(&self, id: NodeId) -> OnCodes {
        self.nodes.get(&id).map(|node| node.on_codes).unwrap_or_default()
    }
}
