//! The configs of a graph while the passes make them, and all other data on which the passes base their decisions.

use super::losses::{Coarser, Overlapped, Raised};
use super::ranges::Ranges;
use crate::annotate::analyses::types::Types;
use crate::annotate::analyses::{Role, borders, computed};
use crate::annotate::settings::{AnnotateError, RangeFrom};
use crate::annotate::state::context::PassContext;
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{
    ConfigId, Graph, Grid, IllegalMove, Move, NodeId, Origin, Placement, Port, QuantTable, Reason, ReasonCode, Scheme,
    State, ValueId,
};

/// The value, the role and the node of a config, and the decisions that alignment made for the config.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) value: ValueId,
    pub(crate) role: Role,
    pub(crate) node: NodeId,
    /// True if the grid of the group must cover this value as well as the value of the group's root (the config that
    /// holds the grid). The range of an operand that is joined with others may be wider than that of the result. For
    /// example, an image is in the group because a pooled copy of it is joined with another value, and the copy may
    /// have a smaller range than the image.
    pub(crate) covered: bool,
    /// True if the value is one of several that are joined. If a rule sets a range for the value, the range applies
    /// only to this part of the group and not to the whole group.
    pub(crate) part: bool,
    /// For the root of a group: true if the group has a grid of its own, and does not take over the grid of a producer.
    pub(crate) anchored: bool,
    /// True if the producer of the value must not take over this config's grid. The codes that the producer stores are
    /// requantized for this config instead.
    pub(crate) apart: bool,
}

/// The configs that the passes have made so far, and everything that later passes and runs need from earlier passes and
/// runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) table: QuantTable,
    /// For each config, the value that it belongs to and what alignment decided for it.
    pub(crate) bound: Vec<Bound>,
    /// The configs that were added in this run, node by node.
    pub(crate) fresh: Vec<ConfigId>,
    pub(crate) types: Types,
    pub(crate) ranges: Ranges,
    /// For each group root whose grid had to become coarser: the grid that its range requires, and the factor by which
    /// the scale grew.
    pub(crate) coarsened: BTreeMap<ConfigId, (Grid, f64)>,
    /// The nodes whose weights still have to be looked at.
    pub(crate) pending: BTreeSet<NodeId>,
    /// The nodes whose new configs were not yet checked by the passes at the end of the sequence.
    pub(crate) unchecked: BTreeSet<NodeId>,
    /// The nodes whose own configs, or whose neighbours' configs, may have changed since annotation was started.
    pub(crate) touched: BTreeSet<NodeId>,
    pub(crate) overlapped: BTreeMap<ValueId, Overlapped>,
    pub(crate) raised: BTreeMap<NodeId, Raised>,
    /// Nodes on the host whose weights cannot have codes, so that the weights stay float.
    pub(crate) plain: BTreeSet<NodeId>,
    /// The nodes that were refused and have to move to the host, with the reasons.
    pub(crate) refused: Vec<(NodeId, Reason)>,
    /// The values with a given grid that a node does not support, each with the first such refusal.
    pub(crate) unfitting: BTreeMap<ValueId, (NodeId, Reason)>,
}

impl Draft {
    pub(crate) fn add(&mut self, node: NodeId, port: Port, scheme: Scheme, value: ValueId, role: Role) -> ConfigId {
        let config = self.follow(node, port, scheme, value, role);
        self.fresh.push(config);
        config
    }

    /// Adds a config whose grid is derived from other grids. The passes that find grids skip it.
    pub(crate) fn follow(&mut self, node: NodeId, port: Port, scheme: Scheme, value: ValueId, role: Role) -> ConfigId {
        let config = self.table.add(node, port, scheme);
        self.bound.push(Bound {
            value,
            role,
            node,
            covered: false,
            part: false,
            anchored: false,
            apart: false,
        });
        config
    }

    /// The config of an operand with the role of an activation.
    pub(crate) fn activation(&self, node: NodeId, operand: usize) -> Option<ConfigId> {
        let config = self.table.id(node, Port::Operand(operand))?;
        (self.bound.get(config.index())?.role == Role::Activation).then_some(config)
    }

    /// The configs of a node's activation operands, in order.
    pub(crate) fn activations(&self, node: NodeId, operands: usize) -> Vec<ConfigId> {
        (0..operands).filter_map(|index| self.activation(node, index)).collect()
    }

    /// The config of a result with codes.
    pub(crate) fn result(&self, node: NodeId, result: usize) -> Option<ConfigId> {
        let config = self.table.id(node, Port::Result(result))?;
        (self.bound.get(config.index())?.role == Role::Activation).then_some(config)
    }

