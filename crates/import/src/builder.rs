//! Reads the nodes of a cut one by one, and builds the module.

use crate::quantized::quantize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use strait_core::op::{Cast, Dequantize};
use strait_core::shape::{MAX_RANK, element_count, fixed_dims};
use strait_core::{
    Dim, Elem, Graph, Module, Names, Op, Reason, ReasonCode, Stage, Symbol, TensorData, TensorType, ValueId,
};
use strait_requantize::Rounding;

use crate::cut::{Cut, between};
use crate::declared::{Declared, TensorSource};
use crate::error::{NodeFault, ReadError};
use crate::numbers::{has_nan, narrowed_float, widened_float};
use crate::options::{Assumed, free_dimensions};
use crate::quantized::{Copy, Quantized};
use crate::refusal::Refusal;
use crate::ways::with_ways;
use crate::wiring::{TensorId, Wiring};

/// Limit on the operations that are spent on computing constants while one model is read. Matrix products with this
/// number of operations take a second or two. Constants beyond this limit are left to the canonicaliser, which has its
/// own limits.
const MOST_OPERATIONS: u64 = 1 << 30;

/// Limit on the total number of elements of all constants that are computed, or filled in from a shape, while one model
/// is read.
const MOST_WRITTEN: u64 = 1 << 26;

/// Constants of up to this many elements, and computations of up to this many operations, do not count towards the
/// limits. Shapes and amounts of padding are that small, so they are always computed, even if the limits have been used
/// up by weights.
const FEW: u64 = 64;

/// A graph of a file, and the values that are bound to extents of the graph.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// How the graph's tensors and nodes are connected.
    pub wiring: &'a Wiring<'a>,
    /// The elements and types of the graph's tensors, as the file has them.
    pub source: &'a dyn TensorSource,
    /// The values of extents, by the keys of the extents.
    pub bind: &'a BTreeMap<String, u64>,
}

/// The part of reading that each format has to provide: what each of its nodes becomes.
pub trait Reader<'a> {
    /// Adds the ops that the node at a position becomes.
    ///
    /// # Errors
    /// The operator is not known, or the node does not fit its operands.
    fn read(&mut self, builder: &mut Builder<'a>, node: usize) -> Result<(), Refusal>;

    /// The operator of a node as error messages name it. The name includes the version, if the format has versions.
    fn operator(&self, node: usize) -> String;
}

/// What is known about a tensor of the file.
#[derive(Clone)]
pub enum Entry {
    /// The tensor is a value of the graph.
    Value(ValueId),
    /// The tensor is a constant. It is added to the graph when a node takes it as an operand.
    Constant(TensorData),
    /// The tensor is a sequence of tensors, each of which is a value or a constant. Sequences do not exist in the
    /// graph: the graph only has the tensors that nodes take out of a sequence.
    Sequence(Arc<[Entry]>),
    /// The tensor is an optional result of an operator that we do not compute. The fields are the name of the operator
    /// and the position of the result.
    NotComputed(String, usize),
    /// The tensor is the result of a node that could not be read.
    Unknown,
}

