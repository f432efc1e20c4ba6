//! Writes the values of tensors inside a model to an `.npz` file, at one of four stages: as real numbers in the float
//! model, rounded to grids in the simulation, as accumulators, and as integer codes.
//!
//! Arrays have the names of tensors in the model. A tensor that cannot be had at a stage is listed with the reason.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, io,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use serde::Serialize;
use strait_container::{Beside, QUANTIZATION_FILE, Quantization};
use strait_core::{Elem, Graph, GraphId, Module, Op, ValueId};
use strait_document::{Glob, nearest};
use strait_execute::{LoopsFor, Plan, PlanOptions, TensorView, Threads, Workspace, cost};
use strait_samples::{NumberType, Samples, Scratch, Stacked, StackedError};

use crate::{
    artifact::Opened,
    diagnostic::{Diagnostic, Diagnostics},
    eval::{FloatSide, SimulatedSide, float_module},
    evaluation::views,
    failure::{self, codes, unwritten},
    limits::Demand,
    pipeline,
    run::keeps_inputs,
    session::Session,
    stop::Stop,
    table,
};

/// Where in the way from the float model to integers values are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The float model, before any rule has rewritten it.
    Float,
    /// The simulation: the float model with rounding wherever the integer model has codes.
    Simulated,
    /// The sums of products in i32 or i64, in front of the requantization that makes the tensor.
    Accumulator,
    /// The codes that the artifact computes.
    Integer,
}

/// The models besides the artifact from which stages are computed.
#[derive(Default)]
pub struct Others<'a> {
    /// The float model, for the stage `float`.
    pub float: Option<FloatSide<'a>>,
    /// The configuration that the artifact was made with, for the stage `simulated`.
    pub simulated: Option<SimulatedSide>,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dumped {
    /// The file.
    pub file: PathBuf,
    /// The stage.
    pub stage: Stage,
    /// The number of samples, which is the first extent of every array.
    pub samples: usize,
    /// The tensors in the file.
    pub tensors: Vec<DumpedTensor>,
    /// Tensors that match the pattern and cannot be had at this stage.
    pub left_out: Vec<LeftOut>,
}

/// An array in the file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DumpedTensor {
    /// The name of the tensor in the model, and of the array.
    pub name: String,
    /// The type of the numbers.
    #[serde(rename = "type")]
    pub number_type: String,
    /// The shape of the array.
    pub shape: Vec<usize>,
}

/// A tensor that is not in the file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// The name of the tensor.
    pub name: String,
    /// Why it is not.
    pub why: String,
}

/// The summary of a dump names at most this many tensors that were left out.
const NAMED: usize = 10;

impl fmt::Display for Dumped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tensors, samples) = (self.tensors.len(), self.samples);
        let (tensors, samples) = (table::count(tensors, "tensor"), table::count(samples, "sample"));
        write!(f, "{}: {tensors} of {samples}", self.file.display())?;
        for left in self.left_out.iter().take(NAMED) {
            write!(f, "\nnot written: `{}`: {}", left.name, left.why)?;
        }
        match self.left_out.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => write!(f, "\nnot written: {}, see --json", table::count(more, "more tensor")),
        }
    }
}

/// The graph of an artifact in which each requantization is an op of its own.
fn lowered_graph(module: &Module) -> Option<GraphId> {
    let mut graphs = module.graphs.iter();
    graphs
        .position(|graph| module.name(graph.name) == "lowered")
        .map(GraphId::new)
}

/// The value that stands for a tensor at a stage.
type Chosen = (String, ValueId);

