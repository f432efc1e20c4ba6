//! Observe: one run of the float graph over the calibration data, free of any target.

use crate::statistics::{self, Observation, Statistics};
use ndarray::ArrayD;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use strait_core::shape::element_count;
use strait_core::{Def, Elem, Graph, GraphId, Module, Op, ValueId};
use strait_execute::{ExecuteError, Plan, PlanOptions, SampleError, TensorView, Threads, Workspace, map_in_order};

/// The calibration data, ready for the graph.
pub trait Samples: Sync {
    /// Number of samples.
    fn count(&self) -> usize;

    /// The graph's inputs for one sample, in the graph's order. The text of an error says what is wrong with the data.
    fn sample(&self, index: usize) -> Result<Vec<ArrayD<f32>>, String>;
}

/// Reason why nothing was observed.
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
        /// The fault of the samples.
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
        /// Error of the run.
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
    let rows = rows(module, graph);
    let worker = || Ok(Workspace::new(&plan, &Threads::one()?));
    let work = |workspace: &mut Workspace, index: usize| -> Result<Seen, Failure> {
        let sample = samples.sample(index).map_err(Failure::Data)?;
        let views: Result<Vec<TensorView<'_>>, _> = sample.iter().map(TensorView::of_array).collect();
        let views = views.map_err(|error| Failure::Data(error.to_string()))?;
        let mut seen = Seen::default();
        plan.run_observed(workspace, &views, &mut |value, tensor| {
            if tensor.elem() == Elem::F32 && wanted.is_none_or(|w| w.contains(&value)) {
                // The view was planned with this type, so its elements are there.
                let elements = tensor.values::<f32>().unwrap_or_default();
                seen.values.entry(value).or_default().add(index as u64, elements);
                for &axis in rows.get(&value).into_iter().flatten() {
                    let peaks = peaks(elements, tensor.shape(), axis);
                    seen.peaks.entry(value).or_default().add(index as u64, &peaks);
                }
            }
        })
        .map_err(Failure::Run)?;
        Ok(seen)
    };
    let mut all = Seen::default();
    let run = map_in_order(samples.count(), threads, worker, work, |index, seen| {
        for (all, seen) in [(&mut all.values, seen.values), (&mut all.peaks, seen.peaks)] {
            for (value, statistics) in seen {
                all.entry(value).or_default().merge(&statistics);
            }
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
    let named = |statistics: BTreeMap<ValueId, Statistics>| {
        let named = statistics
            .into_iter()
            .map(|(value, statistics)| (name(value), statistics));
        named.collect()
    };
    Ok(Observation {
        samples: samples.count() as u64,
        values: named(all.values),
        peaks: named(all.peaks),
    })
}

/// The most bytes that the statistics take that [`observe`] gathers of all float values, over so many samples.
pub fn most_bytes(module: &Module, graph: GraphId, samples: u64) -> u64 {
    let rows = rows(module, graph);
    let values = module.graph(graph).into_iter().flat_map(Graph::values);
    let observed = values.filter(|(_, value)| value.ty.elem == Elem::F32 && !matches!(value.def, Def::Data(_)));
    let bytes = observed.map(|(id, value)| {
        let elements = element_count(&value.ty.shape).unwrap_or(u64::MAX);
        let along = |axis: &usize| value.ty.shape.get(*axis).and_then(|extent| extent.fixed());
        let peaks = rows.get(&id).map_or(0, |axes| {
            let peaks = axes.iter().map(|axis| elements / along(axis).unwrap_or(1).max(1));
            statistics::most_bytes(peaks.fold(0, u64::saturating_add), samples)
        });
        statistics::most_bytes(elements, samples).saturating_add(peaks)
    });
    bytes.fold(0, u64::saturating_add)
}

/// Observed elements, by value: all elements, and the largest of each row.
#[derive(Default)]
struct Seen {
    values: BTreeMap<ValueId, Statistics>,
    peaks: BTreeMap<ValueId, Statistics>,
}

/// By value: the axes along which a softmax reads it.
fn rows(module: &Module, graph: GraphId) -> BTreeMap<ValueId, BTreeSet<usize>> {
    let mut rows: BTreeMap<ValueId, BTreeSet<usize>> = BTreeMap::new();
    let Some(graph) = module.graph(graph) else { return rows };
    for (_, node) in graph.nodes() {
        if let Op::Softmax(softmax) = &node.op
            && let Some(x) = node.inputs.first().copied().flatten()
        {
            let rank = graph.value(x).map_or(0, |x| x.ty.shape.len()) as i64;
            let axis = if softmax.axis < 0 {
                softmax.axis + rank
            } else {
                softmax.axis
            };
            rows.entry(x).or_default().extend(usize::try_from(axis).ok());
        }
    }
    rows
}

/// The largest element of each row along `axis`, of rows that hold a finite one.
fn peaks(elements: &[f32], shape: &[usize], axis: usize) -> Vec<f32> {
    let (Some(&count), Some(behind)) = (shape.get(axis), shape.get(axis + 1..)) else {
        return Vec::new();
    };
    let inner = behind.iter().product::<usize>();
    let blocks = elements.chunks_exact((count * inner).max(1));
    let row = |block: &[f32], at: usize| {
        block
            .iter()
            .skip(at)
            .step_by(inner)
            .copied()
            .fold(f32::NEG_INFINITY, f32::max)
    };
    let rows = blocks.flat_map(|block| (0..inner).map(move |at| row(block, at)));
    rows.filter(|peak| peak.is_finite()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ramp;

    impl Samples for Ramp {
        fn count(&self) -> usize {
            2
        }

        /// Each element in a bin of its own.
        fn sample(&self, index: usize) -> Result<Vec<ArrayD<f32>>, String> {
            let ramp = ndarray::Array1::from_iter((0..512).map(|i| (2 * i + index) as f32));
            let ramp = ramp.into_shape_with_order(ndarray::IxDyn(&[64, 8]));
            Ok(vec![ramp.map_err(|error| error.to_string())?])
        }
    }

    #[test]
    fn the_most_bytes_are_told_with_the_peaks_of_softmax() {
        let text =
            "strait 1 float\ngraph @main(%x: f32[64,8]) {\n  %y: f32[64,8] = softmax(%x) {axis=1}\n  return %y\n}";
        let module = strait_core::text::parse(text).unwrap();
        let (options, threads) = (PlanOptions::default(), NonZeroUsize::MIN);
        let go_on = &mut |_| ControlFlow::Continue(());
        let seen = observe(&module, module.main, None, &Ramp, threads, &options, go_on).unwrap();
        let bytes = |statistics: &Statistics| {
            let bins = statistics.histogram.occupied().len() * (size_of::<i16>() + size_of::<u64>());
            (bins + size_of_val(&statistics.samples[..])) as u64
        };
        let x = bytes(&seen.values["x"]);
        assert_eq!(x, statistics::most_bytes(512, 2));
        // One for each of 64 rows.
        let peaks = bytes(&seen.peaks["x"]);
        assert_eq!(peaks, statistics::most_bytes(64, 2));
        assert_eq!(most_bytes(&module, module.main, 2), 2 * x + peaks);
    }
}