/// Builds a module, one node after the other.
pub struct Builder<'a> {
    scope: Scope<'a>,
    /// The module built so far.
    pub module: Module,
    /// The outputs of the part of the model that is read.
    outputs: BTreeSet<TensorId>,
    /// What is known about each tensor of the model.
    entries: Vec<Option<Entry>>,
    /// For each tensor of the model: the value in the graph, if it is a constant that has been added to the graph.
    placed: Vec<Option<ValueId>>,
    /// For integers that are narrower than i64: the value that holds them as i64.
    pub(crate) widened: BTreeMap<ValueId, ValueId>,
    /// Outputs to which a rounding op is added at the end of the graph, because they are codes, or floats of another
    /// type than f32.
    pub(crate) rounded: BTreeSet<TensorId>,
    /// For each base of a generated name: the next number to try after the base.
    numbers: BTreeMap<String, usize>,
    /// The names of operators that have already been given to nodes.
    named: BTreeSet<Symbol>,
    /// The named extents of the model's inputs that have no value yet.
    pub(crate) free: BTreeSet<Dim>,
    /// For each list of integers of which some elements are only computed when the model runs: the elements, with
    /// `None` for those that are not known yet.
    pub(crate) partial: BTreeMap<ValueId, Vec<Option<i64>>>,
    /// For codes that were computed by quantizing: the real numbers that they were quantized from, and their grid.
    pub(crate) quantized: BTreeMap<ValueId, Quantized>,
    /// Copies of values that are needed because some readers read the value rounded to a grid, and others read it
    /// unrounded.
    pub(crate) copies: Vec<Copy>,
    /// For each value of codes that a node reads as integers: the value of these integers, which is computed from the
    /// real numbers that the codes stand for.
    pub(crate) integers: BTreeMap<ValueId, ValueId>,
    /// For constants that the model stores as codes, and that are already in the graph: the value that holds the real
    /// numbers of these codes, on the grid of the codes.
    pub(crate) given: BTreeMap<TensorId, ValueId>,
    /// The nodes that cannot be read, each with its position. For a node of a nested graph, this is the position of the
    /// node that contains the graph.
    pub unsupported: Vec<(usize, NodeFault)>,
    /// What was assumed about the model, to be reported to the user.
    pub assumed: Assumed,
    /// How many elements of constants have been filled in from shapes so far.
    written: u64,
    /// How many operations have been spent on constants so far.
    worked: u64,
}

/// Builds the module of a cut. The outputs have the shapes that follow from the operators; the returned [`Assumed`]
/// lists the outputs for which the file declares another shape. The list of batch dimensions in [`Assumed`] stays
/// empty, because the caller has bound the batch.
///
/// # Errors
/// All nodes whose operators are not known are reported at once. Otherwise, only the first error is reported: a node
/// does not fit its operands, an input has no type, or an output has another element type than the file declares.
pub fn build<'a>(scope: Scope<'a>, reader: &mut dyn Reader<'a>, cut: &Cut) -> Result<(Module, Assumed), ReadError> {
    let mut builder = Builder::new(scope, "main", cut.outputs.iter().copied());
    builder.rounded = rounded(scope.source, cut);
    builder.run(reader, cut)?;
    builder.join_copies();
    Ok((builder.module, builder.assumed))
}

/// Takes the amount `more` from a budget of `most`, of which `used` has been used so far. Returns false, and takes
/// nothing, if too little is left. Amounts of up to [`FEW`] are free.
fn may(used: &mut u64, more: u64, most: u64) -> bool {
    if more <= FEW {
        return true;
    }
    let with = used.saturating_add(more);
    let holds = with <= most;
    if holds {
        *used = with;
    }
    holds
}

impl<'a> Builder<'a> {
    /// Creates a builder for a graph with these outputs. No node has been read yet.
    pub fn new(scope: Scope<'a>, name: &str, outputs: impl IntoIterator<Item = TensorId>) -> Builder<'a> {
        let mut names = Names::default();
        let graph = Graph::new(names.intern(name), Stage::Float);
        // A generated name must differ from all names in the file.
        for name in scope.wiring.names() {
            names.intern(name);
        }
        Builder {
            scope,
            module: Module::new(graph, names),
            outputs: outputs.into_iter().collect(),
            entries: vec![None; scope.wiring.tensor_count()],
            placed: vec![None; scope.wiring.tensor_count()],
            widened: BTreeMap::new(),
            rounded: BTreeSet::new(),
            numbers: BTreeMap::new(),
            named: BTreeSet::new(),
            free: BTreeSet::new(),
            partial: BTreeMap::new(),
            quantized: BTreeMap::new(),
            copies: Vec::new(),
            integers: BTreeMap::new(),
            given: BTreeMap::new(),
            unsupported: Vec::new(),
            assumed: Assumed::default(),
            written: 0,
            worked: 0,
        }
    }

    /// The wiring of the graph that is being read.
    pub fn wiring(&self) -> &'a Wiring<'a> {
        self.scope.wiring
    }

    /// The graph that is being read, and the values that are bound to its extents.
    pub fn scope(&self) -> Scope<'a> {
        self.scope
    }

