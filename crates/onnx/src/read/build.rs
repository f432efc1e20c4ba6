//! Walks over the nodes of a cut and builds the module.

use super::cut::{Cut, between};
use super::external::DataFiles;
use super::free_dimensions;
use super::index::{Index, STANDARD_DOMAIN, TensorId, domain, node_name};
use super::inline::Versions;
use super::ops;
use super::site::{NodeReader, Refusal, narrowed_float, widened_float};
use super::tensor::{TensorFault, has_nan, tensor};
use super::types::{contradiction, declared_elem, declared_type};
use crate::error::{NodeFault, OnnxError};
use crate::proto::NodeProto;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use strait_core::op::Cast;
use strait_core::shape::{MAX_RANK, element_count, fixed_dims};
use strait_core::{
    Dim, Elem, Graph, Module, Names, Reason, ReasonCode, Stage, Symbol, TensorData, TensorType, ValueId,
};

/// The most operations of all constants together that are computed while a model is read: a second or two of products. The
/// canonicaliser computes what is left, as far as its own limits go.
const MOST_OPERATIONS: u64 = 1 << 30;

/// The most elements of all constants together that are written out from a shape.
const MOST_WRITTEN: u64 = 1 << 26;

/// State that all nodes of a model share.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) index: &'a Index<'a>,
    /// The version of each domain's operator set.
    pub(crate) versions: &'a BTreeMap<&'a str, i64>,
    /// The versions of single nodes, where they are others.
    pub(crate) own_versions: &'a Versions,
    pub(crate) files: &'a DataFiles,
    pub(crate) bind: &'a BTreeMap<String, u64>,
}

/// Knowledge of a tensor of the model.
#[derive(Clone)]
pub(crate) enum Entry {
    /// A value of the graph.
    Value(ValueId),
    /// A tensor whose elements are known. It enters the graph when a node takes it as data.
    Constant(TensorData),
    /// A sequence of tensors, each a value or a constant. It is nothing in the graph but what is taken out of it.
    Sequence(Arc<[Entry]>),
    /// A result that its node's operator could have, but that we do not compute: operator and position.
    NotComputed(String, usize),
    /// A result of a node that was not understood.
    Unknown,
}

/// A module that grows by one node after the other.
pub(crate) struct Builder<'a> {
    pub(crate) scope: Scope<'a>,
    pub(crate) module: Module,
    /// Outputs of the part that is read.
    outputs: BTreeSet<&'a str>,
    /// By tensor of the model.
    entries: Vec<Option<Entry>>,
    /// By tensor of the model: the value of a constant that is in the graph already.
    placed: Vec<Option<ValueId>>,
    /// Integers of i64 that narrower ones were cast to.
    pub(crate) widened: BTreeMap<ValueId, ValueId>,
    /// Outputs that are floats of another type than f32, to which they are rounded behind everything else.
    pub(crate) rounded: BTreeSet<&'a str>,
    /// The names that nodes have.
    node_names: BTreeSet<Symbol>,
    /// Graphs inside of nodes that were read, each as often as it was.
    pub(super) bodies: usize,
    /// Named extents of the model's inputs, which are to be bound.
    pub(crate) free: BTreeSet<Dim>,
    /// The elements that are known of lists of integers of which a run finds the rest.
    pub(crate) partial: BTreeMap<ValueId, Vec<Option<i64>>>,
    pub(super) unsupported: Vec<NodeFault>,
    /// Elements of the constants that are written out from a shape.
    pub(super) written: u64,
    /// Operations of all constants that were computed.
    pub(super) worked: u64,
}

/// Builds the module of a cut.
pub(crate) fn build<'a>(scope: &Scope<'a>, cut: Cut<'a>) -> Result<Module, OnnxError> {
    let rounded = rounded(scope.index, &cut);
    let mut builder = Builder::new(scope, "main", cut.outputs.iter().copied().collect());
    builder.rounded = rounded;
    builder.run(&cut)?;
    Ok(builder.module)
}

