//! The walk over an annotated graph that builds another graph from it. The walk records which values of the new graph
//! stand for each value of the old graph.
//!
//! An old value can have several new values: one for each config on which it is made or read, and one in real numbers.
//! Each of these new values is made when it is first needed, and shared by all readers that need the value on this
//! config. The builder ([`Build`]) decides which nodes replace a node and how a value is converted from one config to
//! another: lowering makes integers, and simulation makes floats.

use crate::part::Part;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;
use strait_core::op::{Quantize, RoundTo};
use strait_core::{
    DataId, Def, Elem, Failure, Graph, Module, Names, Node, NodeId, Op, QuantParams, Reading, Reason, ReasonCode,
    Stage, Symbol, TensorData, TensorType, Use, Value, ValueId,
};
use strait_requantize::IntType;
use strait_target::TargetSpec;
use strait_target::spec::Divide;

/// The walk's state: the source graph, and the graph that is built. `C` is the builder's type of configs.
pub(crate) struct Walk<'a, C> {
    pub(crate) source: &'a Module,
    /// The main graph of the source.
    pub(crate) graph: &'a Graph,
    pub(crate) out: Module,
    /// For each value of the source: the values of the new graph that stand for it.
    made: Vec<Option<Box<Counterparts<C>>>>,
    /// The tensors of the new module that hold codes of parameters, by the tensors of the source.
    shared: BTreeMap<DataId, DataId>,
}

/// The values of the new graph that stand for one value of the source.
#[derive(Clone)]
struct Counterparts<C> {
    /// The value that the producer makes, if the producer makes real numbers.
    plain: Option<ValueId>,
    /// The value in real numbers, for readers that have no config.
    real: Option<ValueId>,
    /// For each config that is used, the value on this config. For a parameter, also the tensor of its codes.
    on: SmallVec<[(C, Option<DataId>, ValueId); 1]>,
}

impl<C> Default for Counterparts<C> {
    fn default() -> Self {
        Counterparts {
            plain: None,
            real: None,
            on: SmallVec::new(),
        }
    }
}

/// The data from which the value on a config can be made.
pub(crate) enum Basis<C> {
    /// The codes of a parameter: a tensor of the source.
    Codes(DataId),
    /// The value as its producer stores it, with the config of the producer. The reader has another config.
    Left(C, ValueId),
    /// Real numbers.
    Real(ValueId),
}

