//! The layers at which the error jumps, and a rule that takes them out.
//!
//! Both models run once more with every value in sight. A value that has its name in both has an SNR, and a layer jumps where
//! the SNR of its result is below [`WORTH_NAMING`] and at least [`JUMP`] below the least of what it reads. A join of tensors of
//! unlike size jumps where a part of an output does. A rule that runs the first of these layers in float is tried on the
//! simulation of the integer model; where that helps little, with the layers that make what they read. As long as an output is
//! at fault, the layers at which the error jumps in the simulation are added.

use std::collections::{BTreeMap, BTreeSet};

use strait_core::{
    Bodies, Graph, Kind, Module, NodeId, Op, Parts, Placement, QuantParams, QuantizableOp, Value, ValueId,
    shape::element_count,
};
use strait_execute::{LoopsFor, Plan, PlanOptions, Standard, TensorView, Threads, Workspace, cost};
use strait_lower::{Parameters, simulate};
use strait_requantize::quantize::dequantize;
use strait_samples::Scratch;
use strait_target::TargetSpec;

use crate::{
    evaluation::{Side, views},
    failure,
    limits::Demand,
    pipeline::whole_of,
    report::{ErrorJump, Remedy, SanityOutput},
    session::Session,
    stop::Stop,
};

use super::{Reference, outputs::Squares, parts::parts, ran};

/// An SNR that stands for all that is better, in dB: above it an error is that of a grid.
const GOOD: f64 = 40.0;

/// A result with a better SNR is no cause, in dB.
const WORTH_NAMING: f64 = 20.0;

/// The least jump, in dB.
const JUMP: f64 = 6.0;

/// Layers that are named.
const NAMED: usize = 3;

/// Times that layers are added to a rule.
const ROUNDS: usize = 4;

/// A rule that gains less helps little, in dB.
const GAIN: f64 = 3.0;

/// The graphs of one target.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// The float graph, with the bodies of control flow open in it.
    pub(crate) canonical: &'a Module,
    pub(crate) bodies: &'a Bodies,
    /// The same graph with its grids.
    pub(crate) annotated: &'a Module,
    pub(crate) spec: &'a TargetSpec,
    /// The integer graph, as it runs.
    pub(crate) integer: &'a Module,
    pub(crate) loops: &'a dyn LoopsFor,
}

/// A layer at which the error jumps.
struct Jump {
    /// The layer and those in front of it whose results are not in sight.
    nodes: Vec<NodeId>,
    value: ValueId,
    before: f64,
    after: f64,
}

impl Jump {
    /// The node that it is known by: the product in front of a clamp that is a part of it.
    fn layer(&self, graph: &Graph) -> Option<NodeId> {
        let accumulates = |id: &&NodeId| kind(graph, **id) == Some(Kind::Accumulates);
        self.nodes.iter().find(accumulates).or(self.nodes.first()).copied()
    }
}

fn kind(graph: &Graph, id: NodeId) -> Option<Kind> {
    Some(graph.node(id)?.op.term().kind())
}

/// The first layers at which the error jumps, and the rule that they lead to.
///
/// # Errors
/// A run that fails, or that takes more memory than it may; an interruption.
pub(super) fn searched(
    reference: &Reference<'_>,
    outputs: &[SanityOutput],
    subject: &Subject<'_>,
    session: &Session<'_>,
) -> Result<(Vec<ErrorJump>, Option<Remedy>), Stop> {
    let jumps = Model::integer(subject).jumps(reference, outputs, subject, session)?;
    let (module, graph) = (subject.canonical, subject.canonical.main());
    let named = jumps.iter().take(NAMED).filter_map(|jump| {
        Some(ErrorJump {
            layer: layers(module, &[jump.layer(graph)?]).into_iter().next()?,
            tensor: module.name(graph.value(jump.value)?.name).to_owned(),
            before: jump.before,
            after: jump.after,
        })
    });
    Ok((named.collect(), remedy(reference, outputs, subject, jumps, session)?))
}

/// A model that is held against the float model, value by value.
struct Model<'a> {
    module: &'a Module,
    loops: &'a dyn LoopsFor,
}

