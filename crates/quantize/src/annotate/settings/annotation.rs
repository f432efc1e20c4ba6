//! All that annotation depends on besides the graph, and the questions whose answers settings and constraints make together.

use super::{Constraints, Given, NodeTypes, RangeFrom, Settings};
use crate::statistics::Observation;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use strait_core::{NodeId, Port, ValueId};
use strait_target::TargetSpec;
use strait_target::spec::{Activation, Integer, WeightPer};

/// Reason why annotation failed.
#[derive(Debug, thiserror::Error)]
pub enum AnnotateError {
    /// A defect of ours.
    #[error("defect in Strait: {0}")]
    Ours(String),
}

/// Everything that annotation depends on besides the graph.
#[derive(Clone)]
pub struct Annotation<'a> {
    /// The target's table.
    pub spec: &'a TargetSpec,
    /// Statistics by value name.
    pub observation: &'a Observation,
    /// The resolved rules.
    pub settings: &'a Settings,
    /// Given grids and codes.
    pub constraints: &'a Constraints,
    /// The nodes that compute on wider activations than settings and constraints say ([`widen`](crate::annotate::widen)).
    pub(crate) wider: BTreeMap<NodeId, Activation>,
}

impl<'a> Annotation<'a> {
    /// On the types that settings and constraints say, none of them wider.
    pub fn new(
        spec: &'a TargetSpec,
        observation: &'a Observation,
        settings: &'a Settings,
        constraints: &'a Constraints,
    ) -> Annotation<'a> {
        Annotation {
            spec,
            observation,
            settings,
            constraints,
            wider: BTreeMap::new(),
        }
    }

    /// The types that a node is to compute on: as settings say, else as its grids are given, else wider than others.
    pub fn types(&self, id: NodeId) -> NodeTypes {
        let (mut types, given) = (self.settings.types(id), self.constraints.nodes.get(&id));
        let given = given.map_or((None, None), |given| (given.activation, given.weight));
        let wider = self.wider.get(&id).copied();
        types.own = (types.own.0.or(given.0).or(wider), types.own.1.or(given.1));
        types
    }

    /// The type of which a value is to leave the node that makes it.
    pub(crate) fn value_type(&self, value: ValueId) -> Option<Integer> {
        let own = self.settings.values.get(&value).and_then(|own| own.ty);
        own.or_else(|| self.constraints.values.get(&value)?.ty)
    }

    /// True if a type or a kind of grid is said of a value as it leaves.
    pub(crate) fn has_own_codes(&self, value: ValueId) -> bool {
        self.value_type(value).is_some() || !self.settings.value_grid(value).is_none()
    }

    /// The source of the range of a value, where it is not the default observer.
    pub(crate) fn range(&self, value: ValueId) -> Option<&'a RangeFrom> {
        let own = self.settings.values.get(&value).and_then(|own| own.range.as_ref());
        own.or_else(|| self.constraints.values.get(&value)?.range.as_ref())
    }

    /// The same of an operand, where it is not that of its value.
    pub(crate) fn operand_range(&self, id: NodeId, port: Port) -> Option<&'a RangeFrom> {
        match port {
            Port::Operand(index) => self.settings.operand_range(id, index),
            Port::Result(_) | Port::Input(_) | Port::Output(_) => None,
        }
    }

    /// Granularities of the scales of a node's weights, the first of which wins that they can have.
    pub(crate) fn weight_per(&self, id: NodeId) -> impl Iterator<Item = WeightPer> {
        let given = self.constraints.nodes.get(&id).and_then(|given| given.per);
        let own = given.or_else(|| self.settings.layers.get(&id)?.weights.per);
        [own, self.settings.default.weights.per].into_iter().flatten()
    }

    /// Inputs that share a scale of a node's weights. None: as the table prefers.
    pub(crate) fn weight_block(&self, id: NodeId) -> Option<NonZeroU32> {
        let given = self.constraints.nodes.get(&id).and_then(|given| given.block);
        let own = given.or_else(|| self.settings.layers.get(&id)?.weights.block);
        own.or(self.settings.default.weights.block)
    }

    /// The grid and the codes that are given for an operand or a result.
    pub(crate) fn given(&self, id: NodeId, port: Port) -> Option<&'a Given> {
        self.constraints.given.get(&(id, port))
    }
}
