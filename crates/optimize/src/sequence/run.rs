//! Chooses the codes of all layers, level by level.
//!
//! The layers of a level do not depend on each other. For each level, the float model and the quantized model run on all
//! samples up to the inputs of the level's layers. The quantized model already has the codes that were chosen for earlier
//! levels. So each node of both models runs once for each sample.

use super::frontier::{Frontier, levels};
use super::layers::{self, Layer};
use super::store::Store;
use crate::error::Error;
use crate::fidelity::{HELD, is_gain, is_held};
use crate::layer::candidates::{Algorithms, Candidate, Choice, Problem};
use crate::layer::positions::{Positions, exponent};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;
use strait_core::{Graph, Module, NodeId, Port, QuantParams, TensorData, ValueId};
use strait_execute::{Demand, Limits, Plan, PlanOptions, Tensor, TensorView, Threads, Workspace, cost, map_in_order};
use strait_lower::{Baked, Chosen, Parameters, Segment, rebake, simulate_segment};
use strait_quantize::observe::Samples;
use strait_target::TargetSpec;

/// The number of positions of a layer, over all samples, from which its codes are chosen.
const POSITIONS: usize = 6_000;

/// The largest number of inputs at all positions of a layer together.
const ELEMENTS: usize = 8 << 20;

/// The bytes of values between two segments that stay in memory. Other values are in temporary files.
const KEPT: usize = 64 << 20;

/// What an optimisation works on.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The float graph.
    pub float: &'a Module,
    /// The annotated graph, whose parameters are baked. Its nodes and values have the ids of the float graph.
    pub annotated: &'a Module,
    /// The target.
    pub spec: &'a TargetSpec,
    /// The calibration samples.
    pub samples: &'a dyn Samples,
    /// What may be done.
    pub algorithms: Algorithms,
    /// The limits of the runs.
    pub limits: Limits,
    /// The number of threads. The result does not depend on it.
    pub threads: NonZeroUsize,
}

/// The parameters that were chosen, and what was not chosen.
#[derive(Clone, Debug, Default)]
pub struct Optimised {
    /// The layers for which there were candidates.
    pub layers: BTreeMap<NodeId, LayerOutcome>,
    /// The other nodes whose weights have codes, with the reasons.
    pub untouched: BTreeMap<NodeId, Untouched>,
}

impl Optimised {
    /// True if something was chosen in this way for a layer.
    pub fn has(&self, choice: Choice) -> bool {
        self.layers.values().any(|layer| layer.choice == choice)
    }

    /// Gives up what was chosen for a layer.
    pub fn reject(&mut self, id: NodeId, why: &str) {
        if self.layers.remove(&id).is_some() {
            self.untouched.insert(id, Untouched(why.to_owned()));
        }
    }

    /// Gives up what was chosen for all layers.
    pub fn reject_all(&mut self, why: &str) {
        for id in std::mem::take(&mut self.layers).into_keys() {
            self.untouched.insert(id, Untouched(why.to_owned()));
        }
    }
}

/// Why no codes were chosen for a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untouched(pub String);

/// The parameters that were chosen for one layer.
#[derive(Clone, Debug)]
pub struct LayerOutcome {
    /// How the parameters were made.
    pub choice: Choice,
    /// The root of the mean squared error of the layer's results on the samples that were left out, for each candidate.
    pub errors: Vec<(Choice, f64)>,
    /// The grid of the weights on which the parameters were chosen.
    pub grid: Arc<QuantParams>,
    /// The codes of the weights. `None` if each weight is rounded to the nearest code.
    pub weights: Option<TensorData>,
    /// The bias in real numbers. `None` if the bias is the model's.
    pub bias: Option<TensorData>,
}

impl LayerOutcome {
    /// Adds the parameters to the tensors of a module, for baking.
    pub fn chosen(&self, module: &mut Module) -> Chosen {
        let mut add = |tensor: &TensorData| module.add_data(tensor.clone());
        Chosen {
            grid: self.grid.clone(),
            weights: self.weights.as_ref().map(&mut add),
            bias: self.bias.as_ref().map(&mut add),
        }
    }
}