impl<'a> Builder<'a> {
    /// In front of the first node of a graph with these outputs.
    pub(super) fn new(scope: &Scope<'a>, name: &str, outputs: BTreeSet<&'a str>) -> Builder<'a> {
        let mut names = Names::default();
        let graph = Graph::new(names.intern(name), Stage::Float);
        Builder {
            scope: *scope,
            module: Module::new(graph, names),
            outputs,
            entries: vec![None; scope.index.tensor_count()],
            placed: vec![None; scope.index.tensor_count()],
            widened: BTreeMap::new(),
            rounded: BTreeSet::new(),
            node_names: BTreeSet::new(),
            bodies: 0,
            free: BTreeSet::new(),
            partial: BTreeMap::new(),
            unsupported: Vec::new(),
            written: 0,
            worked: 0,
        }
    }

    fn run(&mut self, cut: &Cut<'a>) -> Result<(), OnnxError> {
        for input in &cut.inputs {
            let ty = self.input_type(input)?;
            check_limits(&ty).map_err(|refusal| as_tensor(input, refusal))?;
            let name = self.module.names.intern(input);
            self.free.extend(ty.shape.iter().filter(|dim| dim.fixed().is_none()));
            let elem = ty.elem;
            let mut value = self.module.main_mut().add_input(name, ty, None);
            if elem.is_float() && elem != Elem::F32 {
                value = self
                    .cast(value, Elem::F32, input, None)
                    .map_err(|refusal| as_tensor(input, refusal))?;
            }
            if let Some(id) = self.scope.index.id(input) {
                self.define(id, Entry::Value(value));
            }
        }
        for &position in &cut.nodes {
            self.add(position)?;
        }
        if !self.unsupported.is_empty() {
            return Err(OnnxError::Unsupported(std::mem::take(&mut self.unsupported)));
        }
        for output in &cut.outputs {
            self.add_output(output)?;
        }
        Ok(())
    }

    /// The type of a tensor that becomes an input: the declared one, or, for a tensor inside the graph that has none,
    /// what the part above it gives.
    fn input_type(&mut self, input: &'a str) -> Result<TensorType, OnnxError> {
        let index = self.scope.index;
        let declared = match index.declared(input) {
            Some(info) => declared_type(info, self.scope.bind, &mut self.module.names),
            None => Err("its type is not declared".into()),
        };
        if declared.is_err() && index.id(input).and_then(|id| index.producer(id)).is_some() {
            let above = build(&self.scope, between(index, Vec::new(), vec![input], true)?)?;
            let graph = above.main();
            let value = graph.outputs().first().and_then(|&id| graph.value(id));
            if let Some(mut ty) = value.map(|v| v.ty.clone()) {
                for dim in &mut ty.shape {
                    if let Dim::Named(symbol) = dim {
                        *symbol = self.module.names.intern(above.name(*symbol));
                    }
                }
                return Ok(ty);
            }
        }
        declared.map_err(|reason| OnnxError::Tensor {
            tensor: input.into(),
            reason,
        })
    }

    pub(super) fn add_output(&mut self, output: &'a str) -> Result<(), OnnxError> {
        let id = self.scope.index.id(output);
        let value = id.map_or(Err(Refusal::Unknown), |id| self.value(id));
        let mut value = value.map_err(|refusal| as_tensor(output, refusal))?;
        if self.rounded.contains(output)
            && let Some(elem) = self.scope.index.declared(output).and_then(declared_elem)
        {
            value = self
                .cast(value, elem, output, Some(output))
                .map_err(|refusal| as_tensor(output, refusal))?;
        }
        let graph = self.module.main_mut();
        graph.add_output(value);
        let declared = self.scope.index.declared(output).zip(graph.value(value));
        match declared.and_then(|(info, value)| contradiction(info, &value.ty, self.scope.bind)) {
            None => Ok(()),
            Some(text) => Err(OnnxError::model(
                ReasonCode::OutputType,
                format!("output `{output}`: {text}"),
            )),
        }
    }

    /// A value in another element type, at the border of the graph.
    fn cast(&mut self, value: ValueId, to: Elem, port: &str, name: Option<&str>) -> Result<ValueId, Refusal> {
        let Some(ty) = self.module.main().value(value).map(|v| v.ty.clone()) else {
            return Ok(value);
        };
        let result = match name {
            Some(name) => self.module.names.intern(name),
            None => self.fresh(port),
        };
        let node = self.node_name(port);
        let source = self.module.names.intern(port);
        let graph = self.module.main_mut();
        let results = vec![(result, TensorType { elem: to, ..ty }, None)];
        let id = graph.add_node(node, Cast { to }.into(), &[Some(value)], results);
        graph.set_sources(id, &[source]);
        Ok(graph.node(id).and_then(|n| n.outputs.first().copied()).unwrap_or(value))
    }

    /// Adds what one node becomes, or notes why not.
    pub(super) fn add(&mut self, position: usize) -> Result<(), OnnxError> {
        let node = &self.scope.index.graph.node[position];
        let domain = domain(&node.domain);
        let own = self
            .scope
            .own_versions
            .own
            .get(&position)
            .filter(|_| domain == STANDARD_DOMAIN);
        let opset = own.or_else(|| self.scope.versions.get(domain)).copied();
        let refusal = match self.mapper(node, domain, opset) {
            Err(text) => Refusal::Unsupported(text),
            Ok((opset, map)) => {
                let mut site = NodeReader::new(self, position, opset);
                match map(&mut site).and_then(|()| site.check_attributes()) {
                    Ok(()) => {
                        site.finish_results();
                        return Ok(());
                    }
                    Err(refusal) => refusal,
                }
            }
        };
        let fault = |reason| NodeFault {
            node: node_name(node).into(),
            op: node.op_type.clone(),
            domain: domain.into(),
            opset,
            reason,
        };
        match refusal {
            Refusal::Unsupported(text) => self.unsupported.push(fault(Reason::new(ReasonCode::Unsupported, text))),
            // Behind a node that was not understood, an operand that does not fit may be its fault.
            Refusal::Invalid(reason) if self.unsupported.is_empty() => {
                return Err(self.invalid(position, fault(reason)));
            }
            Refusal::Invalid(_) | Refusal::Unknown => {}
        }
        // The reading goes on, to find everything that is missing at once. The module is never handed out.
        let index = self.scope.index;
        for &id in index.results(position).iter().flatten() {
            let output = index.name(id);
            let info = index.declared(output);
            let ty = info.and_then(|info| declared_type(info, self.scope.bind, &mut self.module.names).ok());
            let entry = ty.map_or(Entry::Unknown, |ty| {
                let name = self.module.names.intern(output);
                Entry::Value(self.module.main_mut().add_input(name, ty, None))
            });
            self.define(id, entry);
        }
        Ok(())
    }

    /// The function that knows the node's operator, and the version of its set.
    fn mapper(&self, node: &NodeProto, domain: &str, opset: Option<i64>) -> Result<(i64, ops::Map), String> {
        ops::find(domain, &node.op_type, opset).map_err(|why| format!("{why}{}", self.scope.index.ways_around(node)))
    }

    fn invalid(&self, position: usize, fault: NodeFault) -> OnnxError {
        let error = OnnxError::Node(Box::new(fault));
        // Where a symbolic dimension stands in the way, it is what has to be bound that helps.
        let is_symbolic = |&id: &TensorId| self.type_of(id).is_some_and(|ty| fixed_dims(&ty.shape).is_none());
        let free = free_dimensions(&self.module);
        if free.is_empty() || !self.scope.index.operands(position).iter().flatten().any(is_symbolic) {
            return error;
        }
        OnnxError::FreeDimensions {
            reason: error.to_string(),
            free,
        }
    }

    /// The type of a tensor that is a value already.
    fn type_of(&self, id: TensorId) -> Option<&TensorType> {
        match self.entries.get(id.position())? {
            Some(Entry::Value(value)) => Some(&self.module.main().value(*value)?.ty),
            _ => None,
        }
    }

    /// Knowledge of a tensor. Constants are converted when they are first asked for.
    pub(crate) fn entry(&mut self, id: TensorId) -> Result<Entry, Refusal> {
        let index = self.scope.index;
        if let Some(entry) = &self.entries[id.position()] {
            return match entry {
                Entry::Unknown => Err(Refusal::Unknown),
                Entry::NotComputed(op, position) => {
                    let name = index.name(id);
                    let text = format!("`{name}` is needed, but result {position} of {op} is not computed");
                    Err(Refusal::Unsupported(text))
                }
                known => Ok(known.clone()),
            };
        }
        let name = index.name(id);
        let Some(proto) = index.constant(id) else {
            return Err(match index.is_sparse(id) {
                true => Refusal::Unsupported(format!("the constant `{name}` is sparse")),
                false => Refusal::invalid(ReasonCode::MissingTensor, format!("nothing defines `{name}`")),
            });
        };
        let tensor = tensor(proto, self.scope.files).map_err(|fault| match fault {
            TensorFault::Unsupported(text) => Refusal::Unsupported(format!("the constant `{name}`: {text}")),
            TensorFault::Invalid(text) => {
                Refusal::invalid(ReasonCode::Constant, format!("the constant `{name}`: {text}"))
            }
        })?;
        let tensor = widened_float(tensor);
        self.define(id, Entry::Constant(tensor.clone()));
        Ok(Entry::Constant(tensor))
    }

    /// The value of a tensor that is one already.
    pub(crate) fn value_at(&self, id: TensorId) -> Option<ValueId> {
        match self.entries.get(id.position())? {
            Some(Entry::Value(value)) => Some(*value),
            _ => None,
        }
    }

    /// Notes what a tensor is.
    pub(crate) fn define(&mut self, id: TensorId, entry: Entry) {
        self.entries[id.position()] = Some(entry);
    }

    /// True if a node of the model takes the tensor, or if it is an output.
    pub(crate) fn is_used(&self, id: TensorId) -> bool {
        let index = self.scope.index;
        index.is_used(id) || self.outputs.contains(index.name(id))
    }

    /// True if something is known of a tensor already.
    pub(crate) fn is_known(&self, id: TensorId) -> bool {
        self.entries[id.position()].is_some()
    }

    /// A tensor as a value of the graph; constants enter the pool, once each.
    pub(crate) fn value(&mut self, id: TensorId) -> Result<ValueId, Refusal> {
        match self.entry(id)? {
            Entry::Value(value) => Ok(value),
            Entry::Constant(tensor) => {
                if let Some(value) = self.placed[id.position()] {
                    return Ok(value);
                }
                let name = self.scope.index.name(id);
                let symbol = match self.rounded.contains(name) {
                    true => self.fresh(name),
                    false => self.module.names.intern(name),
                };
                let value = self.place(symbol, tensor)?;
                self.placed[id.position()] = Some(value);
                Ok(value)
            }
            Entry::Sequence(_) => Err(no_tensor(self.scope.index.name(id))),
            // `entry` has refused these.
            Entry::NotComputed(..) | Entry::Unknown => Err(Refusal::Unknown),
        }
    }

    /// Puts a constant into pool and graph. NaN is refused: no grid could hold it. An infinity may be a mask's.
    pub(crate) fn place(&mut self, name: Symbol, tensor: TensorData) -> Result<ValueId, Refusal> {
        if has_nan(&tensor) {
            let text = format!("the constant `{}` holds NaN", self.module.name(name));
            return Err(Refusal::invalid(ReasonCode::NotFinite, text));
        }
        let tensor = narrowed_float(tensor);
        let ty = tensor.tensor_type();
        let data = self.module.add_data(tensor);
        Ok(self.module.main_mut().add_data(name, ty, None, data))
    }

    /// Counts the operations that constants take; whether they are not too many together. What is refused is not counted.
    pub(crate) fn may_take(&mut self, operations: u64) -> bool {
        let worked = self.worked.saturating_add(operations);
        let may = worked <= MOST_OPERATIONS;
        if may {
            self.worked = worked;
        }
        may
    }

    /// Counts the elements of constants that a few bytes of the file ask for; whether they are not too many together.
    pub(crate) fn may_write(&mut self, elements: u64) -> bool {
        self.written = self.written.saturating_add(elements);
        self.written <= MOST_WRITTEN
    }

    /// A name for a node, where one of the model becomes several, or several have one name: the name itself for the first.
    pub(crate) fn node_name(&mut self, base: &str) -> Symbol {
        let names = &mut self.module.names;
        let mut name = names.intern(base);
        while !self.node_names.insert(name) {
            name = names.fresh(base);
        }
        name
    }

    /// A name for a value that the model does not have.
    pub(crate) fn fresh(&mut self, base: &str) -> Symbol {
        let mut number = 0usize;
        loop {
            let name = format!("{base}:{number}");
            if !self.scope.index.defines(&name) && self.module.names.find(&name).is_none() {
                return self.module.names.intern(&name);
            }
            number += 1;
        }
    }
}

