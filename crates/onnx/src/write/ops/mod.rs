//! Writes each op as ONNX operators: as one operator with the same meaning if there is one. Ops that become several
//! operators have files of their own.

mod control;
mod gemm;
mod index;
mod normalization;
mod recurrent;
pub(super) mod resize;
mod sample;
mod unary;

use super::attributes::{Value, attribute, float, int, ints, text};
use super::emitter::{Emitter, tensor_proto};
use super::grid::{linear, round_to};
use crate::elements::number;
use crate::error::WriteError;
use crate::proto::AttributeProto;
use strait_core::op::{BinaryFunction, Clip, Foreign, Op, Pad, Reduce, Reduction, Relation};
use strait_core::{Attribute, Elem, Node, Term};

/// A node of the module that is being written.
#[derive(Clone, Copy)]
pub(super) struct At<'m> {
    pub(super) node: &'m Node,
    pub(super) name: &'m str,
}

impl At<'_> {
    pub(super) fn unwritable(&self, text: impl Into<String>) -> WriteError {
        WriteError::Unwritable {
            node: self.name.into(),
            text: text.into(),
        }
    }

    fn without_operator(&self) -> WriteError {
        let op = self.node.op.name();
        self.unwritable(format!("{op} has no operator of the same meaning in ONNX"))
    }

    fn inputs(&self, emitter: &Emitter<'_>) -> Vec<String> {
        self.node.inputs.iter().map(|&id| emitter.operand(id)).collect()
    }

    fn input(&self, emitter: &Emitter<'_>, position: usize) -> String {
        emitter.operand(self.node.inputs.get(position).copied().flatten())
    }

    pub(super) fn outputs(&self, emitter: &Emitter<'_>) -> Vec<String> {
        self.node.outputs.iter().map(|&id| emitter.value(id)).collect()
    }

    /// True if the operand is dequantized from codes.
    fn is_dequantized(&self, emitter: &Emitter<'_>, position: usize) -> bool {
        let operand = self.node.inputs.get(position).copied().flatten();
        let producer = operand.and_then(|id| emitter.graph().producer(id));
        producer.is_some_and(|(_, producer)| matches!(producer.op, Op::Dequantize(_)))
    }

    /// The element type and the rank of the first operand.
    fn operand_type(&self, emitter: &Emitter<'_>) -> (Elem, usize) {
        let ty = emitter.ty(self.node.inputs.first().copied().flatten());
        ty.map_or((Elem::F32, 0), |ty| (ty.elem, ty.shape.len()))
    }
}

