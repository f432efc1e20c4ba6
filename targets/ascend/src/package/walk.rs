//! Converts the lowered graph to a graph as AMCT writes it.
//!
//! In the lowered graph, ops pass codes to each other. In AMCT's graphs, they pass float values: each layer that
//! computes on codes quantizes its inputs and dequantizes its results. Both kinds of graphs compute the same integers:
//!
//! ```text
//! conv ▶ requantize ▶ max_pool ▶ conv          conv ▶ dequant ▶ max_pool ▶ quant ▶ conv
//! ```
//!
//! The quantization q(x) = sat(rint(x·(1/s) + z)) is applied to each element, and a larger x never gives a smaller
//! code. So the quantization can be moved past every op that moves elements or takes the largest of several. It can
//! also be moved past a clamp if the ends of the clamp are quantized, too. Therefore a quantization is placed directly
//! before the op that reads its codes. If a value is quantized several times with the same scale and zero point, there
//! is only one node for it. If codes are read as float values, a quantization and a dequantization are written.

use super::reals::reals;
use super::unsupported;

use std::collections::BTreeMap;

use strait_plugin_sdk::TargetError;
use strait_plugin_sdk::form::{Per, Requantization};
use strait_plugin_sdk::graph::{
    Attribute, Dim, Elem, Export, Foreign, Graph, Module, Node, NodeId, TensorData, Term, ValueId,
};

/// Scale and zero point of activations: real = scale · (q − zero).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grid {
    pub(super) scale: f32,
    pub(super) zero: i32,
}

/// A layer that computes on codes, as the record and the settings describe it.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    /// Name of the layer in the model.
    pub(super) name: String,
    /// Scale and zero point of the layer's input.
    pub(super) grid: Grid,
    /// Scales of the layer's weights; `None` for a pool.
    pub(super) weights: Option<Per<f32>>,
    /// True if other layers of the model were folded into this one.
    pub(super) folded: bool,
    /// Index of the operand that `grid` is for. It is 0, or 1 for the second operand of a product of two activations.
    pub(super) operand: usize,
    /// The factors by which the channels of the input are divided. Empty if all of them are 1.
    pub(super) balance: Vec<f32>,
}

/// One of the two graphs that AMCT writes: the deploy model or the fake-quantized model.
pub(super) trait Flavour {
    /// Quantizes a float value. The result consists of codes, or of floats with the values of the codes.
    fn quantize(&self, export: &mut Export<'_>, x: ValueId, grid: Grid, layer: &str) -> Result<ValueId, TargetError>;

    /// Dequantizes a result of [`Flavour::quantize`].
    fn restore(
        &self,
        export: &mut Export<'_>,
        codes: ValueId,
        grid: Grid,
        layer: &str,
        result: Option<ValueId>,
    ) -> Result<ValueId, TargetError>;

    /// Element type of the integer accumulators.
    fn sum(&self) -> Elem;

    /// Converts codes of weights to the form in which the operator reads them.
    fn weights(&self, codes: TensorData) -> Result<TensorData, TargetError>;

    /// Converts a bias, given as integers on the accumulator's scale, to the form in which the operator reads it.
    fn bias(&self, bias: &[i32]) -> Result<TensorData, TargetError>;

    /// Dequantizes the integer accumulators `sum`: multiplies them by one factor, or by one factor for each channel.
    /// The channels lie along axis 1.
    fn dequantize(
        &self,
        export: &mut Export<'_>,
        sum: ValueId,
        factor: &Per<f32>,
        layer: &str,
        result: Option<ValueId>,
    ) -> Result<ValueId, TargetError>;
}

/// Integer accumulators that have not been dequantized.
#[derive(Clone)]
pub(super) struct Sum {
    pub(super) value: ValueId,
    pub(super) layer: String,
    pub(super) factor: Per<f32>,
    /// Axes that an average removes. They are removed from the result after the dequantization.
    pub(super) squeeze: Vec<i64>,
    /// True for a product of two activations.
    pub(super) of_activations: bool,
}

impl Layer {
    /// Makes a layer without weights. `grid` is the grid of its first operand.
    pub(super) fn new(name: &str, grid: Grid) -> Layer {
        Layer {
            name: name.to_owned(),
            grid,
            weights: None,
            folded: false,
            operand: 0,
            balance: Vec::new(),
        }
    }
}

impl Sum {
    /// Makes the accumulators of a layer with weights, or of a pool that keeps its axes.
    pub(super) fn new(value: ValueId, layer: &str, factor: Per<f32>) -> Sum {
        Sum {
            value,
            layer: layer.to_owned(),
            factor,
            squeeze: Vec::new(),
            of_activations: false,
        }
    }
}

pub(super) struct Walk<'m, F> {
    pub(super) module: &'m Module,
    pub(super) graph: &'m Graph,
    pub(super) export: Export<'m>,
    pub(super) flavour: F,
    /// The results of the quantizations that have been added. The key is the value that is quantized, with its scale
    /// and zero point.
    codes: BTreeMap<(ValueId, u32, i32), ValueId>,
    /// The integer accumulators that have been written. The key is the value of the lowered graph that they replace.
    pub(super) sums: BTreeMap<ValueId, Sum>,
    /// Dequantized accumulators and constants. The key is the value of the lowered graph that they replace.
    reals: BTreeMap<ValueId, ValueId>,
    /// For each value with accumulators, the value in the lowered graph that is the result of their dequantization.
    pub(super) dequantized: BTreeMap<ValueId, ValueId>,
    pub(super) layers: Vec<Layer>,
    /// Layers that AMCT would quantize, but that run in float in this model.
    pub(super) floats: Vec<String>,
}

