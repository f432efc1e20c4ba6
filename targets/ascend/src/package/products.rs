//! Writes layers that add up codes: products (convolutions, MatMul) and averages.

use strait_plugin_sdk::TargetError;
use strait_plugin_sdk::form::Per;
use strait_plugin_sdk::graph::{Attribute, Dim, Elem, Foreign, Node, NodeId, TensorData, Term, ValueId};

use super::unsupported;
use super::walk::{Flavour, Layer, Sum, Walk, add, onnx, operand};

/// A product of quantized tensors, with everything that is needed to write it.
struct Product<'a> {
    id: NodeId,
    layer: &'a str,
    op: &'static str,
    attributes: Vec<(&'static str, Attribute)>,
    /// The codes of the weights, in the layout of the operator.
    weights: TensorData,
    /// The bias as integers on the accumulator's scale, without the term for the zero point; `None` if it is 0.
    bias: Option<Vec<i32>>,
    /// Shape of the result.
    shape: Vec<Dim>,
}

impl<'m, F: Flavour> Walk<'m, F> {
    pub(super) fn product(&mut self, id: NodeId, node: &'m Node, layer: &str) -> Result<(), TargetError> {
        let (Some(x), Some(w), Some(result)) = (operand(node, 0), operand(node, 1), self.result(node)) else {
            return Ok(());
        };
        let grid = self.grid(x)?;
        let constant = |value| self.module.constant(self.graph, value);
        let weights = constant(w).ok_or_else(|| self.refusal(node, "has weights that are no constant"))?;
        let scales = self.graph.value(w).and_then(|w| w.quant.as_deref());
        let scales = scales.filter(|grid| grid.block.is_none() && grid.zero_point.all(|&zero| zero == 0));
        let scales = scales
            .ok_or_else(|| self.refusal(node, "has weights with zero points or blocks"))?
            .scale
            .clone();
        if weights.elem() != Elem::I8 {
            return Err(self.refusal(node, "has weights of another type than int8"));
        }
        let channels = weights.shape().first().copied().unwrap_or(1).max(1) as usize;
        let codes = weights.to_i64().map_err(unsupported)?;
        let folded = operand(node, 2).and_then(constant).map(TensorData::to_i64).transpose();
        let folded = folded.map_err(unsupported)?.unwrap_or_else(|| vec![0; channels]);
        // The lowered bias contains −z·Σw. This term is removed, since ATC adds it by itself.
        let each = (codes.len() / channels).max(1);
        let biases = folded.iter().zip(codes.chunks(each)).map(|(&folded, row)| {
            let bias = folded + i64::from(grid.zero) * row.iter().sum::<i64>();
            i32::try_from(bias).map_err(|_| self.refusal(node, "has a bias beyond 32 bits"))
        });
        let biases: Vec<i32> = biases.collect::<Result<_, _>>()?;
        let factor = scales.map(|scale| scale * grid.scale);
        let conv = node.op.term() == Term::Conv;
        let shape = self.export.shape_of(result);
        let (op, weights, attributes) = if conv {
            ("Conv", weights.clone(), convolution(node, weights.shape()))
        } else {
            let op = if shape.len() == 2 { "Gemm" } else { "MatMul" };
            (op, transposed(weights)?, Vec::new())
        };
        self.layers.push(Layer {
            weights: Some(scales),
            folded: self.export.names_of(node).len() > 1,
            ..Layer::new(layer, grid)
        });
        let product = Product {
            id,
            layer,
            op,
            attributes,
            weights,
            bias: biases.iter().any(|&bias| bias != 0).then_some(biases),
            shape,
        };
        let x = self.codes(x, layer)?;
        let value = self.multiply(x, product)?;
        self.sums.insert(result, Sum::new(value, layer, factor));
        Ok(())
    }

    /// Writes a product of two activations whose zero points are 0. The accumulators are sums of products of their
    /// codes.
    pub(super) fn product_of_activations(
        &mut self,
        id: NodeId,
        node: &'m Node,
        layer: &str,
    ) -> Result<(), TargetError> {
        let Some(result) = self.result(node) else { return Ok(()) };
        let (mut operands, mut factor) = (Vec::new(), 1.0);
        for index in 0..2 {
            let Some(x) = operand(node, index) else { return Ok(()) };
            let grid = self.grid(x)?;
            if grid.zero != 0 {
                return Err(self.refusal(node, "multiplies two activations with zero points"));
            }
            factor *= grid.scale;
            operands.push(self.codes(x, layer)?);
            self.layers.push(Layer {
                operand: index,
                ..Layer::new(layer, grid)
            });
        }
        let shape = self.export.shape_of(result);
        let made = onnx("MatMul", layer, Some(id), &operands, self.flavour.sum());
        let value = self.export.foreign(Foreign { like: &shape, ..made }, None);
        let sum = Sum {
            of_activations: true,
            ..Sum::new(value, layer, Per::Tensor(factor))
        };
        self.sums.insert(result, sum);
        Ok(())
    }

    /// Adds the operator that computes a convolution or matrix product to the graph. A MatMul takes no bias, so an Add
    /// after it adds the bias.
    fn multiply(&mut self, x: ValueId, product: Product<'_>) -> Result<ValueId, TargetError> {
        let (export, flavour, layer) = (&mut self.export, &self.flavour, product.layer);
        let weights = flavour.weights(product.weights)?;
        let mut operands = vec![x, export.constant(&format!("{layer}.weight"), weights)];
        let bias = match product.bias {
            Some(bias) => Some(export.constant(&format!("{layer}.bias"), flavour.bias(&bias)?)),
            None => None,
        };
        let behind = product.op == "MatMul";
        operands.extend(bias.filter(|_| !behind));
        let (elem, id) = (flavour.sum(), Some(product.id));
        let like = &product.shape;
        let made = onnx(product.op, layer, id, &operands, elem).with(product.attributes);
        let sum = export.foreign(Foreign { like, ..made }, None);
        Ok(match bias.filter(|_| behind) {
            None => sum,
            Some(bias) => {
                let name = format!("{layer}.bias");
                add(export, onnx("Add", &name, None, &[sum, bias], elem), None)
            }
        })
    }