/// Writes one node.
pub(super) fn node(emitter: &mut Emitter<'_>, node: &Node) -> Result<(), WriteError> {
    let at = At {
        node,
        name: emitter.module.name(node.name),
    };
    if node.fused.is_some() {
        return Err(at.unwritable("a fused requantization is not a float op, nor a quantize or dequantize"));
    }
    let operands = node.inputs.iter().flatten();
    // A grid that a model gives for real numbers does not make them integers.
    let has_codes = |value: &strait_core::Value| value.quant.is_some() && !value.ty.elem.is_float();
    let codes = operands
        .filter_map(|&id| emitter.graph().value(id))
        .any(|value| has_codes(value) || value.ty.elem.int_type().is_some());
    if codes && !takes_integers(&node.op) {
        return Err(at.unwritable(format!(
            "{} on integers is not an ONNX operator of floats",
            node.op.name()
        )));
    }
    // Writes one operator with the same operands and equivalent attributes.
    let mut plain = |op: &str, attributes: Vec<AttributeProto>| {
        let (inputs, outputs) = (at.inputs(emitter), at.outputs(emitter));
        emitter.node(op, at.name, inputs, outputs, attributes);
        Ok(())
    };
    match &node.op {
        // The second operand of these ops replaces an attribute.
        Op::Reshape(_) if node.inputs.len() > 1 => plain("Reshape", vec![]),
        Op::Expand(_) if node.inputs.len() > 1 => plain("Expand", vec![]),
        Op::TopK(op) if node.inputs.len() > 1 => plain("TopK", vec![int("axis", op.axis), int("largest", op.largest)]),
        Op::Conv(conv) if conv.pad_value == 0 && conv.weight_zero.is_zero() => plain(
            "Conv",
            vec![
                ints("strides", &conv.stride),
                ints("pads", &conv.pad),
                ints("dilations", &conv.dilation),
                int("group", conv.groups),
            ],
        ),
        Op::ConvTranspose(op) => plain(
            "ConvTranspose",
            vec![
                ints("strides", &op.stride),
                ints("pads", &op.pad),
                ints("dilations", &op.dilation),
                ints("output_padding", &op.output_padding),
                int("group", op.groups),
            ],
        ),
        Op::DeformConv(op) => plain(
            "DeformConv",
            vec![
                ints("strides", &op.stride),
                ints("pads", &op.pad),
                ints("dilations", &op.dilation),
                int("group", op.groups),
                int("offset_group", op.offset_groups),
            ],
        ),
        Op::BatchNormalization(op) => plain("BatchNormalization", vec![float("epsilon", op.epsilon)]),
        Op::LayerNormalization(op) => plain(
            "LayerNormalization",
            vec![int("axis", op.axis), float("epsilon", op.epsilon)],
        ),
        Op::RmsNormalization(op) => normalization::rms(emitter, at, op),
        Op::MatMul(op) if (op.a_zero, op.b_zero) == (0, 0) => plain("MatMul", vec![]),
        Op::Add(_) => plain("Add", vec![]),
        Op::Sub(_) => plain("Sub", vec![]),
        Op::Mul(op) if (op.a_zero, op.b_zero) == (0, 0) => plain("Mul", vec![]),
        Op::Div(_) => plain("Div", vec![]),
        Op::Pow(_) => plain("Pow", vec![]),
        Op::Relu(_) => plain("Relu", vec![]),
        Op::LeakyRelu(op) => plain("LeakyRelu", vec![float("alpha", op.alpha)]),
        Op::Elu(op) => plain("Elu", vec![float("alpha", op.alpha)]),
        Op::HardSigmoid(op) => plain("HardSigmoid", vec![float("alpha", op.alpha), float("beta", op.beta)]),
        Op::MaxPool(op) => plain(
            "MaxPool",
            vec![
                ints("kernel_shape", &op.size),
                ints("strides", &op.stride),
                ints("pads", &op.pad),
                ints("dilations", &op.dilation),
                int("ceil_mode", op.ceil),
            ],
        ),
        Op::AveragePool(op) => {
            let mut attributes = vec![
                ints("kernel_shape", &op.size),
                ints("strides", &op.stride),
                ints("pads", &op.pad),
                int("ceil_mode", op.ceil),
                int("count_include_pad", op.count_include_pad),
            ];
            // This attribute exists from operator set 19 on, which is written if it is needed.
            if op.dilation.iter().any(|&d| d != 1) {
                attributes.push(ints("dilations", &op.dilation));
            }
            plain("AveragePool", attributes)
        }
        Op::GlobalAveragePool(_) => plain("GlobalAveragePool", vec![]),
        Op::Softmax(op) => plain("Softmax", vec![int("axis", op.axis)]),
        Op::Flatten(op) => plain("Flatten", vec![int("axis", op.axis)]),
        Op::Transpose(op) => plain("Transpose", vec![ints("perm", &op.permutation)]),
        Op::Concat(op) => plain("Concat", vec![int("axis", op.axis)]),
        Op::Gather(op) => plain("Gather", vec![int("axis", op.axis)]),
        Op::Expand(op) => with_lists(emitter, at, "Expand", vec![], &[("shape", &op.shape)]),
        Op::Select(_) => plain("Where", vec![]),
        Op::Compare(op) => plain(
            match op.relation {
                Relation::Equal => "Equal",
                Relation::Less => "Less",
                Relation::LessOrEqual => "LessOrEqual",
            },
            vec![],
        ),
        Op::Binary(op) => binary(emitter, at, op.function),
        Op::Cast(op) => plain("Cast", vec![int("to", number(op.to))]),
        Op::BitCast(_) => {
            Err(at.unwritable("ONNX has an operator for the same bits from operator set 26 on, past what is written"))
        }
        Op::Identity(_) => plain("Identity", vec![]),
        Op::Reshape(op) => with_lists(emitter, at, "Reshape", vec![], &[("shape", &op.shape)]),
        Op::Squeeze(op) if op.axes.is_empty() => plain("Squeeze", vec![]),
        Op::Squeeze(op) => with_lists(emitter, at, "Squeeze", vec![], &[("axes", &op.axes)]),
        Op::Unsqueeze(op) => with_lists(emitter, at, "Unsqueeze", vec![], &[("axes", &op.axes)]),
        Op::Split(op) => with_lists(
            emitter,
            at,
            "Split",
            vec![int("axis", op.axis)],
            &[("split", &op.sizes)],
        ),
        // Positions that are computed at run time are operands in both IR and ONNX; axes and steps follow.
        Op::Slice(op) if node.inputs.len() > 1 => {
            let lists: [(&str, &[i64]); 2] = [("axes", &op.axes), ("steps", &op.steps)];
            with_lists(emitter, at, "Slice", vec![], &lists)
        }
        Op::Slice(op) => {
            let lists: [(&str, &[i64]); 4] = [
                ("starts", &op.starts),
                ("ends", &op.ends),
                ("axes", &op.axes),
                ("steps", &op.steps),
            ];
            with_lists(emitter, at, "Slice", vec![], &lists)
        }
        Op::Reduce(op) => reduce(emitter, at, op),
        Op::Clip(op) => clip(emitter, at, op),
        Op::Pad(op) => pad(emitter, at, op),
        Op::Resize(op) => resize::resize(emitter, at, op),
        Op::GridSample(op) => sample::grid_sample(emitter, at, op),
        Op::Col2Im(op) => sample::col2im(emitter, at, op),
        Op::RoiAlign(op) => sample::roi_align(emitter, at, op),
        Op::ArgReduce(op) => index::arg_reduce(emitter, at, op),
        Op::Scatter(op) => index::scatter(emitter, at, op),
        Op::Cumulative(op) => index::cumulative(emitter, at, op),
        Op::TopK(op) => index::top_k(emitter, at, op),
        Op::Dft(op) => index::dft(emitter, at, op),
        Op::Det(_) => plain("Det", vec![]),
        Op::GatherElements(op) => plain("GatherElements", vec![int("axis", op.axis)]),
        Op::GatherNd(op) => plain("GatherND", vec![int("batch_dims", op.batch)]),
        Op::Recurrent(op) => recurrent::recurrent(emitter, at, op),
        Op::Gemm(op) if op.weight_zero.is_zero() => gemm::gemm(emitter, at, op),
        Op::Unary(op) => unary::unary(emitter, at, op.function),
        Op::Quantize(op) if op.to == Elem::I32 => {
            Err(at.unwritable("QuantizeLinear makes codes of 8 and 16 bits only"))
        }
        Op::Quantize(_) => linear(emitter, at, "QuantizeLinear", node.outputs.first().copied()),
        Op::Dequantize(_) => linear(emitter, at, "DequantizeLinear", node.inputs.first().copied().flatten()),
        Op::RoundTo(op) => round_to(emitter, at, op),
        Op::Foreign(op) => foreign(emitter, at, op),
        // A conv, gemm, matmul or mul that gets here has zero points, which ONNX's operators do not have.
        Op::Conv(_) | Op::Gemm(_) | Op::MatMul(_) | Op::Mul(_) => Err(at.without_operator()),
        Op::SumPool(_)
        | Op::Requantize(_)
        | Op::ShiftLeft(_)
        | Op::Lookup(_)
        | Op::Interpolate(_)
        | Op::IntegerResize(_)
        | Op::IntegerSoftmax(_)
        | Op::IntegerLayerNormalization(_)
        | Op::Clamp(_)
        | Op::Call(_) => Err(at.without_operator()),
        Op::If(op) => control::choice(emitter, at, op),
        Op::Loop(op) => control::repeat(emitter, at, op),
        Op::NonZero(_) => plain("NonZero", vec![]),
        Op::ShapeOf(_) => plain("Shape", vec![]),
        Op::Range(_) => plain("Range", vec![]),
        Op::Unique(op) => plain("Unique", vec![int("axis", op.axis), int("sorted", op.sorted)]),
        Op::NonMaxSuppression(op) => plain("NonMaxSuppression", vec![int("center_point_box", op.centers)]),
    }
}

