//! Finds the layers at which the error jumps.
//!
//! The float model and the model that is compared with it run once more, in such a way that all values can be read. An
//! SNR is computed for each value that has the same name in both models. The error jumps at a layer if the SNR of its
//! result is below [`WORTH_NAMING`] and at least [`JUMP`] below the smallest SNR of the values that the layer reads. If
//! an output is a concatenation of tensors of different magnitudes, its parts are examined one by one.

use std::collections::{BTreeMap, BTreeSet};

use strait_core::{Graph, Kind, Module, NodeId, ValueId, shape::element_count};
use strait_evaluate::ConcatenatedParts;
use strait_execute::{LoopsFor, Plan, PlanOptions, TensorView, Threads, Workspace, cost};
use strait_samples::Scratch;

use crate::{
    evaluation::{reals, views, whole_of},
    failure,
    limits::Demand,
    report::{ErrorJump, SanityOutput},
    session::Session,
    stop::Stop,
};

use super::{Reference, SEARCHED, Subject, outputs::Squares};

/// A larger SNR, in dB, counts as this SNR: an error that is even smaller is normal for quantization.
const GOOD: f64 = 40.0;

/// Results with a better SNR than this, in dB, are not named as a cause.
const WORTH_NAMING: f64 = 20.0;

/// The smallest drop of the SNR that counts as a jump, in dB.
const JUMP: f64 = 6.0;

/// A layer at which the error jumps.
#[derive(Clone)]
pub(super) struct Jump {
    /// The node of the layer, and preceding nodes whose results could not be compared. One of these may be the cause.
    pub(super) nodes: Vec<NodeId>,
    value: ValueId,
    before: f64,
    after: f64,
}

impl Jump {
    /// The entry of the report for this jump.
    pub(super) fn told(&self, module: &Module) -> Option<ErrorJump> {
        let graph = module.main();
        let source = graph.node(self.layer(graph)?)?.sources.first()?;
        Some(ErrorJump {
            layer: module.name(*source).to_owned(),
            tensor: module.name(graph.value(self.value)?.name).to_owned(),
            before: self.before,
            after: self.after,
        })
    }

    /// True if the error is worth naming, and jumps there.
    fn is_jump(&self) -> bool {
        self.after < WORTH_NAMING && self.before - self.after >= JUMP
    }

    /// Returns the node whose name the report uses for the jump. If a convolution or matrix product was fused with a
    /// clamp, this is the convolution or matrix product.
    fn layer(&self, graph: &Graph) -> Option<NodeId> {
        let kind = |id: NodeId| Some(graph.node(id)?.op.term().kind());
        let accumulates = |id: &&NodeId| kind(**id) == Some(Kind::Accumulates);
        self.nodes.iter().find(accumulates).or(self.nodes.first()).copied()
    }
}

/// A model that is compared with the float model, value by value.
pub(super) struct Model<'a> {
    pub(super) module: &'a Module,
    pub(super) loops: &'a dyn LoopsFor,
}

impl Model<'_> {
    /// Returns the layers at which the error jumps, in the order of the graph. If there are none, returns the layer at
    /// which the SNR falls most. `outputs` are the results of comparing the model's outputs with the float model's.
    ///
    /// # Errors
    /// If a run fails or needs more memory than it may, or the user interrupts.
    pub(super) fn jumps(
        &self,
        reference: &Reference<'_>,
        outputs: &[SanityOutput],
        subject: &Subject<'_>,
        session: &Session<'_>,
    ) -> Result<Vec<Jump>, Stop> {
        let phase = format!("search ({})", subject.spec.id);
        let searched = reference.outputs.len().min(SEARCHED);
        let squares = session.phase(&phase, None, |_| squares(reference, subject, self, (searched, session)))?;
        let parts: Vec<Option<ConcatenatedParts>> = reference.read.iter().map(|read| read.parts.clone()).collect();
        Ok(steps(subject.canonical, &squares, outputs, &parts))
    }
}

/// The accumulated error of a value of the integer model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueError {
    /// The smallest SNR of what its node reads, in dB, but at most [`GOOD`].
    pub(crate) before: f64,
    /// Its own SNR, in dB.
    pub(crate) after: f64,
    pub(crate) cosine: Option<f64>,
    /// True if the error jumps there.
    pub(crate) jumps: bool,
}

