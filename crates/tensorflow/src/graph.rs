//! The graph of a file: the results of each node, and the nodes that read these results.
//!
//! Result k of a node is called `node:k`, as in TensorFlow; files write `node` instead of `node:0`. An operand `^x`
//! means that its node has to run after the node `x`. We ignore such operands, because the order does not matter: no
//! operator that we read has side effects. Operators that have side effects, or depend on the side effects of other
//! operators (variables, queues, tables, random numbers), are refused by name if an output needs them.

use crate::switches::Port;
use std::collections::BTreeMap;

use strait_core::ReasonCode;
use strait_import::{ReadError, Wiring};

use crate::proto::{GraphDef, NodeDef, Value, attribute};
use crate::switches::{self, Branch};

/// The number of results of all nodes together is limited to this factor times the number of nodes and operands in the
/// file. Without such a limit, a few bytes could ask for any number of results.
const MOST_RESULTS: usize = 16;

/// The limit on the number of results is never below this, even for small files.
const LEAST_LIMIT: usize = 1 << 16;

/// The graph of a file, in which the names of nodes and operands have been looked up.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) def: GraphDef,
    /// The positions of the nodes, by name.
    positions: BTreeMap<String, usize>,
    /// For each node: its operands that are tensors.
    operands: Vec<Vec<Port>>,
    /// For each node: the names of its results.
    results: Vec<Vec<String>>,
    /// For each node: the nodes that read its results, as pairs of a node and the position of the operand.
    users: Vec<Vec<(usize, usize)>>,
    /// For each node: whether it runs and what it computes, after all branches with a constant condition have been
    /// resolved.
    branches: Vec<Branch>,
}

/// The node and the number of the result that an operand names; `None` for an operand that is not a tensor.
fn port(operand: &str) -> Option<(&str, usize)> {
    if operand.starts_with('^') {
        return None;
    }
    let numbered = operand
        .rsplit_once(':')
        .and_then(|(node, number)| Some((node, number.parse().ok()?)));
    Some(numbered.unwrap_or((operand, 0)))
}

impl Graph {
    /// Looks up all names. Fails if two nodes have the same name, or if an operand does not exist.
    pub(crate) fn new(def: GraphDef) -> Result<Graph, ReadError> {
        let mut positions = BTreeMap::new();
        for (position, node) in def.node.iter().enumerate() {
            if node.name.is_empty() {
                let text = format!("node {position} ({}) has no name", node.op);
                return Err(ReadError::model(ReasonCode::MissingTensor, text));
            }
            if positions.insert(node.name.clone(), position).is_some() {
                let text = format!("two nodes are called `{}`", node.name);
                return Err(ReadError::model(ReasonCode::DuplicateTensor, text));
            }
        }
        let find = |node: &NodeDef, name: &str| {
            positions.get(name).copied().ok_or_else(|| {
                let text = format!("`{}` takes `{name}`, and nothing is called that", node.name);
                ReadError::model(ReasonCode::MissingTensor, text)
            })
        };
        let (mut operands, mut controls) = (Vec::new(), Vec::new());
        let mut counts: Vec<usize> = def.node.iter().map(declared_results).collect();
        let mut inputs = 0;
        for node in &def.node {
            let (mut taken, mut before) = (Vec::new(), Vec::new());
            for operand in &node.input {
                match port(operand) {
                    None => before.push(find(node, operand.trim_start_matches('^'))?),
                    Some((name, result)) => {
                        let producer = find(node, name)?;
                        if let Some(count) = counts.get_mut(producer) {
                            *count = (*count).max(result.saturating_add(1));
                        }
                        taken.push((producer, result));
                    }
                }
            }
            inputs += taken.len();
            operands.push(taken);
            controls.push(before);
        }
        let most = (MOST_RESULTS * (def.node.len() + inputs)).max(LEAST_LIMIT);
        let total = counts.iter().try_fold(0usize, |sum, &count| sum.checked_add(count));
        if total.is_none_or(|total| total > most) {
            let text = format!("its nodes have more than {most} results");
            return Err(ReadError::model(ReasonCode::Limit, text));
        }
        let name = |(node, &count): (&NodeDef, &usize)| (0..count).map(|k| format!("{}:{k}", node.name)).collect();
        let results = def.node.iter().zip(&counts).map(name).collect();
        let branches = switches::branches(&def, &operands, &controls);
        let mut users = vec![Vec::new(); def.node.len()];
        for (node, taken) in operands.iter().enumerate() {
            for (position, &(producer, _)) in taken.iter().enumerate() {
                users[producer].push((node, position));
            }
        }
        Ok(Graph {
            def,
            positions,
            operands,
            results,
            users,
            branches,
        })
    }

