//! Reads graphs inside of nodes. Each of them becomes a graph of the module. Such a graph may read tensors of the
//! graphs around it. If such a tensor is constant, it becomes a constant of the inner graph, and is folded like any
//! other constant. Otherwise it becomes an input of the inner graph.

use super::index::{Index, captured};
use super::inline::Versions;
use super::nodes::Nodes;
use super::operator_reader::{Arg, OperatorReader, Refusal};
use super::types::Tensors;
use crate::proto::GraphProto;
use std::collections::{BTreeMap, BTreeSet};
use strait_core::op::{Gather, Identity, Sub};
use strait_core::{Def, Elem, Module, NodeId, Op, ReasonCode, TensorData, TensorType, ValueId};
use strait_import::{Builder, Entry, ReadError, Scope, between, check_limits};

/// Limit on how often graphs inside of nodes are read, in total for all of these graphs. The body of a loop is read
/// again when an extent of a carried value changes, and then the bodies of all loops around it are read again, too.
const MOST_BODIES: usize = 1 << 12;

/// What an input of a graph inside of a node receives.
pub(crate) enum Formal {
    /// A value of this type.
    Value(TensorType),
    /// Each run receives one slice of a value of type `of`, cut along `axis`. If `reverse` is true, the first run
    /// receives the last slice.
    Slice { of: TensorType, axis: usize, reverse: bool },
}

/// A nested graph that has been read.
pub(crate) struct Body {
    pub(crate) module: Module,
    /// Values of the outer graph that the nested graph reads. Its last inputs receive them.
    pub(crate) captured: Vec<ValueId>,
    /// The names of nested graphs that were left out because they can never run.
    dropped: Vec<String>,
}

impl Body {
    /// The types of the outputs.
    pub(crate) fn types(&self) -> Vec<TensorType> {
        let graph = self.module.main();
        let outputs = graph.outputs().iter().filter_map(|&output| graph.value(output));
        outputs.map(|value| value.ty.clone()).collect()
    }

    /// True if the output at position `output` is known to be true in every run. This is so if the output is the
    /// constant true, or if it is the unchanged input at position `input`.
    pub(crate) fn holds(&self, output: usize, input: u32) -> bool {
        let graph = self.module.main();
        let mut value = graph.outputs().get(output).copied();
        // Identity nodes only rename a value.
        while let Some((_, node)) = value
            .and_then(|value| graph.producer(value))
            .filter(|(_, node)| matches!(node.op, Op::Identity(_)))
        {
            value = node.inputs.first().copied().flatten();
        }
        match value.and_then(|value| Some((value, graph.value(value)?.def))) {
            Some((_, Def::Input(position))) => position == input,
            Some((value, Def::Data(_))) => {
                let constant = self.module.constant(graph, value);
                constant.is_some_and(|tensor| tensor.bytes().iter().all(|&byte| byte != 0))
            }
            _ => false,
        }
    }
}

