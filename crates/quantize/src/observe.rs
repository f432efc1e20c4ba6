//! Observe: runs the float graph once over the calibration data. The statistics do not depend on any target.

mod clamps;
mod seen;
mod shared;

use crate::requests::{Requests, softmax_axes};
use crate::statistics::{self, Coverage, Kind, Observation};
use seen::Seen;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use strait_core::shape::element_count;
use strait_core::{Bodies, Graph, GraphId, Module, Symbol, ValueId};
use strait_exchange::Exchange;
use strait_execute::{
    ExecuteError, Plan, PlanOptions, SampleError, Tensor, TensorView, Threads, Workspace, collect_in_workers,
};

/// The calibration data, as inputs of the graph.
pub trait Samples: Send + Sync {
    /// The number of samples.
    fn count(&self) -> usize;

    /// Returns the values of the graph's inputs for the sample at position `index` of the data, in the order of the
    /// inputs. If the sample cannot be used, the text of the error says what is wrong with it.
    fn sample(&self, index: usize) -> Result<Vec<Tensor>, String>;

    /// A SHA-256 that identifies the samples, or `None` if it is not known. An artifact contains this hash to say from
    /// which samples the artifact was made.
    fn digest(&self) -> Option<[u8; 32]> {
        None
    }

    /// Takes the outputs of the graph for a sample that was observed, in case they are of use. Several threads may call this
    /// at the same time.
    fn observed(&self, _index: usize, _outputs: Vec<Tensor>) {}

    /// The exchange with the processes that have the other shares of the samples, if several processes share the work.
    /// Passes over the samples then run only on the share of this process, and have the results for all samples.
    fn exchange(&self) -> Option<&Exchange<'_>> {
        None
    }
}

/// The reason why observing failed.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// There are no samples to run.
    #[error("the calibration data has no sample")]
    NoSamples,
    /// The data of a sample cannot be used.
    #[error("calibration sample {index}: {text}")]
    Data {
        /// The index of the sample.
        index: usize,
        /// What is wrong with the sample.
        text: String,
    },
    /// The graph cannot be run.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// Running a sample failed.
    #[error("calibration sample {index}: {source}")]
    Run {
        /// The index of the sample.
        index: usize,
        /// The error of the run.
        source: ExecuteError,
    },
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

/// The error for one sample. It does not contain the sample's index yet.
enum Failure {
    Data(String),
    Run(ExecuteError),
}