/// The number of layers whose codes can be chosen.
pub fn layers(float: &Module, annotated: &Module) -> usize {
    layers::find(float, annotated).0.len()
}

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
    let mut sequence = Sequence::new(task, &found);
    let nodes: BTreeSet<NodeId> = found.iter().map(|layer| layer.node).collect();
    let by_node: BTreeMap<NodeId, &Layer> = found.iter().map(|layer| (layer.node, layer)).collect();
    let threads = Threads::new(task.threads);
    for level in levels(task.annotated.main(), &nodes) {
        let level: Vec<&Layer> = level.iter().filter_map(|id| by_node.get(id).copied()).collect();
        let observed = sequence.observe(&level)?;
        for (layer, observed) in level.iter().zip(observed) {
            let outcome = threads.run(|| solve(task, layer, observed))?;
            match sequence.choose(layer, &outcome) {
                Ok(()) => _ = optimised.layers.insert(layer.node, outcome),
                Err(why) => _ = optimised.untouched.insert(layer.node, why),
            }
            if done(optimised.layers.len()).is_break() {
                return Err(Error::Stopped);
            }
        }
    }
    Ok(optimised)
}

/// What the groups of a layer read and should make: first where codes are computed, then where they are compared.
type Observed = [Vec<Positions>; 2];

struct Sequence<'a> {
    task: &'a Task<'a>,
    /// The annotated graph with the parameters that were chosen so far.
    module: Module,
    baked: Baked,
    /// The float model and the quantized model.
    frontiers: [Frontier; 2],
    stores: [Store; 2],
}

impl<'a> Sequence<'a> {
    fn new(task: &'a Task<'a>, layers: &[Layer]) -> Sequence<'a> {
        let (graph, count) = (task.annotated.main(), task.samples.count());
        let wanted = |at: usize| layers.iter().map(move |layer| layer.values[at]);
        Sequence {
            task,
            module: task.annotated.clone(),
            baked: Baked::default(),
            frontiers: [1, 0].map(|at| Frontier::new(graph, wanted(at))),
            stores: [(); 2].map(|()| Store::new(count, KEPT / 2)),
        }
    }

    /// Runs both models up to the layers of a level.
    fn observe(&mut self, level: &[&Layer]) -> Result<Vec<Observed>, Error> {
        let task = self.task;
        let graph = task.annotated.main();
        let wanted = |at: usize| level.iter().map(|layer| layer.values[at]).collect::<Vec<_>>();
        let mut float = self.frontiers[0].advance(graph, &wanted(1));
        let kept = [float.values.len(), 0];
        float.values.extend(wanted(1));
        let mut quantized = self.frontiers[1].advance(graph, &wanted(0));
        let kept = [kept[0], quantized.values.len()];
        quantized.operands = level.iter().map(|layer| (layer.node, 0)).collect();
        let modules = [
            simulate_segment(task.float, None, Parameters::Reals, &float)?,
            simulate_segment(&self.module, Some(task.spec), Parameters::Reals, &quantized)?,
        ];
        let mut threads = task.threads;
        for module in &modules {
            let demand = Demand::new(cost(module, module.main)?);
            threads = threads.min(task.limits.admit(&demand, task.threads)?);
        }
        let plan = |module: &'_ Module| Plan::new(module, module.main, &PlanOptions::default());
        let plans = [plan(&modules[0])?, plan(&modules[1])?];
        let (segments, count) = ([float, quantized], task.samples.count());
        let mut found: Vec<Observed> = level.iter().map(|layer| [layer.empty(), layer.empty()]).collect();
        let stores = &self.stores;
        let worker = || Ok(plans.each_ref().map(|plan| Workspace::new(plan, &Threads::one())));
        let work = |workspaces: &mut [Workspace; 2], at: usize| {
            let sample = task
                .samples
                .sample(at)
                .map_err(|text| Error::Sample { index: at, text })?;
            let sample: Vec<Arc<Tensor>> = sample.into_iter().map(Arc::new).collect();
            let [float, quantized] = workspaces;
            let run = |model: usize, workspace: &mut Workspace| {
                let inputs = inputs(graph, &segments[model], &sample, (&stores[model], at))?;
                let views: Vec<TensorView<'_>> = inputs.iter().map(|tensor| tensor.view()).collect();
                Ok::<_, Error>(plans[model].run(workspace, &views)?)
            };
            let mut float = run(0, float)?;
            let mut quantized = run(1, quantized)?;
            let results = float.split_off(kept[0]);
            let operands = quantized.split_off(kept[1]);
            let gathered: Vec<Vec<Positions>> = level
                .iter()
                .zip(operands.iter().zip(&results))
                .map(|(layer, (x, y))| layer.gather(at, count, x, y))
                .collect();
            Ok(([float, quantized], gathered))
        };
        let mut made = [(); 2].map(|()| Store::new(count, KEPT / 2));
        let run = map_in_order(count, threads, worker, work, |at, (values, gathered)| {
            for (found, gathered) in found.iter_mut().zip(gathered) {
                let role = usize::from(is_held(at));
                for (all, one) in found[role].iter_mut().zip(gathered) {
                    all.x.extend(one.x);
                    all.y.extend(one.y);
                }
            }
            for ((made, segment), tensors) in made.iter_mut().zip(&segments).zip(values) {
                for (&value, tensor) in segment.values.iter().zip(tensors) {
                    made.put(at, value, tensor)?;
                }
            }
            Ok(ControlFlow::Continue(()))
        });
        run.map_err(Error::of_sample)?;
        for (model, made) in made.into_iter().enumerate() {
            let (frontier, store) = (&self.frontiers[model], &mut self.stores[model]);
            store.retain(|value| frontier.is_needed(graph, value));
            store.absorb(made);
        }
        Ok(found)
    }

    /// Gives the parameters that were chosen for a layer to the quantized model.
    fn choose(&mut self, layer: &Layer, outcome: &LayerOutcome) -> Result<(), Untouched> {
        let chosen = outcome.chosen(&mut self.module);
        self.baked.choose(layer.node, Some(chosen));
        let spec = self.task.spec;
        rebake(&mut self.module, spec, &mut self.baked, layer.node).map_err(|refused| {
            self.baked.choose(layer.node, None);
            // The model's own parameters were baked before, so they fit.
            _ = rebake(&mut self.module, spec, &mut self.baked, layer.node);
            Untouched(refused.to_string())
        })
    }
}