    /// Takes over the counts of another builder, so that both use the same limits. One of the two builders reads a
    /// graph that is nested in the other's graph.
    pub fn share_budgets(&mut self, other: &Builder<'_>) {
        (self.written, self.worked) = (other.written, other.worked);
    }

    fn run(&mut self, reader: &mut dyn Reader<'a>, cut: &Cut) -> Result<(), ReadError> {
        for &input in &cut.inputs {
            let ty = self.input_type(reader, input)?;
            let refused = |refusal| as_tensor(self.scope.wiring.name(input), refusal);
            check_limits(&ty).map_err(refused)?;
            let name = self.module.names.intern(self.scope.wiring.name(input));
            self.free.extend(ty.shape.iter().filter(|dim| dim.fixed().is_none()));
            let elem = ty.elem;
            let mut value = self.module.main_mut().add_input(name, ty, None);
            if elem.is_float() && elem != Elem::F32 {
                value = self.at_border(Cast { to: Elem::F32 }.into(), value, input, false);
            } else if let Some(grid) = self.scope.source.codes(input) {
                self.give(value, &grid.bare());
                value = self.at_border(Dequantize {}.into(), value, input, false);
                self.give(value, &grid);
            }
            self.define(input, Entry::Value(value));
        }
        for &position in &cut.nodes {
            self.add(reader, position)?;
        }
        if !self.unsupported.is_empty() {
            let faults = std::mem::take(&mut self.unsupported);
            let Scope { wiring, source, .. } = self.scope;
            return Err(ReadError::Unsupported(with_ways(wiring, cut, faults, |id| {
                source.begins(id)
            })));
        }
        for &output in &cut.outputs {
            self.add_output(output)?;
        }
        Ok(())
    }

