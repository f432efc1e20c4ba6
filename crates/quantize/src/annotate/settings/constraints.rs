//! Constraints: grids and codes that are given, from a record, a program or a quantized model, and what follows from them for the
//! types of nodes and the ranges of values.

use super::RangeFrom;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use strait_core::{DataId, Elem, NodeId, Port, QuantParams, ValueId};
use strait_target::spec::{Activation, Integer, WeightPer};

/// Constraints on a graph. Nothing changes them while it is annotated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Constraints {
    /// Grids and codes of operands and results.
    pub given: BTreeMap<(NodeId, Port), Given>,
    /// Nodes that read or make what has a grid in the model.
    pub nodes: BTreeMap<NodeId, NodeConstraints>,
    /// Values that have a grid in the model.
    pub values: BTreeMap<ValueId, ValueConstraints>,
}

/// Grid of an operand or a result, which no observer, alignment or coarsening changes. A pass that needs another one
/// refuses the node. What runs on the host has no configs, and takes none.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// The type of the codes: that which the node has there by the target's table and the settings.
    pub elem: Elem,
    /// Scale and zero point. Those of a bias are the product of the grids of operand and weights, to a part in a million.
    pub params: Arc<QuantParams>,
    /// Of a constant: its codes, a tensor of the module of the same shape. Those of a bias rest on two grids that are
    /// given as well.
    pub codes: Option<DataId>,
}

/// Constraints on a node. Where settings say of which type something is, they win; the granularity of given weights is that of
/// their grid.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeConstraints {
    /// The type of the activations that it computes on.
    pub activation: Option<Activation>,
    /// The type of its weights.
    pub weight: Option<Integer>,
    /// Granularity of the scales of its weights.
    pub per: Option<WeightPer>,
    /// Inputs that share a scale of its weights.
    pub block: Option<NonZeroU32>,
    /// Which of its values are codes in the model.
    pub on_codes: OnCodes,
}

/// Which values of a node are codes in the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnCodes {
    /// No result.
    #[default]
    Nothing,
    /// A result, which has codes where the host alone reads it, too.
    Results,
    /// All operands and results: it computes on integers there.
    All,
}

/// Constraints on a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueConstraints {
    /// The type in which it leaves the node that makes it.
    pub ty: Option<Integer>,
    /// The range of a grid that the target cannot have.
    pub range: Option<RangeFrom>,
}

impl Constraints {
    /// True if an operand or a result of a node is given.
    pub(crate) fn has_given(&self, id: NodeId) -> bool {
        let mut ports = self.given.range((id, Port::Operand(0))..);
        ports.next().is_some_and(|(&(node, _), _)| node == id)
    }

    /// Which values of a node are codes in the model.
    pub(crate) fn on_codes(&self, id: NodeId) -> OnCodes {
        self.nodes.get(&id).map(|node| node.on_codes).unwrap_or_default()
    }
}