/// The inputs of a segment for one sample.
fn inputs(
    graph: &Graph,
    segment: &Segment,
    sample: &[Arc<Tensor>],
    (store, at): (&Store, usize),
) -> Result<Vec<Arc<Tensor>>, Error> {
    let input = |&value: &ValueId| match graph.inputs().iter().position(|&input| input == value) {
        Some(position) => {
            let text = || "it has too few tensors".to_owned();
            sample.get(position).cloned().ok_or_else(|| Error::Sample {
                index: at,
                text: text(),
            })
        }
        None => {
            let missing = || Error::Defect("a value between two segments is missing".into());
            store.get(at, value)?.ok_or_else(missing)
        }
    };
    segment.inputs.iter().map(input).collect()
}

impl Layer {
    fn empty(&self) -> Vec<Positions> {
        vec![Positions::new(self.geometry.width(), self.geometry.outputs()); self.geometry.groups()]
    }

    /// What the layer reads and should make at some positions of one sample. The positions are evenly spread, and begin
    /// elsewhere in each sample.
    fn gather(&self, sample: usize, samples: usize, x: &Tensor, y: &Tensor) -> Vec<Positions> {
        let mut groups = self.empty();
        let (Ok(of_x), Ok(of_y)) = (x.values::<f32>(), y.values::<f32>()) else {
            return groups;
        };
        let all = self.geometry.positions(y.shape());
        let most = POSITIONS.min(ELEMENTS / (self.geometry.width() * self.geometry.groups()).max(1));
        let count = all.min(most.div_ceil(samples.max(1)));
        // The fractional parts of multiples of the golden ratio are spread evenly.
        let offset = (sample as f64 * 0.618_033_988_749_895).fract();
        for at in 0..count {
            let position = ((at as f64 + offset) * all as f64 / count as f64) as usize;
            let (x, y) = ((of_x, x.shape()), (of_y, y.shape()));
            self.geometry.gather(position.min(all - 1), x, y, &mut groups);
        }
        groups
    }
}