impl<'a> OperatorReader<'_, 'a> {
    /// Returns the names of the tensors that the node's nested graphs `graphs` read from outer graphs.
    pub(crate) fn captures(&self, graphs: &[&'a GraphProto]) -> BTreeSet<&'a str> {
        let mut outer = BTreeSet::new();
        graphs.iter().for_each(|graph| captured(graph, &mut outer));
        outer
    }

    /// Reads a graph inside of the node. `outer` has the names of the tensors that this graph reads from outer graphs.
    /// The inputs `leading` are added before the graph's own inputs. The input at position `passed` becomes the first
    /// output.
    pub(crate) fn body(
        &mut self,
        graph: &'a GraphProto,
        outer: &BTreeSet<&'a str>,
        leading: &[TensorType],
        formals: &[Formal],
        passed: Option<usize>,
    ) -> Result<Body, Refusal> {
        let name = self.name();
        if formals.len() != graph.input.len() {
            return Err(Refusal::invalid(
                ReasonCode::Arity,
                format!(
                    "its graph has {} inputs, and {} are given",
                    graph.input.len(),
                    formals.len()
                ),
            ));
        }
        self.nodes.bodies += 1;
        if self.nodes.bodies > MOST_BODIES {
            return Err(Refusal::unsupported("the graphs inside of each other are too many"));
        }
        let index = Index::inside(graph, outer).map_err(inside)?;
        let no_versions = Versions::default();
        let own_versions = self.versions_of(graph).unwrap_or(&no_versions);
        let mut nodes = Nodes {
            index: &index,
            own_versions,
            ..*self.nodes
        };
        // A key that binds a single dimension always names a tensor of the model's main graph, never one of a graph
        // inside of a node.
        let single = BTreeSet::new();
        let source = Tensors {
            index: &index,
            files: nodes.files,
            single: &single,
        };
        let scope = Scope {
            wiring: &index.wiring,
            source: &source,
            bind: self.builder.scope().bind,
        };
        let cut = between(&index.wiring, Vec::new(), index.wiring.outputs().to_vec(), false).map_err(inside)?;
        let mut inner = Builder::new(scope, name, cut.outputs.iter().copied());
        inner.share_budgets(self.builder);
        let mut read = Vec::new();
        let leading = (leading.iter().enumerate())
            .map(|(position, ty)| input(&mut inner, &format!("{name}:{position}"), ty.clone()))
            .collect::<Result<Vec<ValueId>, Refusal>>()?;
        for (formal, info) in formals.iter().zip(&graph.input) {
            let value = match formal {
                Formal::Value(ty) => input(&mut inner, &info.name, ty.clone())?,
                Formal::Slice { of, axis, reverse } => {
                    let whole = input(&mut inner, &format!("{}:all", info.name), of.clone())?;
                    slice(
                        &mut inner,
                        &info.name,
                        whole,
                        *axis,
                        reverse.then_some(of),
                        leading.first().copied(),
                    )?
                }
            };
            if let Some(id) = index.wiring.id(&info.name) {
                inner.define(id, Entry::Value(value));
            }
        }
        for &name in outer {
            let (Some(own), Some(theirs)) = (index.wiring.id(name), self.builder.wiring().id(name)) else {
                return Err(Refusal::invalid(
                    ReasonCode::MissingTensor,
                    format!("nothing defines `{name}`"),
                ));
            };
            match self.builder.entry(theirs)? {
                Entry::Value(value) => {
                    let ty = self.arg_type(&Arg::Value(value))?;
                    let made = input(&mut inner, name, ty)?;
                    inner.define(own, Entry::Value(made));
                    read.push(value);
                }
                Entry::Sequence(elements) if elements.iter().any(|element| matches!(element, Entry::Value(_))) => {
                    let text = format!("`{name}` is a sequence; a graph inside of a node takes tensors");
                    return Err(Refusal::Unsupported(text));
                }
                constant => inner.define(own, constant),
            }
        }
        let added = cut
            .nodes
            .iter()
            .try_for_each(|&position| inner.add(&mut nodes, position));
        self.builder.share_budgets(&inner);
        self.nodes.bodies = nodes.bodies;
        added.map_err(|error| without_a_run(error, &inner))?;
        if !inner.unsupported.is_empty() {
            let faults = std::mem::take(&mut inner.unsupported);
            let at = self.position();
            let faults = faults.into_iter().map(|(_, fault)| (at, fault));
            self.builder.unsupported.extend(faults);
            return Err(Refusal::Unknown);
        }
        if let Some(&value) = passed.and_then(|position| leading.get(position)) {
            inner.module.main_mut().add_output(value);
        }
        for &output in &cut.outputs {
            inner.add_output(output).map_err(inside)?;
        }
        inner.join_copies();
        Ok(Body {
            module: inner.module,
            captured: read,
            dropped: inner.assumed.dropped,
        })
    }

    /// Adds `body`, a nested graph that has already been read, to the module. Returns the position of the graph in the
    /// module.
    pub(crate) fn adopted(&mut self, body: &Body) -> u32 {
        self.builder.assumed.dropped.extend_from_slice(&body.dropped);
        self.builder.module.adopt(&body.module, 0) as u32
    }

    /// Inlines a graph that runs exactly once: its nodes are added to the outer graph, and its outputs become the
    /// results of the node.
    pub(crate) fn finish_inline(&mut self, body: Body) -> Result<(), Refusal> {
        let graph = body.module.main();
        // The graphs that the body itself contains are added to the module. The body's main graph is inlined here.
        let offset = self.builder.module.adopt(&body.module, 1);
        self.builder.assumed.dropped.extend_from_slice(&body.dropped);
        let mut made: BTreeMap<ValueId, Arg> = BTreeMap::new();
        for (&input, value) in graph.inputs().iter().zip(&body.captured) {
            made.insert(input, Arg::Value(*value));
        }
        let order = graph.topological_order().map_err(|_: NodeId| cycle())?;
        let arg = |made: &BTreeMap<ValueId, Arg>, value: ValueId| match body.module.constant(graph, value) {
            Some(tensor) => Arg::Constant(tensor.clone()),
            None => made.get(&value).cloned().unwrap_or(Arg::Absent),
        };
        for node in order.into_iter().filter_map(|id| graph.node(id)) {
            let operands: Vec<Arg> = (node.inputs.iter())
                .map(|input| input.map_or(Arg::Absent, |value| arg(&made, value)))
                .collect();
            let op = node.op.with_graphs(|id| strait_core::GraphId::new(offset + id.index()));
            let results = self.push_all(op, &operands)?;
            for (&output, result) in node.outputs.iter().zip(&results) {
                let grid = graph.value(output).and_then(|value| value.quant.as_deref());
                if let (Arg::Value(result), Some(grid)) = (result, grid) {
                    self.builder.give(*result, grid);
                }
            }
            made.extend(node.outputs.iter().copied().zip(results));
        }
        for (position, &output) in graph.outputs().iter().enumerate() {
            let output = arg(&made, output);
            self.finish_result(position, Identity {}, &[output])?;
        }
        Ok(())
    }
}

/// Adds an input to the graph.
fn input(builder: &mut Builder<'_>, name: &str, ty: TensorType) -> Result<ValueId, Refusal> {
    check_limits(&ty)?;
    let mut ty = [ty];
    // The name of an extent in the outer graph has no meaning in this graph.
    for dim in &mut ty[0].shape {
        *dim = dim.fixed().map_or(strait_core::Dim::OPEN, strait_core::Dim::Fixed);
    }
    builder.module.name_extents(name, &mut ty);
    let [ty] = ty;
    // The names of all tensors in the file are already reserved, and `name` may be one of them.
    let name = match builder.wiring().id(name) {
        Some(_) => builder.module.names.intern(name),
        None => builder.module.names.fresh(name),
    };
    Ok(builder.module.main_mut().add_input(name, ty, None))
}

/// Adds the nodes that take one slice from the value `whole` along `axis`. `run` is the value that counts the runs, and
/// is the position of the slice. If the first run receives the last slice, `reversed` is the type of `whole`, and
/// positions are counted from the end.
fn slice(
    builder: &mut Builder<'_>,
    name: &str,
    whole: ValueId,
    axis: usize,
    reversed: Option<&TensorType>,
    run: Option<ValueId>,
) -> Result<ValueId, Refusal> {
    let mut position = run.ok_or_else(cycle)?;
    if let Some(ty) = reversed {
        let last = ty.shape.get(axis).and_then(|dim| dim.fixed()).unwrap_or(0) as i64 - 1;
        let label = builder.fresh(name);
        let last = builder.place(label, TensorData::scalar(last))?;
        position = node(builder, name, Sub {}.into(), &[last, position])?;
    }
    node(builder, name, Gather { axis: axis as i64 }.into(), &[whole, position])
}

fn node(builder: &mut Builder<'_>, name: &str, op: Op, operands: &[ValueId]) -> Result<ValueId, Refusal> {
    let graph = builder.module.main();
    let types: Vec<_> = operands
        .iter()
        .map(|&value| graph.value(value).map(|value| &value.ty))
        .collect();
    let results = builder.module.result_types(&op, &types, None)?;
    let results = results.into_iter().map(|ty| (builder.fresh(name), ty, None)).collect();
    let label = builder.node_name(name, &op);
    let operands: Vec<_> = operands.iter().copied().map(Some).collect();
    let graph = builder.module.main_mut();
    let id = graph.add_node(label, op, &operands, results);
    graph
        .node(id)
        .and_then(|node| node.outputs.first().copied())
        .ok_or_else(cycle)
}

/// The types of the first two inputs of a loop body: the number of runs before this one, and the condition.
pub(crate) fn run_inputs() -> [TensorType; 2] {
    [Elem::I64, Elem::Bool].map(|elem| TensorType::fixed(elem, &[]))
}

fn cycle() -> Refusal {
    Refusal::invalid(ReasonCode::Cycle, "its graph is not complete")
}

/// Turns an error inside of a node's graph into an error of the node.
fn inside(error: ReadError) -> Refusal {
    Refusal::invalid(ReasonCode::Call, format!("inside of it, {error}"))
}

/// Like [`inside`], for an error that ended the reading of the graph. `read` has what was read before the error. If the
/// error is that extents contradict each other, and all extents are known numbers, then every run of the graph would
/// fail, so the graph can never run.
fn without_a_run(error: ReadError, read: &Builder<'_>) -> Refusal {
    let contradicts = matches!(&error, ReadError::Node(fault) if is_of_extents(&fault.reason.code));
    let known = || (read.module.main().values()).all(|(_, value)| value.ty.dims().is_some());
    match inside(error) {
        Refusal::Invalid(reason) if contradicts && known() => Refusal::invalid(ReasonCode::DeadGraph, reason.text),
        other => other,
    }
}

/// True if the reason for a refusal is that extents of operands do not fit each other or the op.
fn is_of_extents(code: &ReasonCode) -> bool {
    use ReasonCode::{
        Broadcast, Concat, ConvChannels, DeadGraph, GemmInner, MatmulInner, Pad, Reshape, Split, Squeeze, Window,
    };
    let codes = [Broadcast, Concat, ConvChannels, DeadGraph, GemmInner, MatmulInner];
    codes.contains(code) || [Pad, Reshape, Split, Squeeze, Window].contains(code)
}
