//! Runs both graphs on the same inputs and compares their results, as a whole and layer by layer.
//!
//! This comparison proves nothing by itself. It finds mistakes that proofs cannot find: kernels that do not compute
//! what their forms define, and errors in the proofs.

use crate::LOWERED;
use crate::analysis::Analysis;
use crate::elements::for_integers;
use crate::error::VerifyError;
use crate::finding::{Fault, Finding, merge};
use crate::intervals::{Interval, Intervals, ValueRange};
use crate::kept::Kept;
use crate::layers::{Layers, deviation};
use crate::samples::{self, Ranges};
use std::num::NonZeroUsize;
use std::sync::mpsc;
use strait_core::{Elem, Graph, GraphId, Module, ValueId};
use strait_execute::{
    ExecuteError, Plan, PlanOptions, Port, Standard, Tensor, TensorView, Threads, Workspace, both, free_aside,
};

/// Both graphs, ready to run. A `Comparison` never changes, so threads can share it.
pub struct Comparison<'a> {
    analysis: &'a Analysis<'a>,
    /// The plan for the lowered graph. It uses the host's own loops, and does not combine several nodes into one
    /// kernel, so that every value can be seen.
    lowered: Plan,
    /// The plan for the fused graph. If every fusion is exact, this is the plan that is deployed. Otherwise no nodes
    /// are combined into one kernel, so that each value can be compared within its own bound.
    fused: Plan,
    /// The plan for the fused graph that is deployed, if `fused` is another plan.
    deployed: Option<Plan>,
    layers: Layers,
}

/// The memory that one thread needs for comparing.
pub struct ComparisonSpace {
    lowered: Workspace,
    fused: Workspace,
    deployed: Option<Workspace>,
    /// If there is more than one, both graphs run at the same time.
    threads: NonZeroUsize,
}

impl<'a> Comparison<'a> {
    /// Prepares both graphs. `options` apply to the fused graph. The lowered graph runs on the host's own loops.
    ///
    /// # Errors
    /// A graph cannot be run.
    pub fn new(analysis: &'a Analysis<'a>, options: &PlanOptions<'_>) -> Result<Comparison<'a>, VerifyError> {
        let plans = Plans::new(analysis.module, analysis.lowered, options, NonZeroUsize::MIN)?;
        Comparison::with(analysis, plans, options)
    }

    /// As [`Comparison::new`], if the graphs were already prepared.
    pub(crate) fn with(
        analysis: &'a Analysis<'a>,
        Plans { lowered, deployed }: Plans,
        options: &PlanOptions<'_>,
    ) -> Result<Comparison<'a>, VerifyError> {
        let apart = PlanOptions {
            join: false,
            ..*options
        };
        let (fused, deployed) = match analysis.is_exact() {
            true => (deployed, None),
            false => (plan_of_fused(analysis.module, &apart)?, Some(deployed)),
        };
        Ok(Comparison {
            analysis,
            lowered,
            layers: Layers::find(analysis, &fused)?,
            fused,
            deployed,
        })
    }

    /// The plan for the fused graph that is deployed.
    pub(crate) fn into_deployed(self, threads: NonZeroUsize) -> Plan {
        free_aside(threads, (self.lowered, self.layers));
        self.deployed.unwrap_or(self.fused)
    }

    /// The number of layers that are compared with the lowered graph one by one.
    pub fn layer_count(&self) -> usize {
        self.layers.count()
    }

