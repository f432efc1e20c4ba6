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
    Def, Elem, Failure, Graph, Module, Names, Node, NodeId, Op, Placement, QuantParams, Stage, Symbol, TensorData,
    ValueId,
};
use strait_requantize::Per;
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
        rounded: vec![None; graph.value_bound()],
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
        let on_accelerator = graph
            .producer(output)
            .is_some_and(|(_, node)| node.place == Placement::Accelerator);
        let made = walk.read(output, on_accelerator).map_err(ours)?;
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
    /// The same, rounded to its grid.
    rounded: Vec<Option<ValueId>>,
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
                (Some(value), None) => {
                    let made_here = self
                        .graph
                        .producer(value)
                        .is_some_and(|(_, p)| p.place == Placement::Accelerator);
                    Some(self.read(value, on_accelerator || made_here)?)
                }
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
        let grid = self
            .graph
            .quant
            .id(id, 1)
            .and_then(|config| self.graph.quant.params(config))
            .cloned();
        let (Some((weight, tensor)), Some(grid)) = (constant(1), grid) else {
            return Ok([None; 3]);
        };
        if !on_accelerator || !matches!(node.op, Op::Conv(_) | Op::Gemm(_)) {
            return Ok([None; 3]);
        }
        let bias = constant(2);
        let codes = bake::weights(&tensor, &grid, self.spec, self.folding(id, node))?;
        let codes = integers(tensor.shape(), &codes, self.spec.types.weight_type().into())?;
        let made = self.dequantized(weight, codes, grid.clone());
        let x = operand(0).and_then(|x| self.graph.value(x)?.quant.as_deref()?.as_tensor());
        let (Some((bias, tensor)), Some((x_scale, _))) = (bias, x) else {
            return Ok([None, Some(made), None]);
        };
        let scale = grid.scale.map(|&w| x_scale * w);
        let per_channel = scale.channels().is_some();
        let grid = QuantParams {
            scale,
            zero_point: Per::Tensor(0),
            axis: per_channel.then_some(0),
        };
        let range = i32::MIN..=i32::MAX;
        let codes = bake::codes(&tensor, &grid, &range, self.spec.quantize.bias_rounding())?;
        let codes = integers(tensor.shape(), &codes, Elem::I32)?;
        let bias = self.dequantized(bias, codes, grid.into());
        Ok([None, Some(made), Some(bias)])
    }

    /// Folding of the weights of a node, where they reach their grid in two roundings.
    fn folding(&self, id: NodeId, node: &Node) -> Option<Folding> {
        let (_, row) = self.spec.op_row(node.op.term())?;
        let folds = Recipe::MultiplyAccumulate {
            weight_grid: WeightGrid::MaxAbsThenShift,
        };
        let recipe = row.recipe(self.spec.types.activation_type().into())?;
        let table = &self.graph.quant;
        let scale = |index| Some(table.params(table.id(id, index)?)?.as_tensor()?.0);
        (recipe == folds).then_some(Folding {
            x: scale(0)?,
            y: scale(node.inputs.len())?,
        })
    }

    /// A value as a node reads it: rounded to its grid, if it has one and `rounded` says so.
    fn read(&mut self, value: ValueId, rounded: bool) -> Result<ValueId, Failure> {
        let missing = || Failure::defect("a value is missing");
        let source = self.graph.value(value).ok_or_else(missing)?;
        let quant = source.quant.clone().filter(|_| rounded && source.ty.elem == Elem::F32);
        let Some(quant) = quant else {
            return self.plain(value);
        };
        if let Some(made) = self.rounded[value.index()] {
            return Ok(made);
        }
        let elem = Elem::from(self.spec.types.activation_type());
        let made = match self.source.constant(self.graph, value) {
            Some(tensor) => {
                let range = self.spec.types.activation_range();
                let codes = bake::codes(tensor, &quant, &range, self.spec.quantize.rounding)?;
                self.dequantized(value, integers(tensor.shape(), &codes, elem)?, quant)
            }
            None => {
                let plain = self.plain(value)?;
                let quantize = boundary::quantize(self.spec);
                let codes = self.convert(source.name, quantize.into(), plain, elem, Some(quant), "quantized");
                self.convert(source.name, Dequantize {}.into(), codes, Elem::F32, None, "dequantized")
            }
        };
        self.rounded[value.index()] = Some(made);
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