    /// The node at a position.
    pub(crate) fn node(&self, position: usize) -> &NodeDef {
        &self.def.node[position]
    }

    /// The position of a node, by name.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    /// Returns the operands of a node that are tensors. Operands from branches that never run, because their condition
    /// is a constant, are omitted.
    pub(crate) fn operands(&self, node: usize) -> &[Port] {
        let operands = &self.operands[node];
        match self.branches[node] {
            Branch::Plain | Branch::Dead => operands,
            Branch::Passes { operand, .. } => operands.get(operand..=operand).unwrap_or_default(),
        }
    }

    /// Whether a node runs and what it computes, after all branches with a constant condition have been resolved.
    pub(crate) fn branch(&self, node: usize) -> Branch {
        self.branches[node]
    }

    /// The name of a result.
    pub(crate) fn tensor(&self, (node, result): Port) -> &str {
        &self.results[node][result]
    }

    /// The names of a node's results.
    pub(crate) fn results(&self, node: usize) -> &[String] {
        &self.results[node]
    }

    /// The result with this name.
    pub(crate) fn find(&self, tensor: &str) -> Option<Port> {
        let (name, result) = tensor.rsplit_once(':')?;
        let (node, result) = (self.position(name)?, result.parse().ok()?);
        (result < self.results[node].len()).then_some((node, result))
    }

