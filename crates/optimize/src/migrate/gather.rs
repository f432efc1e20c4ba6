//! Runs the float model once, and collects what layers read and make.

use crate::error::Error;
use crate::fidelity::is_held;
use crate::layer::geometry::Geometry;
use crate::layer::positions::Positions;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use strait_core::{Graph, Module, NodeId, ValueId};
use strait_execute::{Demand, Limits, Pass, Plan, PlanOptions, Tensor, TensorView, Threads, Workspace, cost};
use strait_lower::{Parameters, Segment, simulate_segment};
use strait_quantize::observe::Samples;

/// The number of positions of a layer, over all samples that judge.
const POSITIONS: usize = 192;

/// The smallest and the largest element of each channel.
pub(crate) type Ends = Vec<[f32; 2]>;

/// What was seen of a model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// The ends of the channels of each value, on the samples from which factors are computed and on all samples.
    pub(crate) ends: BTreeMap<ValueId, [Ends; 2]>,
    /// For each layer: what it reads and makes at some positions of the samples that judge. There is one entry for each
    /// group of a convolution, and each sample has the same number of positions.
    pub(crate) positions: BTreeMap<NodeId, Vec<Positions>>,
    /// The number of samples that judge.
    pub(crate) held: usize,
}

/// A layer of which positions are collected.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    pub(crate) node: NodeId,
    pub(crate) geometry: Geometry,
    pub(crate) values: [ValueId; 2],
}

