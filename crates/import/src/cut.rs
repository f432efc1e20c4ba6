//! Decides which part of a graph is read, and in which order its nodes are read.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use smallvec::SmallVec;
use strait_core::ReasonCode;

use crate::error::ReadError;
use crate::options::ReadOptions;
use crate::wiring::{TensorId, Wiring};

/// The part of a graph that is read: everything between some of its tensors.
#[derive(Debug)]
pub struct Cut {
    /// The tensors that become inputs. They are in the order in which the options name them or, if the options name
    /// none, in the order of the file.
    pub inputs: Vec<TensorId>,
    /// The tensors that become outputs. They are in the order in which the options name them or, if the options name
    /// none, in the order of the file.
    pub outputs: Vec<TensorId>,
    /// The positions of the nodes between inputs and outputs. Each node comes after the nodes that compute its
    /// operands. If the file already has such an order, it is kept.
    pub nodes: Vec<usize>,
}

/// Looks up the names in `options`, and collects all nodes that the outputs need.
///
/// # Errors
/// A name is not in the graph or appears twice; or the graph has no outputs, has a tensor that nothing defines, or has
/// a cycle.
pub fn cut(wiring: &Wiring<'_>, options: &ReadOptions) -> Result<Cut, ReadError> {
    let outputs = match options.outputs.as_slice() {
        [] => wiring.outputs().to_vec(),
        names => resolve(wiring, "output", names, |node| {
            wiring.results(node).iter().flatten().copied().next()
        })?,
    };
    if outputs.is_empty() {
        return Err(ReadError::model(ReasonCode::NoOutputs, "it has no outputs"));
    }
    let begin = resolve(wiring, "input", &options.inputs, |node| {
        let mut operands = wiring.operands(node).iter().flatten().copied();
        operands.find(|&id| !wiring.is_constant(id))
    })?;
    for (option, what, ids) in [("outputs", "output", &outputs), ("inputs", "input", &begin)] {
        let mut seen = BTreeSet::new();
        if let Some(&twice) = ids.iter().find(|id| !seen.insert(**id)) {
            let text = format!("the {what} `{}` is named twice", wiring.name(twice));
            return Err(ReadError::Options { option, text });
        }
    }
    between(wiring, begin, outputs, !options.outputs.is_empty())
}

/// Returns the part of the graph that ends at `outputs` and begins at `begin`, or at the graph's inputs if `begin` is
/// empty. If `is_cut` is false, all inputs of the graph are kept, even those that no output needs.
///
/// # Errors
/// A tensor is needed but nothing defines it, an output depends on an input that is not in `begin`, or nodes form a
/// cycle.
pub fn between(
    wiring: &Wiring<'_>,
    begin: Vec<TensorId>,
    outputs: Vec<TensorId>,
    is_cut: bool,
) -> Result<Cut, ReadError> {
    let mut begins = vec![false; wiring.tensor_count()];
    for id in &begin {
        begins[id.position()] = true;
    }
    let mut reached = vec![false; wiring.tensor_count()];
    let mut needed = vec![false; wiring.node_count()];
    let mut open = Vec::new();
    for &output in &outputs {
        reached[output.position()] = true;
        open.push(output);
    }
    while let Some(tensor) = open.pop() {
        if begins[tensor.position()] {
            continue;
        }
        if !wiring.is_defined(tensor) {
            let text = format!("the tensor `{}` is used, but nothing defines it", wiring.name(tensor));
            return Err(ReadError::model(ReasonCode::MissingTensor, text));
        }
        let Some(position) = wiring.producer(tensor) else {
            continue;
        };
        if !std::mem::replace(&mut needed[position], true) {
            for operand in wiring.reads(position) {
                if !std::mem::replace(&mut reached[operand.position()], true) {
                    open.push(operand);
                }
            }
        }
    }
    let is_reached = |id: &TensorId| reached[id.position()];
    if let Some(&unused) = begin.iter().find(|id| !is_reached(id)) {
        let name = wiring.name(unused);
        let text = format!("no output depends on the input `{name}`, at which the graph was to begin");
        return Err(ReadError::Options { option: "inputs", text });
    }
    let mut own = wiring.inputs().iter().copied();
    let inputs = if begin.is_empty() {
        own.filter(|id| !is_cut || is_reached(id)).collect()
    } else if let Some(left) = own.find(|id| is_reached(id) && !begin.contains(id)) {
        let name = wiring.name(left);
        let text =
            format!("the outputs depend on the model's input `{name}` too; name it among the inputs, or cut it off");
        return Err(ReadError::Options { option: "inputs", text });
    } else {
        begin
    };
    let nodes = order(wiring, &needed, &begins)?;
    Ok(Cut { inputs, outputs, nodes })
}

/// Returns the tensors that `names` refer to. Each name is the name of a tensor or of a node. For a node, `of_node`
/// chooses one of its tensors.
fn resolve(
    wiring: &Wiring<'_>,
    what: &'static str,
    names: &[String],
    of_node: impl Fn(usize) -> Option<TensorId>,
) -> Result<Vec<TensorId>, ReadError> {
    let mut by_name: BTreeMap<&str, TensorId> = BTreeMap::new();
    if !names.is_empty() {
        for node in (0..wiring.node_count()).rev() {
            by_name.extend(of_node(node).map(|tensor| (wiring.node_name(node), tensor)));
        }
        // If a tensor and a node have the same name, the name stands for the tensor.
        let results = (0..wiring.node_count()).flat_map(|node| wiring.results(node).iter().flatten());
        let tensors = results.chain(wiring.inputs());
        by_name.extend(tensors.map(|&id| (wiring.name(id), id)));
    }
    let find = |name: &String| {
        let known = by_name.get(name.as_str()).copied();
        known.ok_or_else(|| ReadError::unknown(what, name, by_name.keys().copied()))
    };
    names.iter().map(find).collect()
}

/// Sorts nodes so that each node comes after the nodes that compute its operands. If several orders are possible, the
/// order of the file decides, so a graph that is already sorted keeps its order.
fn order(wiring: &Wiring<'_>, needed: &[bool], begins: &[bool]) -> Result<Vec<usize>, ReadError> {
    // For each node: the number of operands that are not computed yet, and the nodes that read the node's results.
    let mut waiting = vec![0usize; needed.len()];
    let mut users: Vec<SmallVec<[usize; 2]>> = vec![SmallVec::new(); needed.len()];
    let mut ready: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
    let nodes = needed.iter().enumerate().filter(|(_, needed)| **needed);
    let mut left = 0;
    for (position, _) in nodes {
        for operand in wiring.reads(position).filter(|operand| !begins[operand.position()]) {
            if let Some(producer) = wiring.producer(operand) {
                waiting[position] += 1;
                users[producer].push(position);
            }
        }
        if waiting[position] == 0 {
            ready.push(Reverse(position));
        }
        left += 1;
    }
    let mut order = Vec::with_capacity(left);
    while let Some(Reverse(position)) = ready.pop() {
        order.push(position);
        for user in std::mem::take(&mut users[position]) {
            waiting[user] -= 1;
            if waiting[user] == 0 {
                ready.push(Reverse(user));
            }
        }
    }
    if order.len() == left {
        return Ok(order);
    }
    let first = needed
        .iter()
        .zip(&waiting)
        .position(|(needed, count)| *needed && *count > 0);
    let name = first.map_or("", |position| wiring.node_name(position));
    let text = format!("the node `{name}` lies on a cycle, or behind one");
    Err(ReadError::model(ReasonCode::Cycle, text))
}
