//! Both graphs on the same random inputs.
//!
//! This proves nothing; it would notice a defect of the proofs. Where every fusion is exact the outputs must be the same
//! bits, and every integer on the way must lie within the bounds that were derived for it.

use crate::error::VerifyError;
use crate::finding::{Fault, Finding};
use crate::intervals::{Interval, Intervals, Range};
use crate::random::Random;
use std::collections::BTreeMap;
use strait_core::{Elem, Graph, GraphId, Module, Op, ValueId};
use strait_execute::{LoopsFor, Plan, PlanOptions, Port, Tensor, TensorView, Threads, Workspace};

/// One graph, ready to run.
pub(crate) struct Runner<'a> {
    name: &'static str,
    module: &'a Module,
    graph: &'a Graph,
    bounds: &'a Intervals,
    plan: Plan,
    workspace: Workspace,
}

impl<'a> Runner<'a> {
    pub(crate) fn new(
        name: &'static str,
        module: &'a Module,
        id: GraphId,
        bounds: &'a Intervals,
        loops: &dyn LoopsFor,
        threads: &Threads,
    ) -> Result<Runner<'a>, VerifyError> {
        let graph = module.graph(id).ok_or(VerifyError::NoGraph(id))?;
        // Nothing is joined, so that every value is seen.
        let options = PlanOptions {
            loops,
            join: false,
            ..PlanOptions::default()
        };
        let plan = Plan::new(module, id, &options).map_err(|source| VerifyError::Execute { graph: name, source })?;
        Ok(Runner {
            name,
            module,
            graph,
            bounds,
            workspace: Workspace::new(&plan, threads),
            plan,
        })
    }

    /// Runs once; what leaves its bounds is added to `escaped`, once for each value.
    fn run(
        &mut self,
        inputs: &[Vec<u8>],
        escaped: &mut BTreeMap<ValueId, Finding>,
    ) -> Result<Vec<Tensor>, VerifyError> {
        let failed = |source| VerifyError::Execute {
            graph: self.name,
            source,
        };
        let ports: Vec<&Port> = self.plan.inputs().collect();
        let views: Vec<TensorView<'_>> = ports
            .iter()
            .zip(inputs)
            .map(|(port, bytes)| TensorView::new(port.elem, &port.shape, bytes))
            .collect::<Result<_, _>>()
            .map_err(|error| failed(strait_execute::ExecuteError::Ours(error.to_string())))?;
        let (graph, module, bounds, name) = (self.graph, self.module, self.bounds, self.name);
        let mut observe = |id: ValueId, tensor: TensorView<'_>| {
            let Some(range) = bounds.value(id) else { return };
            if let Some((found, bounds)) = outside(range, tensor) {
                escaped.entry(id).or_insert_with(|| Finding {
                    value: graph.value(id).map_or_else(String::new, |v| module.name(v.name).into()),
                    fault: Fault::Escaped {
                        graph: name,
                        found,
                        bounds,
                    },
                });
            }
        };
        self.plan
            .run_observed(&mut self.workspace, &views, &mut observe)
            .map_err(failed)
    }
}

/// Runs both graphs on `samples` random inputs. With `equal` their outputs have to be the same bits.
pub(crate) fn run(
    lowered: &mut Runner<'_>,
    fused: &mut Runner<'_>,
    samples: usize,
    seed: u64,
    equal: bool,
) -> Result<Vec<Finding>, VerifyError> {
    let mut random = Random::new(seed);
    let mut escaped = [BTreeMap::new(), BTreeMap::new()];
    let mut findings = BTreeMap::new();
    for sample in 0..samples {
        let inputs: Vec<Vec<u8>> = lowered
            .plan
            .inputs()
            .map(|port| input(lowered.graph, port, &mut random, sample == 0))
            .collect();
        let expected = lowered.run(&inputs, &mut escaped[0])?;
        let found = fused.run(&inputs, &mut escaped[1])?;
        if !equal {
            continue;
        }
        for (port, (expected, found)) in lowered.plan.outputs().zip(expected.iter().zip(&found)) {
            let (a, b) = (expected.view().bytes(), found.view().bytes());
            if a != b {
                let byte = a
                    .iter()
                    .zip(b)
                    .position(|(a, b)| a != b)
                    .unwrap_or(a.len().min(b.len()));
                let value = port.name.clone();
                let fault = Fault::Output { sample, byte };
                findings.entry(value.clone()).or_insert(Finding { value, fault });
            }
        }
    }
    let escaped = escaped.into_iter().flat_map(BTreeMap::into_values);
    Ok(findings.into_values().chain(escaped).collect())
}

/// The bytes of a random input: real numbers around every code of the grid that it is quantized to, so that every code
/// occurs and rounding matters; codes for an input that is one.
fn input(graph: &Graph, port: &Port, random: &mut Random, extreme: bool) -> Vec<u8> {
    let count = port.shape.iter().product();
    let quantized = graph.uses(port.value).find_map(|u| {
        let node = graph.node(u.node).filter(|n| matches!(n.op, Op::Quantize(_)))?;
        let result = graph.value(*node.outputs.first()?)?;
        let grid = result.quant.as_ref()?;
        Some((
            *grid.scale.get(0)?,
            *grid.zero_point.get(0)?,
            result.ty.elem.int_type()?,
        ))
    });
    let mut real = || match quantized {
        Some((scale, zero, codes)) => {
            let code = random.between(codes.min(), codes.max(), extreme);
            scale * ((i64::from(code) - i64::from(zero)) as f32 + random.fraction())
        }
        None => 2.0 * random.fraction(),
    };
    match port.elem {
        Elem::F32 => (0..count).flat_map(|_: usize| real().to_le_bytes()).collect(),
        Elem::F64 => (0..count)
            .flat_map(|_: usize| f64::from(real()).to_le_bytes())
            .collect(),
        Elem::I8 | Elem::U8 => (0..count).map(|_: usize| random.bits() as u8).collect(),
        Elem::I16 => (0..count)
            .flat_map(|_: usize| (random.bits() as i16).to_le_bytes())
            .collect(),
        // Indices, shapes and conditions: 0 is one of each.
        elem => vec![0; count * elem.size()],
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
