//! Both graphs on the same inputs: as they are, and layer by layer.
//!
//! This proves nothing by itself. It is there for what proofs do not see: kernels that do not compute what their forms
//! say, and defects of the proofs.

use crate::LOWERED;
use crate::analysis::Analysis;
use crate::error::VerifyError;
use crate::finding::{Fault, Finding, merge};
use crate::intervals::{Interval, Intervals, Range};
use crate::layers::{Layer, deviation, layers};
use crate::samples;
use std::collections::BTreeMap;
use strait_core::{Elem, Graph, ValueId};
use strait_execute::{ExecuteError, Plan, PlanOptions, Port, Standard, Tensor, TensorView, Threads, Workspace};

/// Both graphs and the layers of the fused one, ready to run. Immutable, and shared between threads.
pub struct Comparison<'a> {
    analysis: &'a Analysis<'a>,
    /// By the host's own loops, nothing joined, so that every value is seen.
    lowered: Plan,
    /// As it is deployed.
    fused: Plan,
    layers: Vec<Layer>,
    /// By value of the lowered graph: the layers that compute it.
    computed_by: BTreeMap<ValueId, Vec<usize>>,
    /// By value of the lowered graph: how many layers read it.
    reads: BTreeMap<ValueId, usize>,
}

/// What one thread needs to compare.
pub struct ComparisonSpace {
    lowered: Workspace,
    fused: Workspace,
    threads: Threads,
}

impl<'a> Comparison<'a> {
    /// Prepares both graphs. `options` are those of the fused graph; the lowered one is computed by the host's own loops.
    ///
    /// # Errors
    /// A graph that cannot be run.
    pub fn new(analysis: &'a Analysis<'a>, options: &PlanOptions<'_>) -> Result<Comparison<'a>, VerifyError> {
        let module = analysis.module;
        let of_lowered = PlanOptions {
            loops: &Standard,
            join: false,
            ..*options
        };
        let layers = layers(analysis, options)?;
        let mut computed_by: BTreeMap<ValueId, Vec<usize>> = BTreeMap::new();
        let mut reads = BTreeMap::new();
        for (index, layer) in layers.iter().enumerate() {
            computed_by.entry(layer.result).or_default().push(index);
            for &operand in &layer.operands {
                *reads.entry(operand).or_insert(0) += 1;
            }
        }
        let plan = |graph, id, options| {
            Plan::new(module, id, options).map_err(|source| VerifyError::Execute { graph, source })
        };
        Ok(Comparison {
            analysis,
            lowered: plan(LOWERED, analysis.lowered, &of_lowered)?,
            fused: plan(crate::FUSED, module.main, options)?,
            layers,
            computed_by,
            reads,
        })
    }

    /// How many layers are held against the lowered graph one by one.
    pub fn layer_count(&self) -> usize {
        self.layers.len()
    }

    /// The inputs of both graphs.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = &Port> {
        self.lowered.inputs()
    }

    /// Inputs that are the same for the same seed and index.
    ///
    /// # Errors
    /// Inputs that are too large.
    pub fn random_inputs(&self, seed: u64, index: usize) -> Result<Vec<Tensor>, VerifyError> {
        samples::random(self.analysis.lowered_graph, self.lowered.inputs(), seed, index).map_err(|error| {
            VerifyError::Execute {
                graph: LOWERED,
                source: ExecuteError::Ours(error.to_string()),
            }
        })
    }

    /// Memory for one comparison at a time.
    pub fn space(&self, threads: &Threads) -> ComparisonSpace {
        ComparisonSpace {
            lowered: Workspace::new(&self.lowered, threads),
            fused: Workspace::new(&self.fused, threads),
            threads: threads.clone(),
        }
    }

    /// Runs both graphs once and every layer on what the lowered graph gave its operands. `sample` is how findings call
    /// these inputs.
    ///
    /// Layers may differ from the lowered graph by what their certificates say; outputs not at all, where everything is
    /// exact; and no integer may leave the bounds that were derived for it.
    ///
    /// # Errors
    /// A run that fails.
    pub fn run(
        &self,
        space: &mut ComparisonSpace,
        inputs: &[TensorView<'_>],
        sample: &str,
    ) -> Result<Vec<Finding>, VerifyError> {
        let analysis = self.analysis;
        let failed = |graph| move |source| VerifyError::Execute { graph, source };
        let mut walk = Walk {
            comparison: self,
            threads: &space.threads,
            sample,
            reads: self.reads.clone(),
            kept: BTreeMap::new(),
            findings: Vec::new(),
            failed: None,
        };
        let expected = self
            .lowered
            .run_observed(&mut space.lowered, inputs, &mut |id, tensor| walk.see(id, tensor))
            .map_err(failed(LOWERED))?;
        if let Some(source) = walk.failed {
            return Err(failed(crate::FUSED)(source));
        }
        let mut findings = walk.findings;
        let mut escaped = Vec::new();
        let mut observe = |id: ValueId, tensor: TensorView<'_>| {
            let (graph, bounds) = (analysis.fused_graph, &analysis.fused_bounds);
            merge(&mut escaped, self.escaped(crate::FUSED, graph, bounds, id, tensor));
        };
        let found = self
            .fused
            .run_observed(&mut space.fused, inputs, &mut observe)
            .map_err(failed(crate::FUSED))?;
        // A layer that differs says more than the outputs behind it.
        if analysis.is_exact() && findings.is_empty() {
            findings.extend(self.outputs(&expected, &found, sample));
        }
        merge(&mut findings, escaped);
        Ok(findings)
    }

