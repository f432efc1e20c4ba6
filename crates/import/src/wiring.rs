//! The tensors and nodes of a graph, and how they are connected.

use std::collections::HashMap;
use std::ops::Range;
use strait_core::ReasonCode;

use crate::error::ReadError;

/// The index of a tensor among all tensors of its graph. Each occurrence of a tensor's name is looked up once to
/// find this index, and from then on only the index is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TensorId(usize);

impl TensorId {
    /// The index as a number.
    pub fn position(self) -> usize {
        self.0
    }
}

/// What is known about one tensor.
#[derive(Clone, Copy, Debug, Default)]
struct TensorFacts<'a> {
    name: &'a str,
    is_constant: bool,
    is_input: bool,
    producer: Option<usize>,
    /// How many times nodes have this tensor as an operand.
    reads: usize,
    is_output: bool,
    /// True if an enclosing graph defines the tensor.
    is_outer: bool,
}

impl TensorFacts<'_> {
    fn is_defined(&self) -> bool {
        self.is_constant || self.is_input || self.producer.is_some() || self.is_outer
    }
}

/// A node: the ranges of its operands, captures and results in `ports`.
#[derive(Clone, Debug)]
struct Node<'a> {
    name: &'a str,
    operands: Range<usize>,
    captures: Range<usize>,
    results: Range<usize>,
}

/// Where each tensor of a graph is defined, and which tensors each node reads and produces. Nodes are numbered by their
/// position in the file.
#[derive(Default)]
pub struct Wiring<'a> {
    known: Vec<TensorFacts<'a>>,
    // tidy: allow(hash): only looked up by a name; keys of its own in each process keep a file from making names collide.
    ids: HashMap<&'a str, TensorId>,
    nodes: Vec<Node<'a>>,
    /// The operands, captures and results of all nodes, one node after the other. An omitted operand or result is
    /// `None`.
    ports: Vec<Option<TensorId>>,
    inputs: Vec<TensorId>,
    outputs: Vec<TensorId>,
}