impl<'m, F: Flavour> Walk<'m, F> {
    pub(super) fn new(module: &'m Module, graph: &'m Graph, flavour: F) -> Walk<'m, F> {
        let results = graph.nodes().filter(|(_, node)| node.op.term() == Term::Dequantize);
        let results = results.filter_map(|(_, node)| Some((operand(node, 0)?, *node.outputs.first()?)));
        Walk {
            module,
            graph,
            export: Export::new(module, graph, "main"),
            flavour,
            codes: BTreeMap::new(),
            sums: BTreeMap::new(),
            reals: BTreeMap::new(),
            dequantized: results.collect(),
            layers: Vec::new(),
            floats: Vec::new(),
        }
    }

    /// Converts all nodes of the graph.
    pub(super) fn run(mut self) -> Result<(Module, Vec<Layer>, Vec<String>), TargetError> {
        let order = self.graph.topological_order();
        let order = order.map_err(|_| unsupported("the lowered graph has a cycle"))?;
        for id in order {
            if let Some(node) = self.graph.node(id) {
                self.node(id, node)?;
            }
        }
        let outputs: Result<Vec<ValueId>, TargetError> =
            self.graph.outputs().iter().map(|&output| self.real(output)).collect();
        Ok((self.export.finish(&outputs?), self.layers, self.floats))
    }

    fn node(&mut self, id: NodeId, node: &'m Node) -> Result<(), TargetError> {
        let (term, layer) = (node.op.term(), self.export.layer_of(node).to_owned());
        let first = operand(node, 0);
        let on_codes = first.is_some_and(|value| self.elem(value) == Some(Elem::I8));
        let on_sums = first.is_some_and(|value| self.sums.contains_key(&value));
        match term {
            Term::Quantize => {
                let real = self.real_operand(node, 0)?;
                if let Some(result) = self.result(node) {
                    self.export.set(result, real);
                }
                Ok(())
            }
            Term::Dequantize if self.is_added_to(id, node) => Ok(()),
            Term::Dequantize => self.dequantize(node, &layer),
            Term::Conv | Term::Gemm if on_codes => self.product(id, node, &layer),
            Term::MatMul if on_codes => self.product_of_activations(id, node, &layer),
            Term::Requantize if on_sums => self.requantize(id, node, &layer),
            Term::SumPool | Term::ReduceSum if on_codes => self.pool(id, node, &layer),
            // This addition to integer accumulators adds the zero point of an average.
            Term::Add if on_sums => {
                let sum = first.and_then(|first| self.sums.get(&first).cloned());
                self.result(node)
                    .zip(sum)
                    .map(|(result, sum)| self.sums.insert(result, sum));
                Ok(())
            }
            Term::Clamp if on_codes => self.clamp(id, node, &layer),
            _ if on_codes => self.moved(id, node),
            _ if on_sums => Err(self.refusal(node, "computes on sums")),
            _ => {
                if let Some(added) = self.added(node) {
                    return self.add_to_sums(id, node, &added);
                }
                if matches!(term, Term::Conv | Term::Gemm | Term::AveragePool) {
                    self.floats.push(layer.clone());
                }
                let operands = self.operands(node)?;
                self.export.copy(id, self.own_name(node), &operands, None)
            }
        }
    }

    /// Converts an op that moves codes or takes the largest of several: adds the same op on float values.
    fn moved(&mut self, id: NodeId, node: &'m Node) -> Result<(), TargetError> {
        let moves = [
            Term::MaxPool,
            Term::ReduceMax,
            Term::Reshape,
            Term::Flatten,
            Term::Squeeze,
            Term::Unsqueeze,
            Term::Transpose,
            Term::Split,
            Term::Slice,
            Term::Concat,
        ];
        if !moves.contains(&node.op.term()) {
            return Err(self.refusal(node, "computes on codes"));
        }
        let operands = node.inputs.iter().flatten().chain(&node.outputs);
        let mut grids = operands
            .filter(|&&value| self.elem(value) == Some(Elem::I8))
            .map(|&value| self.grid(value));
        let own = grids.next().transpose()?;
        if grids.any(|grid| grid.ok() != own) {
            return Err(self.refusal(node, "has operands on several grids"));
        }
        let operands = self.operands(node)?;
        self.export.copy(id, self.own_name(node), &operands, Some(Elem::F32))
    }

    fn clamp(&mut self, id: NodeId, node: &'m Node, layer: &str) -> Result<(), TargetError> {
        let (Some(result), x) = (self.result(node), self.real_operand(node, 0)?) else {
            return Ok(());
        };
        let grid = self.grid(result)?;
        let (Some(Attribute::Int(min)), Some(Attribute::Int(max))) =
            (node.op.attribute("min"), node.op.attribute("max"))
        else {
            return Err(self.refusal(node, "has no ends"));
        };
        let below = min > i64::from(i8::MIN);
        if below && min != i64::from(grid.zero) {
            return Err(self.refusal(node, "cuts off elsewhere than at zero"));
        }
        let mut made = x;
        let above = max < i64::from(i8::MAX);
        let mut step = |op, name: &str, operands: &[ValueId], result| {
            add(&mut self.export, onnx(op, name, Some(id), operands, Elem::F32), result)
        };
        if !above {
            made = step("Relu", layer, &[made], Some(result));
        } else if below {
            // The node that computes the layer's result gets the layer's name.
            made = step("Relu", &format!("{layer}.relu"), &[made], None);
        }
        if above {
            // If the code of 6.0 is the upper end of the clamp, the end is written as exactly 6, because ATC recognizes
            // a ReLU6 by this number.
            let six = quantized(6.0, grid) == max;
            let end = if six {
                6.0
            } else {
                (max - i64::from(grid.zero)) as f32 * grid.scale
            };
            let end = self.export.constant(&format!("{layer}.max"), TensorData::scalar(end));
            let operands = [made, end];
            let node = onnx("Min", layer, Some(id), &operands, Elem::F32);
            add(&mut self.export, node, Some(result));
        }
        Ok(())
    }

    fn dequantize(&mut self, node: &'m Node, layer: &str) -> Result<(), TargetError> {
        let (Some(value), Some(result)) = (operand(node, 0), self.result(node)) else {
            return Ok(());
        };
        if self.sums.contains_key(&value) {
            let real = self.sum_in_reals(value)?;
            self.export.set(result, real);
            return Ok(());
        }
        let real = match self.module.constant(self.graph, value) {
            Some(_) => self.real(value)?,
            None => {
                let (codes, grid) = (self.codes(value, layer)?, self.grid(value)?);
                self.flavour
                    .restore(&mut self.export, codes, grid, layer, Some(result))?
            }
        };
        self.export.set(result, real);
        Ok(())
    }

    fn requantize(&mut self, id: NodeId, node: &'m Node, layer: &str) -> Result<(), TargetError> {
        let (Some(value), Some(result)) = (operand(node, 0), self.result(node)) else {
            return Ok(());
        };
        let relu = match node.op.attribute("form") {
            Some(Attribute::Form(form)) => match &*form {
                Requantization::DequantQuant(form) => form.relu,
                Requantization::AscendRequant(form) => form.relu,
                other => {
                    let text = format!("narrows by the form `{}`", other.kind().name());
                    return Err(self.refusal(node, &text));
                }
            },
            _ => return Err(self.refusal(node, "has no form")),
        };
        let mut real = self.sum_in_reals(value)?;
        if relu {
            let name = format!("{layer}.relu");
            let operands = [real];
            let node = onnx("Relu", &name, Some(id), &operands, Elem::F32);
            real = add(&mut self.export, node, Some(result));
        }
        self.export.set(result, real);
        Ok(())
    }

    /// Returns the float values of integer accumulators. The accumulators are dequantized once for all their readers.
    pub(super) fn sum_in_reals(&mut self, value: ValueId) -> Result<ValueId, TargetError> {
        if let Some(&made) = self.reals.get(&value) {
            return Ok(made);
        }
        let Some(sum) = self.sums.get(&value).cloned() else {
            return Err(unsupported("a sum was never made"));
        };
        let result = self.dequantized.get(&value).copied();
        let (export, flavour) = (&mut self.export, &self.flavour);
        let mut made = sum.value;
        if sum.factor != Per::Tensor(1.0) {
            let last = result.filter(|_| sum.squeeze.is_empty());
            made = flavour.dequantize(export, made, &sum.factor, &sum.layer, last)?;
        }
        if !sum.squeeze.is_empty() {
            let axes = TensorData::from_values(&[sum.squeeze.len() as u64], &sum.squeeze);
            let axes = axes.map_err(unsupported)?;
            let axes = export.constant(&format!("{}.axes", sum.layer), axes);
            let kept = export.shape(made).into_iter().enumerate();
            let kept = kept.filter(|(axis, _)| !sum.squeeze.contains(&(*axis as i64)));
            let like: Vec<Dim> = kept.map(|(_, dim)| dim).collect();
            let name = format!("{}.squeeze", sum.layer);
            let operands = [made, axes];
            let node = onnx("Squeeze", &name, None, &operands, Elem::F32);
            made = export.foreign(Foreign { like: &like, ..node }, result);
        }
        self.reals.insert(value, made);
        Ok(made)
    }

    /// Returns the codes of a value in the exported graph. They have the value's scale and zero point in the lowered
    /// graph. One operator quantizes the value for all its readers.
    pub(super) fn codes(&mut self, value: ValueId, layer: &str) -> Result<ValueId, TargetError> {
        let (real, grid) = (self.real(value)?, self.grid(value)?);
        let key = (real, grid.scale.to_bits(), grid.zero);
        if let Some(&made) = self.codes.get(&key) {
            return Ok(made);
        }
        let made = self.flavour.quantize(&mut self.export, real, grid, layer)?;
        self.codes.insert(key, made);
        Ok(made)
    }

    fn operands(&mut self, node: &'m Node) -> Result<Vec<Option<ValueId>>, TargetError> {
        let operands = node
            .inputs
            .iter()
            .map(|&value| value.map(|value| self.real(value)).transpose());
        operands.collect()
    }

    fn real_operand(&mut self, node: &'m Node, index: usize) -> Result<ValueId, TargetError> {
        match operand(node, index) {
            Some(value) => self.real(value),
            None => Err(self.refusal(node, "lacks an operand")),
        }
    }

    /// The float value that replaces a value of the lowered graph.
    fn real(&mut self, value: ValueId) -> Result<ValueId, TargetError> {
        let name = || {
            self.graph
                .value(value)
                .map(|value| self.module.name(value.name))
                .unwrap_or_default()
        };
        let missing = || unsupported(format!("`{}` was never made", name()));
        let grid = self.graph.value(value).and_then(|value| value.quant.as_deref());
        if let (Some(tensor), Some(grid)) = (self.module.constant(self.graph, value), grid) {
            if let Some(&made) = self.reals.get(&value) {
                return Ok(made);
            }
            let made = self.export.constant(name(), reals(tensor, grid)?);
            self.reals.insert(value, made);
            return Ok(made);
        }
        self.export.made(value).ok_or_else(missing)
    }

    pub(super) fn grid(&self, value: ValueId) -> Result<Grid, TargetError> {
        let value = self.graph.value(value);
        let name = value.map(|value| self.module.name(value.name)).unwrap_or_default();
        let grid = value.and_then(|value| value.quant.as_ref()?.as_tensor());
        let (scale, zero) = grid.ok_or_else(|| unsupported(format!("`{name}` has no grid of its own")))?;
        if !(1.0 / scale).is_finite() {
            return Err(unsupported(format!(
                "the scale {scale} of `{name}` has no finite reciprocal"
            )));
        }
        Ok(Grid { scale, zero })
    }

    fn elem(&self, value: ValueId) -> Option<Elem> {
        Some(self.graph.value(value)?.ty.elem)
    }

    pub(super) fn result(&self, node: &Node) -> Option<ValueId> {
        node.outputs.first().copied()
    }

    /// Name of the node from which `node` was lowered. This is the name of its layer, or of an op that was added to the
    /// layer.
    fn own_name(&self, node: &Node) -> &'m str {
        let own = self.module.name(node.name);
        let is_primitive = node.sources.first() == Some(&node.name) && node.sources.len() > 1;
        let before = own.rsplit_once(':').map(|(before, _)| before).filter(|_| is_primitive);
        before.unwrap_or(own)
    }

    pub(super) fn refusal(&self, node: &Node, why: &str) -> TargetError {
        unsupported(format!(
            "`{}` {why}, for which AMCT's models have no node",
            self.export.layer_of(node)
        ))
    }
}

/// A node with one of ONNX's own operators, without attributes and without a shape.
pub(super) fn onnx<'a>(
    op: &'a str,
    name: &'a str,
    of: Option<NodeId>,
    operands: &'a [ValueId],
    elem: Elem,
) -> Foreign<'a> {
    Foreign {
        domain: "ai.onnx",
        op,
        attributes: Vec::new(),
        name,
        of,
        operands,
        elem,
        like: &[],
    }
}

/// Adds a node whose result has the shape of its first operand.
pub(super) fn add(export: &mut Export<'_>, node: Foreign<'_>, result: Option<ValueId>) -> ValueId {
    let like = node.operands.first().map(|&x| export.shape(x)).unwrap_or_default();
    export.foreign(Foreign { like: &like, ..node }, result)
}

/// The code of a number: sat(rint(x·(1/s) + z)).
fn quantized(x: f32, grid: Grid) -> i64 {
    let code = (x * (1.0 / grid.scale) + grid.zero as f32).round_ties_even();
    code.clamp(f32::from(i8::MIN), f32::from(i8::MAX)) as i64
}

pub(super) fn operand(node: &Node, index: usize) -> Option<ValueId> {
    node.inputs.get(index).copied().flatten()
}