/// Makes the candidates of all groups of a layer and chooses one.
fn solve(task: &Task<'_>, layer: &Layer, mut observed: Observed) -> Result<LayerOutcome, Error> {
    let missing = || Error::Defect("a parameter is missing".into());
    let tensor = task.float.data(layer.weights).ok_or_else(missing)?;
    let weights = tensor.to_f32().map_err(|error| Error::Defect(error.to_string()))?;
    let bias = layer
        .bias
        .and_then(|bias| task.float.data(bias))
        .map(TensorData::to_f32);
    let bias = bias.transpose().map_err(|error| Error::Defect(error.to_string()))?;
    let codes = task.annotated.main().quant.baked(layer.node, Port::Operand(1));
    let codes = codes.and_then(|codes| task.annotated.data(codes)).ok_or_else(missing)?;
    let rounded = codes.to_i64().map_err(|error| Error::Defect(error.to_string()))?;
    let steps = integers(layer, &mut observed);
    let (outputs, [learned, held]) = (layer.geometry.outputs(), &observed);
    let groups: Vec<(Vec<usize>, Vec<Candidate>)> = (0..layer.geometry.groups())
        .into_par_iter()
        .map(|group| {
            let indices = layer.geometry.weights(group);
            let own: Vec<f32> = indices.iter().filter_map(|&at| weights.get(at).copied()).collect();
            let lattice = layer.lattice(tensor.shape(), &indices);
            let nearest: Vec<i32> = indices
                .iter()
                .filter_map(|&at| Some(*rounded.get(at)? as i32))
                .collect();
            let problem = Problem {
                learned: &learned[group],
                held: &held[group],
                samples: task.samples.count() / HELD,
                steps,
                weights: &own,
                bias: bias
                    .as_ref()
                    .and_then(|bias| bias.get(group * outputs..(group + 1) * outputs)),
                lattice: &lattice,
                nearest: &nearest,
            };
            (indices, problem.candidates(task.algorithms))
        })
        .collect();
    // A candidate of the layer has to exist for each of its groups.
    let mut errors: BTreeMap<Choice, (usize, Vec<f64>)> = BTreeMap::new();
    for candidate in groups.iter().flat_map(|(_, candidates)| candidates) {
        let (count, errors) = errors.entry(candidate.choice).or_default();
        errors.resize(candidate.errors.len(), 0.0);
        errors
            .iter_mut()
            .zip(&candidate.errors)
            .for_each(|(sum, error)| *sum += error);
        *count += 1;
    }
    errors.retain(|_, (count, _)| *count == groups.len());
    let mut choice = Choice::Nearest;
    for (&other, (_, after)) in &errors {
        // A choice that changes more has to be clearly better.
        if errors.get(&choice).is_some_and(|(_, before)| is_gain(before, after)) {
            choice = other;
        }
    }
    let numbers: usize = held.iter().map(|positions| positions.y.len()).sum();
    let root = |errors: &[f64]| (errors.iter().sum::<f64>() / numbers.max(1) as f64).sqrt();
    let errors: Vec<(Choice, f64)> = errors
        .iter()
        .map(|(&choice, (_, errors))| (choice, root(errors)))
        .collect();
    let mut chosen = vec![0; weights.len()];
    let mut corrected = Vec::new();
    for (indices, candidates) in &groups {
        let candidate = candidates
            .iter()
            .find(|candidate| candidate.choice == choice)
            .ok_or_else(missing)?;
        for (&index, &code) in indices.iter().zip(&candidate.codes) {
            chosen[index] = i64::from(code);
        }
        corrected.extend(candidate.bias.iter().flatten().copied());
    }
    let chosen = TensorData::from_integers(codes.elem(), tensor.shape(), &chosen);
    let chosen = chosen.map_err(|error| Error::Defect(error.to_string()))?;
    let bias = match corrected.is_empty() {
        true => None,
        false => {
            let made = TensorData::from_values(&[corrected.len() as u64], &corrected);
            Some(made.map_err(|error| Error::Defect(error.to_string()))?)
        }
    };
    Ok(LayerOutcome {
        choice,
        errors,
        grid: layer.grid.clone(),
        weights: matches!(choice, Choice::Round | Choice::Repair).then_some(chosen),
        bias,
    })
}

/// Converts what was observed to integers, and returns the steps of x and y.
fn integers(layer: &Layer, observed: &mut Observed) -> [f64; 2] {
    let all = || observed.iter().flatten();
    let largest = |of: fn(&Positions) -> &[f32]| {
        let magnitudes = all().flat_map(of).map(|element| element.abs());
        2f64.powi(exponent(magnitudes.fold(0.0, f32::max)))
    };
    let y = largest(|positions| &positions.y);
    // Codes are integers already. Real numbers get a grid with 2^15 steps.
    let x = match layer.scale {
        Some(scale) => f64::from(scale),
        None => largest(|positions| &positions.x) * 2f64.powi(7),
    };
    for positions in observed.iter_mut().flatten() {
        let round = |elements: &mut [f32], step: f64| {
            for element in elements {
                *element = (f64::from(*element) / step).round_ties_even() as f32;
            }
        };
        round(&mut positions.x, x);
        round(&mut positions.y, y);
    }
    [x, y]
}