impl<'a> Wiring<'a> {
    /// An empty graph with room for this many tensors and nodes.
    pub fn with_room(tensors: usize, nodes: usize) -> Wiring<'a> {
        let mut wiring = Wiring::default();
        wiring.ids.reserve(tensors);
        wiring.known.reserve(tensors);
        wiring.nodes.reserve(nodes);
        wiring
    }

    /// The number of the tensor with this name. If the name occurs for the first time, the tensor gets a new number.
    pub fn tensor(&mut self, name: &'a str) -> TensorId {
        let next = TensorId(self.known.len());
        let id = *self.ids.entry(name).or_insert(next);
        if id == next {
            self.known.push(TensorFacts {
                name,
                ..TensorFacts::default()
            });
        }
        id
    }

    fn of(&mut self, name: &'a str) -> &mut TensorFacts<'a> {
        let id = self.tensor(name);
        &mut self.known[id.0]
    }

    /// Adds a constant.
    ///
    /// # Errors
    /// The tensor is already defined.
    pub fn constant(&mut self, name: &'a str) -> Result<(), ReadError> {
        let known = self.of(name);
        if known.is_defined() {
            return Err(twice(name));
        }
        known.is_constant = true;
        Ok(())
    }

    /// Adds an input. If the tensor is already a constant, it stays a constant: files of ONNX's IR version 3 list all
    /// constants as inputs, too.
    ///
    /// # Errors
    /// The tensor is already an input, or a node's result.
    pub fn input(&mut self, name: &'a str) -> Result<(), ReadError> {
        let id = self.tensor(name);
        let known = &mut self.known[id.0];
        if known.is_constant {
            return Ok(());
        }
        if known.is_defined() {
            return Err(twice(name));
        }
        known.is_input = true;
        self.inputs.push(id);
        Ok(())
    }

    /// Records that an enclosing graph defines a tensor.
    pub fn outer(&mut self, name: &'a str) {
        self.of(name).is_outer = true;
    }

    /// Adds a node with its name, its operands, its captures (the tensors of this graph that the node's nested graphs
    /// read), and its results. An omitted operand or result is `None`.
    ///
    /// # Errors
    /// A result is already defined.
    pub fn node(
        &mut self,
        name: &'a str,
        operands: impl IntoIterator<Item = Option<&'a str>>,
        captures: impl IntoIterator<Item = &'a str>,
        results: impl IntoIterator<Item = Option<&'a str>>,
    ) -> Result<(), ReadError> {
        let position = self.nodes.len();
        let start = self.ports.len();
        for operand in operands {
            let id = operand.map(|name| self.tensor(name));
            self.read(id);
        }
        let captured = self.ports.len();
        for name in captures {
            let id = self.tensor(name);
            self.read(Some(id));
        }
        let made = self.ports.len();
        for result in results {
            let id = result.map(|name| self.tensor(name));
            self.ports.push(id);
            let Some(TensorId(id)) = id else { continue };
            let known = &mut self.known[id];
            if known.is_defined() {
                return Err(twice(known.name));
            }
            known.producer = Some(position);
        }
        self.nodes.push(Node {
            name,
            operands: start..captured,
            captures: captured..made,
            results: made..self.ports.len(),
        });
        Ok(())
    }

    fn read(&mut self, id: Option<TensorId>) {
        if let Some(TensorId(id)) = id {
            self.known[id].reads += 1;
        }
        self.ports.push(id);
    }

    /// Adds an output.
    pub fn output(&mut self, name: &'a str) {
        let id = self.tensor(name);
        self.known[id.0].is_output = true;
        self.outputs.push(id);
    }

    /// The names of all tensors and nodes.
    pub fn names(&self) -> impl Iterator<Item = &'a str> + '_ {
        let tensors = self.known.iter().map(|known| known.name);
        tensors.chain(self.nodes.iter().map(|node| node.name))
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The name of the node at a position.
    pub fn node_name(&self, node: usize) -> &'a str {
        self.nodes[node].name
    }

    /// The operands of the node at a position; `None` for an omitted operand.
    pub fn operands(&self, node: usize) -> &[Option<TensorId>] {
        &self.ports[self.nodes[node].operands.clone()]
    }

    /// The results of the node at a position; `None` for a result without a name.
    pub fn results(&self, node: usize) -> &[Option<TensorId>] {
        &self.ports[self.nodes[node].results.clone()]
    }

    /// All tensors that a node reads: its operands, and the tensors that its nested graphs capture.
    pub fn reads(&self, node: usize) -> impl Iterator<Item = TensorId> + '_ {
        let node = &self.nodes[node];
        self.ports[node.operands.start..node.captures.end]
            .iter()
            .flatten()
            .copied()
    }

    /// The number of tensors. Every `TensorId` of this graph is below it.
    pub fn tensor_count(&self) -> usize {
        self.known.len()
    }

    /// The number of the tensor with this name.
    pub fn id(&self, name: &str) -> Option<TensorId> {
        self.ids.get(name).copied()
    }

    fn at(&self, id: TensorId) -> &TensorFacts<'a> {
        // Only this graph assigns its numbers, so the tensor exists.
        &self.known[id.0]
    }

    /// The name of a tensor.
    pub fn name(&self, id: TensorId) -> &'a str {
        self.at(id).name
    }

    /// The inputs that are not constants, in the order of the file.
    pub fn inputs(&self) -> &[TensorId] {
        &self.inputs
    }

    /// The outputs, in the order of the file.
    pub fn outputs(&self) -> &[TensorId] {
        &self.outputs
    }

    /// True if the tensor is a constant.
    pub fn is_constant(&self, id: TensorId) -> bool {
        self.at(id).is_constant
    }

    /// The position of the node that produces a tensor.
    pub fn producer(&self, id: TensorId) -> Option<usize> {
        self.at(id).producer
    }

    /// True if a node reads the tensor, or if the tensor is an output of the graph.
    pub fn is_used(&self, id: TensorId) -> bool {
        self.at(id).reads > 0 || self.at(id).is_output
    }

    /// How many times nodes have a tensor as an operand.
    pub fn reads_of(&self, id: TensorId) -> usize {
        self.at(id).reads
    }

    /// True if something defines this tensor: an input, a constant, a node or an enclosing graph.
    pub fn is_defined(&self, id: TensorId) -> bool {
        self.at(id).is_defined()
    }
}

fn twice(name: &str) -> ReadError {
    ReadError::model(
        ReasonCode::DuplicateTensor,
        format!("the tensor `{name}` is defined twice"),
    )
}