/// Runs the samples, which come from `files`, up to `stage`, and writes the tensors whose names match `pattern` to `output`.
///
/// # Errors
/// No tensor matches or can be had at the stage, a model that the stage needs is missing or is not the artifact's, the arrays
/// together have 4 GiB or more, a run fails, the file cannot be written, or the user interrupts.
pub fn dump(
    opened: &Opened,
    (samples, files): (&Samples, &[PathBuf]),
    (pattern, stage): (&str, Stage),
    (others, output): (Others<'_>, &Path),
    session: &Session<'_>,
) -> Result<Dumped, Stop> {
    failure::outside(output, "tensors are not written into", "name a place elsewhere")?;
    keeps_inputs(files, std::iter::once(output))?;
    let own;
    let (module, graph): (&Module, GraphId) = match stage {
        Stage::Float => {
            let float = others
                .float
                .ok_or_else(|| missing("float", "--model FLOAT", "the float model"))?;
            own = float_module(opened, float)?;
            (&own, own.main)
        }
        Stage::Simulated => {
            let what = "the configuration that the artifact was made with";
            let side = others
                .simulated
                .ok_or_else(|| missing("simulated", "--simulated CONFIG", what))?;
            own = pipeline::simulated(&side.loaded, side.registry, opened.artifact.manifest(), session)?;
            (&own, own.main)
        }
        Stage::Accumulator => {
            let lowered = lowered_graph(opened.module());
            let lowered = lowered.ok_or_else(|| Stop::Defect("the artifact has no graph `lowered`".to_owned()))?;
            (opened.module(), lowered)
        }
        Stage::Integer => (opened.whole(), opened.whole().main),
    };
    let of = module
        .graph(graph)
        .ok_or_else(|| Stop::Defect("a graph is missing".to_owned()))?;
    let glob = Glob::new(pattern);
    let (chosen, mut left_out) = chosen(opened, (module, of), (&glob, stage))?;
    let loops: &dyn LoopsFor = match stage {
        Stage::Accumulator | Stage::Integer => opened.loops.as_ref(),
        Stage::Float | Stage::Simulated => session.means().options.loops,
    };
    let options = PlanOptions {
        context: session.context,
        loops,
        join: false,
    };
    let demand = Demand::new(cost(module, graph)?);
    session.admit(&demand, 1)?;
    let plan = Plan::new(module, graph, &options)?;
    let mut tensors = Vec::new();
    // Several tensors may be requantized from one accumulator.
    let mut places: BTreeMap<ValueId, Vec<usize>> = BTreeMap::new();
    for (name, value) in chosen {
        match array(&name, (of, value), samples.count()) {
            Some(tensor) => {
                places.entry(value).or_default().push(tensors.len());
                tensors.push(tensor);
            }
            None => left_out.push(LeftOut {
                name,
                why: "its extents depend on data".to_owned(),
            }),
        }
    }
    if tensors.is_empty() {
        return Err(nothing(pattern, stage, &left_out, module, of).into());
    }
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    let beside = Beside::new(folder.unwrap_or(Path::new(".")), ".npz").map_err(|error| unwritten(output, &error))?;
    let arrays: Vec<(String, NumberType, Vec<usize>)> = tensors.clone();
    let failed = |error: StackedError| match error {
        StackedError::Io(error) => unwritten(output, &error),
        StackedError::Large(error) => {
            let finding = unwritten(output, &io::Error::other(error.to_string()));
            finding.help("a narrower pattern, or fewer samples")
        }
    };
    let mut stacked = Stacked::create(beside.path(), &arrays).map_err(failed)?;
    let phase = format!("run ({})", stage.name());
    session.phase(&phase, Some(samples.count()), |done| {
        let mut space = Workspace::new(&plan, &Threads::new(session.threads));
        for index in 0..samples.count() {
            let sample = samples.sample(index, &mut Scratch::default()).map_err(failure::data)?;
            let mut trouble = None;
            let mut seen = vec![false; tensors.len()];
            let mut keep = |id: ValueId, tensor: TensorView<'_>| {
                for &at in places.get(&id).into_iter().flatten() {
                    if let Some(seen) = seen.get_mut(at) {
                        *seen = true;
                    }
                    if let Err(error) = stacked.append(at, tensor.bytes()) {
                        trouble.get_or_insert(error);
                    }
                }
            };
            let ran = plan.run_observed(&mut space, &views(&sample)?, &mut keep);
            ran.map_err(|error| failure::execute_sample(error, index))?;
            if let Some(error) = trouble {
                return Err(failed(error).into());
            }
            if let Some((_, (name, ..))) = seen.iter().zip(&tensors).find(|(seen, _)| !**seen) {
                return Err(Stop::Defect(format!("the tensor `{name}` was not seen")));
            }
            if done(index + 1) == ControlFlow::Break(()) {
                return Err(Stop::Interrupted);
            }
        }
        Ok(())
    })?;
    stacked.finish().map_err(failed)?;
    beside.put_in_place(output).map_err(|error| unwritten(output, &error))?;
    let told = |(name, number_type, shape): (String, NumberType, Vec<usize>)| DumpedTensor {
        name,
        number_type: number_type.name().to_owned(),
        shape,
    };
    Ok(Dumped {
        file: output.to_owned(),
        stage,
        samples: samples.count(),
        tensors: tensors.into_iter().map(told).collect(),
        left_out,
    })
}

impl Stage {
    /// The name of the stage on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Float => "float",
            Stage::Simulated => "simulated",
            Stage::Accumulator => "accumulator",
            Stage::Integer => "integer",
        }
    }
}

