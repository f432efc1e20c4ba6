//! The annotated graph as other runtimes take it: float operators between pairs of `quantize` and `dequantize`.
//!
//! Where the integer graph has codes, this one rounds to the same grid and goes on in float: weights are stored as the
//! same codes, biases as i32 on the accumulator's grid (without what lowering folds in). A runtime that joins the pairs
//! into integer operators of its own requantizes as it does, which need not be as the target does.

use crate::bake::{self, Folding};
use crate::boundary;
use crate::lowering::{LowerError, integers};
use std::sync::Arc;
use strait_core::op::Dequantize;
use strait_core::{
    Def, Elem, Failure, Graph, Module, Names, Node, NodeId, Op, Placement, Port, QuantParams, Scheme, Stage, Symbol,
    TensorData, ValueId,
};
use strait_target::TargetSpec;
use strait_target::spec::{Recipe, WeightGrid};

/// The module whose main graph is that of `annotated` with the pairs, in the float stage but for them.
///
/// # Errors
/// A defect of ours: what was lowered can be written like this, too.
pub fn fake_quantize(annotated: &Module, spec: &TargetSpec) -> Result<Module, LowerError> {
    let graph = annotated.main();
    let ours = |failure: Failure| LowerError::Ours(failure.to_string());
    let order = graph
        .topological_order()
        .map_err(|_| LowerError::Ours("the graph has a cycle".into()))?;
    let mut names = Names::default();
    let main = Graph::new(names.intern("main"), Stage::Float);
    let model = graph.values().map(|(_, value)| value.name);
    for name in model.chain(graph.nodes().map(|(_, node)| node.name)) {
        names.intern(annotated.name(name));
    }
    let mut walk = Walk {
        source: annotated,
        graph,
        spec,
        out: Module::new(main, names),
        plain: vec![None; graph.value_bound()],
        rounded: vec![Vec::new(); graph.value_bound()],
    };
    for &input in graph.inputs() {
        if let Some(value) = graph.value(input) {
            let name = walk.intern(value.name);
            let made = walk.out.main_mut().add_input(name, value.ty.clone(), None);
            walk.plain[input.index()] = Some(made);
        }
    }
    for id in order {
        if let Some(node) = graph.node(id) {
            walk.node(id, node).map_err(ours)?;
        }
    }
    for &output in graph.outputs() {
        let made = walk.left(output).map_err(ours)?;
        walk.out.main_mut().add_output(made);
    }
    Ok(walk.out)
}

struct Walk<'a> {
    source: &'a Module,
    graph: &'a Graph,
    spec: &'a TargetSpec,
    out: Module,
    /// By value of the source: as its producer makes it.
    plain: Vec<Option<ValueId>>,
    /// The same, rounded to grids: the one that its producer leaves it on first.
    rounded: Vec<Vec<Rounded>>,
}

/// A value that is rounded to a grid.
#[derive(Clone)]
struct Rounded {
    elem: Elem,
    grid: Arc<QuantParams>,
    value: ValueId,
}

/// Rounding of an operand or a result.
struct Config {
    scheme: Scheme,
    elem: Elem,
    grid: Arc<QuantParams>,
}

