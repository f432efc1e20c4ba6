//! Observe: one run of the float graph over the calibration data, free of any target.

use crate::statistics::{Observation, Statistics};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use strait_core::{Elem, GraphId, Module, ValueId};
use strait_execute::{
    ExecuteError, Plan, PlanOptions, SampleError, Tensor, TensorView, Threads, Workspace, map_in_order,
};

/// The calibration data, ready for the graph.
pub trait Samples: Sync {
    /// How many there are.
    fn count(&self) -> usize;

    /// The graph's inputs for one sample, in the graph's order. The text of an error says what is wrong with the data.
    fn sample(&self, index: usize) -> Result<Vec<Tensor>, String>;
}

/// Why nothing was observed.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// There is no sample to run.
    #[error("the calibration data has no sample")]
    NoSamples,
    /// The data of a sample cannot be used.
    #[error("calibration sample {index}: {text}")]
    Data {
        /// Which one.
        index: usize,
        /// What is wrong.
        text: String,
    },
    /// The graph cannot be run.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// The run of one sample failed.
    #[error("calibration sample {index}: {source}")]
    Run {
        /// Which one.
        index: usize,
        /// What happened.
        source: ExecuteError,
    },
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

/// One sample's failure, before its index is known.
enum Failure {
    Data(String),
    Run(ExecuteError),
}

/// Runs `graph` over all samples and gathers the statistics of its float values: of all of them, or of `wanted` alone
/// (what a rewrite made new). `progress` hears how many samples are done and may stop the run.
///
/// Memory does not depend on the number of samples, but for one range per sample and value. The result does not depend
/// on `threads` or the instruction set.
///
/// # Errors
/// See [`ObserveError`].
pub fn observe(
    module: &Module,
    graph: GraphId,
    wanted: Option<&BTreeSet<ValueId>>,
    samples: &dyn Samples,
    threads: NonZeroUsize,
    options: &PlanOptions<'_>,
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Observation, ObserveError> {
    if samples.count() == 0 {
        return Err(ObserveError::NoSamples);
    }
    let plan = Plan::new(module, graph, options)?;
    let worker = || Ok(Workspace::new(&plan, &Threads::one()?));
    let work = |workspace: &mut Workspace, index: usize| -> Result<BTreeMap<ValueId, Statistics>, Failure> {
        let tensors = samples.sample(index).map_err(Failure::Data)?;
        let views: Vec<TensorView<'_>> = tensors.iter().map(Tensor::view).collect();
        let mut seen: BTreeMap<ValueId, Statistics> = BTreeMap::new();
        plan.run_observed(workspace, &views, &mut |value, tensor| {
            if tensor.elem() == Elem::F32 && wanted.is_none_or(|w| w.contains(&value)) {
                // The view was planned with this type, so its elements are there.
                seen.entry(value)
                    .or_default()
                    .add(index as u64, tensor.values::<f32>().unwrap_or_default());
            }
        })
        .map_err(Failure::Run)?;
        Ok(seen)
    };
    let mut all: BTreeMap<ValueId, Statistics> = BTreeMap::new();
    let run = map_in_order(samples.count(), threads, worker, work, |index, seen| {
        for (value, statistics) in seen {
            all.entry(value).or_default().merge(&statistics);
        }
        Ok(progress(index + 1))
    });
    run.map_err(|error| match error {
        SampleError::Sample {
            index,
            source: Failure::Data(text),
        } => ObserveError::Data { index, text },
        SampleError::Sample {
            index,
            source: Failure::Run(source),
        } => ObserveError::Run { index, source },
        SampleError::Worker(error) => ObserveError::Execute(error),
        SampleError::Stopped { .. } => ObserveError::Stopped,
    })?;
    let name = |value: ValueId| {
        let name = module.graph(graph).and_then(|g| g.value(value)).map(|v| v.name);
        name.map(|n| module.name(n).to_string()).unwrap_or_default()
    };
    let values = all
        .into_iter()
        .map(|(value, statistics)| (name(value), statistics))
        .collect();
    Ok(Observation {
        samples: samples.count() as u64,
        values,
    })
}