    /// Returns the type of a tensor at which the graph begins. If the file declares no type for a tensor in the middle
    /// of the model, the type is inferred by reading the nodes before the tensor.
    fn input_type(&mut self, reader: &mut dyn Reader<'a>, input: TensorId) -> Result<TensorType, ReadError> {
        let Scope { wiring, source, bind } = self.scope;
        let declared = match source.declared(input) {
            Some(declared) => declared.tensor_type(bind, &mut self.module.names),
            None => Err("its type is not declared".into()),
        };
        if declared.is_err() && wiring.producer(input).is_some() {
            let (above, _) = build(self.scope, reader, &between(wiring, Vec::new(), vec![input], true)?)?;
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
        declared.map_err(|reason| ReadError::Tensor {
            tensor: wiring.name(input).into(),
            reason,
        })
    }

    /// Makes a tensor an output of the graph.
    ///
    /// # Errors
    /// No node computes the tensor, or its elements do not have the type that the file declares.
    pub fn add_output(&mut self, output: TensorId) -> Result<(), ReadError> {
        let name = self.scope.wiring.name(output);
        let mut value = self.value(output).map_err(|refusal| as_tensor(name, refusal))?;
        let declared = self.scope.source.declared(output);
        if let Some(grid) = self.scope.source.codes(output) {
            // If codes leave the model, the last layer should produce these codes, so the value before the quantization
            // gets their grid.
            self.give(value, &grid);
            value = self.at_border(quantize(&grid, Rounding::HalfAway).into(), value, output, true);
            self.give(value, &grid.bare());
        } else if self.rounded.contains(&output)
            && let Some(to) = declared.as_ref().and_then(Declared::known_elem)
        {
            value = self.at_border(Cast { to }.into(), value, output, true);
        }
        let graph = self.module.main_mut();
        graph.add_output(value);
        let Some((declared, value)) = declared.zip(graph.value(value)) else {
            return Ok(());
        };
        if let Some(text) = declared.other_elem(&value.ty) {
            let text = format!("output `{name}`: {text}");
            return Err(ReadError::model(ReasonCode::OutputType, text));
        }
        // Runtimes also use the shape that follows from the operators. The shape that the file declares may have an
        // outdated batch, or come from a tool that counts windows differently.
        let other = declared.other_shape(&value.ty, self.scope.bind);
        self.assumed
            .misstated
            .extend(other.map(|text| format!("output `{name}`: {text}")));
        Ok(())
    }

    /// Adds an op on a value at the border of the graph, and returns its result. The result gets the tensor's name if
    /// `is_named` is true, and otherwise a name of its own.
    fn at_border(&mut self, op: Op, value: ValueId, port: TensorId, is_named: bool) -> ValueId {
        let Some(ty) = self.module.main().value(value).map(|v| v.ty.clone()) else {
            return value;
        };
        let elem = match &op {
            Op::Cast(cast) => cast.to,
            Op::Quantize(quantize) => quantize.to,
            _ => Elem::F32,
        };
        let port = self.scope.wiring.name(port);
        let result = match is_named {
            true => self.module.names.intern(port),
            false => self.fresh(port),
        };
        let node = self.name_beside(port, &op);
        let source = self.module.names.intern(port);
        let graph = self.module.main_mut();
        let results = vec![(result, TensorType { elem, ..ty }, None)];
        let id = graph.add_node(node, op, &[Some(value)], results);
        graph.set_sources(id, &[source]);
        graph.node(id).and_then(|n| n.outputs.first().copied()).unwrap_or(value)
    }

    /// Adds the ops that one node becomes, or notes why the node cannot be read.
    ///
    /// # Errors
    /// The node does not fit its operands, and the operators of all earlier nodes are known.
    pub fn add(&mut self, reader: &mut dyn Reader<'a>, position: usize) -> Result<(), ReadError> {
        let Err(refusal) = reader.read(self, position) else {
            return Ok(());
        };
        let fault = |reason| NodeFault {
            node: self.scope.wiring.node_name(position).into(),
            operator: reader.operator(position),
            reason,
        };
        match refusal {
            Refusal::Unsupported(text) => {
                let fault = fault(Reason::new(ReasonCode::Unsupported, text));
                self.unsupported.push((position, fault));
            }
            // If an earlier node could not be read, that may be the reason why this operand does not fit.
            Refusal::Invalid(reason) if self.unsupported.is_empty() => {
                return Err(self.invalid(position, fault(reason)));
            }
            Refusal::Invalid(_) | Refusal::Unknown => {}
        }
        // Reading continues, so that all missing operators are reported at once. The module is not returned in the end.
        let Scope { wiring, source, bind } = self.scope;
        for &id in wiring.results(position).iter().flatten() {
            let declared = source.declared(id);
            let mut ty = declared.and_then(|declared| declared.tensor_type(bind, &mut self.module.names).ok());
            if let Some(ty) = ty.as_mut().filter(|_| source.codes(id).is_some()) {
                ty.elem = Elem::F32;
            }
            let entry = ty.map_or(Entry::Unknown, |ty| {
                let name = self.module.names.intern(wiring.name(id));
                Entry::Value(self.module.main_mut().add_input(name, ty, None))
            });
            self.define(id, entry);
        }
        Ok(())
    }

    fn invalid(&self, position: usize, fault: NodeFault) -> ReadError {
        let error = ReadError::Node(Box::new(fault));
        // If the reason is a dimension without a number, the error names the dimensions to bind.
        let is_symbolic = |&id: &TensorId| self.type_of(id).is_some_and(|ty| fixed_dims(&ty.shape).is_none());
        let free = free_dimensions(&self.module);
        if free.is_empty() || !self.scope.wiring.operands(position).iter().flatten().any(is_symbolic) {
            return error;
        }
        ReadError::FreeDimensions {
            reason: error.to_string(),
            free,
        }
    }

    /// The type of a tensor that is already a value of the graph.
    fn type_of(&self, id: TensorId) -> Option<&TensorType> {
        Some(&self.module.main().value(self.value_at(id)?)?.ty)
    }

    /// Returns what is known about a tensor. A constant is converted when it is first asked for.
    ///
    /// # Errors
    /// No node computes the tensor, or it is a constant that cannot be read.
    pub fn entry(&mut self, id: TensorId) -> Result<Entry, Refusal> {
        let name = self.scope.wiring.name(id);
        if let Some(entry) = &self.entries[id.position()] {
            return match entry {
                Entry::Unknown => Err(Refusal::Unknown),
                Entry::NotComputed(op, position) => {
                    let text = format!("`{name}` is needed, but result {position} of {op} is not computed");
                    Err(Refusal::Unsupported(text))
                }
                known => Ok(known.clone()),
            };
        }
        let Some(tensor) = self.scope.source.constant(id) else {
            let text = format!("nothing defines `{name}`");
            return Err(Refusal::invalid(ReasonCode::MissingTensor, text));
        };
        let tensor = match self.scope.source.codes(id) {
            None => widened_float(tensor?),
            Some(grid) => crate::quantized::dequantized(&tensor?, &grid)?.0,
        };
        self.define(id, Entry::Constant(tensor.clone()));
        Ok(Entry::Constant(tensor))
    }

    /// The value of a tensor, if the tensor is already a value of the graph.
    pub fn value_at(&self, id: TensorId) -> Option<ValueId> {
        match self.entries.get(id.position())? {
            Some(Entry::Value(value)) => Some(*value),
            _ => None,
        }
    }

    /// Records what a tensor is.
    pub fn define(&mut self, id: TensorId, entry: Entry) {
        self.entries[id.position()] = Some(entry);
    }

    /// True if a node of the model reads the tensor, or if the tensor is an output.
    pub fn is_used(&self, id: TensorId) -> bool {
        self.scope.wiring.is_used(id) || self.outputs.contains(&id)
    }

    /// True if the tensor is read more than once. If it is an output, that counts as one read.
    pub(crate) fn is_shared(&self, id: TensorId) -> bool {
        self.scope.wiring.reads_of(id) + usize::from(self.is_output(id)) > 1
    }

    /// True if the tensor is an output of the part of the model that is read.
    pub fn is_output(&self, id: TensorId) -> bool {
        self.outputs.contains(&id)
    }

    /// True if the tensor is already defined.
    pub fn is_known(&self, id: TensorId) -> bool {
        self.entries[id.position()].is_some()
    }

    /// Gives the value of a tensor in the graph. A constant is added to the graph when it is first asked for.
    pub fn value(&mut self, id: TensorId) -> Result<ValueId, Refusal> {
        match self.entry(id)? {
            Entry::Value(value) => Ok(value),
            Entry::Constant(tensor) => {
                if let Some(value) = self.placed[id.position()] {
                    return Ok(value);
                }
                let name = self.scope.wiring.name(id);
                let symbol = match self.rounded.contains(&id) {
                    true => self.fresh(name),
                    false => self.module.names.intern(name),
                };
                let value = self.place(symbol, tensor)?;
                self.placed[id.position()] = Some(value);
                Ok(value)
            }
            Entry::Sequence(_) => Err(no_tensor(self.scope.wiring.name(id))),
            // `entry` has already refused these tensors.
            Entry::NotComputed(..) | Entry::Unknown => Err(Refusal::Unknown),
        }
    }

    /// Adds a constant to the constant pool and to the graph. NaN is refused, because no grid can represent it.
    /// Infinities are allowed, because masks use them.
    pub fn place(&mut self, name: Symbol, tensor: TensorData) -> Result<ValueId, Refusal> {
        if has_nan(&tensor) {
            let text = format!("the constant `{}` holds NaN", self.module.name(name));
            return Err(Refusal::invalid(ReasonCode::NotFinite, text));
        }
        let tensor = narrowed_float(tensor);
        let ty = tensor.tensor_type();
        let data = self.module.add_data(tensor);
        Ok(self.module.main_mut().add_data(name, ty, None, data))
    }

    /// Counts operations that are spent on constants. If their total would exceed the limit, returns false and does not
    /// count these operations. Small amounts are free.
    pub fn may_take(&mut self, operations: u64) -> bool {
        may(&mut self.worked, operations, MOST_OPERATIONS)
    }

    /// Counts elements of constants, because a few bytes of the file can ask for a very large constant. If the sum
    /// would exceed the limit, returns false and does not count them. Small amounts are free.
    pub fn may_write(&mut self, elements: u64) -> bool {
        may(&mut self.written, elements, MOST_WRITTEN)
    }

    /// Returns a name for a node that computes an operator of the model. It is the name of the operator, unless another
    /// node already has this name. That can happen because an operator may become several nodes, and because two
    /// operators may have the same name.
    pub fn node_name(&mut self, operator: &str, op: &Op) -> Symbol {
        let name = self.module.names.intern(operator);
        match self.named.insert(name) {
            true => name,
            false => self.name_beside(operator, op),
        }
    }

    /// A name for a helper node of an operator of the model, or of a tensor at the border of the graph.
    pub(crate) fn name_beside(&mut self, operator: &str, op: &Op) -> Symbol {
        self.module.names.fresh(&format!("{operator}:{}", op.name()))
    }

    /// Returns a new name for a value that does not exist in the model: `base` with a number. The last number used with
    /// each base is remembered, so that even the hundred-thousandth name is found at once.
    pub fn fresh(&mut self, base: &str) -> Symbol {
        let mut number = self.numbers.get(base).copied().unwrap_or(0);
        loop {
            let name = self.module.names.make(&format!("{base}:{number}"));
            number += 1;
            if let Some(name) = name {
                self.numbers.insert(base.to_owned(), number);
                return name;
            }
        }
    }
}

/// The refusal for a node that needs a tensor but gets a sequence.
pub fn no_tensor(name: &str) -> Refusal {
    Refusal::Unsupported(format!(
        "`{name}` is a sequence; a tensor has to be taken out of it first"
    ))
}

/// The outputs that are codes, or that the file declares as floats of another type than f32.
fn rounded(source: &dyn TensorSource, cut: &Cut) -> BTreeSet<TensorId> {
    let is_rounded = |&id: &TensorId| {
        let elem = source.declared(id).and_then(|declared| declared.known_elem());
        elem.is_some_and(|elem| elem.is_float() && elem != Elem::F32) || source.codes(id).is_some()
    };
    cut.outputs.iter().copied().filter(is_rounded).collect()
}

/// Turns a refusal into the error for an input or an output.
fn as_tensor(tensor: &str, refusal: Refusal) -> ReadError {
    ReadError::Tensor {
        tensor: tensor.into(),
        reason: match refusal {
            Refusal::Unsupported(text) => text,
            Refusal::Invalid(reason) => reason.text,
            Refusal::Unknown => "it is not computed".into(),
        },
    }
}

/// Refuses types that exceed the limits of the IR.
pub fn check_limits(ty: &TensorType) -> Result<(), Refusal> {
    let too_large = fixed_dims(&ty.shape).is_some() && element_count(&ty.shape).is_none();
    if ty.shape.len() > MAX_RANK || too_large {
        return Err(Refusal::invalid(
            ReasonCode::Limit,
            format!("the shape {:?} is past the limits of our tensors", ty.shape),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_elements_are_computed_whatever_was_computed_before() {
        let mut used = 0;
        assert!(
            !may(&mut used, 1001, 1000) && used == 0,
            "what is refused takes nothing"
        );
        assert!(may(&mut used, 990, 1000) && !may(&mut used, 11 + FEW, 1000) && used == 990);
        assert!((0..1000).all(|_| may(&mut used, FEW, 1000)) && used == 990);
    }
}
