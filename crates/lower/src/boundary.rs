//! Codes that are dequantized and quantized on the same grid again are these codes.
//!
//! With x = (q − z)·s in f32, x / s is q − z up to one rounding, and so rint(x / s) + z = q for |q − z| < 2^22. A model whose
//! inputs or outputs are codes has such pairs at its border: it dequantizes what the accelerator quantizes.

use strait_core::op::Op;
use strait_core::{Failure, GraphId, Module, NodeId, Patch, Source, ValueId};

/// Takes such pairs out of a graph.
///
/// # Errors
/// A defect of ours.
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

/// Nodes that quantize, with what they make and the codes that it was before.
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
        // An output keeps its name, which an input or another output cannot take over.
        let keeps_name = !graph.is_output(made) || (graph.producer(codes).is_some() && !graph.is_output(codes));
        if before.ty == after.ty && before.quant.is_some() && before.quant == after.quant && keeps_name {
            found.push((id, made, codes));
        }
    }
    found
}

/// Nodes that dequantize for nobody.
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
