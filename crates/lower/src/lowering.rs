//! The walk over the annotated graph that builds the integer one.

use crate::interval::{Bounds, Interval, Known, accumulator, around_all};
use crate::recipes::{self, NodeToLower};
use crate::{bake, boundary};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use strait_core::op::{Dequantize, ShiftLeft};
use strait_core::{
    Carrier, Def, Elem, Failure, Graph, Kind, Module, Names, Node, NodeId, Op, Placement, Port, QuantParams, Reason,
    ReasonCode, Refusal, Scheme, Stage, Symbol, TensorData, TensorError, TensorType, ValueId,
};
use strait_requantize::quantize::quantize;
use strait_requantize::range::{self, Accumulator, Summands};
use strait_requantize::{IntType, Per, Rounding};
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

/// Counterparts of a value of the annotated graph in the integer graph, as codes of any number of grids and types, and as
/// floats. Each is made when first asked for.
#[derive(Clone, Debug, Default)]
struct Counterparts {
    /// The codes that its producer leaves.
    left: Option<Codes>,
    /// Those that readers want on other grids.
    others: SmallVec<[Codes; 1]>,
    float: Option<ValueId>,
}

/// Codes of a value on one grid.
#[derive(Clone, Debug)]
pub(crate) struct Codes {
    /// The value of the new module.
    pub(crate) value: ValueId,
    /// Their type and grid.
    pub(crate) grid: Grid,
}

/// Type, range, scale and zero point of an operand or a result that has one grid.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid {
    /// The type of the codes.
    pub(crate) ty: IntType,
    /// The codes in use.
    pub(crate) range: RangeInclusive<i32>,
    /// Rounding of real numbers to codes.
    pub(crate) rounding: Rounding,
    /// Step between two codes.
    pub(crate) scale: f32,
    /// The code of real zero.
    pub(crate) zero: i32,
}

impl Grid {
    /// Scale and zero point, for a value of the new module.
    pub(crate) fn params(&self) -> Arc<QuantParams> {
        Arc::new(QuantParams::tensor(self.scale, self.zero))
    }

    /// The code of a real number.
    pub(crate) fn code(&self, x: f32) -> i32 {
        quantize(x, self.scale, self.zero, self.rounding, &self.range)
    }
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
    origins: BTreeMap<Symbol, &'a str>,
    /// The name of the row by which primitives are made just now.
    row: Option<&'a str>,
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

    /// The grid of an operand, or the one on which a result leaves. None where it has none, or several scales.
    fn grid(&self, id: NodeId, port: Port) -> Option<Grid> {
        let scheme = self.graph.quant.scheme_of(id, port)?;
        let (scale, zero) = self.graph.quant.params_of(id, port)?.as_tensor()?;
        let [first, last] = scheme.range()?.map(|code| i32::try_from(code).ok());
        Some(Grid {
            ty: scheme.elem()?.int_type()?,
            range: first?..=last?,
            rounding: scheme.rounding(),
            scale,
            zero,
        })
    }

    /// The grid of an operand that annotation has given one.
    pub(crate) fn operand_grid(&self, site: &NodeToLower<'_>, index: usize) -> Result<Grid, Failure> {
        let missing = || Failure::defect(format!("operand {index} has no grid"));
        self.grid(site.id, Port::Operand(index)).ok_or_else(missing)
    }

    /// The grid that the first result leaves on; none where it stays an accumulator.
    pub(crate) fn result_grid(&self, site: &NodeToLower<'_>) -> Option<Grid> {
        self.grid(site.id, Port::Result(0))
    }

    /// The same where annotation has given it one.
    pub(crate) fn needed_grid(&self, site: &NodeToLower<'_>) -> Result<Grid, Failure> {
        self.result_grid(site)
            .ok_or_else(|| Failure::defect("its result has no grid"))
    }