    /// The configs of a node's results with codes, in order.
    pub(crate) fn results(&self, node: NodeId, results: usize) -> Vec<ConfigId> {
        (0..results).filter_map(|index| self.result(node, index)).collect()
    }

    /// Returns the config of the codes that the producer of a value stores. If the value is an input, returns the
    /// config of the codes to which the host converts it.
    pub(crate) fn left(&self, context: &PassContext<'_>, value: ValueId) -> Option<ConfigId> {
        let config = context.graph.left_by(&self.table, value)?;
        (self.bound.get(config.index())?.role == Role::Activation).then_some(config)
    }

    /// Where the range of the operand with config `id` comes from, if the operand has a range of its own.
    pub(crate) fn own_range<'a>(&self, context: &PassContext<'a>, id: ConfigId) -> Option<&'a RangeFrom> {
        let config = self.table.config(id)?;
        context.how.operand_range(config.node, config.port)
    }

    pub(crate) fn scheme(&self, id: ConfigId) -> Option<Scheme> {
        self.table.config(id).map(|config| config.scheme)
    }

    pub(crate) fn mark(&mut self, id: ConfigId, change: impl FnOnce(&mut Bound)) {
        if let Some(bound) = self.bound.get_mut(id.index()) {
            change(bound);
        }
    }

    /// True if the grid of a config is given, so that no pass may change it.
    pub(crate) fn is_given(&self, id: ConfigId) -> bool {
        is_given(&self.table, id)
    }

    /// Records that a node does not support the grids that are given for two configs: the config of its own operand or
    /// result, and the root of the group that this config should join.
    pub(crate) fn unfitting(&mut self, ids: [ConfigId; 2], node: NodeId, reason: &Reason) {
        for id in ids {
            if let Some(bound) = self.bound.get(id.index()) {
                let first = || (node, reason.clone());
                self.unfitting.entry(bound.value).or_insert_with(first);
            }
        }
    }

    /// Joins the group of config `id` to the group of config `to`. All configs of both groups then have the grid of
    /// `to`. If the schemes differ, or if the grid of the group of `id` is given, nothing is joined.
    pub(crate) fn join(&mut self, id: ConfigId, to: ConfigId) -> Result<(), AnnotateError> {
        let root = self.table.root(id);
        if self.scheme(root) != self.scheme(to) || self.is_given(root) {
            return Ok(());
        }
        self.bind(id, to)
    }

    /// True if the grids of both configs are given and are the same.
    pub(crate) fn are_given_alike(&self, id: ConfigId, other: ConfigId) -> bool {
        let alike = self.table.params(id) == self.table.params(other) && self.scheme(id) == self.scheme(other);
        alike && self.is_given(id) && self.is_given(other)
    }

    /// Joins two groups like [`Draft::join`], but for configs that must share a grid. If their schemes differ, that is
    /// a defect. If one of the two grids is given, it is used. If both are given and differ, the node of config `id` is
    /// refused.
    pub(crate) fn bind(&mut self, id: ConfigId, to: ConfigId) -> Result<(), AnnotateError> {
        let (root, other) = (self.table.root(id), self.table.root(to));
        match (self.is_given(root), self.is_given(other)) {
            _ if root == other => Ok(()),
            (false, _) => self.transition(root, Move::DominatedBy(to)),
            (true, false) => self.transition(other, Move::DominatedBy(id)),
            (true, true) if self.are_given_alike(root, other) => Ok(()),
            (true, true) => {
                refuse(
                    self,
                    id,
                    "has to share a grid with another port of its node, and both are given",
                );
                Ok(())
            }
        }
    }

    pub(crate) fn transition(&mut self, config: ConfigId, request: Move) -> Result<(), AnnotateError> {
        let ours = |refused: IllegalMove| AnnotateError::Ours(refused.to_string());
        self.table.transition(config, request).map_err(ours)
    }

    /// Removes the codes of a node's parameters, because configs of the node or of its neighbours are about to change.
    pub(crate) fn touch(&mut self, context: &PassContext<'_>, node: NodeId) -> Result<(), AnnotateError> {
        self.touched.insert(node);
        let operands = context.graph.node(node).map_or(0, |node| node.inputs.len());
        for config in (0..operands)
            .filter_map(|index| self.table.id(node, Port::Operand(index)))
            .collect::<Vec<_>>()
        {
            if matches!(self.table.state(config), Some(State::Baked | State::PassiveBaked)) {
                self.transition(config, Move::Unbake)?;
            }
        }
        Ok(())
    }

    /// The grids of nodes on the accelerator that are coarser than the observed range requires, by value.
    pub(crate) fn coarser(&self, graph: &Graph) -> Vec<Coarser> {
        let forms = self.ranges.coarser().filter_map(|(value, doublings, reason)| {
            let (node, _) = graph.producer(value)?;
            Some((node, value, doublings, reason.clone()))
        });
        let shifts = self.coarsened.iter().filter_map(|(root, (_, factor))| {
            let bound = self.bound.get(root.index())?;
            let node = graph.producer(bound.value).map_or(bound.node, |(id, _)| id);
            let text = "weights have no scale from which a shift leads to a finer one";
            let reason = Reason::new(ReasonCode::NoShift, text);
            let told = (node, bound.value, factor.log2() as u32, reason);
            Some(told).filter(|_| !self.ranges.is_zero(bound.value))
        });
        let mut found: BTreeMap<ValueId, Coarser> = BTreeMap::new();
        for (node, value, doublings, reason) in forms.chain(shifts) {
            let runs = graph
                .node(node)
                .is_some_and(|node| node.place == Placement::Accelerator);
            let coarser = || Coarser {
                node,
                value,
                doublings: 0,
                reason,
            };
            if runs {
                found.entry(value).or_insert_with(coarser).doublings += doublings;
            }
        }
        found.into_values().collect()
    }

    /// Removes the configs that will be made again in this scope. These are the configs of the scope's values, the
    /// configs of parameters of nodes whose first operand is in the scope, and all configs of nodes that have left the
    /// accelerator.
    pub(crate) fn withdraw(&mut self, context: &PassContext<'_>) -> Result<(), AnnotateError> {
        self.fresh.clear();
        self.refused.clear();
        for &id in &context.scope.nodes {
            self.touch(context, id)?;
        }
        self.pending.extend(context.scope.nodes.iter().copied());
        self.unchecked.extend(context.scope.nodes.iter().copied());
        let mut gone = Vec::new();
        for &id in &context.scope.nodes {
            let Some(node) = context.graph.node(id) else { continue };
            let alone = context.how.roles().weight_only(context.graph, id, node);
            let left = alone.is_none() && computed(context.how.spec, node).is_none();
            let ports = (0..node.inputs.len()).map(Port::Operand);
            let ports = ports.chain((0..node.outputs.len()).map(Port::Result));
            for config in ports.filter_map(|port| self.table.id(id, port)) {
                let Some(bound) = self.bound.get(config.index()) else {
                    continue;
                };
                if left || is_made(context, id, bound.role, bound.value) {
                    gone.push(config);
                }
            }
        }
        // The configs of inputs and outputs are removed too, because they follow from the nodes that read and make
        // them. An input outside of the scope keeps its config if a rule sets this config.
        for (port, value) in borders(context.graph) {
            let stands =
                matches!(port, Port::Input(_)) && context.how.has_own_codes(value) && !context.scope.has(value);
            gone.extend(self.table.id(NodeId::OUTSIDE, port).filter(|_| !stands));
        }
        for config in &gone {
            self.coarsened.remove(config);
        }
        self.table.withdraw(gone);
        for value in &context.scope.values {
            self.overlapped.remove(value);
        }
        Ok(())
    }
}

