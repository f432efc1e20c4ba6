//! The protobuf messages of a GraphDef, by their published field numbers.
//!
//! Only the fields that we read are declared; the decoder skips the rest. `bytes` fields are slices of the decoded
//! buffer. Attributes that are functions (field 10) are not declared, because no operator that we read has one. Without
//! functions, messages can only be nested to a fixed depth.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::{Message, Oneof};

/// A TensorFlow graph, which is the whole file.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct GraphDef {
    #[prost(message, repeated, tag = "1")]
    pub(crate) node: Vec<NodeDef>,
    #[prost(message, optional, tag = "2")]
    pub(crate) library: Option<FunctionDefLibrary>,
    #[prost(message, optional, tag = "4")]
    pub(crate) versions: Option<VersionDef>,
}

/// The versions of the graph format.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct VersionDef {
    #[prost(int32, tag = "1")]
    pub(crate) producer: i32,
}

/// The functions that nodes call by name. We read only their names.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FunctionDefLibrary {
    #[prost(message, repeated, tag = "1")]
    pub(crate) function: Vec<FunctionDef>,
}

/// A function of the library.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FunctionDef {
    #[prost(message, optional, tag = "1")]
    pub(crate) signature: Option<OpDef>,
}

/// The signature of a function. A node calls the function by using its name as the operator.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct OpDef {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
}

/// A node of the graph.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct NodeDef {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) op: String,
    /// The operands: `node`, or `node:k` for result k of a node. They are followed by entries `^node` for nodes that
    /// have to run earlier.
    #[prost(string, repeated, tag = "3")]
    pub(crate) input: Vec<String>,
    #[prost(btree_map = "string, message", tag = "5")]
    pub(crate) attr: BTreeMap<String, AttrValue>,
}

/// The value of an attribute.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct AttrValue {
    #[prost(oneof = "Value", tags = "1, 2, 3, 4, 5, 6, 7, 8")]
    pub(crate) value: Option<Value>,
}

/// The kinds of attribute values that we read.
#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Value {
    #[prost(message, tag = "1")]
    List(ListValue),
    #[prost(bytes = "bytes", tag = "2")]
    Text(Bytes),
    #[prost(int64, tag = "3")]
    Int(i64),
    #[prost(float, tag = "4")]
    Float(f32),
    #[prost(bool, tag = "5")]
    Flag(bool),
    /// An element type: its number in [`crate::elements`].
    #[prost(int32, tag = "6")]
    Type(i32),
    #[prost(message, tag = "7")]
    Shape(TensorShapeProto),
    #[prost(message, tag = "8")]
    Tensor(Box<TensorProto>),
}

impl Value {
    /// The kind of the value, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::List(_) => "list",
            Value::Text(_) => "text",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Flag(_) => "bool",
            Value::Type(_) => "type",
            Value::Shape(_) => "shape",
            Value::Tensor(_) => "tensor",
        }
    }
}

/// A list with values of one kind.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ListValue {
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub(crate) s: Vec<Bytes>,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) i: Vec<i64>,
    #[prost(float, repeated, tag = "4")]
    pub(crate) f: Vec<f32>,
    #[prost(bool, repeated, tag = "5")]
    pub(crate) b: Vec<bool>,
    #[prost(int32, repeated, tag = "6")]
    pub(crate) types: Vec<i32>,
    #[prost(message, repeated, tag = "7")]
    pub(crate) shape: Vec<TensorShapeProto>,
}

/// The extents of a tensor.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TensorShapeProto {
    #[prost(message, repeated, tag = "2")]
    pub(crate) dim: Vec<Dim>,
    #[prost(bool, tag = "3")]
    pub(crate) unknown_rank: bool,
}

/// One extent; −1 if the extent is not known.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Dim {
    #[prost(int64, tag = "1")]
    pub(crate) size: i64,
}

/// A constant. Its elements are either in `tensor_content`, or in the list for its element type.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TensorProto {
    /// The element type: its number in [`crate::elements`].
    #[prost(int32, tag = "1")]
    pub(crate) dtype: i32,
    #[prost(message, optional, tag = "2")]
    pub(crate) tensor_shape: Option<TensorShapeProto>,
    /// The elements as bytes: little-endian, row-major and not aligned.
    #[prost(bytes = "bytes", tag = "4")]
    pub(crate) tensor_content: Bytes,
    #[prost(float, repeated, tag = "5")]
    pub(crate) float_val: Vec<f32>,
    #[prost(double, repeated, tag = "6")]
    pub(crate) double_val: Vec<f64>,
    /// Elements that are i32, or integers of 8 or 16 bits.
    #[prost(int32, repeated, tag = "7")]
    pub(crate) int_val: Vec<i32>,
    #[prost(int64, repeated, tag = "10")]
    pub(crate) int64_val: Vec<i64>,
    #[prost(bool, repeated, tag = "11")]
    pub(crate) bool_val: Vec<bool>,
    /// The bits of f16 and bf16 elements.
    #[prost(int32, repeated, tag = "13")]
    pub(crate) half_val: Vec<i32>,
    #[prost(uint32, repeated, tag = "16")]
    pub(crate) uint32_val: Vec<u32>,
    #[prost(uint64, repeated, tag = "17")]
    pub(crate) uint64_val: Vec<u64>,
}

/// The value of a node's attribute.
pub(crate) fn attribute<'a>(node: &'a NodeDef, key: &str) -> Option<&'a Value> {
    node.attr.get(key).and_then(|AttrValue { value }| value.as_ref())
}
