//! Finds how much accuracy is lost where the target does not support a grid of the model.

use crate::annotate::model_grids::{ModelGrids, numbers};
use std::collections::BTreeMap;
use strait_core::{Elem, Failure, Graph, Module, NodeId, Port, QuantParams, Reason, ValueId};

/// A value of the model that is on another grid now, because the target does not support the model's grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Requantized {
    /// The node that does not support the model's grid.
    pub node: NodeId,
    /// The reason why the node does not support it.
    pub reason: Reason,
    /// The value that is on another grid now.
    pub value: ValueId,
    /// The type of the codes and the grid that the value has in the model.
    pub from: (Elem, QuantParams),
    /// The type of the codes and the grid that the value has now. If several readers have grids of their own, this is
    /// the grid of the first reader.
    pub to: (Elem, QuantParams),
    /// How much accuracy is lost by changing to the other grid.
    pub loss: RequantizedLoss,
}

/// How much accuracy is lost by changing to another grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RequantizedLoss {
    /// The largest step of the new grid, divided by the smallest step of the model's grid.
    Steps(f64),
    /// For a constant: the mean square of its numbers in the model, divided by the mean square of their change.
    /// Infinite if no number changes.
    Noise(f64),
}

/// Finds out how much accuracy is lost by each value in `free` that has codes in the annotated graph. `free` lists the
/// values that may have other grids than in the model. For each value, it also gives the node that did not support the
/// model's grid, and the reason. The parameters of the graph are already baked.
///
/// # Errors
/// A defect of the compiler.
pub fn requantized(
    module: &Module,
    grids: &ModelGrids,
    free: &BTreeMap<ValueId, (NodeId, Reason)>,
) -> Result<Vec<Requantized>, Failure> {
    let (graph, mut found) = (module.main(), Vec::new());
    for (value, from) in grids.iter() {
        let (Some((node, reason)), Some(codes)) = (free.get(&value), from.codes) else {
            continue;
        };
        let configs = ports(graph, value).filter_map(|(node, port)| graph.quant.id(node, port));
        let known = |config| {
            Some((
                config,
                graph.quant.config(config)?.scheme.elem()?,
                graph.quant.params(config)?,
            ))
        };
        let Some((config, elem, to)) = configs.filter_map(known).next() else {
            continue;
        };
        let baked = graph
            .quant
            .config(config)
            .and_then(|config| graph.quant.baked(config.node, config.port));
        let constants = module
            .constant(graph, value)
            .zip(baked.and_then(|baked| module.data(baked)));
        let loss = match constants {
            Some((real, baked)) => RequantizedLoss::Noise(noise(&real.to_f32()?, &numbers(baked, &to)?)),
            None => RequantizedLoss::Steps(steps(from, &to)),
        };
        found.push(Requantized {
            node: *node,
            reason: reason.clone(),
            value,
            from: (codes, from.bare()),
            to: (elem, (*to).clone()),
            loss,
        });
    }
    Ok(found)
}

/// The ports of a value in a graph: first the one where it is made, then those where it is read.
fn ports(graph: &Graph, value: ValueId) -> impl Iterator<Item = (NodeId, Port)> {
    let made = graph.producer(value).and_then(|(id, node)| {
        let position = node.outputs.iter().position(|&output| output == value)?;
        Some((id, Port::Result(position)))
    });
    let read = graph.uses(value).map(|at| (at.node, Port::Operand(at.operand.into())));
    made.into_iter().chain(read)
}

/// The ratio of signal to noise: Σ before² / Σ (before − after)².
fn noise(before: &[f32], after: &[f32]) -> f64 {
    let square = |x: f64| x * x;
    let power: f64 = before.iter().map(|&x| square(x.into())).sum();
    let change: f64 = before
        .iter()
        .zip(after)
        .map(|(&a, &b)| square(f64::from(a) - f64::from(b)))
        .sum();
    if change > 0.0 { power / change } else { f64::INFINITY }
}

/// The largest step of one grid, divided by the smallest step of another.
fn steps(from: &QuantParams, to: &QuantParams) -> f64 {
    let scales = |grid: &QuantParams| {
        let parts = grid.scale.channels().unwrap_or(1);
        (0..parts)
            .filter_map(|part| grid.scale.get(part).copied().map(f64::from))
            .collect::<Vec<_>>()
    };
    let finest = scales(from).into_iter().fold(f64::INFINITY, f64::min);
    scales(to).into_iter().fold(0.0, f64::max) / finest
}
