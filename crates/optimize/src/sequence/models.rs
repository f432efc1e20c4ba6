//! Runs the float model and the quantized model side by side, segment by segment. The quantized model has the parameters that
//! were chosen for earlier layers. Each node of both models runs once for each sample.

use super::frontier::Frontier;
use super::layers::Layer;
use super::shift::Shift;
use super::store::Store;
use super::task::{LayerOutcome, Task, Untouched};
use crate::error::Error;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use strait_core::{Module, NodeId, ValueId};
use strait_exchange::Portable;
use strait_execute::{Demand, Pass, Plan, PlanOptions, Tensor, TensorView, Threads, Workspace, cost};
use strait_lower::{Baked, Parameters, Segment, rebake, simulate_segment};

/// The bytes of values between two segments that stay in memory. Other values are in temporary files.
const KEPT: usize = 8 << 20;

/// The two models, and how far they have run.
pub(crate) struct Models<'a> {
    task: &'a Task<'a>,
    /// The annotated graph with the parameters that were chosen so far.
    module: Module,
    baked: Baked,
    /// The float model and the quantized model.
    frontiers: [Frontier; 2],
    stores: [Store; 2],
    /// What has to be added to values of the quantized model that were kept before the bias of their layer was chosen.
    shifts: BTreeMap<ValueId, Shift>,
}

/// What the next segments have to reach, and what they return.
pub(crate) struct Goal {
    /// The values up to which the float model and the quantized model run.
    pub(crate) reach: [Vec<ValueId>; 2],
    /// The operands of nodes that the quantized model returns as codes times their scale. If there are none, it returns the
    /// values that it has reached, in real numbers.
    pub(crate) operands: Vec<(NodeId, usize)>,
}