impl<'a> Model<'a> {
    fn integer(subject: &Subject<'a>) -> Model<'a> {
        Model {
            module: subject.integer,
            loops: subject.loops,
        }
    }

    /// The layers at which its error jumps; `outputs` are its outputs, judged.
    fn jumps(
        &self,
        reference: &Reference<'_>,
        outputs: &[SanityOutput],
        subject: &Subject<'_>,
        session: &Session<'_>,
    ) -> Result<Vec<Jump>, Stop> {
        let phase = format!("search ({})", subject.spec.id);
        let squares = session.phase(&phase, None, |_| squares(reference, subject, self, session))?;
        Ok(jumps(subject.canonical, &squares, outputs))
    }
}

/// The sums of squares of each value of the float graph that the other model has, too, over the samples of the reference.
fn squares(
    reference: &Reference<'_>,
    subject: &Subject<'_>,
    model: &Model<'_>,
    session: &Session<'_>,
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
    let demand = |module: &Module| Ok::<_, Stop>(Demand::new(cost(module, module.main).map_err(failure::execute)?));
    session.admit(&demand(&float)?.beside(demand(model.module)?).keeping(kept), 1)?;
    let options = PlanOptions {
        context: session.context,
        join: false,
        ..PlanOptions::default()
    };
    let of_other = PlanOptions {
        context: session.context,
        join: false,
        loops: model.loops,
    };
    let plan =
        |module: &Module, options: &PlanOptions<'_>| Plan::new(module, module.main, options).map_err(failure::execute);
    let plans = [plan(&float, &options)?, plan(model.module, &of_other)?];
    let threads = Threads::new(session.threads).map_err(failure::execute)?;
    let mut spaces = plans.each_ref().map(|plan| Workspace::new(plan, &threads));
    let mut all: BTreeMap<ValueId, Squares> = BTreeMap::new();
    for index in 0..reference.outputs.len() {
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
            let Some(own) = other_graph.value(id).and_then(|own| reals(own, &tensor)) else {
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

/// The real numbers of a value of the integer graph; `None` for integers without a grid.
fn reals(value: &Value, tensor: &TensorView<'_>) -> Option<Vec<f32>> {
    if let Ok(numbers) = tensor.values::<f32>() {
        return Some(numbers.to_vec());
    }
    let grid: &QuantParams = value.quant.as_deref()?;
    let codes = tensor.to_tensor().to_data().ok()?.to_i64().ok()?;
    let parts = Parts::of_grid(grid, tensor.shape())?;
    let real = |(index, &code): (usize, &i64)| {
        let part = parts.of(index);
        let zero = grid.zero_point.get(part).copied().unwrap_or(0);
        dequantize(code, grid.scale.get(part).copied().unwrap_or(1.0), zero)
    };
    Some(codes.iter().enumerate().map(real).collect())
}

/// The layers at which the error jumps, in the order of the graph; the largest step where none is a jump.
fn jumps(module: &Module, squares: &BTreeMap<ValueId, Squares>, outputs: &[SanityOutput]) -> Vec<Jump> {
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
    // The SNR of what is joined is that of its largest part.
    for (output, part) in graph
        .outputs()
        .iter()
        .flat_map(|&id| parts(module, id).into_iter().map(move |part| (id, part)))
    {
        let name = |id: ValueId| graph.value(id).map(|value| module.name(value.name));
        let is_it = |judged: &&SanityOutput| {
            name(output) == Some(judged.output.as_str()) && judged.part.as_deref() == name(part.value)
        };
        let found = outputs.iter().find(is_it);
        if let (Some(before), Some(after)) = (snr(part.value), found.and_then(|judged| judged.snr)) {
            steps.push(Jump {
                nodes: part.joined.clone(),
                value: output,
                before: before.min(GOOD),
                after,
            });
        }
    }
    let jumps = |step: &Jump| step.after < WORTH_NAMING && step.before - step.after >= JUMP;
    if steps.iter().any(jumps) {
        steps.retain(jumps);
        return steps;
    }
    let largest = steps
        .into_iter()
        .reduce(|a, b| if b.before - b.after > a.before - a.after { b } else { a });
    largest.into_iter().collect()
}

/// A node with those in front of it up to the values that are in sight, and these values.
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

/// The rule that runs the layers in float at which the error jumps.
fn remedy(
    reference: &Reference<'_>,
    outputs: &[SanityOutput],
    subject: &Subject<'_>,
    mut jumps: Vec<Jump>,
    session: &Session<'_>,
) -> Result<Option<Remedy>, Stop> {
    let graph = subject.annotated.main();
    let on_accelerator = |id: &NodeId| graph.node(*id).is_some_and(|node| node.place == Placement::Accelerator);
    let mut nodes: BTreeSet<NodeId> = BTreeSet::new();
    let mut found = None;
    let mut reached = least(outputs);
    for _ in 0..ROUNDS {
        let is_new = |jump: &&Jump| jump.nodes.iter().any(|id| on_accelerator(id) && !nodes.contains(id));
        let first = jumps.iter().filter(is_new).take(NAMED);
        let alone: BTreeSet<NodeId> = first.flat_map(|jump| jump.nodes.iter().copied()).collect();
        let before: BTreeSet<NodeId> = alone.iter().flat_map(|&id| makers(graph, id)).collect();
        let mut best: Option<(BTreeSet<NodeId>, Simulated)> = None;
        for more in [alone.clone(), alone.union(&before).copied().collect()] {
            let tried: BTreeSet<NodeId> = nodes.union(&more).copied().filter(on_accelerator).collect();
            if tried.len() == nodes.len() || best.as_ref().is_some_and(|(known, _)| *known == tried) {
                continue;
            }
            let simulated = Simulated::new(reference, subject, &tried, session)?;
            let helps = simulated.mends() || least(&simulated.outputs) > reached.map(|snr| snr + GAIN);
            let is_better = |(_, best): &(_, Simulated)| least(&simulated.outputs) > least(&best.outputs);
            if best.as_ref().is_none_or(is_better) {
                best = Some((tried, simulated));
            }
            if helps {
                break;
            }
        }
        let Some((tried, simulated)) = best else { break };
        let listed: Vec<NodeId> = tried.iter().copied().collect();
        let mends = simulated.mends();
        found = Some(Remedy {
            toml: rule(&layers(subject.canonical, &listed)),
            snr: least(&simulated.outputs),
            mends,
        });
        if mends {
            break;
        }
        let model = Model {
            module: &simulated.module,
            loops: &Standard,
        };
        jumps = model.jumps(reference, &simulated.outputs, subject, session)?;
        (nodes, reached) = (tried, least(&simulated.outputs));
    }
    Ok(found)
}

/// The least SNR of outputs.
fn least(outputs: &[SanityOutput]) -> Option<f64> {
    outputs.iter().filter_map(|output| output.snr).reduce(f64::min)
}

/// The nodes that make what a node reads, behind those that move elements or bound them.
fn makers(graph: &Graph, id: NodeId) -> Vec<NodeId> {
    let (mut found, mut open) = (Vec::new(), vec![id]);
    while let Some(id) = open.pop() {
        let values = graph.node(id).into_iter().flat_map(|node| node.inputs.iter().flatten());
        for (producer, node) in values.filter_map(|&value| graph.producer(value)) {
            if !found.contains(&producer) {
                found.push(producer);
                let moves = matches!(
                    node.op.term().kind(),
                    Kind::Rearranges | Kind::Moves | Kind::Extends | Kind::Selects
                );
                if moves || matches!(node.op, Op::Relu(_) | Op::Clip(_)) {
                    open.push(producer);
                }
            }
        }
    }
    found
}

/// The simulation in which some nodes compute on real numbers.
struct Simulated {
    module: Module,
    outputs: Vec<SanityOutput>,
}

impl Simulated {
    fn new(
        reference: &Reference<'_>,
        subject: &Subject<'_>,
        nodes: &BTreeSet<NodeId>,
        session: &Session<'_>,
    ) -> Result<Simulated, Stop> {
        let mut annotated = subject.annotated.clone();
        let main = annotated.main;
        for &node in nodes {
            if let Some(mut op) = QuantizableOp::new(&mut annotated, main, node) {
                op.dequantize();
            }
        }
        let simulated = simulate(&annotated, Some(subject.spec), Parameters::Reals);
        let simulated = simulated.map_err(|error| Stop::Defect(error.to_string()))?;
        let module = whole_of(subject.bodies, &simulated)?.into_owned();
        let options = PlanOptions {
            context: session.context,
            ..PlanOptions::default()
        };
        let side = Side::new(&module, &options, session)?;
        let phase = format!("simulate ({})", subject.spec.id);
        let outputs = ran(&side, reference.samples, reference.outputs.len(), session, &phase)?;
        Ok(Simulated {
            outputs: reference.judged(&outputs)?,
            module,
        })
    }

    /// True if no output is at fault.
    fn mends(&self) -> bool {
        self.outputs.iter().all(|output| output.faults.is_empty())
    }
}

/// A name of each node in the model.
fn layers(module: &Module, nodes: &[NodeId]) -> Vec<String> {
    let graph = module.main();
    let names = nodes.iter().filter_map(|&id| {
        let source = graph.node(id)?.sources.first()?;
        Some(module.name(*source).to_owned())
    });
    let mut listed: Vec<String> = Vec::new();
    for name in names {
        if !listed.contains(&name) {
            listed.push(name);
        }
    }
    listed
}

/// The rule as it stands in a configuration.
fn rule(layers: &[String]) -> String {
    let layers: toml::value::Array = layers.iter().map(|name| name.as_str().into()).collect();
    format!(
        "[[quantize.rule]]\nlayers = {}\nrun = \"float\"\n",
        toml::Value::Array(layers)
    )
}
