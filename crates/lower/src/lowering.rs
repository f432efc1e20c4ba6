//! The walk over the annotated graph that builds the integer one.

mod counterparts;
mod sums;

pub(crate) use counterparts::{Codes, Grid};

use crate::interval::Known;
use crate::recipes::{self};
use counterparts::Counterparts;
use std::collections::BTreeMap;
use std::sync::Arc;
use strait_core::op::{Dequantize, ShiftLeft};
use strait_core::{
    DataId, Elem, Failure, Graph, Module, Names, Node, NodeId, Op, Placement, Port, QuantParams, Reason, ReasonCode,
    Refusal, Stage, Symbol, TensorData, TensorError, TensorType, ValueId,
};
use strait_target::TargetSpec;
use strait_target::spec::{Nearness, OpRow};

/// Reason why a graph was not lowered.
#[derive(Debug, thiserror::Error)]
pub enum LowerError {
    /// These nodes cannot be lowered: they have to run on the host, and the graph must be annotated again.
    #[error("{} node{} cannot be lowered", .0.len(), if .0.len() == 1 { "" } else { "s" })]
    Nodes(Vec<Refusal>),
    /// A defect of ours: what an earlier step has promised does not hold.
    #[error("{0}")]
    Ours(String),
}

/// Result of lowering.
#[derive(Debug)]
pub struct Lowered {
    /// The module whose main graph is in the integer stage.
    pub module: Module,
    /// Nearness of the requantizations to their ideal functions, where it is known, by the name of the requantization's
    /// node. That name stays among the sources of the node that the requantization is fused into.
    pub nearness: BTreeMap<String, Nearness>,
    /// The row of the target's table by which each node was made, by the node's name.
    pub origins: BTreeMap<String, String>,
}

/// The state of the walk.
pub(crate) struct Lowering<'a> {
    source: &'a Module,
    graph: &'a Graph,
    /// The target's table.
    pub(crate) spec: &'a TargetSpec,
    out: Module,
    counterparts: Vec<Counterparts>,
    /// Codes of parameters: by tensor of the source, that of the new module.
    shared: BTreeMap<DataId, DataId>,
    known: Known,
    nearness: BTreeMap<ValueId, Nearness>,
    origins: BTreeMap<Symbol, &'a str>,
    /// The name of the row by which primitives are made just now.
    row: Option<&'a str>,
}

/// Lowers the main graph of a baked module into a new module.
///
/// # Errors
/// [`LowerError::Nodes`] with every node that its recipe refuses, all at once.
pub fn lower(source: &Module, spec: &TargetSpec) -> Result<Lowered, LowerError> {
    let graph = source.main();
    let order = graph
        .topological_order()
        .map_err(|_| LowerError::Ours("the graph has a cycle".into()))?;
    let mut names = Names::default();
    let main = Graph::new(names.intern("lowered"), Stage::Integer);
    let counterparts = vec![Counterparts::default(); graph.value_bound()];
    let mut walk = Lowering {
        source,
        graph,
        spec,
        out: Module::new(main, names),
        counterparts,
        shared: BTreeMap::new(),
        known: Known::default(),
        nearness: BTreeMap::new(),
        origins: BTreeMap::new(),
        row: None,
    };
    // The model's names come first, so that a fresh name never takes one of them.
    let names = graph.values().map(|(_, value)| value.name);
    for name in names.chain(graph.nodes().map(|(_, node)| node.name)) {
        walk.out.names.intern(source.name(name));
    }
    for &input in graph.inputs() {
        if let Some(value) = graph.value(input) {
            let name = walk.out.names.intern(source.name(value.name));
            let id = walk.out.main_mut().add_input(name, value.ty.clone(), None);
            walk.counterparts[input.index()].float = Some(id);
        }
    }
    let mut refused = Vec::new();
    for id in order {
        let Some(node) = graph.node(id) else { continue };
        let ours = |failure: Failure| LowerError::Ours(format!("lowering {}: {failure}", source.name(node.name)));
        match walk.node(id, node) {
            Ok(()) => {}
            Err(failure) => {
                refused.push(failure.refusal(id).map_err(|defect| ours(Failure::Defect(defect)))?);
                // What follows needs the results; they are computed in float, and this module is thrown away.
                walk.host(node, Reason::new(ReasonCode::Refused, "refused"))
                    .map_err(ours)?;
            }
        }
    }
    if !refused.is_empty() {
        return Err(LowerError::Nodes(refused));
    }
    for &output in graph.outputs() {
        let float = walk.float(output);
        let float = float.map_err(|failure| LowerError::Ours(failure.to_string()))?;
        walk.out.main_mut().add_output(float);
    }
    let Lowering {
        out, nearness, origins, ..
    } = walk;
    let name = |id| out.main().producer(id).map(|(_, node)| out.name(node.name).to_owned());
    let nearness = nearness.into_iter().filter_map(|(id, near)| Some((name(id)?, near)));
    let origins = origins
        .into_iter()
        .map(|(name, row)| (out.name(name).to_owned(), row.to_owned()));
    Ok(Lowered {
        nearness: nearness.collect(),
        origins: origins.collect(),
        module: out,
    })
}

