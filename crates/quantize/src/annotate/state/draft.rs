//! The configs of a graph while passes make them, with all that they decide from.

use super::given::refuse;
use super::losses::{Coarser, Overlapped, Raised};
use super::ranges::Ranges;
use crate::annotate::analyses::types::Types;
use crate::annotate::analyses::{Order, Reach, Regions, Role, Scope, borders, computed};
use crate::annotate::settings::{AnnotateError, Annotation, RangeFrom};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{
    ConfigId, Graph, GraphId, Grid, IllegalMove, Module, Move, NodeId, Origin, Placement, Port, QuantTable, Reason,
    ReasonCode, Scheme, State, ValueId,
};

/// Material of one run of the passes.
pub(crate) struct PassContext<'a> {
    pub(crate) module: &'a Module,
    pub(crate) id: GraphId,
    pub(crate) graph: &'a Graph,
    pub(crate) how: &'a Annotation<'a>,
    /// The part of the graph that is annotated.
    pub(crate) scope: &'a Scope,
    pub(crate) regions: &'a Regions,
    pub(crate) reach: &'a Reach,
    pub(crate) order: &'a Order,
}

impl PassContext<'_> {
    pub(crate) fn position(&self, node: NodeId) -> u32 {
        self.order.position(node).unwrap_or(u32::MAX)
    }
}

/// A config, the value that it belongs to, and what alignment makes of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) value: ValueId,
    pub(crate) role: Role,
    pub(crate) node: NodeId,
    /// The grid of its group must cover its value besides that of the root: what codes that are joined come from may reach
    /// further than they do (an image, of which a pool was joined with something else).
    pub(crate) covered: bool,
    /// Its value is one of several that are joined: a range that is said of it is one of this part, not for the group.
    pub(crate) part: bool,
    /// Of a root: its group has a grid of its own, and takes none that a producer leaves.
    pub(crate) anchored: bool,
    /// It takes nothing to the producer: what that leaves is requantized.
    pub(crate) apart: bool,
}

/// The work of passes: configs, and all that later passes and turns need of earlier ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) table: QuantTable,
    /// By config.
    pub(crate) bound: Vec<Bound>,
    /// The configs that were added in this run, node by node.
    pub(crate) fresh: Vec<ConfigId>,
    pub(crate) types: Types,
    pub(crate) ranges: Ranges,
    /// By root: the grid that its range asked for, where a coarser one was needed, and by how much.
    pub(crate) coarsened: BTreeMap<ConfigId, (Grid, f64)>,
    /// The nodes whose weights are to be looked at.
    pub(crate) pending: BTreeSet<NodeId>,
    /// The nodes that the last pass has not looked at since their configs were made.
    pub(crate) unchecked: BTreeSet<NodeId>,
    /// The nodes of which configs may have changed since annotation was asked for, or those of their neighbours.
    pub(crate) touched: BTreeSet<NodeId>,
    pub(crate) overlapped: BTreeMap<ValueId, Overlapped>,
    pub(crate) raised: BTreeMap<NodeId, Raised>,
    /// The nodes of the host whose weights could not have codes, and have none.
    pub(crate) plain: BTreeSet<NodeId>,
    /// The nodes that have to leave the accelerator.
    pub(crate) refused: Vec<(NodeId, Reason)>,
    /// The values with a grid that was given and that a node could not have, and the first of these refusals.
    pub(crate) unfitting: BTreeMap<ValueId, (NodeId, Reason)>,
}

impl Draft {
    pub(crate) fn add(&mut self, node: NodeId, port: Port, scheme: Scheme, value: ValueId, role: Role) -> ConfigId {
        let config = self.follow(node, port, scheme, value, role);
        self.fresh.push(config);
        config
    }

    /// Adds a config that takes no part in finding grids: its own follows from another.
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

    /// The config of an operand of the role activation.
    pub(crate) fn activation(&self, node: NodeId, operand: usize) -> Option<ConfigId> {
        let config = self.table.id(node, Port::Operand(operand))?;
        (self.bound.get(config.index())?.role == Role::Activation).then_some(config)
    }

