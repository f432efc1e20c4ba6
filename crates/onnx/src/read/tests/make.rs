//! Makes messages from short texts.

use crate::proto::*;
use strait_core::{Elem, TensorData};

/// The declaration of a value, from a text such as `name: f32[2,N]` or `name: i64[]`.
pub(super) fn value(text: &str) -> ValueInfoProto {
    let (name, ty) = text.split_once(": ").unwrap();
    let (elem, dims) = ty.strip_suffix(']').unwrap().split_once('[').unwrap();
    let elem = Elem::parse(elem).unwrap();
    let dim = dims.split(',').filter(|d| !d.is_empty()).map(|dim| match dim.parse() {
        Ok(extent) => DimensionProto {
            dim_value: Some(extent),
            dim_param: None,
        },
        Err(_) => DimensionProto {
            dim_value: None,
            dim_param: Some(dim.replace('?', "")),
        },
    });
    let tensor_type = TensorTypeProto {
        elem_type: crate::elements::number(elem),
        shape: Some(TensorShapeProto { dim: dim.collect() }),
    };
    ValueInfoProto {
        name: name.into(),
        value_type: Some(TypeProto {
            tensor_type: Some(tensor_type),
        }),
    }
}

/// A node, from a text such as `y, z = Op(x, , w)`.
pub(super) fn node(text: &str, attribute: Vec<AttributeProto>) -> NodeProto {
    let (output, call) = text.split_once(" = ").unwrap();
    let (op, input) = call.strip_suffix(')').unwrap().split_once('(').unwrap();
    let list = |names: &str| names.split(", ").map(|n| n.trim().to_string()).collect::<Vec<_>>();
    NodeProto {
        input: if input.is_empty() { vec![] } else { list(input) },
        output: list(output),
        op_type: op.into(),
        attribute,
        ..NodeProto::default()
    }
}

pub(super) fn attribute(name: &str, fill: impl FnOnce(&mut AttributeProto)) -> AttributeProto {
    let mut proto = AttributeProto {
        name: name.into(),
        ..AttributeProto::default()
    };
    fill(&mut proto);
    proto
}

pub(super) fn int(name: &str, value: i64) -> AttributeProto {
    attribute(name, |a| (a.kind, a.i) = (kind::INT, Some(value)))
}

pub(super) fn ints(name: &str, values: &[i64]) -> AttributeProto {
    attribute(name, |a| (a.kind, a.ints) = (kind::INTS, values.to_vec()))
}

pub(super) fn float(name: &str, value: f32) -> AttributeProto {
    attribute(name, |a| (a.kind, a.f) = (kind::FLOAT, Some(value)))
}

pub(super) fn floats(name: &str, values: &[f32]) -> AttributeProto {
    attribute(name, |a| (a.kind, a.floats) = (kind::FLOATS, values.to_vec()))
}

pub(super) fn text(name: &str, value: &str) -> AttributeProto {
    attribute(name, |a| (a.kind, a.s) = (kind::STRING, Some(value.to_string().into())))
}

pub(super) fn constant(name: &str, tensor: &TensorData) -> TensorProto {
    TensorProto {
        name: name.into(),
        dims: tensor.shape().iter().map(|&d| d as i64).collect(),
        data_type: crate::elements::number(tensor.elem()),
        raw_data: Some(tensor.bytes().clone()),
        ..TensorProto::default()
    }
}

pub(super) fn list(name: &str, values: &[i64]) -> TensorProto {
    constant(name, &TensorData::from_values(&[values.len() as u64], values).unwrap())
}

pub(super) fn numbers(name: &str, values: &[f32]) -> TensorProto {
    constant(name, &TensorData::from_values(&[values.len() as u64], values).unwrap())
}

/// A weight of this shape, all ones.
pub(super) fn weight(name: &str, shape: &[u64]) -> TensorProto {
    let count: u64 = shape.iter().product();
    constant(
        name,
        &TensorData::from_values(shape, &vec![1f32; count as usize]).unwrap(),
    )
}

pub(super) fn graph(
    inputs: &[&str],
    constants: Vec<TensorProto>,
    nodes: Vec<NodeProto>,
    outputs: &[&str],
) -> GraphProto {
    let output = |name: &&str| match name.contains(": ") {
        true => value(name),
        false => ValueInfoProto {
            name: (*name).into(),
            value_type: None,
        },
    };
    GraphProto {
        node: nodes,
        name: "test".into(),
        initializer: constants,
        input: inputs.iter().map(|i| value(i)).collect(),
        output: outputs.iter().map(output).collect(),
        ..GraphProto::default()
    }
}

pub(super) fn model(opset: i64, graph: GraphProto) -> ModelProto {
    ModelProto {
        ir_version: 8,
        opset_import: vec![OperatorSetIdProto {
            domain: String::new(),
            version: opset,
        }],
        graph: Some(graph),
        ..ModelProto::default()
    }
}
