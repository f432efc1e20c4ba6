//! A graph as the file has it, looked over once.

use crate::error::OnnxError;
use crate::proto::{GraphProto, NodeProto, TensorProto, ValueInfoProto};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::ReasonCode;

/// Spelling of the standard domain in messages; a file may also leave it empty.
pub(crate) const STANDARD_DOMAIN: &str = "ai.onnx";

/// The spelling of a domain.
pub(crate) fn domain(spelled: &str) -> &str {
    if spelled.is_empty() { STANDARD_DOMAIN } else { spelled }
}

/// The node's name, or that of its first result where it has none.
pub(crate) fn node_name(node: &NodeProto) -> &str {
    if !node.name.is_empty() {
        return &node.name;
    }
    node.output.iter().find(|o| !o.is_empty()).map_or("", |o| o)
}

/// Where each name of a graph is defined.
pub(crate) struct Index<'a> {
    pub(crate) graph: &'a GraphProto,
    /// Constants by name. One that is also listed as an input (as files of IR version 3 have to) is a constant.
    pub(crate) initializers: BTreeMap<&'a str, &'a TensorProto>,
    /// Sparse constants, which are not read.
    pub(crate) sparse: BTreeSet<&'a str>,
    /// Inputs that are not constants.
    pub(crate) inputs: BTreeMap<&'a str, &'a ValueInfoProto>,
    /// The position of the node that a tensor is a result of.
    pub(crate) producers: BTreeMap<&'a str, usize>,
    /// Tensors that a node takes, or that are outputs of the graph.
    pub(crate) used: BTreeSet<&'a str>,
    /// Types that the file declares, of inputs, outputs and any other tensor.
    pub(crate) declared: BTreeMap<&'a str, &'a ValueInfoProto>,
}

impl<'a> Index<'a> {
    /// Fails where a tensor is defined twice.
    pub(crate) fn new(graph: &'a GraphProto) -> Result<Index<'a>, OnnxError> {
        let mut index = Index {
            graph,
            initializers: BTreeMap::new(),
            sparse: BTreeSet::new(),
            inputs: BTreeMap::new(),
            producers: BTreeMap::new(),
            used: BTreeSet::new(),
            declared: BTreeMap::new(),
        };
        let twice = |name: &str| {
            Err(OnnxError::model(
                ReasonCode::DuplicateTensor,
                format!("the tensor `{name}` is defined twice"),
            ))
        };
        for tensor in &graph.initializer {
            if index.initializers.insert(&tensor.name, tensor).is_some() {
                return twice(&tensor.name);
            }
        }
        for tensor in graph.sparse_initializer.iter().filter_map(|s| s.values.as_ref()) {
            if index.initializers.contains_key(tensor.name.as_str()) || !index.sparse.insert(&tensor.name) {
                return twice(&tensor.name);
            }
        }
        for input in &graph.input {
            if !index.is_constant(&input.name) && index.inputs.insert(&input.name, input).is_some() {
                return twice(&input.name);
            }
        }
        for (position, node) in graph.node.iter().enumerate() {
            for output in node.output.iter().filter(|o| !o.is_empty()) {
                let defined = index.is_constant(output) || index.inputs.contains_key(output.as_str());
                if defined || index.producers.insert(output, position).is_some() {
                    return twice(output);
                }
            }
        }
        let operands = graph.node.iter().flat_map(|node| &node.input);
        let outputs = graph.output.iter().map(|output| &output.name);
        index.used = operands.chain(outputs).map(String::as_str).collect();
        for info in graph.value_info.iter().chain(&graph.output).chain(&graph.input) {
            index.declared.insert(&info.name, info);
        }
        Ok(index)
    }

    fn is_constant(&self, name: &str) -> bool {
        self.initializers.contains_key(name) || self.sparse.contains(name)
    }

    /// True if something defines this tensor.
    pub(crate) fn defines(&self, name: &str) -> bool {
        self.is_constant(name) || self.inputs.contains_key(name) || self.producers.contains_key(name)
    }
}