/// Name of a primitive that is made from a node of this name.
fn primitive_name(origin: &str, what: &str) -> String {
    format!("{origin}:{what}")
}

impl<'a> Lowering<'a> {
    fn node(&mut self, id: NodeId, node: &'a Node) -> Result<(), Failure> {
        match &node.place {
            Placement::Host(reason) => self.host(node, (**reason).clone()),
            Placement::Accelerator => {
                self.row = self.row(id, node).map(|(name, _)| name);
                recipes::lower(self, id, node)
            }
        }
    }

    /// The row by which a node of the accelerator is lowered: that for the activations that it reads.
    pub(crate) fn row(&self, id: NodeId, node: &Node) -> Option<(&'a str, &'a OpRow)> {
        let mut read = (0..node.inputs.len()).map(Port::Operand);
        let read = read.find_map(|port| self.grid(id, port).map(|grid| grid.ty));
        self.spec.row_for(node.op.term(), read?.into())
    }

    /// The node as it is, on float operands.
    fn host(&mut self, node: &Node, reason: Reason) -> Result<(), Failure> {
        self.row = None;
        let mut operands = Vec::with_capacity(node.inputs.len());
        for input in &node.inputs {
            operands.push(input.map(|v| self.float(v)).transpose()?);
        }
        let results = (node.outputs.iter())
            .filter_map(|&v| self.graph.value(v))
            .map(|v| (self.out.names.intern(self.source.name(v.name)), v.ty.clone(), None))
            .collect();
        let id = self.add(node, node.op.clone(), &operands, results, false);
        self.out.main_mut().place_on_host(id, reason);
        for (position, &output) in node.outputs.iter().enumerate() {
            let made = self.out.main().node(id).map(|n| n.outputs[position]);
            self.counterparts[output.index()] = Counterparts {
                float: made,
                ..Counterparts::default()
            };
        }
        Ok(())
    }

    fn add(
        &mut self,
        origin: &Node,
        op: Op,
        operands: &[Option<ValueId>],
        results: Vec<(Symbol, TensorType, Option<Arc<QuantParams>>)>,
        origin_is_taken_apart: bool,
    ) -> NodeId {
        // A primitive is called like its first result, which is fresh: a recipe may use one twice.
        let name = match results.first() {
            Some((result, ..)) if origin_is_taken_apart => *result,
            _ => self.out.names.intern(self.source.name(origin.name)),
        };
        let sources: Vec<Symbol> = origin
            .sources
            .iter()
            .map(|&s| self.source.name(s).to_string())
            .map(|s| self.out.names.intern(&s))
            .collect();
        let id = self.out.main_mut().add_node(name, op, operands, results);
        self.out.main_mut().add_sources(id, &sources);
        if let Some(row) = self.row {
            self.origins.insert(name, row);
        }
        id
    }

    // ---- what recipes ask for ----

