//! Writes each op as ONNX operators. If ONNX has an operator with the same meaning, the op becomes that operator. Ops
//! that become several operators have files of their own.

mod at;
mod control;
mod functions_of_two;
mod gemm;
mod index;
mod normalization;
mod operator;
mod recurrent;
mod resize;
mod sample;
mod unary;

pub(super) use at::At;
pub(super) use operator::Operator;

use super::attributes::{Value, attribute, int, ints, text};
use super::codes;
use super::emitter::{Emitter, tensor_proto};
use super::grid::linear;
use crate::elements::number;
use crate::error::WriteError;
use strait_core::op::{
    self, AveragePool, BitCast, Cast, Clip, Conv, Dequantize, Foreign, MatMul, Mul, Pad, Quantize, Reduce, Reduction,
    Squeeze,
};
use strait_core::{Attribute, Elem, Graph, Node, Op, Term, for_op};

/// How an op is written.
pub(super) fn operator_of(op: &Op) -> &dyn Operator {
    for_op!(op, op => &**op)
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
    if emitter.on_codes && codes::node(emitter, at)? {
        return Ok(());
    }
    let operands = node.inputs.iter().flatten();
    // If a model gives a grid for real numbers, they are still real numbers.
    let has_codes = |value: &strait_core::Value| value.quant.is_some() && !value.ty.elem.is_float();
    let codes = operands
        .filter_map(|&id| emitter.graph().value(id))
        .any(|value| has_codes(value) || value.ty.elem.int_type().is_some());
    if codes && !emitter.on_codes && !takes_integers(&node.op) {
        return Err(at.unwritable(format!(
            "{} on integers is not an ONNX operator of floats",
            node.op.name()
        )));
    }
    operator_of(&node.op).write(emitter, at)
}

/// True if the op can be written with codes as operands, because it only moves codes or converts them to floats.
fn takes_integers(op: &Op) -> bool {
    let term = op.term();
    // False for ops that choose between operands, because ONNX Runtime has no integer kernels for them.
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

/// Lists the ops that become one operator with the same operands. Each row has the operator's name; the first operator
/// set that has the operator, if this is newer than the operator set that is normally written; the attributes of the
/// operator, each with the field of the op that has its value; and the lists that are fields of the op and become
/// operands of the operator. The reader has to read the operator as this op.
macro_rules! operators {
    ($($op:ident = $name:literal $(since $since:literal)? { $($attribute:ident: $field:ident),* } $([$($list:ident: $values:ident),*])?;)*) => { $(operator::read_from! { $op: $name; }
    impl Operator for op::$op {
        fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
            let attributes = vec![$(attribute(stringify!($attribute), (&self.$field).into())),*];
            at.with_lists(emitter, $name, attributes, &[$($((stringify!($list), &self.$values[..])),*)?])
        }
        $(fn since(&self, _: &Graph, _: &Node) -> i64 {
            $since
        })?
    })* };
}
operators! {
    ConvTranspose = "ConvTranspose" { strides: stride, pads: pad, dilations: dilation, output_padding: output_padding, group: groups };
    DeformConv = "DeformConv" since 19 { strides: stride, pads: pad, dilations: dilation, group: groups, offset_group: offset_groups };
    BatchNormalization = "BatchNormalization" { epsilon: epsilon };
    LayerNormalization = "LayerNormalization" { axis: axis, epsilon: epsilon };
    Add = "Add" {};
    Sub = "Sub" {};
    Div = "Div" {};
    Pow = "Pow" {};
    Relu = "Relu" {};
    LeakyRelu = "LeakyRelu" { alpha: alpha };
    Elu = "Elu" { alpha: alpha };
    HardSigmoid = "HardSigmoid" { alpha: alpha, beta: beta };
    MaxPool = "MaxPool" { kernel_shape: size, strides: stride, pads: pad, dilations: dilation, ceil_mode: ceil };
    GlobalAveragePool = "GlobalAveragePool" {};
    Softmax = "Softmax" { axis: axis };
    Flatten = "Flatten" { axis: axis };
    Expand = "Expand" {} [shape: shape];
    Reshape = "Reshape" {} [shape: shape];
    Slice = "Slice" {} [starts: starts, ends: ends, axes: axes, steps: steps];
    Unsqueeze = "Unsqueeze" {} [axes: axes];
    Split = "Split" { axis: axis } [split: sizes];
    Transpose = "Transpose" { perm: permutation };
    Concat = "Concat" { axis: axis };
    Gather = "Gather" { axis: axis };
    GatherElements = "GatherElements" { axis: axis };
    GatherNd = "GatherND" { batch_dims: batch };
    Select = "Where" {};
    Identity = "Identity" {};
    Det = "Det" {};
    ShapeOf = "Shape" {};
    Range = "Range" {};
    NonZero = "NonZero" {};
    Unique = "Unique" { axis: axis, sorted: sorted };
    NonMaxSuppression = "NonMaxSuppression" { center_point_box: centers };
}

/// Ops for which ONNX has no operator of the same meaning.
macro_rules! without_operator {
    ($($op:ident)*) => { $(impl Operator for op::$op {
        fn write(&self, _: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
            Err(at.without_operator())
        }
    })* };
}
without_operator! {
    SumPool Requantize ShiftLeft ScaledAdd Lookup Interpolate IntegerResize IntegerSoftmax IntegerLayerNormalization Clamp Call
}

