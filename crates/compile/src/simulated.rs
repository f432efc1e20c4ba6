//! Runs the fake-quantized model on samples. This model is the float graph, with rounding at each place where the
//! integer model has codes.
//!
//! Intermediate values are kept. After a revision, only nodes that depend on a changed value run again. The memory for
//! kept values is limited, so the smallest values are kept first: in most networks, the rest can be computed from a few
//! small values. A value that was not kept is computed again when a node needs it.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
    sync::{Arc, PoisonError},
};

use strait_core::{Def, Module, ValueId, shape::element_count};
use strait_execute::{
    Demand, ExecuteError, Plan, PlanOptions, SampleError, Tensor, TensorView, Threads, Workspace, cost, map_in_order,
};
use strait_lower::{LowerError, Parameters, Resimulated, resimulate, simulate};
use strait_quantize::observe::Samples;

use crate::built::{Last, Simulated, Values};
use crate::{Built, CompileError, Watch};

/// The number of bytes for kept values, if there is no memory limit.
const KEPT: u64 = 1 << 30;

/// The error for one sample. It does not contain the sample's index yet.
enum Failure {
    Data(String),
    Run(ExecuteError),
}

impl Built {
    /// The last simulation of this model, or of a model from which this one was revised.
    pub(crate) fn simulated(&self) -> Option<Arc<Simulated>> {
        let last = |of: &Last| of.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.kept.simulated.iter().find_map(last)
    }

    /// Runs the fake-quantized model on samples. If the previous run used the same samples, on this model or on the
    /// model from which this one was revised, only nodes whose results can have changed are run. For this, values are
    /// kept in a quarter of the memory that runs may take, or in 1 GiB if there is no limit. The outputs are the same,
    /// bit for bit, as those of a full run.
    ///
    /// # Errors
    /// Samples cannot be used, the model takes more than its limits allow, or the caller has asked to stop.
    pub fn simulate(&self, samples: &Arc<dyn Samples>, watch: &dyn Watch) -> Result<Arc<Simulated>, CompileError> {
        let last = self.simulated();
        let simulation = Simulation::new(self, &self.annotated);
        let start = last.as_deref().map_or(Start::Anew, Start::Again);
        let done = Arc::new(simulation.run(start, samples, watch)?);
        let [last, _] = &self.kept.simulated;
        *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(done.clone());
        Ok(done)
    }
}

/// Where a simulation starts.
#[derive(Clone, Copy)]
pub(crate) enum Start<'a> {
    /// The whole graph runs. Values are kept for later simulations.
    Anew,
    /// Only what differs from this simulation runs, if it was on the same samples. Values are kept for later
    /// simulations.
    Again(&'a Simulated),
    /// Only what differs from this simulation runs. No values are kept.
    From(&'a Simulated),
}

/// The simulation of an annotation of a built model's graph.
pub(crate) struct Simulation<'a> {
    built: &'a Built,
    annotated: &'a Module,
}