    /// The outputs that are not the same bits.
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

    /// An integer that cannot occur, and does.
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

/// The values of the lowered graph as they are made.
struct Walk<'a> {
    comparison: &'a Comparison<'a>,
    threads: &'a Threads,
    sample: &'a str,
    /// How many layers have yet to read a value.
    reads: BTreeMap<ValueId, usize>,
    /// Those that are still to be read.
    kept: BTreeMap<ValueId, Tensor>,
    findings: Vec<Finding>,
    failed: Option<ExecuteError>,
}

impl Walk<'_> {
    fn see(&mut self, id: ValueId, tensor: TensorView<'_>) {
        let (comparison, analysis) = (self.comparison, self.comparison.analysis);
        let (graph, bounds) = (analysis.lowered_graph, &analysis.lowered_bounds);
        merge(
            &mut self.findings,
            comparison.escaped(LOWERED, graph, bounds, id, tensor),
        );
        for &index in comparison.computed_by.get(&id).into_iter().flatten() {
            match self.compare(&comparison.layers[index], tensor) {
                Ok(finding) => merge(&mut self.findings, finding),
                Err(error) => self.failed = self.failed.take().or(Some(error)),
            }
        }
        if self.reads.contains_key(&id) {
            self.kept.insert(id, tensor.to_tensor());
        }
    }

    fn compare(&mut self, layer: &Layer, expected: TensorView<'_>) -> Result<Option<Finding>, ExecuteError> {
        let analysis = self.comparison.analysis;
        let operand = |id: &ValueId| {
            let kept = self.kept.get(id).map(Tensor::view);
            kept.ok_or_else(|| ExecuteError::Ours(format!("{id:?} is read before it is made")))
        };
        let operands: Vec<TensorView<'_>> = layer.operands.iter().map(operand).collect::<Result<_, _>>()?;
        let mut space = Workspace::new(&layer.plan, self.threads);
        let found = layer.plan.run(&mut space, &operands)?;
        for id in &layer.operands {
            if let Some(reads) = self.reads.get_mut(id) {
                *reads -= 1;
                if *reads == 0 {
                    self.kept.remove(id);
                }
            }
        }
        let deviation = found
            .first()
            .and_then(|found| deviation(expected, found.view(), &layer.allowed));
        Ok(deviation.map(|deviation| Finding {
            value: analysis.name(layer.value),
            fault: Fault::Layer {
                sample: self.sample.to_owned(),
                element: deviation.element,
                expected: deviation.expected,
                found: deviation.found,
                max_lsb: deviation.max_lsb,
            },
        }))
    }
}

/// The first channel in which a tensor leaves its bounds: what was met there, and what can occur.
fn outside(range: &Range, tensor: TensorView<'_>) -> Option<(Interval, Interval)> {
    fn of<T: strait_core::tensor::Element + Into<i64>>(
        range: &Range,
        tensor: TensorView<'_>,
    ) -> Option<(Interval, Interval)> {
        let values = tensor.values::<T>().ok()?;
        let (inner, intervals) = match range.axis() {
            Some(axis) => (tensor.shape().get(axis + 1..)?.iter().product(), range.intervals()),
            None => (values.len(), range.intervals()),
        };
        for (row, values) in values.chunks(usize::max(inner, 1)).enumerate() {
            let bounds = intervals[row % intervals.len()];
            let points = values.iter().map(|&v| Interval::point(v.into()));
            if let Some(found) = points.reduce(Interval::hull)
                && !bounds.contains(found)
            {
                return Some((found, bounds));
            }
        }
        None
    }
    match tensor.elem() {
        Elem::I8 => of::<i8>(range, tensor),
        Elem::U8 => of::<u8>(range, tensor),
        Elem::I16 => of::<i16>(range, tensor),
        Elem::I32 => of::<i32>(range, tensor),
        _ => None,
    }
}
