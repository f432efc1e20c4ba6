//! The walk over the annotated graph that builds the integer one.

use crate::interval::{Bounds, Interval, Known, accumulator, around_all};
use crate::{bake, boundary, recipes};
use std::collections::BTreeMap;
use std::sync::Arc;
use strait_core::op::{Dequantize, ShiftLeft};
use strait_core::{
    Def, Elem, Failure, Graph, Kind, Module, Names, Node, NodeId, Op, Placement, QuantParams, Reason, ReasonCode,
    Refusal, Stage, Symbol, TensorData, TensorError, TensorType, Term, ValueId,
};
use strait_requantize::Per;
use strait_requantize::range::{self, Summands};
use strait_target::TargetSpec;
use strait_target::spec::Nearness;

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
    /// The term of the op of the annotated graph that each node was made from, by the node's name.
    pub origins: BTreeMap<String, Term>,
}

/// Counterparts of a value of the annotated graph in the integer graph, as codes and as floats; each is made when first
/// asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Counterparts {
    codes: Option<ValueId>,
    float: Option<ValueId>,
}

/// The state of the walk.
pub(crate) struct Lowering<'a> {
    source: &'a Module,
    graph: &'a Graph,
    /// The target's table.
    pub(crate) spec: &'a TargetSpec,
    out: Module,
    counterparts: Vec<Counterparts>,
    known: Known,
    nearness: BTreeMap<ValueId, Nearness>,
    origins: BTreeMap<Symbol, Term>,
}