impl Walk<'_> {
    fn node(&mut self, id: NodeId, node: &Node) -> Result<(), Failure> {
        let on_accelerator = node.place == Placement::Accelerator;
        let weights = self.weights(id, node, on_accelerator)?;
        let mut operands = Vec::with_capacity(node.inputs.len());
        for (index, input) in node.inputs.iter().enumerate() {
            operands.push(match (*input, weights.get(index).copied().flatten()) {
                (None, _) => None,
                (_, Some(parameter)) => Some(parameter),
                (Some(value), None) => Some(match self.config(id, Port::Operand(index)) {
                    Some(config) if on_accelerator => self.rounded(value, &config)?,
                    _ => self.left(value)?,
                }),
            });
        }
        let name = self.intern(node.name);
        let results = node.outputs.iter().filter_map(|&value| self.graph.value(value));
        let results: Vec<_> = results.map(|value| (value.name, value.ty.clone())).collect();
        let results = results
            .into_iter()
            .map(|(name, ty)| (self.intern(name), ty, None))
            .collect();
        let made = self.out.main_mut().add_node(name, node.op.clone(), &operands, results);
        let made = self
            .out
            .main()
            .node(made)
            .map(|node| node.outputs.clone())
            .unwrap_or_default();
        for (&value, made) in node.outputs.iter().zip(made) {
            self.plain[value.index()] = Some(made);
        }
        Ok(())
    }

    /// Weights and bias of a product with constant weights, by operand; nothing for other nodes.
    fn weights(&mut self, id: NodeId, node: &Node, on_accelerator: bool) -> Result<[Option<ValueId>; 3], Failure> {
        let operand = |index: usize| node.inputs.get(index).copied().flatten();
        let constant = |index: usize| {
            Some((
                operand(index)?,
                self.source.constant(self.graph, operand(index)?)?.clone(),
            ))
        };
        let (Some((weight, tensor)), Some(config)) = (constant(1), self.config(id, Port::Operand(1))) else {
            return Ok([None; 3]);
        };
        if !on_accelerator || !matches!(node.op, Op::Conv(_) | Op::Gemm(_)) {
            return Ok([None; 3]);
        }
        let codes = bake::weights(&tensor, &config.grid, &config.scheme, self.folding(id, node))?;
        let codes = integers(tensor.shape(), &codes, config.elem)?;
        let made = self.dequantized(weight, codes, config.grid);
        let (Some((bias, tensor)), Some(config)) = (constant(2), self.config(id, Port::Operand(2))) else {
            return Ok([None, Some(made), None]);
        };
        // `dequantize` of 64 bits is none that others know: such a bias stays float.
        if config.elem == Elem::I64 {
            return Ok([None, Some(made), Some(self.plain(bias)?)]);
        }
        let range = i32::MIN..=i32::MAX;
        let codes = bake::codes(&tensor, &config.grid, &range, config.scheme.rounding())?;
        let codes = integers(tensor.shape(), &codes, config.elem)?;
        let bias = self.dequantized(bias, codes, config.grid);
        Ok([None, Some(made), Some(bias)])
    }

    /// Folding of the weights of a node, where they reach their grid in two roundings.
    fn folding(&self, id: NodeId, node: &Node) -> Option<Folding> {
        let read = self.config(id, Port::Operand(0))?.elem.int_type()?;
        let (_, row) = self.spec.row_for(node.op.term(), read.into())?;
        let folds = Recipe::MultiplyAccumulate {
            weight_grid: WeightGrid::MaxAbsThenShift,
        };
        let recipe = row.recipe()?;
        let table = &self.graph.quant;
        let scale = |port| Some(table.params_of(id, port)?.as_tensor()?.0);
        (recipe == folds).then_some(Folding {
            x: scale(Port::Operand(0))?,
            y: scale(Port::Result(0))?,
        })
    }

    /// Scheme and grid of an operand or a result, where it has them.
    fn config(&self, id: NodeId, port: Port) -> Option<Config> {
        let table = &self.graph.quant;
        let (scheme, grid) = (table.scheme_of(id, port)?, table.params_of(id, port)?);
        Some(Config {
            scheme,
            elem: scheme.elem()?,
            grid,
        })
    }

    /// A value as its producer leaves it: rounded, where that has a grid.
    fn left(&mut self, value: ValueId) -> Result<ValueId, Failure> {
        let Some(Def::Node(id, position)) = self.graph.value(value).map(|value| value.def) else {
            return self.plain(value);
        };
        match self.config(id, Port::Result(position.into())) {
            Some(config) => self.rounded(value, &config),
            None => self.plain(value),
        }
    }

    /// A value rounded to a grid: as its producer leaves it, and from there where the grid is another one.
    fn rounded(&mut self, value: ValueId, config: &Config) -> Result<ValueId, Failure> {
        let known = self.rounded[value.index()].iter();
        let mut known = known.filter(|known| known.elem == config.elem && known.grid == config.grid);
        if let Some(known) = known.next() {
            return Ok(known.value);
        }
        let name = self
            .graph
            .value(value)
            .ok_or_else(|| Failure::defect("a value is missing"))?
            .name;
        let made = match self.source.constant(self.graph, value) {
            Some(tensor) => {
                let [first, last] = config.scheme.range().unwrap_or_default();
                // The codes of activations have 16 bits at most.
                let range = first as i32..=last as i32;
                let codes = bake::codes(tensor, &config.grid, &range, config.scheme.rounding())?;
                let codes = integers(tensor.shape(), &codes, config.elem)?;
                self.dequantized(value, codes, config.grid.clone())
            }
            None => {
                let own = match self.graph.value(value).map(|value| value.def) {
                    Some(Def::Node(id, position)) => self.config(id, Port::Result(position.into())),
                    _ => None,
                };
                let own = own.filter(|own| own.elem != config.elem || own.grid != config.grid);
                let operand = match own {
                    Some(own) => self.rounded(value, &own)?,
                    None => self.plain(value)?,
                };
                let to = config.elem.int_type();
                let to = to.ok_or_else(|| Failure::defect("an activation has no codes"))?;
                let quantize = boundary::quantize(self.spec, to);
                let grid = Some(config.grid.clone());
                let codes = self.convert(name, quantize.into(), operand, config.elem, grid, "quantized");
                self.convert(name, Dequantize {}.into(), codes, Elem::F32, None, "dequantized")
            }
        };
        self.rounded[value.index()].push(Rounded {
            elem: config.elem,
            grid: config.grid.clone(),
            value: made,
        });
        Ok(made)
    }

    fn plain(&mut self, value: ValueId) -> Result<ValueId, Failure> {
        if let Some(made) = self.plain[value.index()] {
            return Ok(made);
        }
        let missing = || Failure::defect("a value was never made");
        let source = self.graph.value(value).ok_or_else(missing)?;
        let Def::Data(data) = source.def else {
            return Err(missing());
        };
        let tensor: TensorData = self.source.data(data).ok_or_else(missing)?.clone();
        let name = self.intern(source.name);
        let data = self.out.add_data(tensor);
        let made = self.out.main_mut().add_data(name, source.ty.clone(), None, data);
        self.plain[value.index()] = Some(made);
        Ok(made)
    }

    /// A constant of the source, as codes and a `dequantize` behind them.
    fn dequantized(&mut self, value: ValueId, codes: TensorData, grid: Arc<QuantParams>) -> ValueId {
        let name = self
            .graph
            .value(value)
            .map_or("", |value| self.source.name(value.name))
            .to_owned();
        let (symbol, ty) = (self.out.names.fresh(&format!("{name}_quantized")), codes.tensor_type());
        let data = self.out.add_data(codes);
        let made = self.out.main_mut().add_data(symbol, ty, Some(grid), data);
        let source = self.out.names.intern(&name);
        self.after(source, Dequantize {}.into(), made, Elem::F32, None, "dequantized")
    }

    fn convert(
        &mut self,
        name: Symbol,
        op: Op,
        operand: ValueId,
        elem: Elem,
        quant: Option<Arc<QuantParams>>,
        what: &str,
    ) -> ValueId {
        let name = self.intern(name);
        self.after(name, op, operand, elem, quant, what)
    }

    /// A node of one operand, named after a value of the new module.
    fn after(
        &mut self,
        name: Symbol,
        op: Op,
        operand: ValueId,
        elem: Elem,
        quant: Option<Arc<QuantParams>>,
        what: &str,
    ) -> ValueId {
        let base = format!("{}_{what}", self.out.name(name));
        let name = self.out.names.fresh(&base);
        boundary::convert(&mut self.out, [name, name], op, operand, elem, quant)
    }

    fn intern(&mut self, name: Symbol) -> Symbol {
        self.out.names.intern(self.source.name(name))
    }
}