impl Operator for Conv {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        if self.pad_value != 0 || !self.weight_zero.is_zero() {
            return Err(at.without_operator());
        }
        let attributes = vec![
            ints("strides", &self.stride),
            ints("pads", &self.pad),
            ints("dilations", &self.dilation),
            int("group", self.groups),
        ];
        at.plain(emitter, "Conv", attributes)
    }
}

impl Operator for MatMul {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        match (self.a_zero, self.b_zero) {
            (0, 0) => at.plain(emitter, "MatMul", vec![]),
            _ => Err(at.without_operator()),
        }
    }
}

impl Operator for Mul {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        match (self.a_zero, self.b_zero) {
            (0, 0) => at.plain(emitter, "Mul", vec![]),
            _ => Err(at.without_operator()),
        }
    }
}

impl Operator for AveragePool {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let mut attributes = vec![
            ints("kernel_shape", &self.size),
            ints("strides", &self.stride),
            ints("pads", &self.pad),
            int("ceil_mode", self.ceil),
            int("count_include_pad", self.count_include_pad),
        ];
        if self.dilation.iter().any(|&d| d != 1) {
            attributes.push(ints("dilations", &self.dilation));
        }
        at.plain(emitter, "AveragePool", attributes)
    }

    fn since(&self, _: &Graph, _: &Node) -> i64 {
        if self.dilation.iter().any(|&d| d != 1) { 19 } else { 1 }
    }
}

impl Operator for Cast {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        at.plain(emitter, "Cast", vec![int("to", number(self.to))])
    }
}

impl Operator for BitCast {
    fn write(&self, _: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        Err(at.unwritable("ONNX has an operator for the same bits from operator set 26 on, past what is written"))
    }
}

impl Operator for Squeeze {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        match self.axes.is_empty() {
            true => at.plain(emitter, "Squeeze", vec![]),
            false => at.with_lists(emitter, "Squeeze", vec![], &[("axes", &self.axes)]),
        }
    }
}

impl Operator for Quantize {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        match self.to {
            Elem::I32 => Err(at.unwritable("QuantizeLinear makes codes of 8 and 16 bits only")),
            _ => linear(emitter, at, "QuantizeLinear", at.node.outputs.first().copied()),
        }
    }
}

impl Operator for Dequantize {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let codes = at.node.inputs.first().copied().flatten();
        linear(emitter, at, "DequantizeLinear", codes)
    }
}

/// Writes a reduction. The axes of a sum are an operand. For all other reductions, they are an operand from operator
/// set 18 on, and an attribute before.
impl Operator for Reduce {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let (op, since) = match self.reduction {
            Reduction::Mean => ("ReduceMean", 18),
            Reduction::Sum => ("ReduceSum", 13),
            Reduction::Max => ("ReduceMax", 18),
            Reduction::Min => ("ReduceMin", 18),
            Reduction::Product => ("ReduceProd", 18),
        };
        let mut attributes = vec![int("keepdims", self.keep_dims)];
        if self.axes.is_empty() || emitter.opset < since {
            if !self.axes.is_empty() {
                attributes.push(ints("axes", &self.axes));
            }
            return at.plain(emitter, op, attributes);
        }
        at.with_lists(emitter, op, attributes, &[("axes", &self.axes)])
    }
}

/// Writes a clip. Infinite bounds are not written.
impl Operator for Clip {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let (elem, _) = at.operand_type(emitter);
        let (mut inputs, outputs) = (at.inputs(emitter), at.outputs(emitter));
        for (name, bound, absent) in [("min", self.min, f32::NEG_INFINITY), ("max", self.max, f32::INFINITY)] {
            inputs.push(match bound == absent {
                true => String::new(),
                false => at.scalar(emitter, name, elem, bound)?,
            });
        }
        emitter.node("Clip", at.name, inputs, outputs, vec![]);
        Ok(())
    }
}

impl Operator for Pad {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let (elem, _) = at.operand_type(emitter);
        let (mut inputs, outputs) = (at.inputs(emitter), at.outputs(emitter));
        if inputs.len() < 2 {
            inputs.push(emitter.ints(&format!("{}_pads", at.name), &self.amounts));
        }
        inputs.push(at.scalar(emitter, "value", elem, self.value)?);
        emitter.node("Pad", at.name, inputs, outputs, vec![text("mode", self.mode.name())]);
        Ok(())
    }
}

/// Writes a foreign node. Domain, operator and attributes are written as the target gave them.
impl Operator for Foreign {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let mut attributes = Vec::new();
        for (name, value) in &self.attributes {
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
                Attribute::Form(_) => {
                    return Err(at.unwritable(format!("`{name}` is a form, which ONNX does not know")));
                }
            };
            attributes.push(attribute(name, value));
        }
        let domain = if self.domain == "ai.onnx" { "" } else { &self.domain };
        let (inputs, outputs) = (at.inputs(emitter), at.outputs(emitter));
        emitter.node_of(domain, &self.name, at.name, inputs, outputs, attributes);
        Ok(())
    }
}