/// True if the grid of a config is given.
pub(crate) fn is_given(table: &QuantTable, id: ConfigId) -> bool {
    table.grid(id).is_some_and(|grid| grid.origin == Origin::Given)
}

/// True if the config of an operand or a result is made in this scope. The config of a parameter is made if the scope
/// contains the first operand of the node. The config of an accumulator is made if the scope contains any operand.
pub(crate) fn is_made(context: &PassContext<'_>, node: NodeId, role: Role, value: ValueId) -> bool {
    match role {
        Role::Weight | Role::Gain | Role::Bias => {
            let node = context.graph.node(node);
            let first = node.and_then(|node| node.input(0));
            first.is_some_and(|first| context.scope.has(first))
        }
        // The grid of an accumulator follows from the grids of the operands.
        Role::Accumulator => {
            let node = context.graph.node(node);
            let mut operands = node.iter().flat_map(|node| node.inputs.iter().flatten());
            context.scope.has(value) || operands.any(|&operand| context.scope.has(operand))
        }
        Role::Activation | Role::Shifted | Role::Other => context.scope.has(value),
    }
}

/// Refuses the node of a config because of a given grid.
pub(crate) fn refuse(draft: &mut Draft, id: ConfigId, why: &str) {
    if let Some(config) = draft.table.config(id) {
        let node = config.node;
        let reason = Reason::new(ReasonCode::GivenGrid, format!("{} {why}", config.port));
        draft.unfitting([id, draft.table.root(id)], node, &reason);
        draft.refused.push((node, reason));
    }
}