/// A sequence where a tensor is needed.
pub(super) fn no_tensor(name: &str) -> Refusal {
    Refusal::Unsupported(format!(
        "`{name}` is a sequence; a tensor has to be taken out of it first"
    ))
}

/// The outputs that are declared as floats of another type than f32.
fn rounded<'a>(index: &Index<'a>, cut: &Cut<'a>) -> BTreeSet<&'a str> {
    let is_rounded = |name: &&str| {
        let elem = index.declared(name).and_then(declared_elem);
        elem.is_some_and(|elem| elem.is_float() && elem != Elem::F32)
    };
    cut.outputs.iter().copied().filter(is_rounded).collect()
}

/// Error of an input or an output.
fn as_tensor(tensor: &str, refusal: Refusal) -> OnnxError {
    OnnxError::Tensor {
        tensor: tensor.into(),
        reason: match refusal {
            Refusal::Unsupported(text) => text,
            Refusal::Invalid(reason) => reason.text,
            Refusal::Unknown => "it is not computed".into(),
        },
    }
}

/// Refuses types past the limits of the IR.
pub(crate) fn check_limits(ty: &TensorType) -> Result<(), Refusal> {
    let too_large = fixed_dims(&ty.shape).is_some() && element_count(&ty.shape).is_none();
    if ty.shape.len() > MAX_RANK || too_large {
        return Err(Refusal::invalid(
            ReasonCode::Limit,
            format!("the shape {:?} is past the limits of our tensors", ty.shape),
        ));
    }
    Ok(())
}
