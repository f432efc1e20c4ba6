//! The tensors and nodes of a graph, and which hangs on which.

use std::collections::HashMap;
use std::ops::Range;
use strait_core::ReasonCode;

use crate::error::ReadError;

/// A tensor of a graph: each name is looked up once for each place where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TensorId(usize);

impl TensorId {
    /// Its position among all tensors of the graph.
    pub fn position(self) -> usize {
        self.0
    }
}

/// All that a graph says of one tensor.
#[derive(Clone, Copy, Debug, Default)]
struct Known<'a> {
    name: &'a str,
    is_constant: bool,
    is_input: bool,
    producer: Option<usize>,
    /// Number of places at which nodes take it.
    reads: usize,
    is_output: bool,
    /// True where a graph outside of this one defines it.
    is_outer: bool,
}

impl Known<'_> {
    fn is_defined(&self) -> bool {
        self.is_constant || self.is_input || self.producer.is_some() || self.is_outer
    }
}

/// A node: the ranges of its ports.
#[derive(Clone, Debug)]
struct Node<'a> {
    name: &'a str,
    operands: Range<usize>,
    captures: Range<usize>,
    results: Range<usize>,
}

/// Where each tensor of a graph is defined, and what each node takes and makes. Nodes have their positions in the file.
#[derive(Default)]
pub struct Wiring<'a> {
    known: Vec<Known<'a>>,
    // tidy: allow(hash): only looked up by a name; keys of its own in each process keep a file from making names collide.
    ids: HashMap<&'a str, TensorId>,
    nodes: Vec<Node<'a>>,
    /// Operands, captures and results, one node behind the other; `None` where one is left out.
    ports: Vec<Option<TensorId>>,
    inputs: Vec<TensorId>,
    outputs: Vec<TensorId>,
}

