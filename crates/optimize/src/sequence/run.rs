//! Chooses the parameters of all layers, level by level. The layers of a level do not depend on each other.

use super::frontier::levels;
use super::layers::{self, Layer};
use super::means::{self, Sums};
use super::models::{Goal, Models};
use super::positions::{self, Observed};
use super::task::{LayerOutcome, Optimised, Task, Untouched};
use crate::error::Error;
use crate::fidelity::{HELD, is_held};
use crate::layer::positions::Positions;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use strait_core::{NodeId, ValueId};
use strait_execute::{Tensor, Threads};

/// Chooses the parameters of the layers. `done` is called with the number of finished layers.
///
/// # Errors
/// [`Error`].
pub fn optimise(task: &Task<'_>, done: &mut dyn FnMut(usize) -> ControlFlow<()>) -> Result<Optimised, Error> {
    let (found, left) = layers::find(task.float, task.annotated);
    let untouched = left.into_iter().map(|(id, why)| (id, Untouched(why.to_owned())));
    let mut optimised = Optimised {
        layers: BTreeMap::new(),
        untouched: untouched.collect(),
    };
    if task.samples.count() < HELD {
        let why = format!("codes are chosen from {HELD} samples or more, because some of them only judge the result");
        let all = found.iter().map(|layer| (layer.node, Untouched(why.clone())));
        optimised.untouched.extend(all);
        return Ok(optimised);
    }
    let nodes: BTreeSet<NodeId> = found.iter().map(|layer| layer.node).collect();
    let by_node: BTreeMap<NodeId, &Layer> = found.iter().map(|layer| (layer.node, layer)).collect();
    // Codes are chosen from what a layer reads. A bias is chosen from what the layer makes.
    let read = usize::from(!task.algorithms.round);
    let reach = |layers: &[&Layer]| [1, read].map(|at| layers.iter().map(|layer| layer.values[at]).collect::<Vec<_>>());
    let mut models = Models::new(task, reach(&found.iter().collect::<Vec<_>>()));
    for level in levels(task.annotated.main(), &nodes) {
        let level: Vec<&Layer> = level.iter().filter_map(|id| by_node.get(id).copied()).collect();
        let reach = reach(&level);
        let outcomes = match task.algorithms.round {
            true => codes(task, &mut models, &level, reach)?,
            false => biases(task, &mut models, &level, reach)?,
        };
        for (layer, outcome) in level.iter().zip(outcomes) {
            // If the processes that share the samples do not choose the same, it is told at the next level.
            if let (Some(exchange), Ok(outcome)) = (task.samples.exchange(), &outcome) {
                exchange.note(&outcome.bytes());
            }
            match outcome {
                Ok(outcome) => _ = optimised.layers.insert(layer.node, outcome),
                Err(why) => _ = optimised.untouched.insert(layer.node, why),
            }
            if done(optimised.layers.len()).is_break() {
                return Err(Error::Stopped);
            }
        }
    }
    Ok(optimised)
}

/// What was chosen for each layer of a level, or why it cannot be used.
type Outcomes = Vec<Result<LayerOutcome, Untouched>>;

/// Chooses the codes and the biases of a level.
fn codes(
    task: &Task<'_>,
    models: &mut Models<'_>,
    level: &[&Layer],
    reach: [Vec<ValueId>; 2],
) -> Result<Outcomes, Error> {
    let count = task.samples.count();
    let mut observed: Vec<Observed> = level.iter().map(|layer| [layer.empty(0), layer.empty(0)]).collect();
    let goal = Goal {
        reach,
        operands: level.iter().map(|layer| (layer.node, 0)).collect(),
    };
    let visit = |at: usize, [float, quantized]: [&[&Tensor]; 2]| -> Vec<Vec<Positions>> {
        let layers = level.iter().zip(quantized.iter().zip(float));
        layers.map(|(layer, (x, y))| layer.gather(at, count, x, y)).collect()
    };
    models.advance(goal, visit, |at, gathered| {
        let held = count / HELD;
        let (kind, samples) = if is_held(at) { (1, held) } else { (0, count - held) };
        for (observed, gathered) in observed.iter_mut().zip(gathered) {
            for (all, one) in observed[kind].iter_mut().zip(gathered) {
                if !all.fits(&one) {
                    return Err(Error::Defect(
                        "another share has delivered positions of another layer".into(),
                    ));
                }
                all.extend(one, samples);
            }
        }
        Ok(())
    })?;
    let threads = Threads::new(task.threads);
    let mut outcomes = Outcomes::new();
    for (layer, observed) in level.iter().zip(observed) {
        let outcome = threads.run(|| positions::solve(task, layer, observed))?;
        outcomes.push(models.choose(layer, &outcome).map(|()| outcome));
    }
    Ok(outcomes)
}

/// Chooses the biases of a level.
fn biases(
    task: &Task<'_>,
    models: &mut Models<'_>,
    level: &[&Layer],
    reach: [Vec<ValueId>; 2],
) -> Result<Outcomes, Error> {
    let mut observed: Vec<Vec<Sums>> = vec![Vec::new(); level.len()];
    let operands = Vec::new();
    let visit = |at: usize, [float, quantized]: [&[&Tensor]; 2]| -> Vec<Sums> {
        let layers = level.iter().zip(float.iter().zip(quantized));
        layers
            .map(|(layer, (float, made))| Sums::of(layer, at, [float, made]))
            .collect()
    };
    models.advance(Goal { reach, operands }, visit, |_, sums| {
        observed.iter_mut().zip(sums).for_each(|(all, one)| all.push(one));
        Ok(())
    })?;
    let mut outcomes = Outcomes::new();
    for (layer, sums) in level.iter().zip(&observed) {
        let (outcome, shift) = means::solve(task, layer, sums)?;
        let chosen = models.choose(layer, &outcome);
        if chosen.is_ok() {
            models.shift(layer.values[1], shift);
        }
        outcomes.push(chosen.map(|()| outcome));
    }
    Ok(outcomes)
}