impl Reference<'_> {
    /// The error of each value that both the float model and the integer model have, on the first `samples` samples.
    ///
    /// # Errors
    /// If a run fails or needs more memory than it may, or the user interrupts.
    pub(crate) fn errors(
        &self,
        subject: &Subject<'_>,
        samples: usize,
        session: &Session<'_>,
    ) -> Result<BTreeMap<ValueId, ValueError>, Stop> {
        let integer = Model {
            module: subject.integer,
            loops: subject.loops,
        };
        let phase = format!("errors ({})", subject.spec.id);
        let squares = session.phase(&phase, None, |_| squares(self, subject, &integer, (samples, session)))?;
        let steps = all_steps(subject.canonical, &squares);
        let found = steps.into_iter().map(|step| {
            let error = ValueError {
                before: step.before,
                after: step.after,
                cosine: squares.get(&step.value).and_then(|squares| squares.cosine()),
                jumps: step.is_jump(),
            };
            (step.value, error)
        });
        Ok(found.collect())
    }
}

/// Computes sums of squares over the first samples of the reference, for each value that both the float graph and the
/// model compared with it have.
fn squares(
    reference: &Reference<'_>,
    subject: &Subject<'_>,
    model: &Model<'_>,
    (samples, session): (usize, &Session<'_>),
) -> Result<BTreeMap<ValueId, Squares>, Stop> {
    let float = whole_of(subject.bodies, subject.canonical)?;
    let (float_graph, other_graph) = (float.main(), model.module.main());
    let open = subject.canonical.main();
    let by_name: BTreeMap<&str, ValueId> = (open.values())
        .map(|(id, value)| (subject.canonical.name(value.name), id))
        .collect();
    let named = |module: &Module, graph: &Graph, id: ValueId| {
        let name = graph.value(id)?.name;
        by_name.get(module.name(name)).copied()
    };
    let in_other: BTreeMap<ValueId, ValueId> = (other_graph.values())
        .filter_map(|(id, _)| Some((id, named(model.module, other_graph, id)?)))
        .collect();
    let wanted: BTreeSet<ValueId> = in_other.values().copied().collect();
    let in_float: BTreeMap<ValueId, ValueId> = (float_graph.values())
        .filter_map(|(id, _)| Some((id, named(&float, float_graph, id)?)))
        .filter(|(_, value)| wanted.contains(value))
        .collect();
    let kept = in_float
        .keys()
        .filter_map(|&id| Some(element_count(&float_graph.value(id)?.ty.shape)?.saturating_mul(4)));
    let kept = kept.fold(0u64, u64::saturating_add);
    let demand = |module: &Module| Ok::<_, Stop>(Demand::new(cost(module, module.main)?));
    session.admit(&demand(&float)?.beside(demand(model.module)?).keeping(kept), 1)?;
    let options = PlanOptions {
        join: false,
        ..session.means().options
    };
    let of_other = PlanOptions {
        loops: model.loops,
        ..options
    };
    let plan = |module: &Module, options: &PlanOptions<'_>| Plan::new(module, module.main, options);
    let plans = [plan(&float, &options)?, plan(model.module, &of_other)?];
    let threads = Threads::new(session.threads);
    let mut spaces = plans.each_ref().map(|plan| Workspace::new(plan, &threads));
    let mut all: BTreeMap<ValueId, Squares> = BTreeMap::new();
    for index in 0..samples {
        let sample = reference.samples.sample(index, &mut Scratch::default());
        let sample = sample.map_err(failure::data)?;
        let inputs = views(&sample)?;
        let mut seen: BTreeMap<ValueId, Vec<f32>> = BTreeMap::new();
        let [of_float, of_other_space] = &mut spaces;
        let failed = |error| failure::execute_sample(error, index);
        let mut keep = |id: ValueId, tensor: TensorView<'_>| {
            if let (Some(&value), Ok(numbers)) = (in_float.get(&id), tensor.values::<f32>()) {
                seen.insert(value, numbers.to_vec());
            }
        };
        plans[0].run_observed(of_float, &inputs, &mut keep).map_err(failed)?;
        let mut compare = |id: ValueId, tensor: TensorView<'_>| {
            let float = in_other.get(&id).and_then(|value| Some((*value, seen.get(value)?)));
            let Some((value, float)) = float else { return };
            let Some(own) = other_graph.value(id).and_then(|own| reals(own, tensor)) else {
                return;
            };
            if own.len() == float.len() {
                let squares = all.entry(value).or_default();
                float.iter().zip(own).for_each(|(&x, y)| squares.add(x, y));
            }
        };
        plans[1]
            .run_observed(of_other_space, &inputs, &mut compare)
            .map_err(failed)?;
    }
    Ok(all)
}