/// Runs the float model on all samples. `values` are the values whose ends are wanted, each with the axis of its channels.
pub(crate) fn gather(
    float: &Module,
    samples: &dyn Samples,
    (layers, values): (&[Watched], &BTreeMap<ValueId, usize>),
    (limits, threads): (Limits, NonZeroUsize),
    done: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Seen, Error> {
    let graph = float.main();
    let of_layers = layers.iter().flat_map(|layer| layer.values);
    let wanted: Vec<ValueId> = values
        .keys()
        .copied()
        .chain(of_layers)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let segment = segment(graph, &wanted);
    let module = simulate_segment(float, None, Parameters::Reals, &segment)?;
    let demand = Demand::new(cost(&module, module.main)?);
    let threads = limits.admit(&demand, threads)?;
    let plan = Plan::new(&module, module.main, &PlanOptions::default())?;
    let count = samples.count();
    let held = (0..count).filter(|&at| is_held(at)).count();
    let worker = || Ok(Workspace::new(&plan, &Threads::one()));
    let work = |workspace: &mut Workspace, at: usize| {
        let sample = samples.sample(at).map_err(|text| Error::Sample { index: at, text })?;
        let position = |value: &ValueId| graph.inputs().iter().position(|input| input == value);
        let inputs = segment
            .inputs
            .iter()
            .map(|value| position(value).and_then(|at| sample.get(at)));
        let missing = || Error::Sample {
            index: at,
            text: "it has too few tensors".to_owned(),
        };
        let inputs: Vec<&Tensor> = inputs.collect::<Option<_>>().ok_or_else(missing)?;
        let views: Vec<TensorView<'_>> = inputs.into_iter().map(Tensor::view).collect();
        let results = plan.run(workspace, &views)?;
        let by_value: BTreeMap<ValueId, &Tensor> = wanted.iter().copied().zip(&results).collect();
        let ends: Vec<Ends> = values
            .iter()
            .map(|(value, &axis)| by_value.get(value).map(|tensor| ends(tensor, axis)).unwrap_or_default())
            .collect();
        let positions: Vec<Vec<Positions>> = match is_held(at) {
            true => layers.iter().map(|layer| layer.gather((at, held), &by_value)).collect(),
            false => Vec::new(),
        };
        Ok::<_, Error>((ends, positions))
    };
    let mut seen = Seen {
        held,
        ..Seen::default()
    };
    let pass = Pass {
        exchange: samples.exchange(),
        name: "migrate",
        count,
        threads,
    };
    let mut both: Vec<[Ends; 2]> = vec![Default::default(); values.len()];
    let keep = |at: usize, ends: Vec<Ends>| {
        for ([learned, all], own) in both.iter_mut().zip(ends) {
            if !is_held(at) {
                widen(learned, &own);
            }
            widen(all, &own);
        }
        Ok(())
    };
    let run = pass.map_keeping(worker, work, keep, |at, positions| {
        for (layer, groups) in layers.iter().zip(positions) {
            let known = seen.positions.entry(layer.node).or_insert_with(|| layer.empty());
            for (known, own) in known.iter_mut().zip(groups) {
                if !known.fits(&own) {
                    return Err(Error::Defect(
                        "another share has delivered positions of another layer".into(),
                    ));
                }
                known.extend(own, held);
            }
        }
        Ok(done(at + 1))
    });
    run.map_err(Error::of_sample)?;
    let shares = match samples.exchange() {
        None => vec![both],
        Some(exchange) => exchange.together("migrate", &both).map_err(Error::of_exchange)?,
    };
    for share in shares {
        for (&value, [learned, all]) in values.keys().zip(share) {
            let known = seen.ends.entry(value).or_default();
            widen(&mut known[0], &learned);
            widen(&mut known[1], &all);
        }
    }
    Ok(seen)
}

/// The nodes on which the values depend, as a segment that returns the values.
fn segment(graph: &Graph, wanted: &[ValueId]) -> Segment {
    let (mut needed, mut open, mut inputs) = (BTreeSet::new(), wanted.to_vec(), BTreeSet::new());
    while let Some(value) = open.pop() {
        match graph.producer(value) {
            Some((id, node)) if needed.insert(id) => open.extend(node.inputs.iter().flatten()),
            None if graph.inputs().contains(&value) => _ = inputs.insert(value),
            _ => {}
        }
    }
    let order = graph.topological_order().unwrap_or_default();
    Segment {
        nodes: order.into_iter().filter(|id| needed.contains(id)).collect(),
        inputs: inputs.into_iter().collect(),
        values: wanted.to_vec(),
        operands: Vec::new(),
    }
}

fn ends(tensor: &Tensor, axis: usize) -> Ends {
    let (shape, Ok(elements)) = (tensor.shape(), tensor.values::<f32>()) else {
        return Ends::new();
    };
    let count = shape.get(axis).copied().unwrap_or(1).max(1);
    let inner: usize = shape.iter().skip(axis + 1).product();
    let mut found = vec![[f32::INFINITY, f32::NEG_INFINITY]; count];
    for (at, elements) in elements.chunks(inner.max(1)).enumerate() {
        let end = &mut found[at % count];
        for &x in elements.iter().filter(|x| x.is_finite()) {
            *end = [end[0].min(x), end[1].max(x)];
        }
    }
    found
}

fn widen(known: &mut Ends, own: &Ends) {
    known.resize(own.len().max(known.len()), [f32::INFINITY, f32::NEG_INFINITY]);
    for (known, own) in known.iter_mut().zip(own) {
        // Adding 0.0 turns −0.0 into +0.0, so that the result does not depend on which of them came first.
        *known = [known[0].min(own[0]) + 0.0, known[1].max(own[1]) + 0.0];
    }
}

impl Watched {
    pub(crate) fn empty(&self) -> Vec<Positions> {
        vec![Positions::new([self.geometry.width(), self.geometry.outputs()], 0); self.geometry.groups()]
    }

    fn gather(&self, (sample, held): (usize, usize), values: &BTreeMap<ValueId, &Tensor>) -> Vec<Positions> {
        let mut groups = self.empty();
        let [x, y] = self.values.map(|value| values.get(&value));
        let (Some(x), Some(y)) = (x, y) else { return groups };
        let (Ok(of_x), Ok(of_y)) = (x.values::<f32>(), y.values::<f32>()) else {
            return groups;
        };
        let all = self.geometry.positions(y.shape());
        let count = all.min(POSITIONS.div_ceil(held.max(1)));
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