/// The operator for a function of two operands. Logical functions of booleans have other names than bitwise ones.
fn binary(emitter: &mut Emitter<'_>, at: At<'_>, function: BinaryFunction) -> Result<(), WriteError> {
    let truth = at.operand_type(emitter).0 == Elem::Bool;
    let direction = |word: &str| vec![text("direction", word)];
    let (name, attributes) = match function {
        BinaryFunction::Minimum => ("Min", vec![]),
        BinaryFunction::Maximum => ("Max", vec![]),
        BinaryFunction::Modulo => ("Mod", vec![]),
        BinaryFunction::Remainder => ("Mod", vec![int("fmod", 1)]),
        BinaryFunction::And if truth => ("And", vec![]),
        BinaryFunction::Or if truth => ("Or", vec![]),
        BinaryFunction::Xor if truth => ("Xor", vec![]),
        BinaryFunction::And => ("BitwiseAnd", vec![]),
        BinaryFunction::Or => ("BitwiseOr", vec![]),
        BinaryFunction::Xor => ("BitwiseXor", vec![]),
        BinaryFunction::ShiftLeft => ("BitShift", direction("LEFT")),
        BinaryFunction::ShiftRight | BinaryFunction::ShiftRightUnsigned => ("BitShift", direction("RIGHT")),
    };
    with_lists(emitter, at, name, attributes, &[])
}

/// True for ops that pass codes through, or convert them to floats.
fn takes_integers(op: &Op) -> bool {
    let term = op.term();
    // ONNX Runtime has no integer kernels for ops that choose between operands.
    let chooses = matches!(term, Term::Select | Term::Minimum | Term::Maximum);
    let by_kind = term.moves_codes() && term != Term::Resize && !chooses;
    by_kind
        || matches!(
            term,
            Term::RoiAlign
                | Term::Scatter
                | Term::Dequantize
                | Term::Foreign
                | Term::MaxPool
                | Term::Cast
                | Term::If
                | Term::Loop
        )
}