    /// The inputs of the model, which are the same for both graphs.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = &Port> {
        self.lowered.inputs()
    }

    /// Makes random inputs, which depend only on `seed` and `index`. Integers are chosen from `ranges`. If `ranges` has
    /// no entry for an input, an input of at most 16 bits can have any code, and a wider input gets 0, which is valid
    /// as an index and as a length.
    ///
    /// # Errors
    /// The inputs are too large.
    pub fn random_inputs(&self, seed: u64, index: usize, ranges: &Ranges) -> Result<Vec<Tensor>, VerifyError> {
        let (graph, ports) = (self.analysis.lowered_graph, self.lowered.inputs());
        samples::random(graph, ports, seed, index, ranges).map_err(|error| VerifyError::Execute {
            graph: LOWERED,
            source: ExecuteError::Ours(error.to_string()),
        })
    }

    /// Allocates the memory that one comparison at a time needs.
    pub fn space(&self, threads: &Threads) -> ComparisonSpace {
        let count = NonZeroUsize::new(threads.count()).unwrap_or(NonZeroUsize::MIN);
        // A thread that waits for a value must not be one that the lowered graph needs. So the fused graph has threads of its
        // own, which take turns with those of the lowered graph.
        let own = Threads::new(count);
        ComparisonSpace {
            lowered: Workspace::new(&self.lowered, threads),
            fused: Workspace::new(&self.fused, &own),
            deployed: self.deployed.as_ref().map(|plan| Workspace::new(plan, &own)),
            threads: count,
        }
    }

    /// Runs both graphs once, at the same time if there are several threads. After the result of a layer of the fused graph
    /// was compared, it is replaced by the result of the lowered graph. So every layer runs on operands of the lowered
    /// graph. Findings name the inputs of this run by `sample`.
    ///
    /// A layer may differ from the lowered graph by what its certificate allows. If every fusion is exact, the outputs
    /// must be equal bit for bit. No integer may lie outside of the bounds that were derived for it.
    ///
    /// # Errors
    /// A run fails.
    pub fn run(
        &self,
        space: &mut ComparisonSpace,
        inputs: &[TensorView<'_>],
        sample: &str,
    ) -> Result<Vec<Finding>, VerifyError> {
        let analysis = self.analysis;
        let failed = |graph| move |source| VerifyError::Execute { graph, source };
        let ComparisonSpace {
            lowered,
            fused,
            deployed,
            threads,
        } = space;
        // The fused graph runs at the same time as the lowered graph. It waits for each value of the lowered graph that it
        // needs.
        let (send, values) = mpsc::channel();
        let run_lowered = move || {
            let mut findings = Vec::new();
            let mut see = |id: ValueId, tensor: TensorView<'_>| {
                let (graph, bounds) = (analysis.lowered_graph, &analysis.lowered_bounds);
                merge(&mut findings, self.escaped(LOWERED, graph, bounds, id, tensor));
                let readers = self.layers.readers(id);
                if readers > 0 {
                    // If the run of the fused graph has failed, nobody waits for values.
                    let _ = send.send((id, (tensor.to_tensor(), readers)));
                }
            };
            let outputs = self.lowered.run_observed(lowered, inputs, &mut see);
            Ok::<_, VerifyError>((outputs.map_err(failed(LOWERED))?, findings))
        };
        let run_fused = || {
            let (mut findings, mut escaped) = (Vec::new(), Vec::new());
            let mut escapes = |id: ValueId, tensor: TensorView<'_>| {
                let (graph, bounds) = (analysis.fused_graph, &analysis.fused_bounds);
                merge(&mut escaped, self.escaped(crate::FUSED, graph, bounds, id, tensor));
            };
            let mut kept = Kept::new(values);
            let mut replace = |id: ValueId, found: TensorView<'_>| {
                escapes(id, found);
                let counterparts = self.layers.of(id);
                let mut other = None;
                for (index, lowered) in counterparts.iter().enumerate() {
                    // Most results are equal, and whole bytes are compared faster than one element after the other.
                    let expected = kept.get(lowered.value);
                    let Some(expected) = expected.filter(|expected| expected.view().bytes() != found.bytes()) else {
                        continue;
                    };
                    let fault = deviation(expected.view(), found, &lowered.allowed, sample);
                    let finding = fault.map(|fault| Finding {
                        value: analysis.name(id),
                        fault,
                    });
                    merge(&mut findings, finding);
                    if index == 0 {
                        other = Some(expected.clone());
                    }
                }
                counterparts.iter().for_each(|lowered| kept.release(lowered.value));
                other
            };
            let outputs = self.fused.run_replacing(fused, inputs, &mut replace);
            let outputs = outputs.map_err(failed(crate::FUSED))?;
            if let (Some(plan), Some(space)) = (&self.deployed, deployed) {
                plan.run_observed(space, inputs, &mut escapes)
                    .map_err(failed(crate::FUSED))?;
            }
            Ok((outputs, findings, escaped))
        };
        let ((expected, mut findings), (found, of_layers, escaped)) = both(*threads, run_lowered, run_fused)?;
        merge(&mut findings, of_layers);
        // A finding about a layer is more specific than one about the outputs, so outputs are compared only if no layer
        // differs.
        if analysis.is_exact() && findings.is_empty() {
            findings.extend(self.outputs(&expected, &found, sample));
        }
        merge(&mut findings, escaped);
        Ok(findings)
    }

    /// Findings for the outputs that are not equal, bit for bit.
    fn outputs(&self, expected: &[Tensor], found: &[Tensor], sample: &str) -> Vec<Finding> {
        let ports = self.lowered.outputs().zip(expected.iter().zip(found));
        let differs = |(port, (expected, found)): (&Port, (&Tensor, &Tensor))| {
            let (a, b) = (expected.view().bytes(), found.view().bytes());
            let byte = match a.iter().zip(b).position(|(a, b)| a != b) {
                Some(byte) => byte,
                None if a.len() == b.len() => return None,
                None => a.len().min(b.len()),
            };
            let (value, sample) = (port.name.clone(), sample.to_owned());
            let fault = Fault::Output { sample, byte };
            Some(Finding { value, fault })
        };
        ports.filter_map(differs).collect()
    }

    /// Findings for integers that lie outside of the derived bounds.
    fn escaped(
        &self,
        name: &'static str,
        graph: &Graph,
        bounds: &Intervals,
        id: ValueId,
        tensor: TensorView<'_>,
    ) -> Option<Finding> {
        let (found, bounds) = outside(bounds.value(id)?, tensor)?;
        let value = graph.value(id)?;
        Some(Finding {
            value: self.analysis.module.name(value.name).into(),
            fault: Fault::Escaped {
                graph: name,
                found,
                bounds,
            },
        })
    }
}

