//! Writes attributes of nodes as messages.

use crate::proto::{AttributeProto, GraphProto, TensorProto, kind};
use bytes::Bytes;
use smallvec::{Array, SmallVec};

/// The value of an attribute.
pub(super) enum Value {
    Int(i64),
    Ints(Vec<i64>),
    Float(f32),
    Floats(Vec<f32>),
    Text(String),
    Texts(Vec<String>),
    Tensor(Box<TensorProto>),
    Graph(Box<GraphProto>),
}

macro_rules! integers {
    ($($type:ty)*) => { $(impl From<&$type> for Value {
        fn from(value: &$type) -> Value {
            Value::Int((*value).into())
        }
    })* };
}
integers! { bool u32 i64 }

impl From<&f32> for Value {
    fn from(value: &f32) -> Value {
        Value::Float(*value)
    }
}

impl<A: Array<Item: Copy + Into<i64>>> From<&SmallVec<A>> for Value {
    fn from(list: &SmallVec<A>) -> Value {
        Value::Ints(list.iter().map(|&v| v.into()).collect())
    }
}

/// The message for an attribute with this name and value.
pub(super) fn attribute(name: &str, value: Value) -> AttributeProto {
    let mut proto = AttributeProto {
        name: name.into(),
        ..AttributeProto::default()
    };
    match value {
        Value::Int(v) => (proto.kind, proto.i) = (kind::INT, Some(v)),
        Value::Ints(v) => (proto.kind, proto.ints) = (kind::INTS, v),
        Value::Float(v) => (proto.kind, proto.f) = (kind::FLOAT, Some(v)),
        Value::Floats(v) => (proto.kind, proto.floats) = (kind::FLOATS, v),
        Value::Text(v) => (proto.kind, proto.s) = (kind::STRING, Some(Bytes::from(v))),
        Value::Texts(v) => (proto.kind, proto.strings) = (kind::STRINGS, v.into_iter().map(Bytes::from).collect()),
        Value::Tensor(v) => (proto.kind, proto.t) = (kind::TENSOR, Some(v)),
        Value::Graph(v) => (proto.kind, proto.g) = (kind::GRAPH, Some(v)),
    }
    proto
}

pub(super) fn int(name: &str, value: impl Into<i64>) -> AttributeProto {
    attribute(name, Value::Int(value.into()))
}

pub(super) fn ints<T: Copy + Into<i64>>(name: &str, values: &[T]) -> AttributeProto {
    attribute(name, Value::Ints(values.iter().map(|&v| v.into()).collect()))
}

pub(super) fn float(name: &str, value: f32) -> AttributeProto {
    attribute(name, Value::Float(value))
}

pub(super) fn floats(name: &str, values: Vec<f32>) -> AttributeProto {
    attribute(name, Value::Floats(values))
}

pub(super) fn text(name: &str, value: &str) -> AttributeProto {
    attribute(name, Value::Text(value.into()))
}

pub(super) fn texts<'t>(name: &str, values: impl Iterator<Item = &'t str>) -> AttributeProto {
    attribute(name, Value::Texts(values.map(str::to_owned).collect()))
}

pub(super) fn graph(name: &str, graph: GraphProto) -> AttributeProto {
    attribute(name, Value::Graph(Box::new(graph)))
}
