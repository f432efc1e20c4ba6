//! The inputs of annotation besides the graph: table, statistics, settings and constraints. The functions here combine
//! settings and constraints.

use super::{Constraints, Exact, Given, NodeTypes, RangeFrom, Settings};
use crate::statistics::Observation;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use strait_core::{NodeId, Port, ValueId};
use strait_target::TargetSpec;
use strait_target::spec::{Activation, Integer, WeightPer};

/// The reason why annotation failed.
#[derive(Debug, thiserror::Error)]
pub enum AnnotateError {
    /// A defect of the compiler.
    #[error("defect in Strait: {0}")]
    Ours(String),
}

/// Everything besides the graph that annotation depends on.
#[derive(Clone)]
pub struct Annotation<'a> {
    /// The target's table.
    pub spec: &'a TargetSpec,
    /// The statistics, by the names of values.
    pub observation: &'a Observation,
    /// The settings that resulted from rules.
    pub settings: &'a Settings,
    /// Given grids and codes.
    pub constraints: &'a Constraints,
    /// The nodes that compute on activations with more bits than settings and constraints say
    /// ([`widen`](crate::annotate::widen)).
    pub(crate) wider: BTreeMap<NodeId, Activation>,
}

impl<'a> Annotation<'a> {
    /// Collects the inputs of annotation. At first, no node is widened: nodes compute on the types that settings and
    /// constraints choose.
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

    /// Returns the types that a node should compute on. If several sources choose a type, settings have priority over
    /// given grids, and given grids over widening.
    pub fn types(&self, id: NodeId) -> NodeTypes {
        let (mut types, given) = (self.settings.types(id), self.constraints.nodes.get(&id));
        let given = given.map_or((None, None), |given| (given.activation, given.weight));
        let wider = self.wider.get(&id).copied();
        types.own = (types.own.0.or(given.0).or(wider), types.own.1.or(given.1));
        types
    }

    /// The type in which the node that makes a value should store it, if a type is chosen.
    pub(crate) fn value_type(&self, value: ValueId) -> Option<Integer> {
        let own = self.settings.values.get(&value).and_then(|own| own.ty);
        own.or_else(|| self.constraints.values.get(&value)?.ty)
    }

    /// True if settings or constraints choose the type, or the kind of grid, of the codes that a value's producer
    /// stores.
    pub(crate) fn has_own_codes(&self, value: ValueId) -> bool {
        self.value_type(value).is_some() || !self.settings.value_grid(value).is_none()
    }

    /// Where the range of a value comes from, if not from the default observer.
    pub(crate) fn range(&self, value: ValueId) -> Option<&'a RangeFrom> {
        let own = self.settings.values.get(&value).and_then(|own| own.range.as_ref());
        own.or_else(|| self.constraints.values.get(&value)?.range.as_ref())
    }

    /// The scale and the zero point that a file of parameters gives to an operand, or else to its value.
    pub(crate) fn exact(&self, id: NodeId, port: Port, value: ValueId) -> Option<&'a Exact> {
        let of_operand = match port {
            Port::Operand(index) => self.settings.operands.get(&(id, index)),
            Port::Result(_) | Port::Input(_) | Port::Output(_) => None,
        };
        let of_operand = of_operand.and_then(|own| own.exact.as_deref());
        of_operand.or_else(|| self.settings.values.get(&value)?.exact.as_deref())
    }

    /// True if a rule of the configuration says where the range of a value comes from.
    pub(crate) fn has_ruled_range(&self, value: ValueId) -> bool {
        let own = self.settings.values.get(&value);
        own.is_some_and(|own| own.range.is_some() && !own.rules.is_empty())
    }

    /// Where the range of an operand comes from, if it is not the range of its value.
    pub(crate) fn operand_range(&self, id: NodeId, port: Port) -> Option<&'a RangeFrom> {
        match port {
            Port::Operand(index) => self.settings.operand_range(id, index),
            Port::Result(_) | Port::Input(_) | Port::Output(_) => None,
        }
    }

    /// Returns the granularities that the scales of a node's weights may have, in order of preference. The first one
    /// that is possible for these weights is used.
    pub(crate) fn weight_per(&self, id: NodeId) -> impl Iterator<Item = WeightPer> {
        let given = self.constraints.nodes.get(&id).and_then(|given| given.per);
        let own = given.or_else(|| self.settings.layers.get(&id)?.weights.per);
        [own, self.settings.default.weights.per].into_iter().flatten()
    }

    /// How many inputs share a scale of a node's weights. `None` means the table's preferred number.
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