/// Writes an operator that takes lists as operands, after the node's own operands.
fn with_lists(
    emitter: &mut Emitter<'_>,
    at: At<'_>,
    op: &str,
    attributes: Vec<AttributeProto>,
    lists: &[(&str, &[i64])],
) -> Result<(), WriteError> {
    let (mut inputs, outputs) = (at.inputs(emitter), at.outputs(emitter));
    for (name, list) in lists {
        inputs.push(emitter.ints(&format!("{}_{name}", at.name), list));
    }
    emitter.node(op, at.name, inputs, outputs, attributes);
    Ok(())
}

/// A reduction. The axes of a sum are an operand; the axes of the others are one from operator set 18 on.
fn reduce(emitter: &mut Emitter<'_>, at: At<'_>, reduce: &Reduce) -> Result<(), WriteError> {
    let (op, since) = match reduce.reduction {
        Reduction::Mean => ("ReduceMean", 18),
        Reduction::Sum => ("ReduceSum", 13),
        Reduction::Max => ("ReduceMax", 18),
        Reduction::Min => ("ReduceMin", 18),
        Reduction::Product => ("ReduceProd", 18),
    };
    let mut attributes = vec![int("keepdims", reduce.keep_dims)];
    if reduce.axes.is_empty() || emitter.opset < since {
        if !reduce.axes.is_empty() {
            attributes.push(ints("axes", &reduce.axes));
        }
        return with_lists(emitter, at, op, attributes, &[]);
    }
    with_lists(emitter, at, op, attributes, &[("axes", &reduce.axes)])
}

/// A clip. An infinite bound is omitted.
fn clip(emitter: &mut Emitter<'_>, at: At<'_>, clip: &Clip) -> Result<(), WriteError> {
    let (elem, _) = at.operand_type(emitter);
    let (mut inputs, outputs) = (at.inputs(emitter), at.outputs(emitter));
    for (name, bound, absent) in [("min", clip.min, f32::NEG_INFINITY), ("max", clip.max, f32::INFINITY)] {
        inputs.push(match bound == absent {
            true => String::new(),
            false => scalar(emitter, at, name, elem, bound)?,
        });
    }
    emitter.node("Clip", at.name, inputs, outputs, vec![]);
    Ok(())
}

fn scalar(emitter: &mut Emitter<'_>, at: At<'_>, name: &str, elem: Elem, value: f32) -> Result<String, WriteError> {
    let constant = emitter.scalar(&format!("{}_{name}", at.name), elem, value);
    constant.ok_or_else(|| at.unwritable(format!("{value} is not a constant of {elem}")))
}

fn pad(emitter: &mut Emitter<'_>, at: At<'_>, pad: &Pad) -> Result<(), WriteError> {
    let (elem, _) = at.operand_type(emitter);
    let (mut inputs, outputs) = (at.inputs(emitter), at.outputs(emitter));
    if inputs.len() < 2 {
        inputs.push(emitter.ints(&format!("{}_pads", at.name), &pad.amounts));
    }
    inputs.push(scalar(emitter, at, "value", elem, pad.value)?);
    emitter.node("Pad", at.name, inputs, outputs, vec![text("mode", pad.mode.name())]);
    Ok(())
}

/// A foreign node, with domain, operator and attributes as the target gave them.
fn foreign(emitter: &mut Emitter<'_>, at: At<'_>, foreign: &Foreign) -> Result<(), WriteError> {
    let mut attributes = Vec::new();
    for (name, value) in &foreign.attributes {
        let value = match value {
            Attribute::Int(v) => Value::Int(*v),
            Attribute::Ints(v) => Value::Ints(v.clone()),
            Attribute::Float(v) => Value::Float(*v),
            Attribute::Floats(v) => Value::Floats(v.clone()),
            Attribute::Text(v) => Value::Text(v.clone()),
            Attribute::Data(id) => {
                let tensor = emitter.module.data(*id);
                let tensor =
                    tensor.ok_or_else(|| at.unwritable(format!("the tensor of `{name}` is not in the pool")))?;
                Value::Tensor(Box::new(tensor_proto(String::new(), tensor)))
            }
            Attribute::Form(_) => return Err(at.unwritable(format!("`{name}` is a form, which ONNX does not know"))),
        };
        attributes.push(attribute(name, value));
    }
    let domain = if foreign.domain == "ai.onnx" {
        ""
    } else {
        &foreign.domain
    };
    let (inputs, outputs) = (at.inputs(emitter), at.outputs(emitter));
    emitter.node_of(domain, &foreign.name, at.name, inputs, outputs, attributes);
    Ok(())
}