/// The error for a stage without the model that it needs.
fn missing(stage: &str, option: &str, what: &str) -> Diagnostics {
    let message = format!("the stage `{stage}` needs {what}, which the artifact does not contain");
    Diagnostic::error(codes::EVALUATION, message)
        .help(format!("name it with {option}"))
        .into()
}

/// The array of a value in the file. `None` if an extent depends on data.
fn array(name: &str, (graph, value): (&Graph, ValueId), samples: usize) -> Option<(String, NumberType, Vec<usize>)> {
    let value = graph.value(value)?;
    let shape: Vec<usize> = value.ty.dims()?.iter().map(|&extent| extent as usize).collect();
    // Each sample has a batch of 1, and all samples are stacked along it.
    let one = shape.strip_prefix(&[1]).unwrap_or(&shape);
    Some((
        name.to_owned(),
        NumberType::from(value.ty.elem),
        [&[samples], one].concat(),
    ))
}

/// The values that stand for tensors whose names match, in the order of the graph, and the tensors that cannot be had.
fn chosen(
    opened: &Opened,
    (module, graph): (&Module, &Graph),
    (glob, stage): (&Glob, Stage),
) -> Result<(Vec<Chosen>, Vec<LeftOut>), Stop> {
    let known = match stage {
        Stage::Float | Stage::Simulated => BTreeSet::new(),
        Stage::Accumulator | Stage::Integer => quantized(opened)?,
    };
    let named = |id: ValueId| Some(module.name(graph.value(id)?.name));
    let mut order: Vec<ValueId> = graph.inputs().to_vec();
    for id in graph.topological_order().unwrap_or_default() {
        order.extend(graph.node(id).into_iter().flat_map(|node| node.outputs.iter().copied()));
    }
    let (mut found, mut left): (Vec<Chosen>, Vec<LeftOut>) = (Vec::new(), Vec::new());
    for &id in &order {
        let Some(name) = named(id).filter(|name| glob.matches(name)) else {
            continue;
        };
        let is_integer = matches!(stage, Stage::Accumulator | Stage::Integer);
        let is_real = graph.value(id).is_some_and(|value| value.ty.elem.is_float());
        if is_integer && !known.contains(name) && (!is_real || name.contains(':')) {
            continue;
        }
        let value = match stage {
            Stage::Float => Ok(id),
            Stage::Simulated if is_rounding(graph, id) => continue,
            Stage::Simulated => Ok(rounded(graph, id)),
            Stage::Accumulator => match accumulator(graph, id) {
                Some(sum) => Ok(sum),
                None => Err("no accumulator is requantized to it: it is not made by a sum".to_owned()),
            },
            Stage::Integer => match graph.value(id) {
                Some(value) if value.ty.elem.is_integer() => Ok(id),
                _ => match codes_of(graph, id) {
                    Some(codes) => Ok(codes),
                    None => Err("it is a real number here: the layer that makes it runs on the host".to_owned()),
                },
            },
        };
        match value {
            Ok(value) => found.push((name.to_owned(), value)),
            Err(why) => left.push(LeftOut {
                name: name.to_owned(),
                why,
            }),
        }
    }
    if stage == Stage::Integer {
        fused_away(opened, (glob, &known), (module, graph), &mut left);
    }
    Ok((found, left))
}

/// The names of the tensors that have grids. Other names in integer graphs are those of primitives, which the model does not
/// have, and of tensors on the host.
fn quantized(opened: &Opened) -> Result<BTreeSet<String>, Stop> {
    let content = opened.artifact.file(QUANTIZATION_FILE);
    let content = content.map_err(|error| Stop::from(Diagnostic::error(codes::ARTIFACT, error.to_string())))?;
    let found: Quantization = serde_json::from_slice(&content).map_err(|error| {
        let message = format!("{QUANTIZATION_FILE} cannot be read: {error}");
        Stop::from(Diagnostic::error(codes::DAMAGED, message))
    })?;
    let borders = found.inputs.into_iter().chain(found.outputs);
    let layers = found.layers.into_iter().flat_map(|layer| layer.configs);
    Ok(borders.chain(layers).map(|config| config.tensor).collect())
}

/// True for what a simulation inserts to round a tensor.
fn is_rounding(graph: &Graph, id: ValueId) -> bool {
    let maker = graph.producer(id);
    maker.is_some_and(|(_, node)| matches!(node.op, Op::Quantize(_) | Op::Dequantize(_) | Op::RoundTo(_)))
}