/// A builder of graphs.
pub(crate) trait Build<'a>: Sized {
    /// The type of configs. Readers with equal configs share one value.
    type Config: Clone + PartialEq;

    /// The walk that the builder takes part in.
    fn walk(&mut self) -> &mut Walk<'a, Self::Config>;

    /// Adds the nodes that replace `node` to the new graph.
    fn node(&mut self, id: NodeId, node: &'a Node) -> Result<(), Failure>;

    /// The config on which the producer stores a value. `None` if it stores real numbers.
    fn left(&self, value: ValueId) -> Option<Self::Config>;

    /// Makes the value on the config `to`.
    fn convert(&mut self, value: ValueId, from: Basis<Self::Config>, to: &Self::Config) -> Result<ValueId, Failure>;

    /// Converts a value to real numbers. `left` is the new value that its producer has stored.
    fn real_of(&mut self, value: ValueId, left: ValueId) -> Result<ValueId, Failure>;

    /// Returns the config with which readers read a value that has the grid `grid` in the model. Returns `None` if
    /// there is no suitable type.
    fn given(&self, value: ValueId, grid: &QuantParams) -> Option<Self::Config>;

    /// Walks over a part of the graph. The inputs of the part become the inputs of the new graph.
    fn run(&mut self, part: &Part) -> Result<(), Failure> {
        let graph = self.walk().graph;
        for &input in &part.inputs {
            self.walk().input(input)?;
        }
        for &id in &part.nodes {
            if let Some(node) = graph.node(id) {
                self.node(id, node)?;
            }
        }
        for &position in &part.outputs {
            let Some(output) = graph.outputs().get(position) else {
                continue;
            };
            // If an output of the model is also an input, it is passed through under the input's name.
            let made = match graph.value(*output).map(|value| value.def) {
                Some(Def::Input(_)) => self.walk().plain(*output)?,
                _ => self.real_at(*output, outside(position))?,
            };
            self.walk().out.main_mut().add_output(made);
        }
        Ok(())
    }

    /// The value in real numbers as the reader `at` reads it in the model.
    fn real_at(&mut self, value: ValueId, at: Use) -> Result<ValueId, Failure> {
        let has_codes = self.left(value).is_some();
        let reading = self.walk().graph.reading(at);
        let (grid, is_computed) = match reading {
            None => return self.real(value),
            Some(Reading::Computed) => (None, true),
            Some(Reading::On(grid)) => (Some(grid), true),
            Some(Reading::Behind(grid)) => (Some(grid), false),
        };
        let real = match is_computed && !has_codes {
            true => self.walk().plain(value)?,
            false => self.real(value)?,
        };
        let Some(grid) = grid else { return Ok(real) };
        match self.given(value, grid) {
            Some(config) => {
                let codes = self.convert(value, Basis::Real(real), &config)?;
                self.real_of(value, codes)
            }
            None => self.walk().rounded(value, real, grid),
        }
    }

    /// Returns the value in real numbers, made from what its producer has stored. If the producer makes real numbers
    /// and the model gives a grid for the value, they are rounded to that grid.
    fn real(&mut self, value: ValueId) -> Result<ValueId, Failure> {
        if let Some(made) = self.walk().counterparts(value)?.real {
            return Ok(made);
        }
        let rounds_to = self.walk().graph.rounds_to(value);
        let given = rounds_to.and_then(|grid| self.given(value, grid));
        let made = match (self.left(value).or(given), rounds_to) {
            (Some(config), _) => {
                let made = self.on(value, &config, None)?;
                self.real_of(value, made)?
            }
            (None, Some(grid)) => {
                let plain = self.walk().plain(value)?;
                self.walk().rounded(value, plain, grid)?
            }
            (None, None) => self.walk().plain(value)?,
        };
        self.walk().take_name(value, made);
        self.walk().counterparts(value)?.real = Some(made);
        Ok(made)
    }

    /// True if the model rounds the value to another grid first, before the value is converted to this config. Two
    /// grids with the same numbers count as the same grid, even if the signedness of their codes differs.
    fn is_behind(&mut self, value: ValueId, config: &Self::Config) -> bool {
        let graph = self.walk().graph;
        let is_given = |grid: &QuantParams| self.given(value, grid).as_ref() == Some(config);
        let mut readings = graph.uses(value).filter_map(|at| graph.reading(at));
        readings.any(|reading| matches!(reading, Reading::Behind(grid) if is_given(grid)))
            && !graph.rounds_to(value).is_some_and(|own| is_given(own))
    }

    /// Makes the value on the grid of a config. A parameter is made from the codes `codes`. Other values are made from
    /// the values that their producers have stored, or from real numbers.
    fn on(&mut self, value: ValueId, want: &Self::Config, codes: Option<DataId>) -> Result<ValueId, Failure> {
        if let Some(made) = self.walk().found(value, want, codes) {
            return Ok(made);
        }
        let left = self.left(value);
        let from = match (codes, left) {
            (Some(codes), _) => Basis::Codes(codes),
            (None, Some(left)) if left != *want => {
                let made = self.on(value, &left, None)?;
                Basis::Left(left, made)
            }
            (None, None) if self.is_behind(value, want) => Basis::Real(self.real(value)?),
            (None, _) => Basis::Real(self.walk().plain(value)?),
        };
        let made = self.convert(value, from, want)?;
        self.walk().set(value, want.clone(), codes, made)?;
        Ok(made)
    }
}