impl<'a> Wiring<'a> {
    /// An empty graph with room for so many tensors and nodes.
    pub fn with_room(tensors: usize, nodes: usize) -> Wiring<'a> {
        let mut wiring = Wiring::default();
        wiring.ids.reserve(tensors);
        wiring.known.reserve(tensors);
        wiring.nodes.reserve(nodes);
        wiring
    }

    /// The number of a name; a new one at its first occurrence.
    pub fn tensor(&mut self, name: &'a str) -> TensorId {
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
        let id = self.tensor(name);
        &mut self.known[id.0]
    }

    /// Adds a constant.
    ///
    /// # Errors
    /// The tensor is defined already.
    pub fn constant(&mut self, name: &'a str) -> Result<(), ReadError> {
        let known = self.of(name);
        if known.is_defined() {
            return Err(twice(name));
        }
        known.is_constant = true;
        Ok(())
    }

    /// Adds an input. One that is a constant, as files of ONNX's IR version 3 have to list it, stays a constant.
    ///
    /// # Errors
    /// The tensor is an input already, or a node's result.
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

    /// Notes that a graph outside of this one defines a tensor.
    pub fn outer(&mut self, name: &'a str) {
        self.of(name).is_outer = true;
    }

    /// Adds a node by its name, its operands, what the graphs inside of it read of this one, and its results. What is left
    /// out is `None`.
    ///
    /// # Errors
    /// A result is defined already.
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

    /// The operands of the node at a position; `None` where one is left out.
    pub fn operands(&self, node: usize) -> &[Option<TensorId>] {
        &self.ports[self.nodes[node].operands.clone()]
    }

    /// The results of the node at a position; `None` for one without a name.
    pub fn results(&self, node: usize) -> &[Option<TensorId>] {
        &self.ports[self.nodes[node].results.clone()]
    }

    /// All that a node reads: its operands, and what the graphs inside of it capture.
    pub fn reads(&self, node: usize) -> impl Iterator<Item = TensorId> + '_ {
        let node = &self.nodes[node];
        self.ports[node.operands.start..node.captures.end]
            .iter()
            .flatten()
            .copied()
    }

    /// The number of tensors, which is past that of each of them.
    pub fn tensor_count(&self) -> usize {
        self.known.len()
    }

    /// The tensor of this name.
    pub fn id(&self, name: &str) -> Option<TensorId> {
        self.ids.get(name).copied()
    }

    fn at(&self, id: TensorId) -> &Known<'a> {
        // The numbers are those of this graph's tensors.
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

    /// True for a constant.
    pub fn is_constant(&self, id: TensorId) -> bool {
        self.at(id).is_constant
    }

    /// The position of the node that a tensor is a result of.
    pub fn producer(&self, id: TensorId) -> Option<usize> {
        self.at(id).producer
    }

    /// True for a tensor that a node takes, or that is an output of the graph.
    pub fn is_used(&self, id: TensorId) -> bool {
        self.at(id).reads > 0 || self.at(id).is_output
    }

    /// The number of places at which nodes take a tensor.
    pub fn reads_of(&self, id: TensorId) -> usize {
        self.at(id).reads
    }

    /// True if something defines this tensor.
    pub fn is_defined(&self, id: TensorId) -> bool {
        self.at(id).is_defined()
    }

    /// Said behind an unknown node: the options that end the graph in front of it, and those that begin it behind it, where
    /// the file declares the types of its results, so that it can be computed elsewhere. `declared` says of a tensor whether it
    /// has elements that are read; of one that the file does not declare it says nothing. A handle of a variable has none, and
    /// the graph begins behind what is read through it, and through those of all other variables, which stop the reading as well.
    pub fn ways_around(&self, node: usize, declared: impl Fn(TensorId) -> Option<bool>) -> String {
        let has_elements = |id: &TensorId| declared(*id) != Some(false);
        let before: Vec<TensorId> = (self.operands(node).iter().flatten().copied())
            .filter(|&id| self.at(id).producer.is_some())
            .filter(has_elements)
            .collect();
        let is_of_variable = |&node: &usize| {
            let mut ports = self.operands(node).iter().chain(self.results(node)).flatten();
            ports.any(|id| !has_elements(id))
        };
        let cut = match is_of_variable(&node) {
            true => (0..self.node_count()).filter(is_of_variable).collect(),
            false => vec![node],
        };
        let results = cut.into_iter().flat_map(|node| self.results(node)).flatten().copied();
        let behind: Vec<TensorId> = results
            .filter(|id| has_elements(id) && self.at(*id).reads > 0)
            .collect();
        let begin = match (behind.is_empty(), behind.iter().find(|&&id| declared(id).is_none())) {
            (true, _) => None,
            (false, None) => Some(format!(
                "beginning the graph behind it, with {}",
                self.option("inputs", &self.still_read(behind))
            )),
            (false, Some(&id)) => Some(format!(
                "beginning the graph behind it, which needs the type of `{}` declared in the file",
                self.name(id)
            )),
        };
        let end = format!(
            "ending the graph in front of it, with {}",
            self.option("outputs", &before)
        );
        let ways: Vec<String> = (!before.is_empty()).then_some(end).into_iter().chain(begin).collect();
        match ways.is_empty() {
            true => String::new(),
            false => format!("; it can be computed elsewhere by {}", ways.join(", or ")),
        }
    }

    /// These tensors, behind the inputs that the outputs still need where the graph begins at them.
    fn still_read(&self, begins: Vec<TensorId>) -> Vec<TensorId> {
        let mut seen = vec![false; self.tensor_count()];
        begins.iter().for_each(|id| seen[id.0] = true);
        let mut open = self.outputs.clone();
        while let Some(id) = open.pop() {
            if !std::mem::replace(&mut seen[id.0], true)
                && let Some(producer) = self.producer(id)
            {
                open.extend(self.reads(producer));
            }
        }
        let inputs = self
            .inputs
            .iter()
            .copied()
            .filter(|id| seen[id.0] && !begins.contains(id));
        inputs.chain(begins.iter().copied()).collect()
    }

    /// A list of tensors as a configuration has it.
    fn option(&self, key: &str, tensors: &[TensorId]) -> String {
        let mut names: Vec<String> = tensors.iter().map(|&id| format!("\"{}\"", self.name(id))).collect();
        names.dedup();
        format!("`{key} = [{}]`", names.join(", "))
    }
}

fn twice(name: &str) -> ReadError {
    ReadError::model(
        ReasonCode::DuplicateTensor,
        format!("the tensor `{name}` is defined twice"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_cut_behind_what_is_read_through_their_handles() {
        let mut wiring = Wiring::with_room(8, 6);
        wiring.input("x").unwrap();
        let mut add = |name, operands: &[&'static str], result| {
            wiring
                .node(name, operands.iter().map(|&name| Some(name)), [], [Some(result)])
                .unwrap();
        };
        add("handle", &[], "h");
        add("read", &["h"], "state");
        add("add", &["x", "state"], "y");
        add("handle_1", &[], "h_1");
        add("read_1", &["h_1"], "state_1");
        add("add_1", &["y", "state_1"], "z");
        wiring.output("z");
        let declared = |wiring: &Wiring<'_>, id| Some(!wiring.name(id).starts_with('h'));
        let told = |node| wiring.ways_around(node, |id| declared(&wiring, id));
        let way = "; it can be computed elsewhere by beginning the graph behind it, with `inputs = [\"x\", \"state\", \"state_1\"]`";
        assert_eq!([0, 1, 3, 4].map(told), [way; 4]);
    }
}