/// The value with the rounded numbers of a value in a simulation, or the value itself if it is not rounded.
fn rounded(graph: &Graph, id: ValueId) -> ValueId {
    let reader = |from: ValueId, is_it: &dyn Fn(&Op) -> bool| {
        let mut uses = graph.uses(from).filter_map(|at| graph.node(at.node));
        uses.find(|node| is_it(&node.op))
            .and_then(|node| node.outputs.first().copied())
    };
    if let Some(codes) = reader(id, &|op| matches!(op, Op::Quantize(_))) {
        return reader(codes, &|op| matches!(op, Op::Dequantize(_))).unwrap_or(id);
    }
    reader(id, &|op| matches!(op, Op::RoundTo(_))).unwrap_or(id)
}

/// The accumulator that is requantized, or dequantized, to a value of the lowered graph. Clamps in between are passed.
fn accumulator(graph: &Graph, id: ValueId) -> Option<ValueId> {
    let mut value = id;
    loop {
        let (_, node) = graph.producer(value)?;
        let from = node.input(0)?;
        let elem = graph.value(from)?.ty.elem;
        let is_sum = matches!(elem, Elem::I32 | Elem::I64) && graph.data_of(from).is_none();
        match &node.op {
            Op::Requantize(_) | Op::Dequantize(_) if is_sum => return Some(from),
            Op::Clamp(_) | Op::Dequantize(_) => value = from,
            _ => return None,
        }
    }
}

/// The codes that a dequantization reads, or to which an input is quantized.
fn codes_of(graph: &Graph, id: ValueId) -> Option<ValueId> {
    let made = graph.producer(id).and_then(|(_, node)| match node.op {
        Op::Dequantize(_) => node.input(0),
        _ => None,
    });
    made.or_else(|| {
        let mut readers = graph.uses(id).filter_map(|at| graph.node(at.node));
        let quantize = readers.find(|node| matches!(node.op, Op::Quantize(_)))?;
        quantize.outputs.first().copied()
    })
}

/// Lists the tensors of the lowered graph that match and that the artifact does not compute, because a fusion has moved
/// what follows them into the layer that makes them.
fn fused_away(
    opened: &Opened,
    (glob, known): (&Glob, &BTreeSet<String>),
    (main, fused): (&Module, &Graph),
    left: &mut Vec<LeftOut>,
) {
    let module = opened.module();
    let Some(lowered) = lowered_graph(module).and_then(|id| module.graph(id)) else {
        return;
    };
    let here: BTreeSet<&str> = fused.values().map(|(_, value)| main.name(value.name)).collect();
    for (id, value) in lowered.values() {
        let name = module.name(value.name);
        if lowered.data_of(id).is_some() || !known.contains(name) || here.contains(name) || !glob.matches(name) {
            continue;
        }
        // The next tensor that the artifact has is the one into whose layer this one was fused.
        let mut next = id;
        let into = loop {
            let reader = lowered.uses(next).next().and_then(|at| lowered.node(at.node));
            let Some(result) = reader.and_then(|node| node.outputs.first().copied()) else {
                break None;
            };
            let found = lowered.value(result).map(|value| module.name(value.name));
            match found {
                Some(found) if here.contains(found) => break Some(found),
                _ => next = result,
            }
        };
        let into = into
            .map(|into| format!(" into the layer that makes `{into}`"))
            .unwrap_or_default();
        left.push(LeftOut {
            name: name.to_owned(),
            why: format!(
                "what follows it was fused{into}; `strait inspect --fusions` has the row, and --stage simulated has it"
            ),
        });
    }
}

/// The error if nothing can be written.
fn nothing(pattern: &str, stage: Stage, left_out: &[LeftOut], module: &Module, graph: &Graph) -> Diagnostic {
    let stage = stage.name();
    if left_out.is_empty() {
        let values = graph.values().filter(|(id, _)| graph.data_of(*id).is_none());
        let names = values.map(|(_, value)| module.name(value.name));
        let names = names.filter(|name| !name.contains(':'));
        let near = nearest::closest(pattern, names, 3);
        let message = format!("no tensor at the stage `{stage}` matches `{pattern}`");
        let finding = Diagnostic::error(codes::EVALUATION, message);
        return finding
            .note("a tensor that rules have folded into others has a value only at the stage `float`")
            .help(format!("near it are {}", nearest::list(near)));
    }
    let message = format!("no tensor that matches `{pattern}` can be had at the stage `{stage}`");
    let mut finding = Diagnostic::error(codes::EVALUATION, message);
    for left in left_out.iter().take(NAMED) {
        finding = finding.note(format!("`{}`: {}", left.name, left.why));
    }
    finding
}