/// Lowers the main graph of an annotated module into a new module.
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
        known: Known::default(),
        nearness: BTreeMap::new(),
        origins: BTreeMap::new(),
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
        .map(|(name, term)| (out.name(name).to_owned(), term));
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
            Placement::Accelerator => recipes::lower(self, id, node),
        }
    }

    /// The node as it is, on float operands.
    fn host(&mut self, node: &Node, reason: Reason) -> Result<(), Failure> {
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
                codes: None,
                float: made,
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
        self.origins.insert(name, origin.op.term());
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

    /// Scale and zero point of a value of the source graph.
    pub(crate) fn grid(&self, value: ValueId) -> Result<(f32, i32), Failure> {
        let quant = self.graph.value(value).and_then(|v| v.quant.as_deref());
        quant
            .and_then(QuantParams::as_tensor)
            .ok_or_else(|| Failure::defect(format!("{} has no grid", self.name_of(value))))
    }

    /// True if the result of a node was given a grid.
    pub(crate) fn has_grid(&self, id: NodeId, node: &Node) -> bool {
        self.graph
            .quant
            .id(id, node.inputs.len())
            .is_some_and(|c| self.graph.quant.params(c).is_some())
    }

    /// The grid of the weights of a node.
    pub(crate) fn weight_grid(&self, id: NodeId) -> Result<Arc<QuantParams>, Failure> {
        let config = self.graph.quant.id(id, 1);
        let params = config.and_then(|c| self.graph.quant.params(c));
        params
            .cloned()
            .ok_or_else(|| Failure::defect("its weights have no grid"))
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
        let shifted: Result<Vec<i32>, _> = shifted.map(i32::try_from).collect();
        let shifted = shifted.map_err(|_| Failure::defect("a shifted constant is past 32 bits"))?;
        let made = integers(tensor.shape(), &shifted, Elem::I32)?;
        let base = primitive_name(self.source.name(origin.name), suffix);
        Ok(self.data(&base, made, quant))
    }

    /// A tensor of integers in the new module.
    pub(crate) fn data(&mut self, base: &str, tensor: TensorData, quant: Option<Arc<QuantParams>>) -> ValueId {
        let (name, ty) = (self.out.names.fresh(base), tensor.tensor_type());
        let data = self.out.add_data(tensor);
        self.out.main_mut().add_data(name, ty, quant, data)
    }

    /// Declares `made` to be the codes of `value`; it takes over the name.
    pub(crate) fn set_codes(&mut self, value: ValueId, made: ValueId) {
        self.counterparts[value.index()].codes = Some(made);
        if !self.graph.is_output(value) {
            self.rename(value, made);
        }
    }

    /// Declares `made` to be the float form of `value`; it takes over the name.
    pub(crate) fn set_float(&mut self, value: ValueId, made: ValueId) {
        self.counterparts[value.index()].float = Some(made);
        self.rename(value, made);
    }

    fn rename(&mut self, value: ValueId, made: ValueId) {
        if let Some(source) = self.graph.value(value) {
            let name = self.out.names.intern(self.source.name(source.name));
            self.out.main_mut().rename(made, name);
        }
    }

    /// The codes of a value on its grid: made by its producer, baked from a constant, or quantized from float.
    pub(crate) fn codes(&mut self, value: ValueId) -> Result<ValueId, Failure> {
        if let Some(made) = self.counterparts.get(value.index()).and_then(|made| made.codes) {
            return Ok(made);
        }
        let missing = || Failure::defect("a value is missing");
        let source = self.graph.value(value).ok_or_else(missing)?;
        let (Some(quant), to) = (source.quant.clone(), Elem::from(self.spec.types.activation_type())) else {
            return Err(Failure::defect(format!("{} has no grid", self.name_of(value))));
        };
        let made = match self.constant(value) {
            Some(tensor) => {
                let range = self.spec.types.activation_range();
                let codes = bake::codes(tensor, &quant, &range, self.spec.quantize.rounding)?;
                let baked = integers(tensor.shape(), &codes, to)?;
                let base = format!("{}:codes", self.source.name(source.name));
                self.data(&base, baked, Some(quant))
            }
            None => {
                let float = self.float(value)?;
                let quantize = boundary::quantize(self.spec);
                self.boundary(source.name, quantize.into(), float, to, Some(quant), "quantize")
            }
        };
        self.counterparts[value.index()].codes = Some(made);
        Ok(made)
    }

    /// The real numbers of a value: as they are, or dequantized from its codes.
    pub(crate) fn float(&mut self, value: ValueId) -> Result<ValueId, Failure> {
        if let Some(made) = self.counterparts.get(value.index()).and_then(|made| made.float) {
            return Ok(made);
        }
        let missing = || Failure::defect("a value is missing");
        let source = self.graph.value(value).ok_or_else(missing)?;
        if let Some(codes) = self.counterparts[value.index()].codes {
            let made = self.boundary(source.name, Dequantize {}.into(), codes, Elem::F32, None, "dequantize");
            self.counterparts[value.index()].float = Some(made);
            if self.graph.is_output(value) {
                self.rename(value, made);
            }
            return Ok(made);
        }
        let Def::Data(data) = source.def else {
            return Err(Failure::defect(format!("{} was never made", self.name_of(value))));
        };
        let tensor = self.source.data(data).ok_or_else(missing)?.clone();
        let name = self.out.names.intern(self.source.name(source.name));
        let data = self.out.add_data(tensor);
        let made = self.out.main_mut().add_data(name, source.ty.clone(), None, data);
        self.counterparts[value.index()].float = Some(made);
        Ok(made)
    }

    /// A quantize or dequantize node, named after the value that it converts.
    fn boundary(
        &mut self,
        name: Symbol,
        op: Op,
        operand: ValueId,
        elem: Elem,
        quant: Option<Arc<QuantParams>>,
        what: &str,
    ) -> ValueId {
        let text = primitive_name(self.source.name(name), what);
        let (node, result) = (self.out.names.fresh(&text), self.out.names.fresh(&format!("{text}d")));
        boundary::convert(&mut self.out, [node, result], op, operand, elem, quant)
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

    /// Interval of the codes of an activation: all of its type. Values beyond the range in use saturate there.
    pub(crate) fn any_code(&self) -> Interval {
        let codes = self.spec.types.activation_type();
        (codes.min().into(), codes.max().into())
    }

    /// The input of the model that a value of the source graph is, perhaps with another shape: its codes can be any
    /// pattern. `None` for what other layers make.
    pub(crate) fn input_behind(&self, value: ValueId) -> Option<ValueId> {
        let mut at = value;
        while let Some((_, node)) = self.graph.producer(at) {
            let moves = node.op.term().kind() == Kind::Rearranges;
            // From one grid to another not every code has to be left.
            let operand = node.inputs.first().copied().flatten().filter(|_| moves)?;
            at = (self.grid(operand).ok()? == self.grid(at).ok()?).then_some(operand)?;
        }
        self.graph.inputs().contains(&at).then_some(at)
    }

    /// True if two values are two inputs of the model: what one is says nothing of the other.
    pub(crate) fn are_two_inputs(&self, a: ValueId, b: ValueId) -> bool {
        match (self.input_behind(a), self.input_behind(b)) {
            (Some(a), Some(b)) => a != b,
            _ => false,
        }
    }

    /// The integers that a term of a sum can be.
    pub(crate) fn term(&mut self, value: ValueId) -> Result<Interval, Reason> {
        let found = self.bounds(value).as_ref().and_then(around_all);
        // Bounds that end where the type does say nothing, or are those of codes that saturate.
        let fits = |&(low, high): &Interval| low > i32::MIN.into() && high < i32::MAX.into();
        let text = "a term of its sum can saturate at 32 bits; a coarser grid would be needed";
        found
            .filter(fits)
            .ok_or_else(|| Reason::new(ReasonCode::AccumulatorOverflow, text))
    }

    /// Shows that a sum stays within the target's accumulator.
    pub(crate) fn prove(&self, sum: &impl Summands) -> Result<(), Reason> {
        match range::prove(0, sum, accumulator(self.spec)) {
            Ok(_) => Ok(()),
            Err(overflow) => Err(Reason::new(ReasonCode::AccumulatorOverflow, overflow.to_string())),
        }
    }

    /// The integers that a value of the new module can take.
    pub(crate) fn bounds(&mut self, value: ValueId) -> Option<Per<Interval>> {
        let mut bounds = Bounds::knowing(&self.out, self.out.main(), std::mem::take(&mut self.known));
        let found = bounds.of(value);
        self.known = bounds.into_known();
        found
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
