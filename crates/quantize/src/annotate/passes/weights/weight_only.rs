//! The grids of weights in weight-only nodes, in which only the weights have codes.
//!
//! Operand, bias and result of such a node have no grid. So each scale is the smallest one with which the weights fit
//! their type: s_w = max(max W / q_max, min W / q_min), or (max W − min W) / (q_max − q_min) if there is a zero point.
//! There is a scale for each channel, for each block of inputs, or for the whole tensor.

use super::multiplied::Weights;
use super::product::{are_finite, codes, least_scale, reach};
use crate::annotate::settings::{Annotation, Unfit};
use crate::annotate::state::{PassContext, Raised};
use std::{collections::BTreeSet, num::NonZeroU32};
use strait_core::{
    Failure, Granularity, NodeId, Origin, Parts, Port, QuantParams, QuantTable, Reason, ReasonCode, ValueId, refused,
};
use strait_requantize::Per;
use strait_requantize::scales::{next_power_of_two, zero_of};

/// The grid of the weights of a weight-only node. `None` for other nodes, and if the grid is given.
pub(crate) fn weights(context: &PassContext<'_>, table: &QuantTable, id: NodeId) -> Result<Option<Weights>, Failure> {
    let PassContext { module, graph, how, .. } = *context;
    let Some(node) = graph.node(id) else {
        return Ok(None);
    };
    let port = Port::Operand(node.op.weights_operand());
    let alone = how.roles().weight_only(graph, id, node);
    let Some(scheme) = alone.and_then(|_| table.scheme_of(id, port)) else {
        return Ok(None);
    };
    let own = table.id(id, port).and_then(|config| table.grid(config));
    if own.is_some_and(|own| own.origin == Origin::Given) {
        return Ok(None);
    }
    let tensor = node.input(node.op.weights_operand());
    let tensor = tensor.and_then(|value| Some((value, module.constant(graph, value)?)));
    let (value, weights) = tensor.ok_or_else(|| Failure::defect("its weights are not constants"))?;
    let values = weights.to_f32()?;
    are_finite(&values)?;
    let shape: Vec<usize> = weights.shape().iter().map(|&extent| extent as usize).collect();
    let per = scheme.policy().per();
    let parts = per.parts(&shape);
    let parts = parts.ok_or_else(|| Failure::defect("its weights have other parts than their scheme"))?;
    let values = by_part(&values, &parts);
    let observer = how.settings.weight_observer(id);
    let ends = reach(&values, parts.count(), &observer, scheme)?;
    let symmetric = scheme.policy().is_symmetric();
    let least: Vec<f64> = ends.iter().map(|&ends| least_scale(scheme, ends)).collect();
    let raised = raised(how, id, value, &least, shape.first().copied().unwrap_or(1))?;
    let scale = |&least: &f64| {
        let scale = match (least > 0.0, scheme.policy().has_powers_of_two()) {
            // Weights that are all zero have code 0 on any grid.
            (false, _) => 1.0,
            (true, true) => next_power_of_two(least) as f32,
            (true, false) => least as f32,
        };
        scale.max(f32::MIN_POSITIVE)
    };
    let scales: Vec<f32> = least.iter().map(scale).collect();
    if !scales.iter().all(|scale| scale.is_finite()) {
        let text = "its weights are too large for a scale in f32";
        return refused(ReasonCode::WeightScale, text);
    }
    let zero = |(&scale, &(low, _)): (&f32, &(f64, f64))| match symmetric {
        true => 0,
        false => zero_of(low, scale.into(), codes(scheme)),
    };
    let zeros: Vec<i32> = scales.iter().zip(&ends).map(zero).collect();
    let grid = match (per, scales.first(), zeros.first()) {
        (Granularity::Tensor, Some(&scale), Some(&zero)) => QuantParams::tensor(scale, zero),
        _ => {
            let (axis, block) = match per {
                Granularity::Block { axis, size } => (axis, NonZeroU32::new(size)),
                Granularity::Channel { axis } => (axis, None),
                Granularity::Tensor => (0, None),
            };
            QuantParams {
                zero_point: match symmetric {
                    true => Per::Tensor(0),
                    false => zeros.into_iter().collect(),
                },
                block,
                ..QuantParams::channel(scales.into(), axis)
            }
        }
    };
    Ok(Some(Weights::Grid(grid, raised)))
}

/// Finds the scales that have to be raised because they are too small for an f32 of full precision. Returns the channel
/// whose scale is raised the most, or `None` if no scale is raised. The weights have `channels` channels.
///
/// # Errors
/// A scale would have to be raised, but the settings say that the weights should then stay in float. The error has the
/// reason.
fn raised(
    how: &Annotation<'_>,
    node: NodeId,
    weights: ValueId,
    least: &[f64],
    channels: usize,
) -> Result<Option<Raised>, Failure> {
    let finest = f64::from(f32::MIN_POSITIVE);
    let of_channel = (least.len() / channels.max(1)).max(1);
    let small = least
        .iter()
        .enumerate()
        .filter(|(_, least)| **least > 0.0 && **least < finest);
    let small: Vec<(usize, f64)> = small.map(|(part, least)| (part / of_channel, finest / least)).collect();
    let Some(&(channel, factor)) = small.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Ok(None);
    };
    let reason = Reason::new(ReasonCode::WeightScale, "its weights are too small for a scale in f32");
    match how.settings.unfit(node) {
        Unfit::Float | Unfit::Error => Err(reason.into()),
        Unfit::Coarser => Ok(Some(Raised {
            node,
            weights,
            channel,
            factor,
            channels: small.iter().map(|(channel, _)| channel).collect::<BTreeSet<_>>().len(),
            reason,
        })),
    }
}

/// The elements of a tensor, with the elements of each part next to each other. All parts have the same length.
fn by_part(values: &[f32], parts: &Parts) -> Vec<f32> {
    let each = values.len() / parts.count().max(1);
    let mut filled = vec![0; parts.count()];
    let mut sorted = vec![0.0; values.len()];
    for (index, &value) in values.iter().enumerate() {
        let part = parts.of(index);
        let Some(filled) = filled.get_mut(part) else { continue };
        if let Some(at) = sorted.get_mut(part * each + *filled) {
            *at = value;
        }
        *filled += 1;
    }
    sorted
}
