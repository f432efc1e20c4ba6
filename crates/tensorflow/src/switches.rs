//! Resolves branches whose condition is a constant.
//!
//! TensorFlow 1 writes a condition as `Switch` nodes, which pass a tensor to one of two branches, and `Merge` nodes,
//! which take the result of the branch that ran. Batch normalization and dropout have a condition on a flag that says
//! whether the model is being trained. In a frozen graph, this flag is a constant. A switch with a constant condition
//! passes its operand on to one branch. The nodes in the other branch never run (they are dead), and neither do nodes
//! that read their results or have to run after them. A merge passes on its only operand that is not dead. All other
//! switches and merges stay, and are refused by name if an output needs them.

use crate::proto::{GraphDef, TensorProto, Value, attribute};

/// A result of a node: the node's position in the file, and the number of the result.
pub(crate) type Port = (usize, usize);

/// What a node does after all branches with a constant condition have been resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Branch {
    /// The node runs, and computes its operator.
    Plain,
    /// The node passes on one of its operands as one of its results.
    Passes { operand: usize, result: usize },
    /// The node never runs.
    Dead,
}

/// What is known about a node. Nodes are visited in the order in which they run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unknown,
    Alive,
    /// The node's first result is a boolean that follows from constants, and has this value.
    Truth(bool),
    Dead,
}

/// Decides for each node whether it runs, and whether it only passes on an operand.
pub(crate) fn branches(graph: &GraphDef, operands: &[Vec<Port>], controls: &[Vec<usize>]) -> Vec<Branch> {
    let mut branches = vec![Branch::Plain; graph.node.len()];
    if !graph.node.iter().any(|node| is_switch(&node.op)) {
        return branches;
    }
    let mut states = vec![State::Unknown; graph.node.len()];
    for node in order(operands, controls) {
        let is_dead = |&(producer, result): &Port| match branches[producer] {
            Branch::Passes { result: passed, .. } => is_switch(&graph.node[producer].op) && result != passed,
            Branch::Dead => true,
            Branch::Plain => false,
        };
        let taken = &operands[node];
        let is_ordered = |&(producer, _): &Port| states[producer] != State::Unknown;
        let op = graph.node[node].op.as_str();
        if matches!(op, "Merge" | "RefMerge") {
            // An operand that comes from a loop has not been visited yet, so the merge stays.
            if taken.iter().all(is_ordered) {
                let mut alive = (0..taken.len()).filter(|&position| !is_dead(&taken[position]));
                match (alive.next(), alive.next()) {
                    (None, _) => branches[node] = Branch::Dead,
                    (Some(operand), None) => branches[node] = Branch::Passes { operand, result: 0 },
                    _ => {}
                }
            }
        } else if taken.iter().any(is_dead) || controls[node].iter().any(|&before| branches[before] == Branch::Dead) {
            branches[node] = Branch::Dead;
        } else if is_switch(op)
            && let Some(State::Truth(truth)) = taken.get(1).map(|&(producer, _)| states[producer])
        {
            branches[node] = Branch::Passes {
                operand: 0,
                result: usize::from(truth),
            };
        }
        states[node] = match branches[node] {
            Branch::Dead => State::Dead,
            Branch::Passes { operand, .. } => taken.get(operand).map_or(State::Alive, |&(from, _)| states[from]),
            Branch::Plain => truth(graph, node, taken, &states).map_or(State::Alive, State::Truth),
        };
    }
    branches
}

fn is_switch(op: &str) -> bool {
    matches!(op, "Switch" | "RefSwitch")
}

/// The boolean that a node computes, if its value follows from constants.
fn truth(graph: &GraphDef, node: usize, taken: &[Port], states: &[State]) -> Option<bool> {
    let operand = |position: usize| match taken.get(position).map(|&(producer, _)| states[producer]) {
        Some(State::Truth(truth)) => Some(truth),
        _ => None,
    };
    let node = &graph.node[node];
    match node.op.as_str() {
        "Const" => match attribute(node, "value") {
            Some(Value::Tensor(tensor)) => constant(tensor),
            _ => None,
        },
        "Identity" | "PlaceholderWithDefault" | "StopGradient" => operand(0),
        "LogicalNot" => operand(0).map(|truth| !truth),
        "LogicalAnd" => Some(operand(0)? & operand(1)?),
        "LogicalOr" => Some(operand(0)? | operand(1)?),
        _ => None,
    }
}

/// The value of a boolean constant with one element.
fn constant(tensor: &TensorProto) -> Option<bool> {
    const BOOL: i32 = 10;
    let extents = tensor.tensor_shape.as_ref().map_or(&[][..], |shape| &shape.dim);
    if tensor.dtype != BOOL || extents.iter().any(|dim| dim.size != 1) {
        return None;
    }
    match (&*tensor.tensor_content, tensor.bool_val.as_slice()) {
        ([], []) => Some(false),
        ([], [first, ..]) => Some(*first),
        ([byte, ..], _) => Some(*byte != 0),
    }
}

/// Sorts the nodes so that each node comes after all nodes whose results it reads, and after all nodes that have to run
/// before it. Nodes in loops, and nodes that depend on them, are omitted.
fn order(operands: &[Vec<Port>], controls: &[Vec<usize>]) -> Vec<usize> {
    let before = |node: usize| {
        let taken = operands[node].iter().map(|&(producer, _)| producer);
        taken.chain(controls[node].iter().copied())
    };
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); operands.len()];
    let mut waiting = vec![0usize; operands.len()];
    for (node, waiting) in waiting.iter_mut().enumerate() {
        for producer in before(node) {
            users[producer].push(node);
            *waiting += 1;
        }
    }
    let mut order: Vec<usize> = (0..operands.len()).filter(|&node| waiting[node] == 0).collect();
    let mut next = 0;
    while let Some(&node) = order.get(next) {
        next += 1;
        for user in std::mem::take(&mut users[node]) {
            waiting[user] -= 1;
            if waiting[user] == 0 {
                order.push(user);
            }
        }
    }
    order
}
