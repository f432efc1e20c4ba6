//! Makes graphs for tests.

use std::collections::BTreeMap;

use prost::Message;
use strait_core::{Dim, Module};
use strait_import::{Decoded, ReadError, ReadOptions};

use crate::Model;
use crate::proto::{AttrValue, GraphDef, ListValue, NodeDef, TensorProto, TensorShapeProto, Value, VersionDef};

/// A node without attributes.
pub(super) fn node(name: &str, op: &str, input: &[&str]) -> NodeDef {
    NodeDef {
        name: name.into(),
        op: op.into(),
        input: input.iter().map(|&input| input.into()).collect(),
        attr: BTreeMap::new(),
    }
}

impl NodeDef {
    /// The node with an attribute.
    pub(super) fn with(mut self, key: &str, value: Value) -> NodeDef {
        self.attr.insert(key.into(), AttrValue { value: Some(value) });
        self
    }

    /// The node with f32 as its attribute `T`.
    pub(super) fn float(self) -> NodeDef {
        self.with("T", Value::Type(1))
    }
}

pub(super) fn text(text: &'static str) -> Value {
    Value::Text(text.as_bytes().into())
}

pub(super) fn ints(values: &[i64]) -> Value {
    Value::List(ListValue {
        i: values.to_vec(),
        ..ListValue::default()
    })
}

pub(super) fn extents(extents: &[i64]) -> TensorShapeProto {
    TensorShapeProto {
        dim: extents.iter().map(|&size| crate::proto::Dim { size }).collect(),
        unknown_rank: false,
    }
}

/// An f32 input with these extents; −1 stands for an unknown extent. Without extents, the input has no shape.
pub(super) fn placeholder(name: &str, shape: Option<&[i64]>) -> NodeDef {
    let node = node(name, "Placeholder", &[]).with("dtype", Value::Type(1));
    match shape {
        Some(shape) => node.with("shape", Value::Shape(extents(shape))),
        None => node,
    }
}

fn of_tensor(name: &str, dtype: i32, tensor: TensorProto) -> NodeDef {
    let node = node(name, "Const", &[]).with("dtype", Value::Type(dtype));
    node.with("value", Value::Tensor(Box::new(TensorProto { dtype, ..tensor })))
}

/// An f32 constant, stored as bytes.
pub(super) fn floats(name: &str, shape: &[i64], values: &[f32]) -> NodeDef {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let tensor = TensorProto {
        tensor_shape: Some(extents(shape)),
        tensor_content: bytes.into(),
        ..TensorProto::default()
    };
    of_tensor(name, 1, tensor)
}

/// A constant that is a list of i32.
pub(super) fn list(name: &str, values: &[i32]) -> NodeDef {
    let tensor = TensorProto {
        tensor_shape: Some(extents(&[values.len() as i64])),
        int_val: values.to_vec(),
        ..TensorProto::default()
    };
    of_tensor(name, 3, tensor)
}

/// A constant that is a boolean.
pub(super) fn truth(name: &str, value: bool) -> NodeDef {
    let tensor = TensorProto {
        tensor_shape: Some(extents(&[])),
        bool_val: vec![value],
        ..TensorProto::default()
    };
    of_tensor(name, 10, tensor)
}

pub(super) fn graph(nodes: Vec<NodeDef>) -> GraphDef {
    GraphDef {
        node: nodes,
        library: None,
        versions: Some(VersionDef { producer: 1000 }),
    }
}

pub(super) fn encoded(nodes: Vec<NodeDef>) -> Vec<u8> {
    graph(nodes).encode_to_vec()
}

pub(super) fn model(nodes: Vec<NodeDef>) -> Result<Model, ReadError> {
    Model::decode(encoded(nodes).into())
}

/// The module of a graph, read without options.
pub(super) fn read(nodes: Vec<NodeDef>) -> Result<Module, ReadError> {
    cut(nodes, &[], &[], &[])
}

/// The module of a part of a graph.
pub(super) fn cut(
    nodes: Vec<NodeDef>,
    inputs: &[&str],
    outputs: &[&str],
    bind: &[(&str, u64)],
) -> Result<Module, ReadError> {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let options = ReadOptions {
        bind: bind.iter().map(|&(key, value)| (key.into(), value)).collect(),
        inputs: names(inputs),
        outputs: names(outputs),
        ..ReadOptions::default()
    };
    let module = model(nodes)?.read(&options)?;
    assert_eq!(strait_core::verifier::verify(&module), Ok(()));
    Ok(module)
}

/// The names and types of inputs and outputs.
pub(super) fn ports(module: &Module) -> Vec<String> {
    let graph = module.main();
    let all = graph.inputs().iter().chain(graph.outputs());
    let port = |&id| {
        let value = graph.value(id).unwrap();
        let extents = value.ty.shape.iter().map(|dim| match *dim {
            Dim::Fixed(extent) => extent.to_string(),
            Dim::Named(name) => module.name(name).to_owned(),
        });
        let extents = extents.collect::<Vec<_>>().join(", ");
        format!("{} {}[{extents}]", module.name(value.name), value.ty.elem)
    };
    all.map(port).collect()
}

/// The names of the ops in the order of the graph.
pub(super) fn ops(module: &Module) -> String {
    let names: Vec<&str> = module.main().nodes().map(|(_, node)| node.op.term().name()).collect();
    names.join(" ")
}

pub(super) fn error(result: Result<Module, ReadError>) -> String {
    match result {
        Ok(_) => panic!("it is read"),
        Err(error) => error.to_string(),
    }
}
