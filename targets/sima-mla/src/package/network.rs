//! The network. It consists of a list of documents, one of which has the `nodes`, and of the arrays that the nodes
//! refer to.

use super::document::{Tree, map};
use super::layout::{convolution_weights, permuted, stored, stored_axis, stored_order};
use super::stages::{Processor, Stage};
use super::too_large;
use super::values::{Described, channel_params, scales, zero_points};
use strait_plugin_sdk::TargetError;
use strait_plugin_sdk::form::{FormKind, Requantization, Rounding, fields};
use strait_plugin_sdk::graph::{
    Attribute, Channels, Elem, Graph, Module, Node, NodeId, Placement, Reason, ReasonCode, TensorData, Term, ValueId,
};
use strait_samples::{NumberType, Pack, encode};

/// The network while it is being made: the documents, and the archive to which the arrays are added.
pub(super) struct Network<'a> {
    pub(super) module: &'a Module,
    pub(super) graph: &'a Graph,
    /// The archive with the arrays, each as an `.npy` member.
    pub(super) arrays: Pack,
    /// For each value of the graph, true if the value is a constant whose node has been written.
    written: Vec<bool>,
    /// Number of nodes with arrays that have been written. The keys of arrays contain this number and not the node's
    /// name, since a name in the model may be any text.
    keys: usize,
}