    /// The source graph.
    pub(crate) fn graph(&self) -> &'a Graph {
        self.graph
    }

    /// The name of a value of the source graph.
    fn name_of(&self, value: ValueId) -> &'a str {
        self.graph.value(value).map_or("", |value| self.source.name(value.name))
    }

    /// The float constant that a value of the source graph is.
    pub(crate) fn constant(&self, value: ValueId) -> Option<&'a TensorData> {
        self.source.constant(self.graph, value)
    }

    /// Appends a primitive with one result and answers with that; its type is inferred.
    pub(crate) fn emit(
        &mut self,
        origin: &Node,
        op: impl Into<Op>,
        operands: &[ValueId],
        quant: Option<Arc<QuantParams>>,
        suffix: &str,
    ) -> Result<ValueId, Failure> {
        let results = self.emit_all(origin, op, operands, quant, suffix)?;
        results
            .first()
            .copied()
            .ok_or_else(|| Failure::defect(format!("the primitive {suffix} has no result")))
    }

    /// The same for any number of results, all on one grid.
    pub(crate) fn emit_all(
        &mut self,
        origin: &Node,
        op: impl Into<Op>,
        operands: &[ValueId],
        quant: Option<Arc<QuantParams>>,
        suffix: &str,
    ) -> Result<Vec<ValueId>, Failure> {
        let op = op.into();
        let types: Vec<Option<&TensorType>> = operands
            .iter()
            .map(|&v| self.out.main().value(v).map(|v| &v.ty))
            .collect();
        let types = self.out.result_types(&op, &types, None);
        let types = types.map_err(|reason| Failure::Defect(format!("the primitive {suffix}: {reason}")))?;
        let base = primitive_name(self.source.name(origin.name), suffix);
        let results = types
            .into_iter()
            .map(|ty| (self.out.names.fresh(&base), ty, quant.clone()))
            .collect();
        let operands: Vec<Option<ValueId>> = operands.iter().copied().map(Some).collect();
        let id = self.add(origin, op, &operands, results, true);
        Ok(self.out.main().node(id).map(|n| n.outputs.to_vec()).unwrap_or_default())
    }

    /// `(x - zero) 2^bits` as 32-bit integers. Of a constant it is computed here, so that what requantizes it then
    /// stands behind a constant, too.
    pub(crate) fn shift_left(
        &mut self,
        origin: &Node,
        shift: ShiftLeft,
        operand: ValueId,
        quant: Option<Arc<QuantParams>>,
        suffix: &str,
    ) -> Result<ValueId, Failure> {
        let main = self.out.main();
        let (Some(tensor), Some(value)) = (self.out.constant(main, operand), main.value(operand)) else {
            let ty = main.value(operand).map(|value| &value.ty);
            self.out.result_types(&shift.clone().into(), &[ty], None)?;
            return self.emit(origin, shift, &[operand], quant, suffix);
        };
        // It proves that nothing overflows, or is the reason.
        self.out.result_types(&shift.clone().into(), &[Some(&value.ty)], None)?;
        let codes = tensor.to_i64()?;
        let shifted = codes.iter().map(|&code| (code - i64::from(shift.zero)) << shift.bits);
        let made = TensorData::from_integers(shift.accumulator.elem(), tensor.shape(), &shifted.collect::<Vec<i64>>())?;
        let base = primitive_name(self.source.name(origin.name), suffix);
        Ok(self.data(&base, made, quant))
    }

    /// A tensor of integers in the new module.
    pub(crate) fn data(&mut self, base: &str, tensor: TensorData, quant: Option<Arc<QuantParams>>) -> ValueId {
        let (name, ty) = (self.out.names.fresh(base), tensor.tensor_type());
        let data = self.out.add_data(tensor);
        self.out.main_mut().add_data(name, ty, quant, data)
    }

    /// Lowers `value`, the result of a node that is left in accumulators, to real numbers.
    pub(crate) fn dequantize_accumulator(
        &mut self,
        origin: &Node,
        value: ValueId,
        acc: ValueId,
    ) -> Result<(), Failure> {
        let made = self.emit(origin, Dequantize {}, &[acc], None, "dequantize")?;
        self.set_float(value, made);
        Ok(())
    }

    /// Element type and scale of a value of the new module that has one grid.
    pub(crate) fn made(&self, value: ValueId) -> Result<(Elem, f32), Failure> {
        let value = self.out.main().value(value);
        let found = value.and_then(|v| Some((v.ty.elem, v.quant.as_deref()?.as_tensor()?.0)));
        found.ok_or_else(|| Failure::defect("what a primitive made has no single grid"))
    }

    /// Keeps how near the requantization that makes `value` is to its ideal.
    pub(crate) fn set_nearness(&mut self, value: ValueId, nearness: Nearness) {
        self.nearness.insert(value, nearness);
    }

    /// The shape of a value of the new module; all are fixed by now.
    pub(crate) fn dims(&self, value: ValueId) -> Vec<u64> {
        self.out
            .main()
            .value(value)
            .and_then(|v| v.ty.dims())
            .unwrap_or_default()
            .to_vec()
    }
}

/// Codes as a tensor of `elem`.
pub(crate) fn integers(shape: &[u64], codes: &[i32], elem: Elem) -> Result<TensorData, TensorError> {
    let codes: Vec<i64> = codes.iter().map(|&code| code.into()).collect();
    TensorData::from_integers(elem, shape, &codes)
}

#[cfg(test)]
mod tests;