impl<'a, C: Clone + PartialEq> Walk<'a, C> {
    /// Starts a walk over the main graph of a module. The main graph is the first graph of the new module. Graphs that
    /// its nodes refer to are copied without a change.
    pub(crate) fn new(source: &'a Module, name: &str, stage: Stage) -> Walk<'a, C> {
        let mut walk = Walk::scratch(source, name, stage);
        // The model's names are reserved first, so that no new name takes one of them.
        let model = walk.graph.values().map(|(_, value)| value.name);
        for name in model.chain(walk.graph.nodes().map(|(_, node)| node.name)) {
            walk.out.names.intern(source.name(name));
        }
        walk.out.adopt(source, 1);
        walk
    }

    /// Starts a walk like [`Walk::new`], but for a new graph that will be thrown away. Names that the walk makes may
    /// therefore be the same as names of the model.
    pub(crate) fn scratch(source: &'a Module, name: &str, stage: Stage) -> Walk<'a, C> {
        let (graph, mut names) = (source.main(), Names::default());
        let main = Graph::new(names.intern(name), stage);
        Walk {
            source,
            graph,
            out: Module::new(main, names),
            made: vec![None; graph.value_bound()],
            shared: BTreeMap::new(),
        }
    }

    /// Adds an input to the new graph, for a value that no node of the new graph makes.
    pub(crate) fn input(&mut self, value: ValueId) -> Result<(), Failure> {
        let source = self.graph.value(value);
        let source = source.ok_or_else(|| Failure::defect("an input is missing"))?;
        let name = self.intern(source.name);
        let made = self.out.main_mut().add_input(name, source.ty.clone(), own_grid(source));
        self.set_plain(value, made)
    }

    /// The name of a value of the source.
    pub(crate) fn name_of(&self, value: ValueId) -> &'a str {
        self.graph.value(value).map_or("", |value| self.source.name(value.name))
    }

    /// Copies a name of the source into the new module.
    pub(crate) fn intern(&mut self, name: Symbol) -> Symbol {
        self.out.names.intern(self.source.name(name))
    }

    fn counterparts(&mut self, value: ValueId) -> Result<&mut Counterparts<C>, Failure> {
        let made = self.made.get_mut(value.index());
        let made = made.ok_or_else(|| Failure::defect("a value is missing"))?;
        Ok(made.get_or_insert_default())
    }

    /// The value on a config, if it was already made. A parameter must have been made from the codes `codes`.
    pub(crate) fn found(&self, value: ValueId, want: &C, codes: Option<DataId>) -> Option<ValueId> {
        let mut known = self.made.get(value.index())?.as_ref()?.on.iter();
        let found = known.find(|(config, of, _)| config == want && *of == codes);
        found.map(|(.., made)| *made)
    }

    /// Records that `made` is the value on a config.
    pub(crate) fn set(
        &mut self,
        value: ValueId,
        config: C,
        codes: Option<DataId>,
        made: ValueId,
    ) -> Result<(), Failure> {
        self.counterparts(value)?.on.push((config, codes, made));
        Ok(())
    }

    /// Records that `made` is the new value for `value`, whose producer makes real numbers.
    pub(crate) fn set_plain(&mut self, value: ValueId, made: ValueId) -> Result<(), Failure> {
        self.counterparts(value)?.plain = Some(made);
        Ok(())
    }

    /// True if the new graph has a value that stands for `value`.
    pub(crate) fn is_made(&self, value: ValueId) -> bool {
        self.made.get(value.index()).is_some_and(Option::is_some)
    }

    /// True if the producer of the value makes real numbers.
    pub(crate) fn is_plain(&self, value: ValueId) -> bool {
        let made = self.made.get(value.index()).and_then(Option::as_ref);
        made.is_some_and(|made| made.plain.is_some())
    }

    /// The value that the producer makes in real numbers. A constant is copied when it is first needed.
    pub(crate) fn plain(&mut self, value: ValueId) -> Result<ValueId, Failure> {
        if let Some(made) = self.counterparts(value)?.plain {
            return Ok(made);
        }
        let missing = || Failure::defect("a value is missing");
        let source = self.graph.value(value).ok_or_else(missing)?;
        let Def::Data(data) = source.def else {
            return Err(Failure::Defect(format!("{} was never made", self.name_of(value))));
        };
        let tensor = self.source.data(data).ok_or_else(missing)?.clone();
        let (name, data) = (self.intern(source.name), self.out.add_data(tensor));
        let made = self.out.main_mut().add_data(name, source.ty.clone(), None, data);
        self.set_plain(value, made)?;
        Ok(made)
    }

    /// Appends a copy of a node that makes real numbers.
    pub(crate) fn copy(&mut self, node: &Node, operands: &[Option<ValueId>]) -> Result<NodeId, Failure> {
        self.copy_on(node, operands, |_| None)
    }

    /// Appends a copy of a node. For some results of the node, `on` gives a config, with the type and the grid of the
    /// codes. The copy makes these results as codes, and all other results as real numbers.
    pub(crate) fn copy_on(
        &mut self,
        node: &Node,
        operands: &[Option<ValueId>],
        on: impl Fn(usize) -> Option<(C, Elem, Arc<QuantParams>)>,
    ) -> Result<NodeId, Failure> {
        let mut results = Vec::new();
        for (index, &value) in node.outputs.iter().enumerate() {
            let Some(value) = self.graph.value(value) else { continue };
            let (mut ty, mut grid) = (value.ty.clone(), own_grid(value));
            if let Some((_, elem, codes)) = on(index) {
                (ty.elem, grid) = (elem, Some(codes));
            }
            results.push((self.out.names.intern(self.source.name(value.name)), ty, grid));
        }
        let name = self.intern(node.name);
        let id = self.out.main_mut().add_node(name, node.op.clone(), operands, results);
        let made = self.out.main().node(id).map(|node| node.outputs.clone());
        for (index, (&value, made)) in node.outputs.iter().zip(made.unwrap_or_default()).enumerate() {
            *self.counterparts(value)? = Counterparts::default();
            match on(index) {
                Some((config, ..)) => self.set(value, config, None, made)?,
                None => self.set_plain(value, made)?,
            }
        }
        Ok(id)
    }

    /// Appends a node that converts real numbers to codes or back. The name of the node is derived from the name that
    /// the converted value has in the source graph.
    pub(crate) fn boundary(
        &mut self,
        value: ValueId,
        op: impl Into<Op>,
        operand: ValueId,
        quant: Option<Arc<QuantParams>>,
    ) -> Result<ValueId, Failure> {
        let op = op.into();
        let ty = self.out.main().value(operand).map(|value| &value.ty);
        let types = self.out.result_types(&op, &[ty], None)?;
        let ty = types.into_iter().next();
        let ty = ty.ok_or_else(|| Failure::defect("a boundary has no result"))?;
        self.conversion(value, op, operand, (ty, quant))
    }

    /// Like [`Walk::boundary`], for a result of a stated type. Its operand may also be codes on another grid.
    pub(crate) fn conversion(
        &mut self,
        value: ValueId,
        op: Op,
        operand: ValueId,
        (ty, quant): (TensorType, Option<Arc<QuantParams>>),
    ) -> Result<ValueId, Failure> {
        let (value, stage) = (self.name_of(value), self.out.main().stage());
        let [now, then] = match op {
            Op::Quantize(_) => ["quantize", "quantized"],
            Op::Dequantize(_) => ["dequantize", "dequantized"],
            _ => ["round", "rounded"],
        };
        let names = &mut self.out.names;
        let [node, result] = match stage {
            Stage::Integer => [now, then].map(|word| names.fresh(&primitive_name(value, word))),
            // These names are short because people read them in other runtimes.
            _ => [names.fresh(&format!("{value}_{then}")); 2],
        };
        let results = vec![(result, ty, quant)];
        let main = self.out.main_mut();
        let id = main.add_node(node, op, &[Some(operand)], results);
        let made = main.node(id).and_then(Node::result);
        made.ok_or_else(|| Failure::defect("a boundary has no result"))
    }

    /// Rounds the value, given in real numbers, to a grid that the model gives. The rounding runs on the host, because
    /// the target has no codes for this grid.
    fn rounded(&mut self, value: ValueId, real: ValueId, grid: &QuantParams) -> Result<ValueId, Failure> {
        let scheme = grid.given_scheme();
        let scheme = scheme.ok_or_else(|| Failure::defect("a grid has no codes"))?;
        let made = self.boundary(value, RoundTo { scheme }, real, Some(Arc::new(grid.bare())))?;
        let producer = self.graph.producer(value).map(|(_, node)| node.sources.clone());
        let sources: Vec<Symbol> = producer.iter().flatten().map(|&source| self.intern(source)).collect();
        let main = self.out.main_mut();
        let Some((id, _)) = main.producer(made) else {
            return Ok(made);
        };
        let why = "the model has codes there, and the target none on such a grid";
        main.place_on_host(id, Reason::new(ReasonCode::GivenGrid, why));
        main.add_sources(id, &sources);
        Ok(made)
    }

    /// If the value is an output of the model, gives the output's name to `made`, the value in real numbers. If the
    /// output is also an input, the input keeps its name.
    fn take_name(&mut self, value: ValueId, made: ValueId) {
        if !self.graph.is_output(value) {
            return;
        }
        let plain = self.made[value.index()].as_ref().and_then(|made| made.plain);
        let outputs = self.graph.outputs().iter().enumerate();
        let mut leaves = outputs.filter(|(_, output)| **output == value);
        let is_it = leaves.any(|(position, _)| self.graph.reading(outside(position)).is_none());
        let source = self.graph.value(value);
        let Some(source) = source.filter(|source| is_it && matches!(source.def, Def::Node(..))) else {
            return;
        };
        // In a simulation, values keep their names, because other runtimes show them.
        if plain == Some(made) || self.out.main().stage() != Stage::Integer {
            return;
        }
        if let Some(plain) = plain {
            let other = self.out.names.fresh(&primitive_name(self.name_of(value), "real"));
            self.out.main_mut().rename(plain, other);
        }
        let name = self.intern(source.name);
        self.out.main_mut().rename(made, name);
    }

    /// A tensor of the source.
    pub(crate) fn parameter(&self, codes: DataId) -> Result<&'a TensorData, Failure> {
        let tensor = self.source.data(codes);
        tensor.ok_or_else(|| Failure::defect("the codes of a parameter are not there"))
    }