impl<'a> Network<'a> {
    pub(super) fn new(module: &'a Module, graph: &'a Graph) -> Network<'a> {
        Network {
            module,
            graph,
            arrays: Pack::default(),
            written: vec![false; graph.value_bound()],
            keys: 0,
        }
    }

    /// Makes all documents of `model.yaml`.
    pub(super) fn documents(&mut self, name: &str, stages: &[Stage]) -> Result<Tree, TargetError> {
        let (module, graph) = (self.module, self.graph);
        let mut nodes = Vec::new();
        let mut subgraphs = 0;
        for stage in stages {
            match stage {
                Stage::Single(id) => self.node(*id, &mut nodes)?,
                Stage::Subgraph(inside) => {
                    let mut below = Vec::new();
                    for &id in &inside.nodes {
                        self.node(id, &mut below)?;
                    }
                    let ir = map([
                        ("node_type", "subgraph".into()),
                        ("processor", Processor::Mla.name().into()),
                        ("nodes", Tree::List(below)),
                    ]);
                    nodes.push(map([
                        ("name", subgraph_name(subgraphs).into()),
                        ("inputs", self.names(&inside.inputs)?),
                        ("outputs", self.described(&inside.outputs)?),
                        ("ir", ir),
                    ]));
                    subgraphs += 1;
                }
            }
        }
        // Constants that are outputs need nodes, too.
        for &output in graph.outputs() {
            self.constant(output, &mut nodes)?;
        }
        let root = map([
            ("name", name.into()),
            ("inputs", self.described(graph.inputs())?),
            ("outputs", self.names(graph.outputs())?),
            ("nodes", Tree::List(nodes)),
        ]);
        let about = map([
            ("producer", concat!("strait ", env!("CARGO_PKG_VERSION")).into()),
            ("layout", "NHWC".into()),
            ("quantization", "q = round(real * scale) + zero_point".into()),
            ("graph", module.name(graph.name).into()),
        ]);
        Ok(Tree::List(vec![about, root]))
    }

    /// Appends a node. Constants that no earlier node uses are appended before it.
    fn node(&mut self, id: NodeId, nodes: &mut Vec<Tree>) -> Result<(), TargetError> {
        let graph = self.graph;
        let Some(node) = graph.node(id) else { return Ok(()) };
        let parameters = self.parameters(node);
        let operands = match &parameters {
            Some(_) => node.inputs.get(..1).unwrap_or_default(),
            None => &node.inputs[..],
        };
        let mut inputs = Vec::new();
        for &operand in operands {
            // An operand that is absent gets an empty name.
            inputs.push(match operand {
                None => Tree::Text(String::new()),
                Some(value) => {
                    self.constant(value, nodes)?;
                    self.name(value)?.into()
                }
            });
        }
        self.keys += 1;
        let processor = Processor::of(node);
        let mut ir = map([("node_type", "operator".into()), ("processor", processor.name().into())]);
        if let Placement::Host(reason) = &node.place {
            ir.put("reason", reason.text.as_str());
        }
        match node.op.term() {
            Term::Quantize | Term::Dequantize => self.boundary(node, &mut ir)?,
            _ if processor == Processor::Mla => {
                ir.put("attrs", self.attributes(node, parameters.is_some())?);
                ir.put("quant", self.integers(node, parameters)?);
            }
            _ => {
                ir.put("op", node.op.name());
                ir.put("attrs", self.attributes(node, false)?);
            }
        }
        let sources = node.sources.iter().map(|&source| self.module.name(source));
        nodes.push(map([
            ("name", self.module.name(node.name).into()),
            ("sources", sources.collect::<Vec<_>>().into()),
            ("inputs", Tree::List(inputs)),
            ("outputs", self.described(&node.outputs)?),
            ("ir", ir),
        ]));
        Ok(())
    }

    /// Adds the keys of a node that quantizes or dequantizes.
    fn boundary(&self, node: &Node, ir: &mut Tree) -> Result<(), TargetError> {
        let first = |values: &[ValueId]| values.first().copied();
        let input = node.inputs.first().copied().flatten();
        let (from, to) = (self.describe(input)?, self.describe(first(&node.outputs))?);
        let quantizes = node.op.term() == Term::Quantize;
        let codes = if quantizes { &to } else { &from };
        let quant = codes
            .quant
            .ok_or_else(|| Reason::new(ReasonCode::NoGrid, "codes without a grid"))?;
        ir.put("op", node.op.name());
        let mut attrs = map([
            ("channel_params", channel_params(quant).into()),
            ("num_bits", Tree::Int(codes.elem.bits().into())),
            ("input_data_type", NumberType::from(from.elem).name().into()),
            ("output_data_type", NumberType::from(to.elem).name().into()),
        ]);
        if let Some(rounding) = rounding(node) {
            attrs.put("rounding", rounding);
        }
        if let Some(axis) = quant.axis {
            attrs.put("axis", stored_axis(axis.into(), codes.shape.len()) as i64);
        }
        ir.put("attrs", attrs);
        Ok(())
    }

    /// Describes the integer arithmetic of a node on the accelerator: its weights and bias, how its result is
    /// requantized, and the scale and zero point of the result.
    fn integers(&mut self, node: &Node, parameters: Option<Parameters<'_>>) -> Result<Tree, TargetError> {
        let result = self.describe(node.outputs.first().copied())?;
        let op = match (node.op.term(), &parameters) {
            (Term::Gemm, Some(_)) => "dense",
            _ => node.op.name(),
        };
        let mut quant = map([("op", op.into())]);
        if let Some(grid) = result.quant {
            quant.put("scale", scales(grid));
            quant.put("zero_point", zero_points(grid));
        }
        let own = match node.op.attribute("form") {
            Some(Attribute::Form(form)) if node.op.term() == Term::Requantize => Some(form),
            _ => None,
        };
        let form = own.as_deref().or(node.fused.as_ref().map(|fused| &fused.requant));
        let channels = form.and_then(Requantization::channels);
        quant.put("per_channel", channels.is_some());
        if let Some(Parameters {
            weight,
            bias,
            shape,
            groups,
        }) = parameters
        {
            let (shape, bytes) = convolution_weights(weight.bytes(), weight.elem().size(), shape, groups);
            let key = self.key("weight");
            quant.put("weight_quant_data", self.array(key, weight.elem(), &shape, &bytes)?);
            if let Some(bias) = bias {
                let key = self.key("bias");
                quant.put(
                    "bias_quant_data",
                    self.array(key, bias.elem(), bias.shape(), bias.bytes())?,
                );
            }
        }
        if let Some(form) = form {
            let mut requant = self.requantization(form)?;
            // The document states along which axis the channels of the requantization lie.
            match node.channels(result.shape.len()).filter(|_| channels.is_some()) {
                Some(Channels::Axis(axis)) => {
                    requant.put("channel_axis", stored_axis(axis, result.shape.len()) as i64);
                }
                Some(Channels::Picked(_)) => {
                    let text = format!("channels of {} that are picked by position", node.op.term());
                    return Err(TargetError::Unsupported(text));
                }
                None => {}
            }
            quant.put("requant", requant);
        }
        if node.addend().is_some() {
            let text = format!("{} that adds an operand inside its accumulator", node.op.term());
            return Err(TargetError::Unsupported(text));
        }
        if let Some([low, high]) = node.fused.as_ref().and_then(|fused| fused.clamp) {
            quant.put("clip", vec![low, high]);
        }
        Ok(quant)
    }

    /// The parameters of a requantization. They are written as numbers, or as keys of arrays if there is a number for
    /// each channel.
    fn requantization(&mut self, form: &Requantization) -> Result<Tree, TargetError> {
        let kind = form.kind();
        let mut tree = map([("type", kind.name().into())]);
        let sima = matches!(kind, FormKind::FractionalZero | FormKind::TfLite);
        for (key, value) in fields(form) {
            let key = match key {
                "sc" if sima => "sc_correction",
                "zp" if sima => "zp_correction",
                "out" => "out_dtype",
                other => other,
            };
            let value = match value {
                Attribute::Text(text) if key == "out_dtype" => {
                    Elem::parse(&text).map_or(Tree::Text(text.clone()), |elem| NumberType::from(elem).name().into())
                }
                Attribute::Ints(values) => self.channels(key, &values)?.into(),
                other => plain(other),
            };
            tree.put(key, value);
        }
        Ok(tree)
    }

    /// Stores one integer for each channel as an array, with 32 bits if all of them fit, and otherwise with 64 bits.
    fn channels(&mut self, key: &str, values: &[i64]) -> Result<String, TargetError> {
        let narrow: Option<Vec<i32>> = values.iter().map(|&value| i32::try_from(value).ok()).collect();
        let (elem, bytes) = match narrow {
            Some(values) => (
                Elem::I32,
                values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>(),
            ),
            None => (Elem::I64, values.iter().flat_map(|v| v.to_le_bytes()).collect()),
        };
        let name = self.key(key);
        self.array(name, elem, &[values.len() as u64], &bytes)
    }

    /// Weights and bias of a two-dimensional convolution or a fully connected layer, if they are constant.
    fn parameters(&self, node: &Node) -> Option<Parameters<'a>> {
        let constant = |value: ValueId| self.module.constant(self.graph, value);
        let weight = constant(node.inputs.get(1).copied().flatten()?)?;
        let bias = match node.inputs.get(2).copied().flatten() {
            Some(bias) => Some(constant(bias)?),
            None => None,
        };
        let attribute = |key: &str| node.op.attribute(key);
        let (shape, groups) = match (node.op.term(), weight.shape(), attribute("groups")) {
            (Term::Conv, &[o, i, h, w], Some(Attribute::Int(groups))) => ([o, i, h, w], groups.try_into().ok()?),
            // Only x·Wᵀ is supported.
            (Term::Gemm, &[o, i], _) => {
                let factors = ["alpha", "beta"].map(attribute) == [1.0, 1.0].map(|one| Some(Attribute::Float(one)));
                let sides =
                    ["transpose_a", "transpose_b"].map(attribute) == [0, 1].map(|flag| Some(Attribute::Int(flag)));
                (factors && sides).then_some(([o, i, 1, 1], 1))?
            }
            _ => return None,
        };
        (Processor::of(node) == Processor::Mla).then_some(Parameters {
            weight,
            bias,
            shape,
            groups,
        })
    }

    /// Writes the node of a constant, unless it has already been written.
    fn constant(&mut self, value: ValueId, nodes: &mut Vec<Tree>) -> Result<(), TargetError> {
        let Some(tensor) = self.module.constant(self.graph, value) else {
            return Ok(());
        };
        match self.written.get_mut(value.index()) {
            Some(written) if !*written => *written = true,
            _ => return Ok(()),
        }
        let tensor: TensorData = tensor.clone();
        let shape = tensor.shape();
        let bytes = permuted(tensor.bytes(), tensor.elem().size(), shape, &stored_order(shape.len()));
        self.keys += 1;
        let key = self.key("data");
        let key = self.array(key, tensor.elem(), &stored(shape), &bytes)?;
        nodes.push(map([
            ("name", self.name(value)?.into()),
            ("inputs", Tree::List(Vec::new())),
            ("outputs", self.described(&[value])?),
            (
                "ir",
                map([
                    ("node_type", "constant".into()),
                    ("op", "constant".into()),
                    ("data", key.into()),
                ]),
            ),
        ]));
        Ok(())
    }

    /// The attributes of a node, by their names in the IR. `with_parameters` is true for a product whose weights are
    /// stored as arrays.
    fn attributes(&self, node: &Node, with_parameters: bool) -> Result<Tree, TargetError> {
        let mut tree = Tree::Map(Vec::new());
        let gemm = node.op.term() == Term::Gemm && with_parameters;
        let requantize = node.op.term() == Term::Requantize;
        for (key, value) in node.op.attribute_list() {
            match value {
                // These attributes are already stated by the layout of the weights and by the entry `requant`.
                _ if gemm || requantize => {}
                Attribute::Data(_) => return Err(TargetError::Unsupported(format!("`{key}` of {}", node.op.name()))),
                value => tree.put(&key, plain(value)),
            }
        }
        Ok(tree)
    }

    /// The key of an array that belongs to the node that is being written.
    fn key(&self, what: &str) -> String {
        format!("n{:04}_{what}", self.keys)
    }

    fn array(&mut self, key: String, elem: Elem, shape: &[u64], bytes: &[u8]) -> Result<String, TargetError> {
        let shape: Vec<usize> = shape.iter().map(|&extent| extent as usize).collect();
        let file = encode(elem.into(), &shape, bytes);
        self.arrays.add(&format!("{key}.npy"), &file).map_err(too_large)?;
        Ok(key)
    }

    fn describe(&self, value: Option<ValueId>) -> Result<Described<'a>, TargetError> {
        let value = value.ok_or_else(|| Reason::new(ReasonCode::NoValue, "a value is missing"))?;
        Described::new(self.module, self.graph, value)
    }

    fn name(&self, value: ValueId) -> Result<&'a str, TargetError> {
        Ok(self.describe(Some(value))?.name)
    }

    fn names(&self, values: &[ValueId]) -> Result<Tree, TargetError> {
        let names: Result<Vec<&str>, TargetError> = values.iter().map(|&value| self.name(value)).collect();
        Ok(names?.into())
    }

    fn described(&self, values: &[ValueId]) -> Result<Tree, TargetError> {
        let trees = values.iter().map(|&value| Ok(self.describe(Some(value))?.tree()));
        Ok(Tree::List(trees.collect::<Result<_, TargetError>>()?))
    }
}

