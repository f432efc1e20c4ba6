//! Which part of a graph is read, and in what order.

use super::ReadOptions;
use super::index::{Index, node_name};
use crate::error::OnnxError;
use crate::proto::NodeProto;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use strait_core::ReasonCode;

/// The part of a graph between some of its tensors.
#[derive(Debug)]
pub(crate) struct Cut<'a> {
    /// Tensors that become inputs, in the order asked for, or that of the file.
    pub(crate) inputs: Vec<&'a str>,
    /// Tensors that become outputs, likewise.
    pub(crate) outputs: Vec<&'a str>,
    /// Positions of the nodes in between, each behind the producers of its operands; that of the file where it is right.
    pub(crate) nodes: Vec<usize>,
}

/// Resolves the names in `options` and collects what is needed for the outputs.
pub(crate) fn cut<'a>(index: &Index<'a>, options: &ReadOptions) -> Result<Cut<'a>, OnnxError> {
    let declared = |infos: &'a [crate::proto::ValueInfoProto]| infos.iter().map(|i| i.name.as_str());
    let outputs = match options.outputs.as_slice() {
        [] => declared(&index.graph.output).collect(),
        names => resolve(index, "output", names, |node| {
            node.output.iter().find(|o| !o.is_empty())
        })?,
    };
    if outputs.is_empty() {
        return Err(OnnxError::model(ReasonCode::NoOutputs, "it has no outputs"));
    }
    let is_given = |name: &&String| !name.is_empty() && index.id(name).and_then(|id| index.constant(id)).is_none();
    let begin = resolve(index, "input", &options.inputs, |node| node.input.iter().find(is_given))?;
    for (option, what, names) in [("outputs", "output", &outputs), ("inputs", "input", &begin)] {
        let mut seen = BTreeSet::new();
        if let Some(twice) = names.iter().find(|n| !seen.insert(**n)) {
            let text = format!("the {what} `{twice}` is named twice");
            return Err(OnnxError::Options { option, text });
        }
    }
    between(index, begin, outputs, !options.outputs.is_empty())
}

/// The part that ends at `outputs`, and begins at `begin`, or at the graph's inputs where that is empty. Inputs of the
/// graph that nothing needs are kept unless the caller has cut it.
pub(crate) fn between<'a>(
    index: &Index<'a>,
    begin: Vec<&'a str>,
    outputs: Vec<&'a str>,
    is_cut: bool,
) -> Result<Cut<'a>, OnnxError> {
    let mut begins = vec![false; index.tensor_count()];
    for id in begin.iter().filter_map(|name| index.id(name)) {
        begins[id.position()] = true;
    }
    let mut reached = vec![false; index.tensor_count()];
    let mut needed = vec![false; index.graph.node.len()];
    let mut open = Vec::new();
    for output in &outputs {
        let id = index.id(output).ok_or_else(|| missing(output))?;
        reached[id.position()] = true;
        open.push(id);
    }
    while let Some(tensor) = open.pop() {
        if begins[tensor.position()] {
            continue;
        }
        if !index.is_defined(tensor) {
            return Err(missing(index.name(tensor)));
        }
        let Some(position) = index.producer(tensor) else {
            continue;
        };
        if !std::mem::replace(&mut needed[position], true) {
            for operand in index.reads(position) {
                if !std::mem::replace(&mut reached[operand.position()], true) {
                    open.push(operand);
                }
            }
        }
    }
    let reached = |name: &str| index.id(name).is_some_and(|id| reached[id.position()]);
    if let Some(unused) = begin.iter().find(|name| !reached(name)) {
        let text = format!("no output depends on the input `{unused}`, at which the graph was to begin");
        return Err(OnnxError::Options { option: "inputs", text });
    }
    let own = index.graph.input.iter().map(|i| i.name.as_str());
    let mut own = own.filter(|name| index.is_input(name));
    let inputs = if begin.is_empty() {
        own.filter(|name| !is_cut || reached(name)).collect()
    } else if let Some(left) = own.find(|name| reached(name) && !begin.contains(name)) {
        let text =
            format!("the outputs depend on the model's input `{left}` too; name it among the inputs, or cut it off");
        return Err(OnnxError::Options { option: "inputs", text });
    } else {
        begin
    };
    let nodes = order(index, &needed, &begins)?;
    Ok(Cut { inputs, outputs, nodes })
}

fn missing(tensor: &str) -> OnnxError {
    let text = format!("the tensor `{tensor}` is used, but nothing defines it");
    OnnxError::model(ReasonCode::MissingTensor, text)
}

/// The tensors that `names` stand for: tensors themselves, or what `of_node` takes of a node.
fn resolve<'a>(
    index: &Index<'a>,
    what: &'static str,
    names: &[String],
    of_node: impl Fn(&'a NodeProto) -> Option<&'a String>,
) -> Result<Vec<&'a str>, OnnxError> {
    let mut by_name: BTreeMap<&str, &'a str> = BTreeMap::new();
    if !names.is_empty() {
        for node in index.graph.node.iter().rev() {
            by_name.extend(of_node(node).map(|tensor| (node_name(node), tensor.as_str())));
        }
        // A tensor comes before a node of the same name.
        let results = index.graph.node.iter().flat_map(|node| &node.output);
        let tensors = results.chain(index.inputs().map(|input| &input.name));
        by_name.extend(
            tensors
                .filter(|name| !name.is_empty())
                .map(|name| (name.as_str(), name.as_str())),
        );
    }
    let find = |name: &String| {
        let known = by_name.get(name.as_str()).copied();
        known.ok_or_else(|| OnnxError::unknown(what, name, by_name.keys().copied()))
    };
    names.iter().map(find).collect()
}

/// Sorts nodes so that each stands behind the producers of its operands; the position in the file decides where that
/// leaves a choice, so a graph that is sorted stays as it is.
fn order(index: &Index<'_>, needed: &[bool], begins: &[bool]) -> Result<Vec<usize>, OnnxError> {
    // By node: how many of its operands are still to be made, and who waits for it.
    let mut waiting = vec![0usize; needed.len()];
    let mut users: Vec<SmallVec<[usize; 2]>> = vec![SmallVec::new(); needed.len()];
    let mut ready: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
    let nodes = needed.iter().enumerate().filter(|(_, needed)| **needed);
    let mut left = 0;
    for (position, _) in nodes {
        for operand in index.reads(position).filter(|operand| !begins[operand.position()]) {
            if let Some(producer) = index.producer(operand) {
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
    let name = first.map_or("", |position| node_name(&index.graph.node[position]));
    let text = format!("the node `{name}` lies on a cycle, or behind one");
    Err(OnnxError::model(ReasonCode::Cycle, text))
}
