//! What in the end of a model does not quantize well.

use std::collections::BTreeSet;

use strait_core::{Graph, Module, Node, NodeId, Op, Term, ValueId};

use super::{Sign, ends::variables};

/// Ops that do not quantize well wherever they stand in the end, each with the reason.
const SIGNS: &[(Term, &str)] = &[
    (
        Term::NonMaxSuppression,
        "it compares boxes and scores, and equal codes make ties of them",
    ),
    (Term::TopK, "it orders scores, and equal codes make ties of them"),
    (Term::NonZero, "how many results it has depends on data"),
    (Term::Unique, "how many results it has depends on data"),
    (
        Term::RoiAlign,
        "it computes with coordinates, for which 8 bits are too few",
    ),
    (Term::GatherNd, "it selects by indices that were computed"),
    (
        Term::Exp,
        "it multiplies the error of its operand by its result: an exponent of box sizes",
    ),
];

/// Functions whose results lie in a small range.
const BOUNDED: &[Term] = &[Term::Sigmoid, Term::HardSigmoid, Term::Softmax, Term::Tanh];

/// At most this many nodes in front of a concatenation are skipped because they only move elements.
const MOST: usize = 16;

/// The nodes of `end` that do not quantize well.
pub(super) fn signs(module: &Module, end: &BTreeSet<NodeId>) -> Vec<(NodeId, Sign)> {
    let graph = module.main();
    let nodes = end.iter().filter_map(|&id| Some((id, graph.node(id)?)));
    let signs = nodes.filter_map(|(id, node)| {
        let why = sign(module, graph, node)?;
        let layer = node.sources.first().copied().unwrap_or(node.name);
        let sign = Sign {
            layer: module.name(layer).to_owned(),
            op: node.op.term().name().to_owned(),
            why: why.to_owned(),
        };
        Some((id, sign))
    });
    signs.collect()
}

fn sign(module: &Module, graph: &Graph, node: &Node) -> Option<&'static str> {
    let term = node.op.term();
    if let Some((_, why)) = SIGNS.iter().find(|(own, _)| *own == term) {
        return Some(why).filter(|_| !is_of_softmax(graph, node)).copied();
    }
    match &node.op {
        Op::Concat(_) if is_mixed(graph, node) => {
            Some("it joins numbers from 0 to 1 with numbers of larger ranges on one scale")
        }
        Op::Add(_) | Op::Sub(_) | Op::Mul(_) if has_a_grid_of_places(module, graph, node) => {
            Some("it computes coordinates with a constant for each place, for which 8 bits are too few")
        }
        _ => None,
    }
}

/// True for an exponential that is summed: it is part of a softmax or of its logarithm.
fn is_of_softmax(graph: &Graph, node: &Node) -> bool {
    let mut readers = node.outputs.iter().flat_map(|&value| graph.uses(value));
    let is_sum = |id| graph.node(id).is_some_and(|node| node.op.term() == Term::ReduceSum);
    node.op.term() == Term::Exp && readers.any(|at| is_sum(at.node))
}

/// True if some operands are results of bounded functions and others are not.
fn is_mixed(graph: &Graph, node: &Node) -> bool {
    let kinds: BTreeSet<bool> = variables(graph, node)
        .filter_map(|value| is_bounded(graph, value))
        .collect();
    kinds.len() == 2
}

/// True if a value is the result of a bounded function, behind nodes that only move elements. `None` for integers and
/// inputs.
fn is_bounded(graph: &Graph, mut value: ValueId) -> Option<bool> {
    for _ in 0..MOST {
        if !graph.value(value)?.ty.elem.is_float() {
            return None;
        }
        let (_, node) = graph.producer(value)?;
        let term = node.op.term();
        if BOUNDED.contains(&term) {
            return Some(true);
        }
        if !term.moves_codes() || term == Term::Concat {
            return Some(false);
        }
        value = node.input(0)?;
    }
    None
}

/// True if a constant operand of floats has different numbers along two or more axes, or along the longest axis of the
/// result, and not along its channels alone.
fn has_a_grid_of_places(module: &Module, graph: &Graph, node: &Node) -> bool {
    let Some(result) = node.result().and_then(|value| graph.value(value)) else {
        return false;
    };
    let is_grid = |value: ValueId| {
        let tensor = graph.data_of(value).and_then(|data| module.data(data))?;
        let long = tensor.shape().iter().filter(|&&extent| extent > 1).count();
        Some(result.ty.elem.is_float() && result.ty.shape.len() >= 3 && long >= 2)
    };
    variables(graph, node).next().is_some() && node.inputs.iter().flatten().any(|&value| is_grid(value) == Some(true))
}