    /// Those of a node, in order.
    pub(crate) fn activations(&self, node: NodeId, operands: usize) -> Vec<ConfigId> {
        (0..operands).filter_map(|index| self.activation(node, index)).collect()
    }

    /// The config of a result that leaves codes.
    pub(crate) fn result(&self, node: NodeId, result: usize) -> Option<ConfigId> {
        let config = self.table.id(node, Port::Result(result))?;
        (self.bound.get(config.index())?.role == Role::Activation).then_some(config)
    }

    /// Those of a node, in order.
    pub(crate) fn results(&self, node: NodeId, results: usize) -> Vec<ConfigId> {
        (0..results).filter_map(|index| self.result(node, index)).collect()
    }

    /// The config with codes that a value has as it leaves its producer, or the host that hands it over.
    pub(crate) fn left(&self, context: &PassContext<'_>, value: ValueId) -> Option<ConfigId> {
        let config = context.graph.left_by(&self.table, value)?;
        (self.bound.get(config.index())?.role == Role::Activation).then_some(config)
    }

    /// The source of a range of its own that the operand has which a config is for.
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

    /// True if the grid of a config was given, and nothing may change it.
    pub(crate) fn is_given(&self, id: ConfigId) -> bool {
        is_given(&self.table, id)
    }

    /// Notes that a node cannot have the grids that are given for these configs: one of its own, and that of its group.
    pub(crate) fn unfitting(&mut self, ids: [ConfigId; 2], node: NodeId, reason: &Reason) {
        for id in ids {
            if let Some(bound) = self.bound.get(id.index()) {
                let first = || (node, reason.clone());
                self.unfitting.entry(bound.value).or_insert_with(first);
            }
        }
    }

    /// Joins the group of one config to that of another, which decides. Configs of other schemes stay apart, and so does
    /// a group whose grid was given.
    pub(crate) fn join(&mut self, id: ConfigId, to: ConfigId) -> Result<(), AnnotateError> {
        let root = self.table.root(id);
        if self.scheme(root) != self.scheme(to) || self.is_given(root) {
            return Ok(());
        }
        self.bind(id, to)
    }

    /// True if the grids of both were given, and are one grid.
    pub(crate) fn are_given_alike(&self, id: ConfigId, other: ConfigId) -> bool {
        let alike = self.table.params(id) == self.table.params(other) && self.scheme(id) == self.scheme(other);
        alike && self.is_given(id) && self.is_given(other)
    }

    /// The same where both have to share a grid: a defect where their schemes differ. One that was given decides; of two
    /// that are not the same the node of the first cannot be computed.
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

    /// Takes the codes of a node's parameters away: its configs, or those of its neighbours, are about to change.
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

    /// The grids of nodes on the accelerator that are coarser than what was seen asks for, by value.
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

    /// Takes the configs out that are made anew in the scope: those of its values, parameters with the first operand of
    /// their node, and all of a node that has left the accelerator.
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
        // On the border everything follows from what is inside, but for what rules want of inputs.
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

/// True if the grid of a config was given.
pub(crate) fn is_given(table: &QuantTable, id: ConfigId) -> bool {
    table.grid(id).is_some_and(|grid| grid.origin == Origin::Given)
}

/// True if the config of an operand or a result is made in this scope. Parameters come with the first operand, sums with
/// any.
pub(crate) fn is_made(context: &PassContext<'_>, node: NodeId, role: Role, value: ValueId) -> bool {
    match role {
        Role::Weight | Role::Gain | Role::Bias => {
            let node = context.graph.node(node);
            let first = node.and_then(|node| node.inputs.first().copied().flatten());
            first.is_some_and(|first| context.scope.has(first))
        }
        // Its grid follows from those of the operands.
        Role::Accumulator => {
            let node = context.graph.node(node);
            let mut operands = node.iter().flat_map(|node| node.inputs.iter().flatten());
            context.scope.has(value) || operands.any(|&operand| context.scope.has(operand))
        }
        Role::Activation | Role::Shifted | Role::Other => context.scope.has(value),
    }
}