    /// Writes an average as an AveragePool on codes. ATC subtracts the zero point from each code, adds up the
    /// differences, and divides the sum by the number of elements. If the windows have different numbers of elements,
    /// the layer computes on float values instead.
    pub(super) fn pool(&mut self, id: NodeId, node: &'m Node, layer: &str) -> Result<(), TargetError> {
        let (Some(x), Some(result)) = (operand(node, 0), self.result(node)) else {
            return Ok(());
        };
        let grid = self.grid(x)?;
        let extents = self.export.shape_of(x);
        let (attributes, squeeze) = match node.op.term() {
            Term::SumPool => (window(node), Vec::new()),
            _ => self.whole(node, &extents)?,
        };
        let counted = self.has_counts(result);
        let include = ("count_include_pad", Attribute::Int(i64::from(!counted)));
        let attributes: Vec<_> = attributes.into_iter().chain([include]).collect();
        let mut shape = self.export.shape_of(result);
        for &axis in &squeeze {
            shape.insert((axis as usize).min(shape.len()), Dim::Fixed(1));
        }
        let codes = self.codes(x, layer)?;
        let (x, elem, factor) = match counted {
            true => (
                self.flavour.restore(&mut self.export, codes, grid, layer, None)?,
                Elem::F32,
                1.0,
            ),
            false => (codes, self.flavour.sum(), grid.scale),
        };
        let operands = [x];
        let made = onnx("AveragePool", layer, Some(id), &operands, elem).with(attributes);
        let value = self.export.foreign(Foreign { like: &shape, ..made }, None);
        self.layers.push(Layer::new(layer, grid));
        let sum = Sum {
            squeeze,
            ..Sum::new(value, layer, Per::Tensor(factor))
        };
        self.sums.insert(result, sum);
        Ok(())
    }

    /// True if the sums of different windows are divided by different numbers. A requantization divides the sums,
    /// possibly after the zero point was subtracted.
    fn has_counts(&self, sums: ValueId) -> bool {
        self.graph
            .uses(sums)
            .filter_map(|at| self.graph.node(at.node))
            .any(|reader| match reader.op.term() {
                Term::Requantize => operand(reader, 1).is_some(),
                Term::Add => self.result(reader).is_some_and(|centred| self.has_counts(centred)),
                _ => false,
            })
    }

    /// Describes an average over whole axes as a pool. Returns the attributes of the window that covers these axes, and
    /// the axes that the result does not have.
    fn whole(&self, node: &Node, extents: &[Dim]) -> Result<(Vec<(&'static str, Attribute)>, Vec<i64>), TargetError> {
        let axes = match node.op.attribute("axes") {
            Some(Attribute::Ints(axes)) => axes,
            _ => Vec::new(),
        };
        let rank = extents.len() as i64;
        let mut axes: Vec<i64> = axes
            .iter()
            .map(|&axis| if axis < 0 { axis + rank } else { axis })
            .collect();
        axes.sort_unstable();
        let size = extents
            .iter()
            .enumerate()
            .skip(2)
            .map(|(axis, dim)| match axes.contains(&(axis as i64)) {
                true => dim.fixed().map(|extent| extent as i64),
                false => Some(1),
            });
        let size: Option<Vec<i64>> = size.collect();
        let size = size.ok_or_else(|| self.refusal(node, "has an extent that is not known"))?;
        let keeps = node.op.attribute("keep_dims") == Some(Attribute::Int(1));
        let attributes = vec![("kernel_shape", Attribute::Ints(size))];
        Ok((attributes, if keeps { Vec::new() } else { axes }))
    }
}

fn ints(node: &Node, key: &str) -> Attribute {
    node.op.attribute(key).unwrap_or(Attribute::Ints(Vec::new()))
}

fn convolution(node: &Node, weights: &[u64]) -> Vec<(&'static str, Attribute)> {
    let kernel = weights.iter().skip(2).map(|&extent| extent as i64).collect();
    let groups = node.op.attribute("groups").unwrap_or(Attribute::Int(1));
    vec![
        ("dilations", ints(node, "dilation")),
        ("group", groups),
        ("kernel_shape", Attribute::Ints(kernel)),
        ("pads", ints(node, "pad")),
        ("strides", ints(node, "stride")),
    ]
}

fn window(node: &Node) -> Vec<(&'static str, Attribute)> {
    let ceil = node.op.attribute("ceil").unwrap_or(Attribute::Int(0));
    vec![
        ("ceil_mode", ceil),
        ("kernel_shape", ints(node, "size")),
        ("pads", ints(node, "pad")),
        ("strides", ints(node, "stride")),
    ]
}

/// Transposes weights from [outputs, inputs] to [inputs, outputs].
fn transposed(weights: &TensorData) -> Result<TensorData, TargetError> {
    let (shape, bytes) = (weights.shape(), weights.bytes());
    let &[outputs, inputs] = shape else {
        return Err(unsupported("weights of a matrix product are no matrix"));
    };
    let (outputs, inputs) = (outputs as usize, inputs as usize);
    let moved = (0..inputs).flat_map(|i| (0..outputs).filter_map(move |o| bytes.get(o * inputs + i)));
    let moved: Vec<i8> = moved.map(|&byte| byte as i8).collect();
    let shape = [inputs as u64, outputs as u64];
    TensorData::from_values(&shape, &moved).map_err(unsupported)
}