/// Runs the main graph over the `covered` samples and collects the statistics that `requests` ask for. The result has a
/// record for each request, even if no element was seen. `progress` gets the number of samples that are done, and may
/// stop the run.
///
/// `bodies` are the bodies of control flow that are also inlined in the main graph. Each body runs where its control
/// flow calls it, and as many times as it is called. The statistics of its values cover all these runs.
///
/// The memory that a run needs does not depend on the number of samples, except that one range is stored per sample and
/// value. The result does not depend on `threads` or on the instruction set. Observing all samples gives the same
/// result as observing parts of them and joining the results. If several processes share the work on all samples, each of
/// them observes its own share, and returns what all of them have observed.
///
/// # Errors
/// See [`ObserveError`].
#[allow(clippy::too_many_arguments, reason = "each is another part of the work")]
pub fn observe(
    module: &Module,
    bodies: &Bodies,
    requests: &Requests,
    samples: &dyn Samples,
    covered: &Coverage,
    threads: NonZeroUsize,
    options: &PlanOptions<'_>,
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Observation, ObserveError> {
    if covered.count() == 0 {
        return Err(ObserveError::NoSamples);
    }
    let own = |covered: &Coverage, progress: &mut dyn FnMut(usize) -> ControlFlow<()>| {
        observed(module, bodies, requests, samples, covered, threads, options, progress)
    };
    match samples.exchange().filter(|_| covered.is_whole()) {
        None => own(covered, progress),
        Some(exchange) => shared::observe(exchange, (module, requests), covered, |covered| own(covered, progress)),
    }
}

/// Does the work of [`observe`] in this process.
#[allow(clippy::too_many_arguments, reason = "each is another part of the work")]
fn observed(
    module: &Module,
    bodies: &Bodies,
    requests: &Requests,
    samples: &dyn Samples,
    covered: &Coverage,
    threads: NonZeroUsize,
    options: &PlanOptions<'_>,
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Observation, ObserveError> {
    let positions: Vec<u64> = covered.positions().collect();
    let main = module.main();
    let running = bodies
        .whole(module)
        .map_err(|error| ExecuteError::Ours(error.to_string()))?;
    let plan = Plan::new(&running, running.main, options)?;
    // Statistics are stored by the names of values in the main graph, where each value has a name of its own.
    let by_name: BTreeMap<Symbol, ValueId> = main.values().map(|(id, value)| (value.name, id)).collect();
    let values: BTreeMap<(GraphId, ValueId), ValueId> = (bodies.graphs(&running).into_iter())
        .filter_map(|id| Some((id, running.graph(id)?)))
        .flat_map(|(id, graph)| graph.values().map(move |(value, inside)| ((id, value), inside.name)))
        .filter_map(|(at, name)| Some((at, *by_name.get(&name)?)))
        .collect();
    let axes = softmax_axes(module, module.main);
    // In control flow, it is not sure that a value is computed whenever its operand is.
    let clamps = match bodies.is_empty() {
        true => clamps::clamps(main, requests),
        false => BTreeMap::new(),
    };
    // Each thread has records of its own. They are merged at the end, because merging takes longer than adding to records.
    let worker = || Ok((Workspace::new(&plan, &Threads::one()), Seen::default()));
    let work = |(workspace, seen): &mut (Workspace, Seen), at: usize| -> Result<(), Failure> {
        let position = positions[at];
        let sample = samples.sample(position as usize).map_err(Failure::Data)?;
        let views: Vec<TensorView<'_>> = sample.iter().map(Tensor::view).collect();
        let mut clamped = BTreeSet::new();
        let observe = &mut |graph, value, tensor: TensorView<'_>| {
            let Some(&value) = values.get(&(graph, value)) else {
                return;
            };
            // Only float elements are observed.
            let Ok(elements) = tensor.values::<f32>() else { return };
            for kind in requests.kinds(value) {
                let is_elements = kind == Kind::Elements;
                if is_elements && clamped.remove(&value) {
                    continue;
                }
                let clamp = clamps.get(&value).filter(|_| is_elements);
                if let Some(clamp) = clamp
                    && seen.add_with_clamped(position, elements, value, *clamp)
                {
                    clamped.insert(clamp.result);
                    continue;
                }
                let axes = axes.get(&value).into_iter().flatten().copied();
                seen.add((value, kind), position, (elements, tensor.shape()), axes);
            }
        };
        let outputs = plan
            .run_observed_inside(workspace, &views, observe)
            .map_err(Failure::Run)?;
        samples.observed(position as usize, outputs);
        Ok(())
    };
    let workers = collect_in_workers(positions.len(), threads, worker, work, progress);
    let position = |at: usize| positions.get(at).map_or(at, |&position| position as usize);
    let workers = workers.map_err(|error| match error {
        SampleError::Sample {
            index,
            source: Failure::Data(text),
        } => ObserveError::Data {
            index: position(index),
            text,
        },
        SampleError::Sample {
            index,
            source: Failure::Run(source),
        } => ObserveError::Run {
            index: position(index),
            source,
        },
        SampleError::Worker(error) => ObserveError::Execute(error),
        SampleError::Stopped { .. } => ObserveError::Stopped,
    })?;
    let all = Seen::joined(workers.into_iter().map(|(_, seen)| seen), requests);
    let mut observation = Observation::new(covered.clone());
    for ((value, kind), record) in all.0 {
        if let Some(value) = main.value(value) {
            observation.insert(kind, module.name(value.name), record);
        }
    }
    Ok(observation)
}

/// Returns an upper bound, in bytes, for the size of the statistics that [`observe`] collects for these requests and
/// this number of samples.
pub fn most_bytes(module: &Module, graph: GraphId, requests: &Requests, samples: u64) -> u64 {
    let axes = softmax_axes(module, graph);
    let value = |id: ValueId| module.graph(graph).and_then(|graph: &Graph| graph.value(id));
    let bytes = requests.iter().filter_map(|(id, kind)| {
        let ty = &value(id)?.ty;
        let elements = element_count(&ty.shape).unwrap_or(u64::MAX);
        let rows = |axis: usize| {
            let along = ty.shape.get(axis).and_then(|extent| extent.fixed());
            elements / along.unwrap_or(1).max(1)
        };
        Some(match kind {
            Kind::Elements => statistics::most_bytes(elements, samples),
            Kind::Peaks => {
                let axes: Option<&BTreeSet<usize>> = axes.get(&id);
                let peaks = axes.into_iter().flatten().map(|&axis| rows(axis));
                statistics::most_bytes(peaks.fold(0, u64::saturating_add), samples)
            }
            Kind::Leaders { axis } => statistics::most_bytes_of_leaders(rows(axis as usize), samples),
            Kind::Channels { axis } => {
                let along = ty.shape.get(axis as usize).and_then(|extent| extent.fixed());
                along.unwrap_or(0).saturating_mul(size_of::<[f32; 2]>() as u64)
            }
        })
    });
    bytes.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Statistics;

    struct Ramp;

    impl Samples for Ramp {
        fn count(&self) -> usize {
            2
        }

        /// A sample whose elements all lie in different bins.
        fn sample(&self, index: usize) -> Result<Vec<Tensor>, String> {
            let ramp: Vec<f32> = (0..512).map(|i| (2 * i + index) as f32).collect();
            let ramp = Tensor::from_values(&[64, 8], &ramp);
            Ok(vec![ramp.map_err(|error| error.to_string())?])
        }
    }

    #[test]
    fn the_most_bytes_are_told_with_the_peaks_of_softmax() {
        let text =
            "strait 1 float\ngraph @main(%x: f32[64,8]) {\n  %y: f32[64,8] = softmax(%x) {axis=1}\n  return %y\n}";
        let module = strait_core::text::parse(text).unwrap();
        let (options, threads) = (PlanOptions::default(), NonZeroUsize::MIN);
        let (requests, covered) = (Requests::all(&module, module.main), Coverage::all(2));
        let go_on = &mut |_| ControlFlow::Continue(());
        let seen = observe(
            &module,
            &Bodies::default(),
            &requests,
            &Ramp,
            &covered,
            threads,
            &options,
            go_on,
        )
        .unwrap();
        let bytes = |statistics: &Statistics| {
            let bins = statistics.histogram.occupied().len() * (size_of::<i16>() + size_of::<u64>());
            (bins + size_of_val(&statistics.samples[..])) as u64
        };
        let x = bytes(seen.elements("x").unwrap());
        assert_eq!(x, statistics::most_bytes(512, 2));
        // There is one peak for each of the 64 rows.
        let peaks = bytes(seen.peaks("x").unwrap());
        assert_eq!(peaks, statistics::most_bytes(64, 2));
        assert_eq!(most_bytes(&module, module.main, &requests, 2), 2 * x + peaks);
    }

    /// A loop doubles a ramp of 512 numbers twice. So the largest number that is seen in its body is 4 times as large
    /// as in the ramp.
    #[test]
    fn a_body_is_observed_in_all_of_its_runs() {
        let text = "strait 1 float main=@main
            graph @body(%n: i64[], %more: bool[], %v: f32[64,8]) stage=float {
              %w: f32[64,8] = add(%v, %v)
              return %more, %w
            }
            graph @main(%x: f32[64,8]) stage=float {
              %y: f32[64,8] = loop @body(_, _, %x) {carried=1, trips=2}
              return %y
            }";
        let mut module = strait_core::text::parse(text).unwrap();
        let main = module.main;
        let bodies = module.lay_open(main);
        let requests = Requests::all(&module, main);
        let (options, covered) = (PlanOptions::default(), Coverage::all(2));
        let go_on = &mut |_| ControlFlow::Continue(());
        let seen = observe(
            &module,
            &bodies,
            &requests,
            &Ramp,
            &covered,
            NonZeroUsize::MIN,
            &options,
            go_on,
        )
        .unwrap();
        let ends = |name| {
            seen.elements(name)
                .map(|seen| (seen.max().unwrap(), seen.histogram.total()))
        };
        // There are two samples of 512 numbers, the second of which begins with 1.
        assert_eq!(ends("x"), Some((1023.0, 1024)));
        assert_eq!(ends("v"), Some((2046.0, 2048)));
        assert_eq!(ends("w"), Some((4092.0, 2048)));
        assert_eq!(ends("y"), Some((4092.0, 1024)));
    }

    /// Only values that exist are observed, and only the statistics that are still missing.
    #[test]
    fn only_what_is_requested_is_observed() {
        let text = "strait 1 float\ngraph @main(%x: f32[64,8]) {\n  %y: f32[64,8] = relu(%x)\n  return %y\n}";
        let module = strait_core::text::parse(text).unwrap();
        let graph = module.main();
        let (node, _) = graph.nodes().next().unwrap();
        let mut requests = Requests::default();
        assert!(requests.operand(graph, node, 1, Kind::Elements));
        assert!(!requests.operand(graph, node, 2, Kind::Elements));
        let observed = |requests: &Requests, covered: &Coverage| {
            let (options, threads) = (PlanOptions::default(), NonZeroUsize::MIN);
            let go_on = &mut |_| ControlFlow::Continue(());
            observe(
                &module,
                &Bodies::default(),
                requests,
                &Ramp,
                covered,
                threads,
                &options,
                go_on,
            )
            .unwrap()
        };
        let whole = Coverage::all(2);
        let mut seen = observed(&requests, &whole);
        assert!(seen.elements("y").is_some() && seen.elements("x").is_none());
        requests = Requests::all(&module, module.main);
        requests.value(graph.outputs()[0], Kind::Leaders { axis: 1 });
        let missing = requests.unmet(&module, module.main, &seen);
        assert_eq!(missing.iter().count(), 2);
        seen.extend(observed(&missing, &whole));
        assert_eq!(seen, observed(&requests, &whole));
        assert!(requests.unmet(&module, module.main, &seen).is_empty());
        // The second largest number of each of 128 rows, and the largest of all numbers. A row has 8 numbers that are 2
        // apart.
        let leaders = seen.leaders(1, "y").unwrap();
        assert_eq!((leaders.seconds.total(), leaders.ends), (128, Some([12.0, 1023.0])));
    }
}
