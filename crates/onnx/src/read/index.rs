//! The graph of a file, with an index of its tensors that is made once.

use crate::proto::{GraphProto, NodeProto, TensorProto, ValueInfoProto};
use std::collections::BTreeSet;
use strait_import::{ReadError, TensorId, Wiring};

/// The name of the standard domain in messages. A file may also use an empty name for it.
pub(crate) const STANDARD_DOMAIN: &str = "ai.onnx";

/// The domain of the operators that ONNX Runtime adds.
pub(crate) const RUNTIME_DOMAIN: &str = "com.microsoft";

/// The name of a domain. An empty name becomes that of the standard domain.
pub(crate) fn domain(spelled: &str) -> &str {
    if spelled.is_empty() { STANDARD_DOMAIN } else { spelled }
}

/// The name of a node. If it has none, the name of its first result.
pub(crate) fn node_name(node: &NodeProto) -> &str {
    if !node.name.is_empty() {
        return &node.name;
    }
    node.output.iter().find(|o| !o.is_empty()).map_or("", |o| o)
}

/// A graph of a file: which nodes make and read each tensor, and where the file describes the tensor.
pub(crate) struct Index<'a> {
    pub(crate) graph: &'a GraphProto,
    pub(crate) wiring: Wiring<'a>,
    /// For each tensor, where the file defines and declares it.
    places: Vec<TensorEntry<'a>>,
}

/// Where a file defines and declares a tensor.
#[derive(Clone, Copy, Default)]
struct TensorEntry<'a> {
    constant: Option<&'a TensorProto>,
    declared: Option<&'a ValueInfoProto>,
}

impl<'a> Index<'a> {
    /// Makes the index of a graph. Fails if a tensor is defined twice.
    pub(crate) fn new(graph: &'a GraphProto) -> Result<Index<'a>, ReadError> {
        let mut index = Index::inside(graph, &BTreeSet::new())?;
        for info in graph.value_info.iter().chain(&graph.output).chain(&graph.input) {
            let id = index.wiring.tensor(&info.name);
            index.place(id).declared = Some(info);
        }
        Ok(index)
    }

    /// Like `new`, for a graph inside of a node. `outer` has the names of the tensors that this graph reads from the
    /// graphs around it. The node determines the types of the graph's inputs, so what the file declares for these
    /// inputs is ignored.
    pub(crate) fn inside(graph: &'a GraphProto, outer: &BTreeSet<&'a str>) -> Result<Index<'a>, ReadError> {
        let mut wiring = Wiring::with_room(graph.node.len() + graph.initializer.len(), graph.node.len());
        let sparse = graph.sparse_initializer.iter().filter_map(|s| s.values.as_ref());
        for tensor in graph.initializer.iter().chain(sparse) {
            wiring.constant(&tensor.name)?;
        }
        for input in &graph.input {
            wiring.input(&input.name)?;
        }
        for name in outer {
            wiring.outer(name);
        }
        for node in &graph.node {
            let mut captures = BTreeSet::new();
            let graphs = node.attribute.iter().filter_map(|attribute| attribute.g.as_deref());
            graphs.for_each(|graph| captured(graph, &mut captures));
            let named = |name: &'a String| (!name.is_empty()).then_some(name.as_str());
            wiring.node(
                node_name(node),
                node.input.iter().map(named),
                captures,
                node.output.iter().map(named),
            )?;
        }
        for output in &graph.output {
            wiring.output(&output.name);
        }
        let mut index = Index {
            graph,
            wiring,
            places: Vec::new(),
        };
        for tensor in &graph.initializer {
            if let Some(id) = index.wiring.id(&tensor.name) {
                index.place(id).constant = Some(tensor);
            }
        }
        Ok(index)
    }

    fn place(&mut self, id: TensorId) -> &mut TensorEntry<'a> {
        if self.places.len() <= id.position() {
            self.places.resize(self.wiring.tensor_count(), TensorEntry::default());
        }
        &mut self.places[id.position()]
    }

    /// If a tensor is a constant, returns this constant. Returns `None` for a sparse constant, and for a tensor that is
    /// not a constant. Files of IR version 3 list each constant as an input, too; such a tensor counts as a constant.
    pub(crate) fn constant(&self, id: TensorId) -> Option<&'a TensorProto> {
        self.places.get(id.position())?.constant
    }

    /// What the file declares about a tensor. The tensor may be an input, an output or neither.
    pub(crate) fn declared(&self, id: TensorId) -> Option<&'a ValueInfoProto> {
        self.places.get(id.position())?.declared
    }
}

/// How deep nested graphs are searched for names. The protobuf decoder accepts no deeper nesting.
const DEEPEST: usize = 100;

/// Collects the tensors that a nested graph reads but does not define. A nested graph cannot define a name again that a
/// graph around it has defined.
pub(crate) fn captured<'a>(graph: &'a GraphProto, read: &mut BTreeSet<&'a str>) {
    captured_at(graph, read, 0);
}

fn captured_at<'a>(graph: &'a GraphProto, read: &mut BTreeSet<&'a str>, depth: usize) {
    let own: BTreeSet<&str> = (graph.input.iter().map(|input| input.name.as_str()))
        .chain(graph.initializer.iter().map(|tensor| tensor.name.as_str()))
        .chain(
            graph
                .node
                .iter()
                .flat_map(|node| node.output.iter().map(String::as_str)),
        )
        .collect();
    let mut inner = BTreeSet::new();
    for node in &graph.node {
        inner.extend(node.input.iter().map(String::as_str));
        let graphs = node.attribute.iter().filter_map(|attribute| attribute.g.as_deref());
        for graph in graphs.filter(|_| depth < DEEPEST) {
            captured_at(graph, &mut inner, depth + 1);
        }
    }
    inner.extend(graph.output.iter().map(|output| output.name.as_str()));
    read.extend(inner.into_iter().filter(|name| !name.is_empty() && !own.contains(name)));
}
