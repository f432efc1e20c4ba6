//! Which operands share a grid: configs for every operand, bound to each other where the arithmetic demands it.

use super::roles::{Role, clamp_producer, keeps_grid, narrows, only_codes_are_read, recipe, role};
use super::types::{self, Types};
use super::{AnnotateError, Annotation};
use strait_core::op::PadMode;
use strait_core::{
    ConfigId, Def, Derivation, Elem, Graph, Move, Node, NodeId, Op, Port, QuantTable, Scheme, Use, ValueId,
};
use strait_target::TargetSpec;
use strait_target::spec::{Integer, OpRow, Per, Points, Recipe};

/// A config and the value that it belongs to.
pub(super) struct Bound {
    pub(super) config: ConfigId,
    pub(super) value: ValueId,
    pub(super) role: Role,
    pub(super) node: NodeId,
}

/// Everything that annotation decides from, but for the ranges.
pub(super) struct Groups {
    pub(super) table: QuantTable,
    pub(super) bound: Vec<Bound>,
    /// Configs whose values the grid of their group must cover besides its root's: what codes that are joined come from
    /// may reach further than they do (an image, of which a pool was joined with something else).
    pub(super) covered: Vec<ConfigId>,
}

/// Configs for all operands and results of `order`'s nodes that run on the accelerator, bound into groups that share a grid:
/// - codes that are moved or compared keep their grid;
/// - an activation function is clipped inside its producer: the producer's result and the function's operand have the
///   function's grid;
/// - what several operands are joined into has one grid, and the operands have that, too;
/// - where the readers of a value agree, they have the grid that its producer leaves it on, or the other way round: what
///   only a concatenation reads is made on the grid of the concatenation;
/// - where they do not, the producer leaves its own, and the others are on grids of theirs, if the target can requantize
///   between them.
pub(super) fn groups(
    graph: &Graph,
    how: &Annotation<'_>,
    order: &[NodeId],
    per: impl Fn(NodeId, &OpRow) -> Option<Per>,
) -> Result<Groups, AnnotateError> {
    let spec = how.spec;
    let types = Types::new(graph, how, order);
    let mut groups = Groups {
        table: QuantTable::default(),
        bound: Vec::new(),
        covered: Vec::new(),
    };
    for &id in order {
        let Some(node) = graph.node(id) else { continue };
        let (Some((_, kind)), Some([activation, weight])) = (recipe(spec, node), types.of(id)) else {
            continue;
        };
        let Some((_, row)) = spec.row_for(node.op.term(), activation) else {
            continue;
        };
        for (index, input) in node.inputs.iter().enumerate() {
            let Some(value) = *input else { continue };
            let role = role(graph, node, kind, index);
            let scheme = match role {
                Role::Other => continue,
                Role::Activation => types::activation(spec, activation)?,
                Role::Weight => {
                    let per = per(id, row).unwrap_or(spec.types.weight_per(weight));
                    types::weight(spec, weight, per)?
                }
                Role::Bias => types::bias(spec, activation)?,
            };
            groups.add(id, Port::Operand(index), scheme, value, role);
        }
        if let [Some(x), Some(weight), Some(bias)] = [0, 1, 2].map(|i| groups.table.id(id, Port::Operand(i)))
            && matches!(kind, Recipe::MultiplyAccumulate { .. })
        {
            groups.transition(bias, Move::MasteredBy(Derivation::Product(x, weight)))?;
        }
        for (position, &value) in node.outputs.iter().enumerate() {
            if graph.value(value).is_none_or(|v| v.ty.elem != Elem::F32) || !has_codes(graph, spec, row, value) {
                continue;
            }
            let t = types.leaves(value).unwrap_or(activation);
            let scheme = types::activation(spec, t)?;
            let result = groups.add(id, Port::Result(position), scheme, value, Role::Activation);
            if keeps_grid(kind) {
                groups.keep(graph, spec, (id, node), kind, result)?;
            }
        }
    }
    // Readers first, so that what is wanted behind nodes that move codes is known in front of them.
    let mut by_value: Vec<Option<ConfigId>> = vec![None; graph.value_bound()];
    for &id in order.iter().rev() {
        for (position, &value) in graph.node(id).map_or(&[][..], |node| &node.outputs).iter().enumerate() {
            if let Some(result) = groups.table.id(id, Port::Result(position)) {
                by_value[value.index()] = Some(result);
                groups.agree(graph, spec, value, Some(result))?;
            }
        }
    }
    let others = graph.values().map(|(id, _)| id);
    for value in others
        .filter(|value| by_value[value.index()].is_none())
        .collect::<Vec<_>>()
    {
        groups.agree(graph, spec, value, None)?;
    }
    groups.cover_divided(graph, spec, order);
    Ok(groups)
}

/// True if the target brings codes of a scheme to other grids.
fn can_requantize(spec: &TargetSpec, from: Option<Scheme>) -> bool {
    let from = from.and_then(|scheme| scheme.elem()?.int_type());
    from.is_some_and(|from| spec.requantizes(Integer::from(from)).is_some())
}

/// True if a result holds numbers that its only operand may not have: what a pad puts in.
fn widens(op: &Op) -> bool {
    matches!(op, Op::Pad(pad) if pad.mode == PadMode::Constant && pad.value != 0.0)
}

/// True if a node of the accelerator leaves codes: always where every result is narrowed, and else where codes are all
/// that is read, or all that it has.
fn has_codes(graph: &Graph, spec: &TargetSpec, row: &OpRow, value: ValueId) -> bool {
    match row.points.unwrap_or(spec.types.points) {
        Points::Results => true,
        Points::Operands => !narrows(row) || only_codes_are_read(graph, spec, value),
    }
}

