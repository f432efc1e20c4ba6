//! Removes a `dequantize` that is followed by a `quantize` to the same grid. Such a pair of nodes changes no code.
//!
//! For a code q on a grid with scale s and zero point z, the dequantize gives x = (q − z)·s in f32. The quotient x / s
//! differs from q − z only by rounding errors in f32, so rint(x / s) + z = q for |q − z| < 2^22. Such pairs occur at
//! inputs and outputs that have codes in the model: the model dequantizes them, and the accelerator would quantize them
//! again.

use strait_core::op::Op;
use strait_core::{Failure, GraphId, Module, NodeId, Patch, Source, ValueId};

/// Removes all pairs of a dequantize and a quantize to the same grid from a graph.
///
/// # Errors
/// A defect of the compiler.
pub(crate) fn cancel(module: &mut Module, graph: GraphId) -> Result<(), Failure> {
    for (quantize, made, codes) in pairs(module, graph) {
        let patch = Patch {
            replace: vec![(made, Source::Old(codes))],
            remove: vec![quantize],
            ..Patch::default()
        };
        module
            .apply(graph, patch)
            .map_err(|error| Failure::defect(error.to_string()))?;
    }
    for dequantize in unused(module, graph) {
        let patch = Patch {
            remove: vec![dequantize],
            ..Patch::default()
        };
        module
            .apply(graph, patch)
            .map_err(|error| Failure::defect(error.to_string()))?;
    }
    Ok(())
}

/// Finds the quantize nodes that can be removed. Returns for each of them the node, its result, and the operand of the
/// dequantize before it. This operand has the same codes as the result, and so can replace the result.
fn pairs(module: &Module, graph: GraphId) -> Vec<(NodeId, ValueId, ValueId)> {
    let Some(graph) = module.graph(graph) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (id, node) in graph.nodes() {
        let (Op::Quantize(_), Some(&Some(real)), Some(&made)) = (&node.op, node.inputs.first(), node.outputs.first())
        else {
            continue;
        };
        let Some((_, producer)) = graph
            .producer(real)
            .filter(|(_, node)| matches!(node.op, Op::Dequantize(_)))
        else {
            continue;
        };
        let Some(codes) = producer.input(0) else {
            continue;
        };
        let Some((before, after)) = graph.value(codes).zip(graph.value(made)) else {
            continue;
        };
        // An output has to keep its name. If the codes are an input or another output, their name is fixed too.
        let keeps_name = !graph.is_output(made) || (graph.producer(codes).is_some() && !graph.is_output(codes));
        if before.ty == after.ty && before.quant.is_some() && before.quant == after.quant && keeps_name {
            found.push((id, made, codes));
        }
    }
    found
}

/// Finds dequantize nodes whose results no node reads.
fn unused(module: &Module, graph: GraphId) -> Vec<NodeId> {
    let Some(graph) = module.graph(graph) else {
        return Vec::new();
    };
    let is_unused = |value: &ValueId| graph.uses(*value).next().is_none() && !graph.is_output(*value);
    let nodes = graph.nodes().filter(|(_, node)| matches!(node.op, Op::Dequantize(_)));
    nodes
        .filter(|(_, node)| node.outputs.iter().all(is_unused))
        .map(|(id, _)| id)
        .collect()
}