    /// Returns the nodes that read a result, each with the position of the operand that is this result. Nodes in
    /// branches that never run are omitted.
    pub(crate) fn users(&self, port: Port) -> impl Iterator<Item = (usize, usize)> + '_ {
        let users = self.users[port.0].iter().copied();
        users.filter(move |&(node, position)| {
            self.operands[node].get(position) == Some(&port) && self.branches[node] != Branch::Dead
        })
    }

    /// Returns the connections between tensors and nodes, in the form that a builder needs. A TensorFlow graph does not
    /// state its outputs. If the caller does not name outputs either, the outputs are the results that no node reads,
    /// and the inputs are the placeholders that these outputs need.
    pub(crate) fn wiring(&self, are_outputs_given: bool) -> Result<Wiring<'_>, ReadError> {
        let count = self.def.node.len();
        let mut wiring = Wiring::with_room(count + count / 4, count);
        let outputs = self.ends();
        let needed = (!are_outputs_given).then(|| self.needed(&outputs));
        for (position, node) in self.def.node.iter().enumerate() {
            let results = self.results(position);
            let is_needed = needed.as_ref().is_none_or(|needed| needed[position]);
            let is_constant = node.op == "Const";
            if is_constant || node.op == "Placeholder" && is_needed {
                if let Some(name) = results.first() {
                    match is_constant {
                        true => wiring.constant(name)?,
                        false => wiring.input(name)?,
                    }
                }
                // A constant or placeholder is also added as a node, so that all nodes keep their positions.
                let others = results.iter().skip(1).map(|name| Some(name.as_str()));
                wiring.node(&node.name, [], [], others)?;
                continue;
            }
            let passed = |k: usize| match self.branches[position] {
                Branch::Passes { result, .. } => k == result,
                Branch::Plain | Branch::Dead => true,
            };
            let operands = self.operands(position).iter().map(|&port| Some(self.tensor(port)));
            let results = results.iter().enumerate();
            let results = results.map(|(k, name)| passed(k).then_some(name.as_str()));
            wiring.node(&node.name, operands, [], results)?;
        }
        for &port in &outputs {
            wiring.output(self.tensor(port));
        }
        Ok(wiring)
    }

    /// For each node: true if its results depend only on constants.
    fn constants(&self) -> Vec<bool> {
        let nodes = &self.def.node;
        let mut is_constant: Vec<bool> = nodes.iter().map(|node| node.op == "Const").collect();
        let mut waiting: Vec<usize> = self.operands.iter().map(Vec::len).collect();
        let mut open: Vec<usize> = (0..nodes.len()).filter(|&node| is_constant[node]).collect();
        while let Some(node) = open.pop() {
            for &(user, _) in &self.users[node] {
                waiting[user] -= 1;
                if waiting[user] == 0 && !std::mem::replace(&mut is_constant[user], true) {
                    open.push(user);
                }
            }
        }
        is_constant
    }

    /// Returns the outputs of a graph if the caller has named none. These are the results that depend on an input and
    /// that no node reads. Nodes that only inspect a tensor do not count as readers. Constants are omitted, because
    /// training leaves some behind that nothing reads any more. The results of a switch are omitted too, because
    /// conditions leave some of them unread.
    fn ends(&self) -> Vec<Port> {
        let mut is_taken = vec![false; self.def.node.len()];
        for (position, node) in self.def.node.iter().enumerate() {
            if !is_aside(&node.op) && self.branches[position] != Branch::Dead {
                for &(producer, _) in self.operands(position) {
                    is_taken[producer] = true;
                }
            }
        }
        let is_constant = self.constants();
        let is_end = |&(position, node): &(usize, &NodeDef)| {
            let is_input = matches!(node.op.as_str(), "Placeholder" | "Switch");
            let is_no_end = is_taken[position] || is_constant[position] || is_input || is_aside(&node.op);
            !is_no_end && self.branches[position] != Branch::Dead
        };
        let ends = self.def.node.iter().enumerate().filter(is_end);
        ends.flat_map(|(position, node)| {
            // Only the first result of a batch normalization counts; its other results are for training.
            let first = node.op.starts_with("FusedBatchNorm");
            let count = if first { 1 } else { self.results(position).len() };
            let range = match self.branches[position] {
                Branch::Passes { result, .. } => result..result + 1,
                Branch::Plain | Branch::Dead => 0..count,
            };
            range.map(move |k| (position, k))
        })
        .collect()
    }

    /// For each node: true if some of `outputs` need it.
    fn needed(&self, outputs: &[Port]) -> Vec<bool> {
        let mut needed = vec![false; self.def.node.len()];
        let mut open: Vec<usize> = outputs.iter().map(|&(node, _)| node).collect();
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut needed[node], true) {
                open.extend(self.operands(node).iter().map(|&(producer, _)| producer));
            }
        }
        needed
    }

    /// The names of all tensors at which the graph can be cut, in the order of the file.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = &str> {
        let nodes = self.def.node.iter().zip(&self.results);
        let nodes = nodes.filter(|(node, _)| node.op != "Const");
        nodes.flat_map(|(_, results)| results.iter().map(String::as_str))
    }

    /// True if the file's library has a function of this name.
    pub(crate) fn is_function(&self, name: &str) -> bool {
        let functions = self.def.library.iter().flat_map(|library| &library.function);
        functions
            .filter_map(|function| function.signature.as_ref())
            .any(|own| own.name == name)
    }

    /// The version of the program that wrote the file.
    pub(crate) fn producer(&self) -> i32 {
        self.def.versions.as_ref().map_or(0, |versions| versions.producer)
    }
}

/// True for operators that only inspect a tensor, and compute nothing from it.
fn is_aside(op: &str) -> bool {
    op.contains("Summary")
        || matches!(
            op,
            "NoOp" | "Assert" | "Print" | "PrintV2" | "SaveV2" | "Save" | "WriteFile"
        )
}

/// The number of results that a node has according to its attributes; at least one.
fn declared_results(node: &NodeDef) -> usize {
    let number = |key: &str| match attribute(node, key) {
        Some(&Value::Int(count)) => usize::try_from(count).ok(),
        _ => None,
    };
    let shapes = match attribute(node, "_output_shapes") {
        Some(Value::List(list)) => list.shape.len(),
        _ => 0,
    };
    let count = match node.op.as_str() {
        "Split" | "SplitV" => number("num_split"),
        "Unpack" | "Unstack" => number("num"),
        "TopK" | "TopKV2" | "Switch" | "Merge" => Some(2),
        "ShapeN" => number("N"),
        "IdentityN" => match attribute(node, "T") {
            Some(Value::List(list)) => Some(list.types.len()),
            _ => None,
        },
        _ => None,
    };
    count.unwrap_or(1).max(shapes).max(1)
}
