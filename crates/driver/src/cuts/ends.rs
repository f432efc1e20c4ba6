//! Finds the end of a model: everything behind its last layers with weights.

use std::collections::BTreeSet;

use strait_core::{Graph, Module, Node, NodeId, Term, ValueId};

/// A convolution or a matrix product of probabilities with no more weights than this is arithmetic of the end: the
/// expected value of a distribution over distances.
const FEW_WEIGHTS: u64 = 64;

/// At most this many nodes behind a softmax are skipped because they only move elements.
const MOST_MOVES: usize = 8;

/// What computes with the results of a layer with weights as codes just as well, so that it stays in front of a cut.
const KEPT: &[Term] = &[
    Term::Relu,
    Term::Clip,
    Term::LeakyRelu,
    Term::Elu,
    Term::Silu,
    Term::HardSwish,
    Term::Gelu,
    Term::Mish,
    Term::BatchNormalization,
    Term::MaxPool,
    Term::AveragePool,
    Term::GlobalAveragePool,
    Term::Resize,
];

/// True for a layer with weights.
fn weighs(module: &Module, node: &Node) -> bool {
    let elements = |value: ValueId| {
        let tensor = module.data(module.main().data_of(value)?)?;
        Some(tensor.shape().iter().product::<u64>())
    };
    match node.op.term() {
        Term::Conv | Term::ConvTranspose | Term::Gemm => {
            let weights = node.input(node.op.weights_operand()).and_then(elements);
            weights.is_none_or(|count| count > FEW_WEIGHTS) || !reads_probabilities(module.main(), node)
        }
        Term::MatMul | Term::Recurrent | Term::DeformConv => true,
        _ => false,
    }
}

/// True if the first operand of a node is the result of a softmax, or the same numbers in another shape.
fn reads_probabilities(graph: &Graph, node: &Node) -> bool {
    let mut at = node.input(0);
    for _ in 0..MOST_MOVES {
        let Some((_, producer)) = at.and_then(|value| graph.producer(value)) else {
            return false;
        };
        match producer.op.term() {
            Term::Softmax => return true,
            term if term.moves_codes() => at = producer.input(0),
            _ => return false,
        }
    }
    false
}

/// The operands of a node that are not constants.
pub(super) fn variables<'a>(graph: &'a Graph, node: &'a Node) -> impl Iterator<Item = ValueId> + 'a {
    let operands = node.inputs.iter().flatten().copied();
    operands.filter(|&value| graph.data_of(value).is_none())
}

/// The nodes from which no layer with weights is reached, without those that stay in front of a cut.
pub(super) fn end(module: &Module) -> BTreeSet<NodeId> {
    let graph = module.main();
    let mut order: Vec<NodeId> = graph.topological_order().unwrap_or_default();
    let mut end: BTreeSet<NodeId> = BTreeSet::new();
    for &id in order.iter().rev() {
        let Some(node) = graph.node(id) else { continue };
        let mut readers = node.outputs.iter().flat_map(|&value| graph.uses(value));
        if !weighs(module, node) && readers.all(|at| end.contains(&at.node)) {
            end.insert(id);
        }
    }
    order.retain(|id| end.contains(id));
    // In the order of the graph, so that what follows a node that is kept may be kept as well.
    for id in order {
        let Some(node) = graph.node(id) else { continue };
        let in_front = |value: ValueId| graph.producer(value).is_some_and(|(id, _)| !end.contains(&id));
        let is_sum = node.op.term() == Term::Add && variables(graph, node).count() == 2;
        if (is_sum || KEPT.contains(&node.op.term())) && variables(graph, node).all(in_front) {
            end.remove(&id);
        }
    }
    end
}

/// The nodes of `end` that are connected with one of `from`, over the values that are not constants.
pub(super) fn connected(graph: &Graph, end: &BTreeSet<NodeId>, from: impl Iterator<Item = NodeId>) -> BTreeSet<NodeId> {
    let (mut open, mut found): (Vec<NodeId>, BTreeSet<NodeId>) = (from.collect(), BTreeSet::new());
    while let Some(id) = open.pop() {
        let Some(node) = graph.node(id).filter(|_| end.contains(&id)) else {
            continue;
        };
        if !found.insert(id) {
            continue;
        }
        open.extend(
            node.outputs
                .iter()
                .flat_map(|&value| graph.uses(value))
                .map(|at| at.node),
        );
        for value in variables(graph, node) {
            open.extend(graph.producer(value).map(|(id, _)| id));
        }
        // Nodes of the end that read the same result of a layer in front of it are cut off together.
        let shared = variables(graph, node)
            .flat_map(|value| graph.uses(value))
            .map(|at| at.node);
        open.extend(shared);
    }
    found
}

/// The values from outside that the nodes `inside` read, in the order of the graph.
pub(super) fn reads(graph: &Graph, inside: &BTreeSet<NodeId>) -> BTreeSet<ValueId> {
    let nodes = inside.iter().filter_map(|&id| graph.node(id));
    let read = nodes.flat_map(|node| variables(graph, node));
    read.filter(|&value| graph.producer(value).is_none_or(|(id, _)| !inside.contains(&id)))
        .collect()
}
