//! Loss by grids of the model that the target cannot have.

use crate::annotate::model_grids::{ModelGrids, numbers};
use std::collections::BTreeMap;
use strait_core::{Elem, Failure, Graph, Module, NodeId, Port, QuantParams, Reason, ValueId};

/// A value of the model that was on a grid which the target cannot have, and is on another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Requantized {
    /// The node that could not have the grid.
    pub node: NodeId,
    /// Why.
    pub reason: Reason,
    /// The value.
    pub value: ValueId,
    /// Type of the codes and grid, as the model has them.
    pub from: (Elem, QuantParams),
    /// The same as they are now; of several readers with grids of their own, those of the first.
    pub to: (Elem, QuantParams),
    /// Loss by that.
    pub loss: RequantizedLoss,
}

/// Loss by another grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RequantizedLoss {
    /// The largest step is so many times the smallest one of the model.
    Steps(f64),
    /// Of a constant: the power of its numbers in the model, by that of their change; infinite where nothing changes.
    Noise(f64),
}

/// The values that are `free` of the grids that the model has for them, and have codes in an annotated graph whose parameters
/// are baked. `free` says which nodes could not have the grids, and why.
///
/// # Errors
/// A defect of ours.
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

/// The ports that a value has in a graph: where it is made, then where it is read.
fn ports(graph: &Graph, value: ValueId) -> impl Iterator<Item = (NodeId, Port)> {
    let made = graph.producer(value).and_then(|(id, node)| {
        let position = node.outputs.iter().position(|&output| output == value)?;
        Some((id, Port::Result(position)))
    });
    let read = graph.uses(value).map(|at| (at.node, Port::Operand(at.operand.into())));
    made.into_iter().chain(read)
}

/// Σ before² / Σ (before − after)².
fn noise(before: &[f32], after: &[f32]) -> f64 {
    let square = |x: f64| x * x;
    let power: f64 = before.iter().map(|&x| square(x.into())).sum();
    let change: f64 = before
        .iter()
        .zip(after)
        .map(|(&a, &b)| square(f64::from(a) - f64::from(b)))
        .sum();
    match change > 0.0 {
        true => power / change,
        false => f64::INFINITY,
    }
}

/// The largest step of a grid by the smallest one of another.
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
