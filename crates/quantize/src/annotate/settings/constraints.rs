//! Constraints: grids and codes that are given by a record, a program or a quantized model, and what these grids mean
//! for the types of nodes and the ranges of values.

use super::RangeFrom;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use strait_core::{DataId, Elem, NodeId, Port, QuantParams, ValueId};
use strait_target::spec::{Activation, Integer, WeightPer};

/// The constraints on a graph. They stay the same while the graph is annotated.
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
/// grid, it refuses the node. Nodes on the host have no configs, so a given grid has no effect on them.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// The type of the codes. It has to be the same type that the target's table and the settings choose.
    pub elem: Elem,
    /// Scale and zero point. The scale of a bias has to agree with the product of the scales of operand and weights to
    /// within a part in a million.
    pub params: Arc<QuantParams>,
    /// For a constant: its codes, as a tensor of the module with the same shape. If a bias has given codes, the grids
    /// of operand and weights, on which the bias depends, have to be given as well.
    pub codes: Option<DataId>,
}

/// Constraints on a node. If settings choose a type for the node, the settings have priority. If the grid of the
/// weights is given, the scales of the weights have the granularity of this grid.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeConstraints {
    /// The type of the activations that the node computes on.
    pub activation: Option<Activation>,
    /// The type of the node's weights.
    pub weight: Option<Integer>,
    /// The granularity of the scales of the node's weights.
    pub per: Option<WeightPer>,
    /// How many inputs share a scale of the node's weights.
    pub block: Option<NonZeroU32>,
    /// Which operands and results of the node have codes in the model.
    pub on_codes: OnCodes,
}

/// Which operands and results of a node have codes in the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnCodes {
    /// No result of the node has codes in the model.
    #[default]
    Nothing,
    /// A result of the node has codes in the model. It gets codes even if only the host reads it.
    Results,
    /// All operands and results have codes in the model: the node computes on integers there.
    All,
}

/// Constraints on a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueConstraints {
    /// The type in which the node that makes the value stores it.
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

    /// Which operands and results of a node have codes in the model.
    pub(crate) fn on_codes(&self, id: NodeId) -> OnCodes {
        self.nodes.get(&id).map(|node| node.on_codes).unwrap_or_default()
    }
}
