//! A graph as the file has it, looked over once.

use crate::error::OnnxError;
use crate::proto::{GraphProto, NodeProto, TensorProto, ValueInfoProto};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use strait_core::ReasonCode;

/// Spelling of the standard domain in messages; a file may also leave it empty.
pub(crate) const STANDARD_DOMAIN: &str = "ai.onnx";

/// The domain of ONNX Runtime's own operators.
pub(crate) const RUNTIME_DOMAIN: &str = "com.microsoft";

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

/// A tensor of a graph: each name is looked up once for each place where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TensorId(usize);

impl TensorId {
    /// Its position among all tensors of the graph.
    pub(crate) fn position(self) -> usize {
        self.0
    }
}

/// All that a graph says of one tensor.
#[derive(Clone, Copy, Debug, Default)]
struct Known<'a> {
    name: &'a str,
    constant: Option<&'a TensorProto>,
    is_sparse: bool,
    input: Option<&'a ValueInfoProto>,
    producer: Option<usize>,
    /// True if a node takes it.
    is_read: bool,
    is_output: bool,
    /// True where a graph outside of this one defines it.
    is_outer: bool,
    declared: Option<&'a ValueInfoProto>,
}

impl Known<'_> {
    fn is_constant(&self) -> bool {
        self.constant.is_some() || self.is_sparse
    }

    fn is_defined(&self) -> bool {
        self.is_constant() || self.input.is_some() || self.producer.is_some() || self.is_outer
    }
}

/// The tensors of a graph: by number, and numbers by name.
#[derive(Default)]
struct Tensors<'a> {
    known: Vec<Known<'a>>,
    // tidy: allow(hash): only looked up by a name; keys of its own in each process keep a file from making names collide.
    ids: HashMap<&'a str, TensorId>,
}

impl<'a> Tensors<'a> {
    /// The number of a name; a new one at its first occurrence.
    fn id(&mut self, name: &'a str) -> TensorId {
        let next = TensorId(self.known.len());
        let id = *self.ids.entry(name).or_insert(next);
        if id == next {
            self.known.push(Known {
                name,
                ..Known::default()
            });
        }
        id
    }

    fn of(&mut self, name: &'a str) -> &mut Known<'a> {
        let id = self.id(name);
        &mut self.known[id.0]
    }
}

/// Where each tensor of a graph is defined, and what each node takes and makes.
pub(crate) struct Index<'a> {
    pub(crate) graph: &'a GraphProto,
    tensors: Tensors<'a>,
    /// The operands of each node and then its results; `None` where one is left out.
    ports: Vec<Option<TensorId>>,
    /// By node: the first of its ports.
    first_ports: Vec<usize>,
    /// By node that has graphs of its own: the tensors of this graph that these read.
    captures: BTreeMap<usize, Vec<TensorId>>,
}

impl<'a> Index<'a> {
    /// Fails where a tensor is defined twice.
    pub(crate) fn new(graph: &'a GraphProto) -> Result<Index<'a>, OnnxError> {
        let mut index = Index::inside(graph, &BTreeSet::new())?;
        for info in graph.value_info.iter().chain(&graph.output).chain(&graph.input) {
            index.tensors.of(&info.name).declared = Some(info);
        }
        Ok(index)
    }

    /// The same for a graph inside of a node, which reads these tensors of the graphs around it. Its inputs have the types
    /// that the node gives them, so that none counts as declared.
    pub(crate) fn inside(graph: &'a GraphProto, outer: &BTreeSet<&'a str>) -> Result<Index<'a>, OnnxError> {
        let mut tensors = Tensors::default();
        tensors.ids.reserve(graph.node.len() + graph.initializer.len());
        let twice = |name: &str| {
            Err(OnnxError::model(
                ReasonCode::DuplicateTensor,
                format!("the tensor `{name}` is defined twice"),
            ))
        };
        for tensor in &graph.initializer {
            if tensors.of(&tensor.name).constant.replace(tensor).is_some() {
                return twice(&tensor.name);
            }
        }
        for tensor in graph.sparse_initializer.iter().filter_map(|s| s.values.as_ref()) {
            let known = tensors.of(&tensor.name);
            if known.is_constant() {
                return twice(&tensor.name);
            }
            known.is_sparse = true;
        }
        for input in &graph.input {
            let known = tensors.of(&input.name);
            if !known.is_constant() && known.input.replace(input).is_some() {
                return twice(&input.name);
            }
        }
        for name in outer {
            tensors.of(name).is_outer = true;
        }
        let mut captures = BTreeMap::new();
        let (mut ports, mut first_ports) = (Vec::new(), Vec::with_capacity(graph.node.len()));
        for (position, node) in graph.node.iter().enumerate() {
            first_ports.push(ports.len());
            for operand in &node.input {
                let id = (!operand.is_empty()).then(|| tensors.id(operand));
                if let Some(TensorId(id)) = id {
                    tensors.known[id].is_read = true;
                }
                ports.push(id);
            }
            if node.attribute.iter().any(|attribute| attribute.g.is_some()) {
                let graphs = node.attribute.iter().filter_map(|attribute| attribute.g.as_deref());
                let mut read = BTreeSet::new();
                graphs.for_each(|graph| captured(graph, &mut read));
                let ids: Vec<TensorId> = read.into_iter().map(|name| tensors.id(name)).collect();
                ids.iter().for_each(|id| tensors.known[id.0].is_read = true);
                captures.insert(position, ids);
            }
            for output in &node.output {
                let id = (!output.is_empty()).then(|| tensors.id(output));
                ports.push(id);
                let Some(TensorId(id)) = id else { continue };
                if tensors.known[id].is_defined() {
                    return twice(output);
                }
                tensors.known[id].producer = Some(position);
            }
        }
        for output in &graph.output {
            tensors.of(&output.name).is_output = true;
        }
        Ok(Index {
            graph,
            tensors,
            ports,
            first_ports,
            captures,
        })
    }