impl Groups {
    fn add(&mut self, node: NodeId, port: Port, scheme: Scheme, value: ValueId, role: Role) -> ConfigId {
        let config = self.table.add(node, port, scheme);
        self.bound.push(Bound {
            config,
            value,
            role,
            node,
        });
        config
    }

    /// Binds the operands of a node that keeps its grid to its result.
    fn keep(
        &mut self,
        graph: &Graph,
        spec: &TargetSpec,
        (id, node): (NodeId, &Node),
        kind: Recipe,
        result: ConfigId,
    ) -> Result<(), AnnotateError> {
        // Indices and the like have no config.
        let ports = (0..node.inputs.len()).map(Port::Operand);
        let operands: Vec<ConfigId> = ports.filter_map(|port| self.table.id(id, port)).collect();
        let clipped_in_producer = kind == Recipe::Clamp && clamp_producer(graph, spec, node).is_some();
        match operands[..] {
            [operand] if !clipped_in_producer && !widens(&node.op) => {
                self.transition(result, Move::DominatedBy(operand))
            }
            // The producer computes the clipped range alone, so its grid is the function's; or codes of several operands
            // are moved into one result, which holds all of them.
            _ => {
                for operand in operands {
                    let root = self.table.root(operand);
                    // A second result, of a split.
                    if root != self.table.root(result) {
                        self.transition(root, Move::DominatedBy(result))?;
                    }
                    if widens(&node.op) {
                        self.covered.push(operand);
                    }
                }
                Ok(())
            }
        }
    }

    /// Brings the readers of a value and what its producer leaves together, as far as they agree.
    fn agree(
        &mut self,
        graph: &Graph,
        spec: &TargetSpec,
        value: ValueId,
        leaves: Option<ConfigId>,
    ) -> Result<(), AnnotateError> {
        let operand = |at: Use| self.table.id(at.node, Port::Operand(usize::from(at.operand)));
        let mut readers: Vec<ConfigId> = graph.uses(value).filter_map(operand).collect();
        readers.retain(|&reader| self.is_activation(reader));
        readers.sort_unstable();
        // What stands behind a result is on the grid of that result; anything else takes what comes.
        let (fixed, free): (Vec<ConfigId>, Vec<ConfigId>) = readers.iter().partition(|&&reader| self.is_fixed(reader));
        if let Some(leaves) = leaves {
            let scheme = self.scheme(leaves);
            let equal = |groups: &Groups, id: ConfigId| groups.scheme(id) == scheme;
            let agreed = fixed.first().copied().filter(|&first| {
                let root = self.table.root(first);
                free.is_empty() && equal(self, first) && fixed.iter().all(|&other| self.table.root(other) == root)
            });
            match agreed {
                Some(first) => self.join(leaves, first)?,
                // Where nothing requantizes between grids, there is one.
                None if !can_requantize(spec, scheme) => {
                    for &reader in &fixed {
                        if equal(self, reader) {
                            self.join(leaves, reader)?;
                        }
                    }
                }
                None => {}
            }
            for &reader in &free {
                if equal(self, reader) {
                    self.join(reader, leaves)?;
                }
            }
        }
        // Those of one type that are on a grid of their own are on the same one.
        let mut deciding: Vec<ConfigId> = Vec::new();
        for reader in free {
            if self.is_fixed(reader) {
                continue;
            }
            match deciding
                .iter()
                .find(|&&other| self.scheme(other) == self.scheme(reader))
            {
                Some(&other) => self.join(reader, other)?,
                None => deciding.push(reader),
            }
        }
        Ok(())
    }

    /// Joins the group of one config to that of another, which decides.
    fn join(&mut self, id: ConfigId, to: ConfigId) -> Result<(), AnnotateError> {
        let root = self.table.root(id);
        if root == self.table.root(to) {
            return Ok(());
        }
        self.transition(root, Move::DominatedBy(to))
    }

    fn scheme(&self, id: ConfigId) -> Option<Scheme> {
        self.table.config(id).map(|config| config.scheme)
    }

    fn is_activation(&self, id: ConfigId) -> bool {
        let config = self.bound.get(id.index());
        config.is_some_and(|bound| bound.role == Role::Activation)
    }

    /// True if the group of a config has the grid of a result.
    fn is_fixed(&self, id: ConfigId) -> bool {
        let root = self.table.config(self.table.root(id));
        root.is_some_and(|root| matches!(root.port, Port::Result(_)))
    }

    /// Lets the grids of what a pool divides cover that: its sums are of codes that must not have saturated.
    fn cover_divided(&mut self, graph: &Graph, spec: &TargetSpec, order: &[NodeId]) {
        let mut position = vec![0; graph.node_bound()];
        for (at, id) in order.iter().enumerate() {
            position[id.index()] = at;
        }
        for &id in order {
            let kind = graph.node(id).and_then(|node| recipe(spec, node)).map(|(_, kind)| kind);
            let operand = self.table.id(id, Port::Operand(0));
            let (Some(Recipe::AveragePoolDivide), Some(operand)) = (kind, operand) else {
                continue;
            };
            let root = self.table.config(self.table.root(operand));
            if root.is_some_and(|root| position[root.node.index()] > position[id.index()]) {
                self.covered.push(operand);
            }
        }
    }

    fn transition(&mut self, config: ConfigId, request: Move) -> Result<(), AnnotateError> {
        self.table
            .transition(config, request)
            .map_err(|refused| AnnotateError::Ours(refused.to_string()))
    }
}

/// True if a value is a constant of the model.
pub(super) fn is_constant(graph: &Graph, value: ValueId) -> bool {
    graph.value(value).is_some_and(|v| matches!(v.def, Def::Data(_)))
}
