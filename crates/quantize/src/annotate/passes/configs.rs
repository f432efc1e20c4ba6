//! **Configs.**
//! - What: makes a config for each operand and result of a node on the accelerator, with the type and scheme from the
//!   target's table and the configuration.
//! - Why: all later passes only work with configs.
//! - Preconditions: nodes are placed.
//! - Effect: each config is in the state `initial` and in a group of its own. An input of the graph has a config if a
//!   rule sets its type or scheme. If a recipe fixes the grid of its result, as a softmax does, this pass sets that
//!   grid. It also sets all grids that the annotation's constraints give. If the table only requantizes sums at the
//!   operands of their readers, a result that is read as real numbers stays a sum and is not requantized. If such a sum
//!   is the accumulator of a node that multiplies, its config has the accumulator's type, and [`super::passive`] sets
//!   its grid. A weight-only node has a config only for its weights, also on the host.

use crate::annotate::analyses::types::CodeType;
use crate::annotate::analyses::{Role, Roles, borders, leaves_sums, types};
use crate::annotate::settings::AnnotateError;
use crate::annotate::state::{Draft, PassContext, given, is_made};
use std::num::NonZeroU32;
use strait_core::{
    ConfigId, Elem, Granularity, Graph, Grid, Move, Node, NodeId, Op, Origin, Port, QuantParams, ValueId,
};
use strait_target::spec::{Integer, OpRow, Recipe, WeightPer};

pub(crate) fn run(context: &PassContext<'_>, draft: &mut Draft) -> Result<(), AnnotateError> {
    let (graph, how) = (context.graph, context.how);
    let spec = how.spec;
    draft.types.update(graph, how, context.scope);
    let inputs = borders(graph).filter(|(port, value)| matches!(port, Port::Input(_)) && context.scope.has(*value));
    for (port, value) in inputs {
        if let Some(codes) = draft.types.leaves(value) {
            draft.add(
                NodeId::OUTSIDE,
                port,
                types::activation(spec, codes)?,
                value,
                Role::Activation,
            );
        }
    }
    for &id in &context.scope.nodes {
        let Some(node) = graph.node(id) else { continue };
        if let (Some((row, ty)), Some(weights)) = (how.roles().weight_only(graph, id, node), weights(node)) {
            if is_made(context, id, Role::Weight, weights) && !draft.plain.contains(&id) {
                let codes = CodeType::new(ty, how.settings.weight_grid(id));
                let scheme = types::weight(spec, codes, per(context, id, row, ty))?;
                let config = draft.add(
                    id,
                    Port::Operand(node.op.weights_operand()),
                    scheme,
                    weights,
                    Role::Weight,
                );
                given::activate(context, draft, config, false)?;
            }
            continue;
        }
        let (Some((_, kind)), Some([activation, weight])) = (how.roles().recipe(id, node), draft.types.of(id)) else {
            continue;
        };
        let Some((_, row)) = spec.row_for(node.op.term(), activation.ty.into()) else {
            continue;
        };
        for (index, input) in node.inputs.iter().enumerate() {
            let Some(value) = *input else { continue };
            let role = how.roles().role(graph, id, node, kind, index);
            if !is_made(context, id, role, value) {
                continue;
            }
            let scheme = match role {
                Role::Other | Role::Accumulator => continue,
                Role::Shifted => match graph.producer(value) {
                    Some((_, producer)) => types::shifted(channels(producer, rank(graph, value)))?,
                    None => continue,
                },
                Role::Activation => types::activation(spec, types::operand(how, (id, node), index, kind, activation))?,
                Role::Weight => types::weight(spec, weight, per(context, id, Some(row), weight.ty))?,
                Role::Gain => types::gain(spec)?,
                Role::Bias => types::bias(spec, activation.ty)?,
            };
            let config = draft.add(id, Port::Operand(index), scheme, value, role);
            if draft.own_range(context, config).is_some() {
                draft.mark(config, |at| at.anchored = true);
            }
            given::activate(context, draft, config, role == Role::Bias)?;
        }
        for (position, &value) in node.outputs.iter().enumerate() {
            let float = graph.value(value).is_some_and(|v| v.ty.elem == Elem::F32);
            if !float {
                continue;
            }
            // If readers outside of the scope have decided that a result has no codes and stays a sum, it stays a sum.
            let known = context.scope.has(value) || draft.table.id(id, Port::Result(position)).is_some();
            if !has_codes(graph, how.roles(), row, value) || !known {
                if is_made(context, id, Role::Accumulator, value) {
                    accumulator(context, draft, id, value)?;
                }
            } else if context.scope.has(value) {
                let scheme = types::activation(spec, draft.types.leaves(value).unwrap_or(activation))?;
                let result = draft.add(id, Port::Result(position), scheme, value, Role::Activation);
                if let Some((scale, zero)) = row.recipe.and_then(Recipe::fixed_grid) {
                    let grid = Grid::new(QuantParams::tensor(scale, zero), Origin::Given);
                    draft.transition(result, Move::Activate(grid))?;
                }
                given::activate(context, draft, result, false)?;
            }
        }
    }
    Ok(())
}