    /// The codes of a tensor of the source, as a value of the new module. All readers share the tensor.
    pub(crate) fn shared(&mut self, base: &str, codes: DataId, grid: Arc<QuantParams>) -> Result<ValueId, Failure> {
        let tensor = self.parameter(codes)?;
        let (name, ty) = (self.out.names.fresh(base), tensor.tensor_type());
        let (out, shared) = (&mut self.out, &mut self.shared);
        let data = *shared.entry(codes).or_insert_with(|| out.add_data(tensor.clone()));
        Ok(self.out.main_mut().add_data(name, ty, Some(grid), data))
    }

    /// Adds a tensor to the new module, and a value for it.
    pub(crate) fn data(&mut self, base: &str, tensor: TensorData, quant: Option<Arc<QuantParams>>) -> ValueId {
        let (name, ty) = (self.out.names.fresh(base), tensor.tensor_type());
        let data = self.out.add_data(tensor);
        self.out.main_mut().add_data(name, ty, quant, data)
    }
}

/// The use of a value as output `position` of the graph.
fn outside(position: usize) -> Use {
    Use {
        node: NodeId::OUTSIDE,
        operand: position as u16,
    }
}

/// Returns the grid of a value. If the model gives this grid for real numbers, returns `None`: only the copies for
/// readers are rounded to such a grid, and not the value itself.
fn own_grid(value: &Value) -> Option<Arc<QuantParams>> {
    value.quant.clone().filter(|grid| grid.codes.is_none())
}

/// The name of a primitive that is made from the node or value called `origin`.
pub(crate) fn primitive_name(origin: &str, what: &str) -> String {
    format!("{origin}:{what}")
}

/// The op that quantizes real numbers to activation codes of a type in the way that the target's table describes.
pub(crate) fn quantize(spec: &TargetSpec, to: IntType) -> Quantize {
    Quantize {
        to: to.into(),
        rounding: spec.quantize.rounding,
        reciprocal: spec.quantize.divide == Divide::MultiplyByReciprocal,
        zero_point: spec.quantize.zero_point,
    }
}
