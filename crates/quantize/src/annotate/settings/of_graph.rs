//! All settings for the float graph of one target. Placing and annotating read here what is set for a node or a value.

use super::{GridSettings, LayerSettings, NodeTypes, OperandSettings, RangeFrom, Run, ValueSettings};
use super::{Unfit, WeightSettings};
use crate::observers::ObserverChoice;
use std::collections::BTreeMap;
use strait_core::{Node, NodeId, ValueId};
use strait_target::TargetSpec;
use strait_target::spec::{Activation, Alignment, Alignments};

/// The rules for the float graph of one target, resolved to its nodes, values and operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The defaults for all nodes, values and operands without an entry of their own.
    pub default: Defaults,
    /// Settings of single layers.
    pub layers: BTreeMap<NodeId, LayerSettings>,
    /// Settings of single values.
    pub values: BTreeMap<ValueId, ValueSettings>,
    /// Settings of single operands, by node and position.
    pub operands: BTreeMap<(NodeId, usize), OperandSettings>,
}

/// The settings for all nodes, values and operands without an entry of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Defaults {
    /// The type of activations. It is used for an op if the target's table supports it there.
    pub activation: Option<Activation>,
    /// The kind of grid for activations.
    pub grid: GridSettings,
    /// The settings of weights.
    pub weights: WeightSettings,
    /// The observer for the ranges of activations.
    pub observer: ObserverChoice,
    /// Which grids operands and results share, for each kind of op.
    pub alignments: Alignments,
}

impl Settings {
    /// The settings that a target's table gives if there are no rules. Ranges are the observed minimum and maximum.
    pub fn new(spec: &TargetSpec) -> Settings {
        Settings {
            default: Defaults {
                activation: None,
                grid: GridSettings::default(),
                weights: WeightSettings::default(),
                observer: ObserverChoice::default(),
                alignments: spec.passes.alignment,
            },
            layers: BTreeMap::new(),
            values: BTreeMap::new(),
            operands: BTreeMap::new(),
        }
    }

    /// Where a node runs, if a rule sets it.
    pub fn run(&self, id: NodeId) -> Option<&Run> {
        self.layers.get(&id)?.run.as_ref()
    }

    /// The types that a node should compute on.
    pub fn types(&self, id: NodeId) -> NodeTypes {
        let (own, weights) = (self.layers.get(&id), &self.default.weights);
        NodeTypes {
            own: (
                own.and_then(|layer| layer.activation),
                own.and_then(|layer| layer.weights.ty),
            ),
            all: (self.default.activation, weights.ty),
            is_plain: own.is_some_and(LayerSettings::is_plain),
        }
    }

    /// Returns the settings for the grids of a node's own activations. If operands and results share a grid, a setting
    /// for any of them applies to this grid.
    pub(crate) fn grid(&self, id: NodeId, node: &Node, shares: bool) -> GridSettings {
        let own = self.layers.get(&id).map(|layer| layer.grid).unwrap_or_default();
        if !shares {
            return own;
        }
        let results = node.outputs.iter().map(|&y| self.value_grid(y));
        let operands = (0..node.inputs.len()).map(|index| self.operand_grid(id, index));
        results.chain(operands).fold(own, GridSettings::or)
    }

    /// The settings of the grid on which a value's producer stores it.
    pub(crate) fn value_grid(&self, id: ValueId) -> GridSettings {
        self.values.get(&id).map(|value| value.grid).unwrap_or_default()
    }

    /// The settings of the grid of one operand.
    pub(crate) fn operand_grid(&self, id: NodeId, index: usize) -> GridSettings {
        self.operands
            .get(&(id, index))
            .map(|operand| operand.grid)
            .unwrap_or_default()
    }

    /// Where the range of an operand comes from, if it is not the range of its value.
    pub fn operand_range(&self, id: NodeId, index: usize) -> Option<&RangeFrom> {
        self.operands.get(&(id, index))?.range.as_ref()
    }

    /// The settings of the grid of a node's weights.
    pub(crate) fn weight_grid(&self, id: NodeId) -> GridSettings {
        let own = self.layers.get(&id).map(|layer| layer.weights.grid).unwrap_or_default();
        own.or(self.default.weights.grid)
    }

    /// The observer for a node's weights.
    pub(crate) fn weight_observer(&self, id: NodeId) -> ObserverChoice {
        self.of_weights(id, |weights| weights.observer.clone())
            .unwrap_or_default()
    }

    /// How many neighbouring outputs share a scale of a node's weights.
    pub(crate) fn weight_ties(&self, id: NodeId) -> Option<usize> {
        self.layers.get(&id)?.weights.ties.map(|ties| ties.get() as usize)
    }

    /// What happens if a bias of the node does not fit, or if a scale has to be larger than the weights need.
    pub fn unfit(&self, id: NodeId) -> Unfit {
        self.of_weights(id, |weights| weights.unfit).unwrap_or_default()
    }

    /// Which grid the operands and results of a node share, if a rule sets it for this node.
    pub(crate) fn alignment(&self, id: NodeId) -> Option<Alignment> {
        self.layers.get(&id)?.alignment
    }

    /// True if a node stores a result directly on the grid that all readers of the result want.
    pub(crate) fn simplifies(&self, id: Option<NodeId>) -> bool {
        let own = id.and_then(|id| self.layers.get(&id)?.simplify);
        own.unwrap_or(self.default.alignments.simplify)
    }

    /// A setting of a node's weights. If the node has no such setting of its own, the setting for all weights applies.
    fn of_weights<T>(&self, id: NodeId, says: impl Fn(&WeightSettings) -> Option<T>) -> Option<T> {
        let own = self.layers.get(&id).and_then(|layer| says(&layer.weights));
        own.or_else(|| says(&self.default.weights))
    }
}

impl LayerSettings {
    /// True if a layer should run in float, with float weights.
    fn is_plain(&self) -> bool {
        let is_float = matches!(self.run, Some(Run::Float(_))) && self.activation == Some(Activation::Float32);
        is_float && self.weights.ty.is_none()
    }
}
