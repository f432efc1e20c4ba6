//! Which operands share a grid: configs for every operand, bound to each other where the arithmetic demands it.

use super::AnnotateError;
use super::roles::{Role, clamp_producer, keeps_grid, narrows, only_codes_are_read, recipe, role};
use strait_core::op::PadMode;
use strait_core::{ConfigId, Def, Elem, Granularity, Graph, Move, NodeId, Op, Policy, QuantTable, ValueId};
use strait_target::TargetSpec;
use strait_target::spec::{OpRow, Per, Points, Recipe, ScaleSet};

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

/// Configs for all operands of `order`'s nodes that run on the accelerator, bound into groups:
/// - an activation function is clipped inside its producer: the producer's result and the function's operand have the
///   function's grid;
/// - codes that are moved or compared keep their grid;
/// - an operand has the grid of the node that produces it.
pub(super) fn groups(
    graph: &Graph,
    spec: &TargetSpec,
    order: &[NodeId],
    per: impl Fn(NodeId, &OpRow) -> Per,
) -> Result<Groups, AnnotateError> {
    let mut groups = Groups {
        table: QuantTable::default(),
        bound: Vec::new(),
        covered: Vec::new(),
    };
    // By value: the config that decides its grid.
    let mut deciding: Vec<Option<ConfigId>> = vec![None; graph.value_bound()];
    for &id in order {
        let Some(node) = graph.node(id) else { continue };
        let Some((row, kind)) = recipe(spec, node) else {
            continue;
        };
        for (index, input) in node.inputs.iter().enumerate() {
            let Some(value) = *input else { continue };
            let role = role(graph, node, kind, index);
            let config = match role {
                Role::Other => continue,
                Role::Activation => groups.add_activation(spec, id, index),
                Role::Weight => groups.add_weight(spec, id, index, per(id, row)),
                Role::Bias => groups.add_bias(spec, id, index),
            };
            groups.bound.push(Bound {
                config,
                value,
                role,
                node: id,
            });
            match (role, deciding[value.index()]) {
                (Role::Activation, Some(decider)) => groups.transition(config, Move::DominatedBy(decider))?,
                (Role::Activation, None) => deciding[value.index()] = Some(config),
                (Role::Bias, _) => {
                    if let Some(weight) = groups.table.id(id, 1) {
                        groups.transition(config, Move::MasteredBy(weight))?;
                    }
                }
                _ => {}
            }
        }
        for (position, &value) in node.outputs.iter().enumerate() {
            if graph.value(value).is_none_or(|v| v.ty.elem != Elem::F32) || !has_codes(graph, spec, row, value) {
                continue;
            }
            let config = groups.add_activation(spec, id, node.inputs.len() + position);
            groups.bound.push(Bound {
                config,
                value,
                role: Role::Activation,
                node: id,
            });
            deciding[value.index()] = Some(config);
            if !keeps_grid(kind) {
                continue;
            }
            // Indices and the like have no config.
            let operands: Vec<ConfigId> = (0..node.inputs.len()).filter_map(|i| groups.table.id(id, i)).collect();
            let clipped_in_producer = kind == Recipe::Clamp && clamp_producer(graph, spec, node).is_some();
            match operands[..] {
                [operand] if !clipped_in_producer && !widens(&node.op) => {
                    groups.transition(config, Move::DominatedBy(operand))?;
                }
                // The producer computes the clipped range alone, so its grid is the function's; or codes of several
                // operands are moved into one result, which has all their ranges.
                _ => {
                    for operand in operands {
                        let root = groups.table.root(operand);
                        // Two operands may be of one group: a value beside its own maximum.
                        if root != config {
                            groups.transition(root, Move::DominatedBy(config))?;
                            if !clipped_in_producer {
                                groups.covered.push(root);
                            }
                        }
                    }
                }
            }
        }
    }
    Ok(groups)
}

/// True if a result holds numbers that its only operand may not have: what a pad puts in.
fn widens(op: &Op) -> bool {
    matches!(op, Op::Pad(pad) if pad.mode == PadMode::Constant && pad.value != 0.0)
}

/// True if a node of the accelerator leaves codes: always where every result is narrowed, and else where codes are all
/// that is read, or all that it has.
fn has_codes(graph: &Graph, spec: &TargetSpec, row: &OpRow, value: ValueId) -> bool {
    match spec.types.points {
        Points::Results => true,
        Points::Operands => !narrows(row) || only_codes_are_read(graph, spec, value),
    }
}

fn activation(spec: &TargetSpec) -> Policy {
    let scheme = &spec.types.activation;
    let (symmetric, power_of_two) = (scheme.symmetric, scheme.scale == ScaleSet::PowerOfTwo);
    Policy::Linear {
        symmetric,
        power_of_two,
        dynamic: false,
        per: Granularity::Tensor,
    }
}

fn weight(spec: &TargetSpec, per: Per) -> Policy {
    let scheme = &spec.types.weight;
    let (symmetric, power_of_two) = (scheme.symmetric, scheme.scale == ScaleSet::PowerOfTwo);
    let per = if per == Per::Channel {
        Granularity::Channel { axis: 0 }
    } else {
        Granularity::Tensor
    };
    Policy::Linear {
        symmetric,
        power_of_two,
        dynamic: false,
        per,
    }
}

impl Groups {
    fn add_activation(&mut self, spec: &TargetSpec, node: NodeId, operand: usize) -> ConfigId {
        let (types, rounding) = (&spec.types, spec.quantize.rounding);
        let range = types.activation_range();
        let range = [i64::from(*range.start()), i64::from(*range.end())];
        self.table.add(
            node,
            operand,
            activation(spec),
            types.activation_type().bits(),
            range,
            rounding,
        )
    }

    fn add_weight(&mut self, spec: &TargetSpec, node: NodeId, operand: usize, per: Per) -> ConfigId {
        let (types, rounding) = (&spec.types, spec.quantize.weight_rounding());
        let range = types.weight_range();
        let range = [i64::from(*range.start()), i64::from(*range.end())];
        self.table.add(
            node,
            operand,
            weight(spec, per),
            types.weight_type().bits(),
            range,
            rounding,
        )
    }

    fn add_bias(&mut self, spec: &TargetSpec, node: NodeId, operand: usize) -> ConfigId {
        let policy = weight(spec, Per::Channel);
        let range = [i64::from(i32::MIN), i64::from(i32::MAX)];
        self.table
            .add(node, operand, policy, 32, range, spec.quantize.bias_rounding())
    }

    fn transition(&mut self, config: ConfigId, request: Move) -> Result<(), AnnotateError> {
        self.table
            .transition(config, request)
            .map_err(|reason| AnnotateError::Ours(reason.to_string()))
    }
}

/// True if a value is a constant of the model.
pub(super) fn is_constant(graph: &Graph, value: ValueId) -> bool {
    graph.value(value).is_some_and(|v| matches!(v.def, Def::Data(_)))
}