/// For each node whose result could be compared: its worst result, and the SNR of what it reads. In the order of the
/// graph.
fn all_steps(module: &Module, squares: &BTreeMap<ValueId, Squares>) -> Vec<Jump> {
    let graph = module.main();
    let snr = |value: ValueId| squares.get(&value).and_then(|squares| squares.snr());
    let mut steps = Vec::new();
    for id in graph.topological_order().unwrap_or_default() {
        let results = graph.node(id).map_or(&[][..], |node| &node.outputs[..]);
        let worst = results.iter().filter_map(|&value| Some((value, snr(value)?)));
        let Some((value, after)) = worst.reduce(|a, b| if b.1 < a.1 { b } else { a }) else {
            continue;
        };
        let (nodes, read) = in_front(graph, id, |value| squares.contains_key(&value));
        let before = read.into_iter().filter_map(snr).fold(GOOD, f64::min);
        steps.push(Jump {
            nodes,
            value,
            before,
            after,
        });
    }
    steps
}

/// The layers at which the error jumps, in the order of the graph: the SNR of the result is below [`WORTH_NAMING`], and
/// at least [`JUMP`] below the SNR of the operands. If there are none, the layer at which the SNR falls most.
fn steps(
    module: &Module,
    squares: &BTreeMap<ValueId, Squares>,
    outputs: &[SanityOutput],
    parts: &[Option<ConcatenatedParts>],
) -> Vec<Jump> {
    let graph = module.main();
    let snr = |value: ValueId| squares.get(&value).and_then(|squares| squares.snr());
    let mut steps = all_steps(module, squares);
    // The SNR of a concatenation is dominated by its largest part, so the parts are examined instead.
    for (&output, parts) in graph.outputs().iter().zip(parts) {
        let name = graph.value(output).map(|value| module.name(value.name));
        for (&value, part) in parts.iter().flat_map(|parts| parts.values.iter().zip(&parts.names)) {
            let is_it =
                |judged: &&SanityOutput| name == Some(judged.output.as_str()) && judged.part.as_ref() == Some(part);
            let found = outputs.iter().find(is_it);
            if let (Some(before), Some(after)) = (snr(value), found.and_then(|judged| judged.snr)) {
                steps.push(Jump {
                    nodes: parts.iter().flat_map(|parts| &parts.joined).copied().collect(),
                    value: output,
                    before: before.min(GOOD),
                    after,
                });
            }
        }
    }
    if steps.iter().any(Jump::is_jump) {
        steps.retain(Jump::is_jump);
        return steps;
    }
    let largest = steps
        .into_iter()
        .reduce(|a, b| if b.before - b.after > a.before - a.after { b } else { a });
    largest.into_iter().collect()
}

/// Returns a node together with the nodes before it, back to the nearest values that could be compared. Also returns
/// these values.
fn in_front(graph: &Graph, id: NodeId, in_sight: impl Fn(ValueId) -> bool) -> (Vec<NodeId>, BTreeSet<ValueId>) {
    let (mut nodes, mut read, mut open) = (vec![id], BTreeSet::new(), vec![id]);
    while let Some(id) = open.pop() {
        for &value in graph.node(id).into_iter().flat_map(|node| node.inputs.iter().flatten()) {
            if in_sight(value) {
                read.insert(value);
            } else if let Some((producer, _)) = graph.producer(value)
                && !nodes.contains(&producer)
            {
                nodes.push(producer);
                open.push(producer);
            }
        }
    }
    (nodes, read)
}