/// The operand of a node that has its weights, if the node is a product or a Gather.
fn weights(node: &Node) -> Option<ValueId> {
    node.input(node.op.weights_operand())
}

/// Returns which weights of a node share a scale. One scale for each block is possible only if the node is weight-only,
/// and its number of inputs is a multiple of the block size.
fn per(context: &PassContext<'_>, id: NodeId, row: Option<&OpRow>, ty: Integer) -> Granularity {
    let (how, scheme) = (context.how, context.how.spec.types.weight(ty));
    let inputs = context.graph.node(id).and_then(weights).and_then(|weights| {
        let dims = context.graph.value(weights)?.ty.dims()?;
        dims.get(1).copied()
    });
    let size = how
        .weight_block(id)
        .or(scheme.block.first().copied())
        .map(NonZeroU32::get);
    let size = size.filter(|&size| inputs.is_some_and(|inputs| inputs.is_multiple_of(size.into())));
    let size = size.filter(|_| row.is_none_or(OpRow::is_weight_only));
    let having = how.spec.weight_granularities(row, ty);
    let own = how.weight_per(id).filter(|per| having.contains(per));
    let fits = |per: &WeightPer| *per != WeightPer::Block || size.is_some();
    let per = own.chain(having.iter().copied()).find(fits);
    match (per, size) {
        (Some(WeightPer::Block), Some(size)) => Granularity::Block { axis: 1, size },
        (Some(WeightPer::Channel), _) => Granularity::Channel { axis: 0 },
        _ => Granularity::Tensor,
    }
}

/// True if a node on the accelerator stores its result as codes. If the target requantizes every result, every result
/// is stored as codes, except an accumulator to which its reader adds codes. If the target does not, a result is stored
/// as codes if all of its readers read codes.
fn has_codes(graph: &Graph, roles: Roles<'_>, row: &OpRow, value: ValueId) -> bool {
    let sum = graph
        .only_use(value)
        .is_some_and(|at| roles.summed(graph, at.node) == Some(at.operand.into()));
    !sum && !leaves_sums(roles.how.spec, row) || roles.only_codes_are_read(graph, value)
}

/// Makes the config of a result that stays a sum. Only the accumulators of nodes that multiply have a config: their
/// scale is the product of the scales of the operands. For other sums, the recipes choose the grids.
pub(crate) fn accumulator(
    context: &PassContext<'_>,
    draft: &mut Draft,
    id: NodeId,
    value: ValueId,
) -> Result<Option<ConfigId>, AnnotateError> {
    let (graph, spec) = (context.graph, context.how.spec);
    let (Some(node), Some([activation, _])) = (graph.node(id), draft.types.of(id)) else {
        return Ok(None);
    };
    let Some((_, row)) = spec.row_for(node.op.term(), activation.ty.into()) else {
        return Ok(None);
    };
    let per = match row.recipe {
        Some(Recipe::MultiplyAccumulate { .. }) => channels(node, rank(graph, value)),
        Some(Recipe::MatmulAccumulate | Recipe::Multiply) => Granularity::Tensor,
        _ => return Ok(None),
    };
    let scheme = types::accumulator(spec, row, activation.ty, per)?;
    Ok(Some(draft.add(id, Port::Result(0), scheme, value, Role::Accumulator)))
}

/// Returns the granularity of the accumulators of a node that has a scale for each channel of its weights. The
/// accumulators have one scale for each output channel, along the axis of the channels in the result.
fn channels(node: &Node, rank: usize) -> Granularity {
    let axis = match node.op {
        Op::Conv(_) => 1,
        _ => rank.saturating_sub(1) as u8,
    };
    Granularity::Channel { axis }
}

fn rank(graph: &Graph, value: ValueId) -> usize {
    graph.value(value).map_or(0, |value| value.ty.shape.len())
}