    /// The tensors that the graphs inside of a node read of this one.
    pub(crate) fn captures(&self, node: usize) -> &[TensorId] {
        self.captures.get(&node).map_or(&[], Vec::as_slice)
    }

    /// All that a node reads: its operands, and what the graphs inside of it capture.
    pub(crate) fn reads(&self, node: usize) -> impl Iterator<Item = TensorId> + '_ {
        let captures = self.captures(node).iter().copied();
        self.operands(node).iter().flatten().copied().chain(captures)
    }

    /// The number of tensors, which is past that of each of them.
    pub(crate) fn tensor_count(&self) -> usize {
        self.tensors.known.len()
    }

    /// The tensor of this name.
    pub(crate) fn id(&self, name: &str) -> Option<TensorId> {
        self.tensors.ids.get(name).copied()
    }

    fn known(&self, name: &str) -> Option<&Known<'a>> {
        self.id(name).map(|id| self.at(id))
    }

    fn at(&self, id: TensorId) -> &Known<'a> {
        // The numbers are those of this graph's tensors.
        &self.tensors.known[id.0]
    }

    /// The name of a tensor.
    pub(crate) fn name(&self, id: TensorId) -> &'a str {
        self.at(id).name
    }

    /// The operands of the node at a position; `None` where one is left out.
    pub(crate) fn operands(&self, node: usize) -> &[Option<TensorId>] {
        let first = self.first_ports[node];
        &self.ports[first..first + self.graph.node[node].input.len()]
    }

    /// The results of the node at a position; `None` for one without a name.
    pub(crate) fn results(&self, node: usize) -> &[Option<TensorId>] {
        let (first, node) = (self.first_ports[node], &self.graph.node[node]);
        &self.ports[first + node.input.len()..][..node.output.len()]
    }

    /// The constant that a tensor is. One that is also listed as an input (as files of IR version 3 have to) is a constant.
    pub(crate) fn constant(&self, id: TensorId) -> Option<&'a TensorProto> {
        self.at(id).constant
    }

    /// True for a sparse constant, which is not read.
    pub(crate) fn is_sparse(&self, id: TensorId) -> bool {
        self.at(id).is_sparse
    }

    /// True for an input that is not a constant.
    pub(crate) fn is_input(&self, name: &str) -> bool {
        self.known(name).is_some_and(|known| known.input.is_some())
    }

    /// The inputs that are not constants, in the order of the file.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &'a ValueInfoProto> + '_ {
        self.graph.input.iter().filter(|info| self.is_input(&info.name))
    }

    /// The position of the node that a tensor is a result of.
    pub(crate) fn producer(&self, id: TensorId) -> Option<usize> {
        self.at(id).producer
    }

    /// True for a tensor that a node takes, or that is an output of the graph.
    pub(crate) fn is_used(&self, id: TensorId) -> bool {
        self.at(id).is_read || self.at(id).is_output
    }

    /// The type that the file declares, of an input, an output or any other tensor.
    pub(crate) fn declared(&self, name: &str) -> Option<&'a ValueInfoProto> {
        self.known(name)?.declared
    }

    /// True if something defines this tensor.
    pub(crate) fn is_defined(&self, id: TensorId) -> bool {
        self.at(id).is_defined()
    }

    /// True if something defines a tensor of this name.
    pub(crate) fn defines(&self, name: &str) -> bool {
        self.known(name).is_some_and(Known::is_defined)
    }
    /// Said behind an unknown node: the options that end the graph in front of it, and those that begin it behind it, where the
    /// file declares the types of its results, so that it can be computed elsewhere.
    pub(crate) fn ways_around(&self, node: &NodeProto) -> String {
        let known = |names: &[String], is: fn(&Known<'_>) -> bool| -> Vec<Known<'a>> {
            let all = names.iter().filter_map(|name| self.known(name).copied());
            all.filter(is).collect()
        };
        let before = known(&node.input, |known| known.producer.is_some());
        let behind = known(&node.output, |known| known.is_read);
        let begin = match (behind.is_empty(), behind.iter().find(|known| known.declared.is_none())) {
            (true, _) => None,
            (false, None) => Some(format!(
                "beginning the graph behind it, with {}",
                option("inputs", &behind)
            )),
            (false, Some(known)) => Some(format!(
                "beginning the graph behind it, which needs the type of `{}` declared in the file",
                known.name
            )),
        };
        let end = format!("ending the graph in front of it, with {}", option("outputs", &before));
        let ways: Vec<String> = (!before.is_empty()).then_some(end).into_iter().chain(begin).collect();
        match ways.is_empty() {
            true => String::new(),
            false => format!("; it can be computed elsewhere by {}", ways.join(", or ")),
        }
    }
}

/// The most graphs inside of each other that names are looked for in; protobuf nests no deeper.
const DEEPEST: usize = 100;

/// The tensors that a graph inside of a node reads and does not define. Names of the graphs around it are not given again.
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

/// A list of tensors as a configuration has it.
fn option(key: &str, tensors: &[Known<'_>]) -> String {
    let mut names: Vec<String> = tensors.iter().map(|known| format!("\"{}\"", known.name)).collect();
    names.dedup();
    format!("`{key} = [{}]`", names.join(", "))
}
