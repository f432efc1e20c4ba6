//! Removes pairs of a dequantize and a quantize on the same grid: together they change no code.
//!
//! With x = (q − z)·s in f32, x / s equals q − z up to one rounding, and so rint(x / s) + z = q for |q − z| < 2^22.
//! Such pairs occur at the inputs and outputs of a model that has codes there: the model dequantizes what the
//! accelerator quantizes again.

use strait_core::op::Op;
use strait_core::{Failure, GraphId, Module, NodeId, Patch, Source, ValueId};

/// Removes such pairs from a graph.
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

/// Finds the quantize nodes that can be removed: the node, its result, and the equal codes before the dequantize.
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
        let Some(codes) = producer.inputs.first().copied().flatten() else {
            continue;
        };
        let Some((before, after)) = graph.value(codes).zip(graph.value(made)) else {
            continue;
        };
        // An output has to keep its name. If the codes are an input or another output, they have a fixed name
        // themselves.
        let keeps_name = !graph.is_output(made) || (graph.producer(codes).is_some() && !graph.is_output(codes));
        if before.ty == after.ty && before.quant.is_some() && before.quant == after.quant && keeps_name {
            found.push((id, made, codes));
        }
    }
    found
}

/// Dequantize nodes whose result nobody reads.
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
