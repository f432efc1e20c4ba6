//! Which part of a graph is read, and in what order.

use super::ReadOptions;
use super::index::{Index, node_name};
use crate::error::OnnxError;
use crate::proto::NodeProto;
use std::collections::{BTreeMap, BTreeSet};
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
    let is_given = |name: &&String| !name.is_empty() && !index.initializers.contains_key(name.as_str());
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
    let begins: BTreeSet<&str> = begin.iter().copied().collect();
    let mut reached: BTreeSet<&str> = outputs.iter().copied().collect();
    let mut nodes: BTreeSet<usize> = BTreeSet::new();
    let mut open = outputs.clone();
    while let Some(tensor) = open.pop() {
        if begins.contains(tensor) {
            continue;
        }
        if !index.defines(tensor) {
            let text = format!("the tensor `{tensor}` is used, but nothing defines it");
            return Err(OnnxError::model(ReasonCode::MissingTensor, text));
        }
        let Some(&position) = index.producers.get(tensor) else {
            continue;
        };
        if nodes.insert(position) {
            for operand in index.graph.node[position].input.iter().filter(|o| !o.is_empty()) {
                if reached.insert(operand) {
                    open.push(operand);
                }
            }
        }
    }
    if let Some(unused) = begin.iter().find(|b| !reached.contains(**b)) {
        let text = format!("no output depends on the input `{unused}`, at which the graph was to begin");
        return Err(OnnxError::Options { option: "inputs", text });
    }
    let own = index.graph.input.iter().map(|i| i.name.as_str());
    let mut own = own.filter(|name| index.inputs.contains_key(name));
    let inputs = if begin.is_empty() {
        own.filter(|name| !is_cut || reached.contains(name)).collect()
    } else if let Some(left) = own.find(|name| reached.contains(name) && !begins.contains(name)) {
        let text =
            format!("the outputs depend on the model's input `{left}` too; name it among the inputs, or cut it off");
        return Err(OnnxError::Options { option: "inputs", text });
    } else {
        begin
    };
    let nodes = order(index, &nodes, &begins)?;
    Ok(Cut { inputs, outputs, nodes })
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
        let tensors = index.producers.keys().chain(index.inputs.keys());
        by_name.extend(tensors.map(|name| (*name, *name)));
    }
    let find = |name: &String| {
        let known = by_name.get(name.as_str()).copied();
        known.ok_or_else(|| OnnxError::unknown(what, name, by_name.keys().copied()))
    };
    names.iter().map(find).collect()
}

/// Sorts nodes so that each stands behind the producers of its operands; the position in the file decides where that
/// leaves a choice, so a graph that is sorted stays as it is.
fn order(index: &Index<'_>, nodes: &BTreeSet<usize>, begins: &BTreeSet<&str>) -> Result<Vec<usize>, OnnxError> {
    let mut users: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut missing: BTreeMap<usize, usize> = BTreeMap::new();
    let mut ready: BTreeSet<usize> = BTreeSet::new();
    for &position in nodes {
        let operands = index.graph.node[position]
            .input
            .iter()
            .filter(|o| !begins.contains(o.as_str()));
        let producers: Vec<usize> = operands
            .filter_map(|o| index.producers.get(o.as_str()).copied())
            .collect();
        if producers.is_empty() {
            ready.insert(position);
        }
        missing.insert(position, producers.len());
        for producer in producers {
            users.entry(producer).or_default().push(position);
        }
    }
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(position) = ready.pop_first() {
        order.push(position);
        missing.remove(&position);
        for user in users.get(&position).into_iter().flatten() {
            if let Some(count) = missing.get_mut(user) {
                *count -= 1;
                if *count == 0 {
                    ready.insert(*user);
                }
            }
        }
    }
    match missing.first_key_value() {
        None => Ok(order),
        Some((&position, _)) => {
            let name = node_name(&index.graph.node[position]);
            let text = format!("the node `{name}` lies on a cycle, or behind one");
            Err(OnnxError::model(ReasonCode::Cycle, text))
        }
    }
}