/// The plans that need nothing of the analysis.
pub(crate) struct Plans {
    /// The plan for the lowered graph, which runs on the host's own loops.
    lowered: Plan,
    /// The plan for the fused graph that is deployed.
    deployed: Plan,
}

impl Plans {
    /// Prepares the graph `lowered` of a module, and its main graph.
    pub(crate) fn new(
        module: &Module,
        lowered: GraphId,
        options: &PlanOptions<'_>,
        threads: NonZeroUsize,
    ) -> Result<Plans, VerifyError> {
        let apart = PlanOptions {
            join: false,
            loops: &Standard,
            ..*options
        };
        let (lowered, deployed) = both::<_, _, VerifyError>(
            threads,
            || Ok(Plan::new(module, lowered, &apart)?),
            || plan_of_fused(module, options),
        )?;
        Ok(Plans { lowered, deployed })
    }
}

fn plan_of_fused(module: &Module, options: &PlanOptions<'_>) -> Result<Plan, VerifyError> {
    let plan = Plan::new(module, module.main, options);
    plan.map_err(|source| VerifyError::Execute {
        graph: crate::FUSED,
        source,
    })
}

/// Finds the first index along an axis at which elements of a tensor lie outside of their bounds. Returns the interval
/// of the elements at this index, and the bounds; `None` if all elements lie inside of their bounds.
fn outside(range: &ValueRange, tensor: TensorView<'_>) -> Option<(Interval, Interval)> {
    fn of<T: strait_core::tensor::Element + Into<i64> + PartialOrd>(
        range: &ValueRange,
        tensor: TensorView<'_>,
    ) -> Option<(Interval, Interval)> {
        let values = tensor.values::<T>().ok()?;
        let inner = |axis: usize| tensor.shape().iter().skip(axis + 1).product();
        let hull = [range.hull()];
        let by_axis = range.axes().map(|(axis, intervals)| (inner(axis), intervals));
        for (inner, intervals) in by_axis.chain([(values.len(), &hull[..])]) {
            for (row, values) in values.chunks(usize::max(inner, 1)).enumerate() {
                let bounds = intervals[row % intervals.len()];
                let Some(&first) = values.first() else { continue };
                // The compiler makes vectors of this.
                let ends = |(least, most): (T, T), &v: &T| {
                    (if v < least { v } else { least }, if v > most { v } else { most })
                };
                let (least, most) = values.iter().fold((first, first), ends);
                let found = Interval::point(least.into()).hull(Interval::point(most.into()));
                if !bounds.contains(found) {
                    return Some((found, bounds));
                }
            }
        }
        None
    }
    for_integers!(tensor.elem(), of(range, tensor))
}