    /// Scheme and grid of the weights of a node.
    pub(crate) fn weight_grid(&self, id: NodeId) -> Result<(Scheme, Arc<QuantParams>), Failure> {
        let (table, port) = (&self.graph.quant, Port::Operand(1));
        let found = table.scheme_of(id, port).zip(table.params_of(id, port));
        found.ok_or_else(|| Failure::defect("its weights have no grid"))
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

    /// Declares `made` to be the codes that a node leaves as one of its results; it takes over the name.
    pub(crate) fn set_codes(&mut self, site: &NodeToLower<'_>, position: usize, made: ValueId) -> Result<(), Failure> {
        let grid = self.grid(site.id, Port::Result(position));
        let (Some(grid), Some(&value)) = (grid, site.node.outputs.get(position)) else {
            return Err(Failure::Defect(format!("result {position} has no grid")));
        };
        self.counterparts[value.index()].left = Some(Codes { value: made, grid });
        if !self.graph.is_output(value) {
            self.rename(value, made);
        }
        Ok(())
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

    /// The codes of an operand on the grid that its node wants: as the producer leaves them, requantized from there, baked
    /// from a constant, or quantized from float. They are made once for each grid and type, and shared by the readers that
    /// agree.
    pub(crate) fn operand(&mut self, site: &NodeToLower<'_>, index: usize) -> Result<Codes, Failure> {
        let (value, grid) = (site.input(index)?, self.operand_grid(site, index)?);
        let known = &self.counterparts[value.index()];
        let mut codes = known.left.iter().chain(&known.others);
        if let Some(known) = codes.find(|known| known.grid == grid) {
            return Ok(known.clone());
        }
        let left = known.left.clone();
        let source = self.graph.value(value);
        let name = source.ok_or_else(|| Failure::defect("a value is missing"))?.name;
        let (to, quant) = (Elem::from(grid.ty), Some(grid.params()));
        let made = match (self.constant(value), left) {
            (Some(tensor), _) => {
                let codes = bake::codes(tensor, &grid.params(), &grid.range, grid.rounding)?;
                let baked = integers(tensor.shape(), &codes, to)?;
                let base = format!("{}:codes", self.source.name(name));
                self.data(&base, baked, quant)
            }
            (None, Some(left)) => self.requantize(value, &left, &grid)?,
            (None, None) => {
                let float = self.float(value)?;
                let quantize = boundary::quantize(self.spec, grid.ty);
                self.boundary(name, quantize.into(), float, to, quant, "quantize")
            }
        };
        let made = Codes { value: made, grid };
        self.counterparts[value.index()].others.push(made.clone());
        Ok(made)
    }

    /// The codes of `value` on another grid than its producer leaves them on, by the table's row for that.
    fn requantize(&mut self, value: ValueId, left: &Codes, to: &Grid) -> Result<ValueId, Failure> {
        let (graph, spec) = (self.graph, self.spec);
        let producer = graph.producer(value);
        let row = spec.requantizes(left.grid.ty.into());
        let (Some((id, node)), Some((name, row))) = (producer, row) else {
            return Err(Failure::defect(format!(
                "{} is read on two grids, and the target has one",
                self.name_of(value)
            )));
        };
        let site = NodeToLower { id, node, row };
        let suffix = format!("requantize-{}", to.ty);
        let before = self.row.replace(name);
        let made = recipes::between(self, &site, left, to, &suffix);
        self.row = before;
        made
    }

    /// The real numbers of a value: as they are, or dequantized from its codes.
    pub(crate) fn float(&mut self, value: ValueId) -> Result<ValueId, Failure> {
        if let Some(made) = self.counterparts.get(value.index()).and_then(|made| made.float) {
            return Ok(made);
        }
        let missing = || Failure::defect("a value is missing");
        let source = self.graph.value(value).ok_or_else(missing)?;
        if let Some(left) = self.counterparts[value.index()].left.as_ref().map(|left| left.value) {
            let made = self.boundary(source.name, Dequantize {}.into(), left, Elem::F32, None, "dequantize");
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

    /// The input of the model that an operand is, perhaps with another shape: its codes can be any pattern. `None` for
    /// what other layers make.
    pub(crate) fn input_behind(&self, site: &NodeToLower<'_>, index: usize) -> Option<ValueId> {
        let (mut id, mut node, mut index) = (site.id, site.node, index);
        loop {
            let value = (*node.inputs.get(index)?)?;
            let Some((producer, maker)) = self.graph.producer(value) else {
                return self.graph.inputs().contains(&value).then_some(value);
            };
            let moves = maker.op.term().kind() == Kind::Rearranges;
            // From one grid to another not every code has to be left.
            let kept = self.grid(id, Port::Operand(index)) == self.grid(producer, Port::Result(0));
            if !moves || !kept {
                return None;
            }
            (id, node, index) = (producer, maker, 0);
        }
    }

    /// True if the two operands of a node are two inputs of the model: what one is says nothing of the other.
    pub(crate) fn are_two_inputs(&self, site: &NodeToLower<'_>) -> bool {
        match (self.input_behind(site, 0), self.input_behind(site, 1)) {
            (Some(a), Some(b)) => a != b,
            _ => false,
        }
    }

    /// The integers that a term of a sum can be.
    pub(crate) fn term(&mut self, value: ValueId) -> Result<Interval, Reason> {
        let found = self.bounds(value).as_ref().and_then(around_all);
        let elem = self.out.main().value(value).map_or(Elem::I32, |value| value.ty.elem);
        let (least, most) = elem.integers().unwrap_or_default();
        // Bounds that end where the type does say nothing, or are those of codes that saturate.
        let fits = |&(low, high): &Interval| low > least && high < most;
        let text = format!("a term of its sum can saturate at the ends of {elem}; a coarser grid would be needed");
        found
            .filter(fits)
            .ok_or_else(|| Reason::new(ReasonCode::AccumulatorOverflow, text))
    }

    /// The sums that the target forms for a node.
    pub(crate) fn accumulator(&self, site: &NodeToLower<'_>) -> Result<Accumulator, Failure> {
        let read = self.operand_grid(site, 0)?.ty;
        Ok(accumulator(self.spec, site.row, read))
    }

    /// The type in which these are carried.
    pub(crate) fn carrier(&self, site: &NodeToLower<'_>) -> Result<Carrier, Failure> {
        Ok(match self.accumulator(site)?.bits {
            ..=32 => Carrier::I32,
            _ => Carrier::I64,
        })
    }

    /// Shows that a sum stays within them.
    pub(crate) fn prove(&self, site: &NodeToLower<'_>, sum: &impl Summands) -> Result<(), Failure> {
        self.prove_within(site, sum, self.accumulator(site)?.bits)
    }

    /// The same within so many bits.
    pub(crate) fn prove_within(&self, site: &NodeToLower<'_>, sum: &impl Summands, bits: u8) -> Result<(), Failure> {
        let accumulator = Accumulator {
            bits,
            ..self.accumulator(site)?
        };
        match range::prove(0, sum, accumulator) {
            Ok(_) => Ok(()),
            Err(overflow) => Err(Reason::new(ReasonCode::AccumulatorOverflow, overflow.to_string()).into()),
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