impl<'a> Models<'a> {
    /// `reach` are all values that goals will have to reach.
    pub(crate) fn new(task: &'a Task<'a>, reach: [Vec<ValueId>; 2]) -> Models<'a> {
        let (graph, count) = (task.annotated.main(), task.samples.count());
        Models {
            task,
            module: task.annotated.clone(),
            baked: Baked::default(),
            frontiers: reach.map(|values| Frontier::new(graph, values.into_iter())),
            stores: [(); 2].map(|()| Store::new(count, KEPT / 2)),
            shifts: BTreeMap::new(),
        }
    }

    /// Runs both models on all samples up to a goal. For each sample, `visit` gets its index and what the float model and the
    /// quantized model return. `sink` gets its results in the order of the samples.
    ///
    /// If several processes share the samples, the values between segments stay in the process that runs the sample, and only
    /// the results of `visit` are exchanged.
    pub(crate) fn advance<R: Portable + Send>(
        &mut self,
        goal: Goal,
        visit: impl Fn(usize, [&[&Tensor]; 2]) -> R + Sync,
        mut sink: impl FnMut(usize, R) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let task = self.task;
        let graph = task.annotated.main();
        let [float, quantized] = &mut self.frontiers;
        let mut segments = [
            float.advance(graph, &goal.reach[0]),
            quantized.advance(graph, &goal.reach[1]),
        ];
        let kept = segments.each_ref().map(|segment| segment.values.len());
        let returned = [
            goal.reach[0].len(),
            if goal.operands.is_empty() {
                goal.reach[1].len()
            } else {
                0
            },
        ];
        // Where each value that is returned is among the results of its segment.
        let mut places: [Vec<usize>; 2] = Default::default();
        for (model, segment) in segments.iter_mut().enumerate() {
            for value in &goal.reach[model][..returned[model]] {
                let place = segment.values.iter().position(|kept| kept == value);
                places[model].push(place.unwrap_or(segment.values.len()));
                segment.values.extend(place.is_none().then_some(*value));
            }
        }
        places[1].extend((0..goal.operands.len()).map(|at| segments[1].values.len() + at));
        segments[1].operands = goal.operands;
        let modules = [
            simulate_segment(task.float, None, Parameters::Reals, &segments[0])?,
            simulate_segment(&self.module, Some(task.spec), Parameters::Reals, &segments[1])?,
        ];
        let mut threads = task.threads;
        for module in &modules {
            let demand = Demand::new(cost(module, module.main)?);
            threads = threads.min(task.limits.admit(&demand, task.threads)?);
        }
        let plan = |module: &'_ Module| Plan::new(module, module.main, &PlanOptions::default());
        let (plans, count) = ([plan(&modules[0])?, plan(&modules[1])?], task.samples.count());
        let worker = || Ok(plans.each_ref().map(|plan| Workspace::new(plan, &Threads::one())));
        let this = &*self;
        let work = |workspaces: &mut [Workspace; 2], at: usize| {
            let sample = this.sample(&segments, at)?;
            let mut made: [Vec<Tensor>; 2] = Default::default();
            for (model, workspace) in workspaces.iter_mut().enumerate() {
                let inputs = this.inputs(model, &segments[model], (&sample, at))?;
                let views: Vec<TensorView<'_>> = inputs.iter().map(|tensor| tensor.view()).collect();
                made[model] = plans[model].run(workspace, &views)?;
            }
            let results: [Vec<&Tensor>; 2] =
                std::array::from_fn(|model| places[model].iter().filter_map(|&at| made[model].get(at)).collect());
            let visited = visit(at, results.each_ref().map(Vec::as_slice));
            made.iter_mut().zip(kept).for_each(|(made, kept)| made.truncate(kept));
            Ok((made, visited))
        };
        let mut stores = [(); 2].map(|()| Store::new(count, KEPT / 2));
        let pass = Pass {
            exchange: task.samples.exchange(),
            name: "optimise",
            count,
            threads,
        };
        let keep = |at: usize, values: [Vec<Tensor>; 2]| {
            for ((store, segment), tensors) in stores.iter_mut().zip(&segments).zip(values) {
                for (&value, tensor) in segment.values.iter().zip(tensors) {
                    store.put(at, value, tensor)?;
                }
            }
            Ok(())
        };
        let run = pass.map_keeping(worker, work, keep, |at, visited| {
            sink(at, visited)?;
            Ok(ControlFlow::Continue(()))
        });
        run.map_err(Error::of_sample)?;
        for (model, made) in stores.into_iter().enumerate() {
            let (frontier, store) = (&self.frontiers[model], &mut self.stores[model]);
            store.retain(|value| frontier.is_needed(graph, value));
            store.absorb(made);
        }
        Ok(())
    }

    /// A sample, if a segment reads inputs of the graph.
    fn sample(&self, segments: &[Segment; 2], at: usize) -> Result<Vec<Arc<Tensor>>, Error> {
        let inputs = self.task.annotated.main().inputs();
        let mut read = segments.iter().flat_map(|segment| &segment.inputs);
        if !read.any(|value| inputs.contains(value)) {
            return Ok(Vec::new());
        }
        let sample = self.task.samples.sample(at);
        let sample = sample.map_err(|text| Error::Sample { index: at, text })?;
        Ok(sample.into_iter().map(Arc::new).collect())
    }

    /// The inputs of a segment of one of the models for one sample.
    fn inputs(
        &self,
        model: usize,
        segment: &Segment,
        (sample, at): (&[Arc<Tensor>], usize),
    ) -> Result<Vec<Arc<Tensor>>, Error> {
        let inputs = self.task.annotated.main().inputs();
        let input = |&value: &ValueId| match inputs.iter().position(|&input| input == value) {
            Some(position) => {
                let text = "it has too few tensors".to_owned();
                let missing = || Error::Sample { index: at, text };
                sample.get(position).cloned().ok_or_else(missing)
            }
            None => {
                let missing = || Error::Defect("a value between two segments is missing".into());
                let tensor = self.stores[model].get(at, value)?.ok_or_else(missing)?;
                match self.shifts.get(&value).filter(|_| model == 1) {
                    Some(shift) => Ok(Arc::new(shift.apply(&tensor)?)),
                    None => Ok(tensor),
                }
            }
        };
        segment.inputs.iter().map(input).collect()
    }

    /// Adds numbers to the values that a layer of the quantized model has made so far, and to all that it makes later.
    pub(crate) fn shift(&mut self, value: ValueId, shift: Shift) {
        self.shifts.insert(value, shift);
    }

    /// Gives the parameters that were chosen for a layer to the quantized model.
    pub(crate) fn choose(&mut self, layer: &Layer, outcome: &LayerOutcome) -> Result<(), Untouched> {
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