/// Weights and bias of a product.
struct Parameters<'a> {
    weight: &'a TensorData,
    bias: Option<&'a TensorData>,
    /// Shape of the weights, as `[O, I, H, W]`.
    shape: [u64; 4],
    groups: u64,
}

/// Name of the accelerator's subgraph with the index `index`.
pub(super) fn subgraph_name(index: usize) -> String {
    format!("{}_{index}", Processor::Mla.name())
}

/// SiMa's word for the rounding of a quantize node, or Strait's own word if SiMa has none. `None` for other nodes.
pub(super) fn rounding(node: &Node) -> Option<&'static str> {
    let Some(Attribute::Text(word)) = node
        .op
        .attribute("rounding")
        .filter(|_| node.op.term() == Term::Quantize)
    else {
        return None;
    };
    Some(match Rounding::parse(&word)? {
        Rounding::HalfEven => "TONEAREST",
        Rounding::TowardZero => "TOZERO",
        Rounding::Ceil => "TOPOSITIVEINFINITY",
        Rounding::Floor => "TONEGATIVEINFINITY",
        other => other.name(),
    })
}

fn plain(attribute: Attribute) -> Tree {
    match attribute {
        Attribute::Int(value) => value.into(),
        Attribute::Ints(values) => values.into(),
        Attribute::Float(value) => f64::from(value).into(),
        Attribute::Floats(values) => Tree::List(values.into_iter().map(|v| f64::from(v).into()).collect()),
        Attribute::Text(text) => text.into(),
        // Attributes of these kinds are not written here, since they have places of their own in the document.
        Attribute::Data(_) | Attribute::Form(_) => Tree::Map(Vec::new()),
    }
}