impl<'a> Simulation<'a> {
    /// The simulation of `annotated`, which is the annotated graph of `built` or the same graph with other configs.
    pub(crate) fn new(built: &'a Built, annotated: &'a Module) -> Simulation<'a> {
        Simulation { built, annotated }
    }

    /// Runs the samples.
    ///
    /// # Errors
    /// Errors of [`Built::simulate`].
    pub(crate) fn run(
        &self,
        start: Start<'_>,
        samples: &Arc<dyn Samples>,
        watch: &dyn Watch,
    ) -> Result<Simulated, CompileError> {
        // A partial run is not possible in two cases. If the model has bodies of control flow, these do not run in the
        // main graph. If a value has a grid from the model, the numbers that one reader gets depend on the other
        // readers.
        let by_parts = self.built.kept.bodies.is_empty() && self.built.own_grids.grids.is_empty();
        let (last, keeps) = match start {
            Start::Anew => (None, true),
            Start::Again(last) => (Some(last), true),
            Start::From(last) => (Some(last), false),
        };
        let last = last.filter(|last| by_parts && Arc::ptr_eq(&last.samples, samples));
        let (graph, count) = (self.annotated.main(), samples.count());
        let part = self.part(last).map_err(CompileError::defect)?;
        let keeps = match last {
            _ if !keeps || !by_parts => BTreeSet::new(),
            Some(last) => last.keeps.clone(),
            None => self.worth_keeping(count),
        };
        let mut outputs = last.map_or_else(|| vec![vec![]; count], |last| last.outputs.clone());
        let mut kept = match last {
            Some(last) if !keeps.is_empty() => last.kept.clone(),
            _ => vec![Values::new(); count],
        };
        let made = part.nodes.iter().filter_map(|&id| graph.node(id));
        let made: BTreeSet<ValueId> = made.flat_map(|node| node.outputs.iter().copied()).collect();
        kept.iter_mut()
            .for_each(|kept| kept.retain(|value, _| !made.contains(value)));
        if !part.outputs.is_empty() {
            let own = self.built.kept.bodies.own_inputs(graph);
            let position = |value: &ValueId| own.iter().position(|input| input == value);
            let reads_samples = part.inputs.iter().any(|value| position(value).is_some());
            let inputs = |at: usize| {
                let sample = if reads_samples { samples.sample(at)? } else { Vec::new() };
                let sample: Vec<Arc<Tensor>> = sample.into_iter().map(Arc::new).collect();
                let input = |value: &ValueId| match position(value) {
                    Some(position) => sample.get(position).cloned(),
                    None => last?.kept.get(at)?.get(value).cloned(),
                };
                let inputs: Option<Vec<Arc<Tensor>>> = part.inputs.iter().map(input).collect();
                inputs.ok_or_else(|| "it has too few tensors".to_owned())
            };
            self.run_part(&part.module, &keeps, (count, &inputs), watch, |at, results, values| {
                kept[at].extend(values);
                match last {
                    None => outputs[at] = results,
                    Some(_) => part.outputs.iter().zip(results).for_each(|(&position, result)| {
                        if let Some(output) = outputs[at].get_mut(position) {
                            *output = result;
                        }
                    }),
                }
            })?;
        }
        Ok(Simulated {
            outputs,
            nodes: part.nodes.len(),
            samples: samples.clone(),
            annotated: self.annotated.clone(),
            keeps,
            kept,
        })
    }

    /// Returns the part of the graph whose values differ from those of the last simulation. If there was no simulation,
    /// this is the whole graph.
    fn part(&self, last: Option<&Simulated>) -> Result<Resimulated, LowerError> {
        let (spec, graph) = (Some(self.built.kept.target.spec()), self.annotated.main());
        match last {
            Some(last) => {
                let is_kept = |value: ValueId| last.kept.iter().all(|kept| kept.contains_key(&value));
                resimulate(self.annotated, &last.annotated, is_kept, spec, Parameters::Reals)
            }
            None => Ok(Resimulated {
                module: simulate(self.annotated, spec, Parameters::Reals)?,
                inputs: self.built.kept.bodies.own_inputs(graph).to_vec(),
                nodes: graph.nodes().map(|(id, _)| id).collect(),
                outputs: (0..graph.outputs().len()).collect(),
            }),
        }
    }

    /// Chooses the results of nodes that are kept: the smallest ones, as many as fit into the memory for this number of
    /// samples.
    fn worth_keeping(&self, samples: usize) -> BTreeSet<ValueId> {
        let graph = self.annotated.main();
        let most = self.built.kept.limits.memory.map_or(KEPT, |memory| memory / 4);
        let read = graph
            .values()
            .filter(|&(id, value)| matches!(value.def, Def::Node(..)) && graph.uses(id).next().is_some());
        let sized = read.filter_map(|(id, value)| {
            let elements = element_count(&value.ty.shape)?;
            Some((elements.saturating_mul(value.ty.elem.size() as u64), id))
        });
        let mut sized: Vec<(u64, ValueId)> = sized.collect();
        sized.sort_unstable();
        let mut left = most / samples.max(1) as u64;
        let fitting = sized.into_iter().map_while(|(bytes, id)| {
            left = left.checked_sub(bytes)?;
            Some(id)
        });
        fitting.collect()
    }

    /// Runs a simulation on `count` samples. For each sample, in order, `take` gets the outputs and the values to
    /// keep.
    fn run_part(
        &self,
        module: &Module,
        keeps: &BTreeSet<ValueId>,
        (count, inputs): (usize, &(dyn Fn(usize) -> Result<Vec<Arc<Tensor>>, String> + Sync)),
        watch: &dyn Watch,
        mut take: impl FnMut(usize, Vec<Arc<Tensor>>, Values),
    ) -> Result<(), CompileError> {
        let module = self.built.kept.bodies.whole(module).map_err(CompileError::defect)?;
        let demand = Demand::new(cost(&module, module.main)?);
        let threads: NonZeroUsize = self.built.kept.limits.admit(&demand, self.built.kept.threads)?;
        watch.admitted(&demand, count);
        let plan = Plan::new(&module, module.main, &PlanOptions::default())?;
        // In the simulated graph, the results of nodes have the same names as in the model.
        let graph = self.annotated.main();
        let kept = keeps
            .iter()
            .filter_map(|&id| Some((self.annotated.name(graph.value(id)?.name), id)));
        let by_name: BTreeMap<&str, ValueId> = kept.collect();
        let shown = module.main().values();
        let shown = shown.filter_map(|(id, value)| Some((id, *by_name.get(module.name(value.name))?)));
        let shown: BTreeMap<ValueId, ValueId> = shown.collect();
        let worker = || Ok(Workspace::new(&plan, &Threads::one()));
        let work = |workspace: &mut Workspace, at: usize| {
            let inputs = inputs(at).map_err(Failure::Data)?;
            let views: Vec<TensorView<'_>> = inputs.iter().map(|tensor| tensor.view()).collect();
            let mut values = Values::new();
            let results = plan.run_observed(workspace, &views, &mut |value, tensor| {
                if let Some(&id) = shown.get(&value) {
                    values.insert(id, Arc::new(tensor.to_tensor()));
                }
            });
            let results = results.map_err(Failure::Run)?;
            Ok((results.into_iter().map(Arc::new).collect(), values))
        };
        watch.step("simulate", Some(count), |done| {
            let run = map_in_order(count, threads, worker, work, |at, (results, values)| {
                take(at, results, values);
                Ok(done(at + 1))
            });
            run.map_err(|error| match error {
                SampleError::Sample {
                    index,
                    source: Failure::Data(text),
                } => CompileError::Sample { index, text },
                SampleError::Sample {
                    source: Failure::Run(error),
                    ..
                }
                | SampleError::Worker(error) => error.into(),
                SampleError::Stopped { .. } => CompileError::Interrupted,
            })
        })
    }
}
