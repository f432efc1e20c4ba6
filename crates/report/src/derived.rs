//! Builds those parts of a report that only depend on the graphs and certificates of an artifact, and compares an
//! existing report with them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value as Json;
use strait_container::Model;
use strait_core::{
    DataId, Graph, Module, Node, Op, Placement, Value, ValueId,
    shape::{element_count, fixed_dims},
};

use strait_compile::types::node_operations;

use super::{FiredReport, Grid, Layer, OperandReport, Report, Summary, ValueReport, fusions::fired_by};

/// Returns sentences that say where a report contradicts the model. If a contradiction is about a layer of the model,
/// its sentence names the layer.
///
/// Only those parts of the report that follow from the integer model alone are compared. Parts that also depend on the
/// float model, the configuration, the target's table or samples are not compared. The size is not compared either,
/// because an artifact stores equal tensors only once.
pub fn disagreements(report: &Report, model: &Model) -> Vec<String> {
    let (module, graph) = (&model.module, model.module.main());
    let made_by: BTreeMap<&str, &Node> = (graph.values())
        .filter_map(|(id, value)| Some((module.name(value.name), graph.producer(id)?.1)))
        .collect();
    let mut found = Vec::new();
    let certificates = model.certificates.iter();
    let fired: Vec<(&str, FiredReport)> = (certificates.enumerate())
        .map(|(position, record)| {
            // If a requantized value has become a constant, no node computes it any more. Then the layer's name is
            // taken from the report.
            let before = || report.fusions.fired.get(position).map_or("", |fired| &fired.layer);
            let layer = made_by
                .get(&*record.node)
                .map_or_else(before, |node| module.name(node.name));
            (&*record.node, fired_by(layer, &record.row, &record.certificate))
        })
        .collect();
    if fired.len() != report.fusions.fired.len() {
        let (said, there) = (report.fusions.fired.len(), fired.len());
        found.push(format!(
            "it speaks of {said} fusions, but there are {there} certificates"
        ));
    }
    for ((value, expected), said) in fired.iter().zip(&report.fusions.fired) {
        let expected = FiredReport {
            // Reports of older versions do not have this key.
            accumulators: expected.accumulators.filter(|_| said.accumulators.is_some()),
            ..expected.clone()
        };
        found.extend(another(&format!("the fusion that makes `{value}`"), &expected, said));
    }
    let order = graph.topological_order().unwrap_or_default();
    let nodes: Vec<&Node> = order.into_iter().filter_map(|id| graph.node(id)).collect();
    if nodes.len() != report.layers.len() {
        let (said, there) = (report.layers.len(), nodes.len());
        found.push(format!("it speaks of {said} layers, but the graph has {there}"));
    }
    let mut by_certificate: BTreeMap<&str, &FiredReport> = BTreeMap::new();
    for (value, fired) in &fired {
        by_certificate.entry(value).or_insert(fired);
    }
    for (node, said) in nodes.iter().zip(&report.layers) {
        let now = layer(module, node, |value| {
            by_certificate.get(value).map(|&fired| fired.clone())
        });
        // Reports of older versions do not have these two keys.
        let older = said.operations.is_none() && said.operands.is_empty();
        let unsaid = said.fusion.as_ref().is_none_or(|said| said.accumulators.is_none());
        let expected = Layer {
            fusion: now.fusion.map(|mut fusion| {
                fusion.accumulators = fusion.accumulators.filter(|_| !unsaid);
                fusion
            }),
            operands: if older { Vec::new() } else { now.operands },
            operations: now.operations.filter(|_| !older),
            free_integers: said.free_integers.clone(),
            from_scales: said.from_scales.clone(),
            evidence: said.evidence.clone(),
            rests_on: said.rests_on.clone(),
            outside: said.outside.clone(),
            ..now
        };
        found.extend(another(&format!("layer `{}`", expected.name), &expected, said));
    }
    let exact = fired.iter().filter(|(_, fired)| fired.verdict.is_exact()).count();
    let expected = summary(graph, &nodes, exact, fired.len() - exact, report.fusions.refused.len());
    found.extend(another("the whole", &expected, &report.summary));
    found
}

/// A sentence that names the first key whose value in the report (`said`) is not the expected value.
fn another<T: Serialize + PartialEq>(what: &str, expected: &T, said: &T) -> Option<String> {
    if expected == said {
        return None;
    }
    let [expected, said] = [expected, said].map(|value| serde_json::to_value(value).unwrap_or_default());
    let keys = expected.as_object().into_iter().flatten();
    let other = |(key, value): &(&String, &Json)| said.get(key.as_str()) != Some(value);
    let key = keys.clone().find(other).map_or("", |(key, _)| key);
    let [expected, said] = [&expected, &said].map(|whole| whole.get(key).map(Json::to_string).unwrap_or_default());
    Some(format!("of {what}, it says `{key}`: {said}, but it is {expected}"))
}

/// Returns the entry of a report for one layer of the graph. `made_by` gets the name of a value and finds the fusion
/// that made this value.
pub(super) fn layer(module: &Module, node: &Node, made_by: impl Fn(&str) -> Option<FiredReport>) -> Layer {
    let graph = module.main();
    let value = |&id: &ValueId| graph.value(id).map(|value| value_report(module, value));
    let results = at_most(node.outputs.len(), node.outputs.iter().filter_map(value));
    let operands = node.inputs.iter().flatten().filter_map(|&id| operand(module, id));
    let fused = node.fused.as_ref();
    Layer {
        name: module.name(node.name).to_owned(),
        sources: module.sources(node),
        op: node.op.term().to_string(),
        host: match &node.place {
            Placement::Accelerator => None,
            Placement::Host(why) => Some(why.as_ref().into()),
        },
        operands: at_most(node.inputs.len(), operands),
        operations: operations(module, node),
        form: node.requantization().map(|form| form.kind().name().to_owned()),
        free_integers: None,
        from_scales: None,
        clamp: fused.and_then(|fused| fused.clamp),
        fusion: fused
            .and(results.first())
            .and_then(|result| made_by(&result.name))
            .map(Box::new),
        evidence: None,
        rests_on: Vec::new(),
        outside: Vec::new(),
        results,
    }
}

/// Collects at most `count` items, in memory for just as many. A vector that grows begins with room for four, and most nodes
/// have one operand and one result.
fn at_most<T>(count: usize, items: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = Vec::with_capacity(count);
    all.extend(items);
    all
}

fn operand(module: &Module, id: ValueId) -> Option<OperandReport> {
    let graph = module.main();
    let value = graph.value(id)?;
    Some(OperandReport {
        name: module.name(value.name).to_owned(),
        elem: value.ty.elem.name().to_owned(),
        shape: fixed_dims(&value.ty.shape).unwrap_or_default().to_vec(),
        constant: graph.data_of(id).is_some(),
    })
}

fn operations(module: &Module, node: &Node) -> Option<u64> {
    let (id, _) = module.main().producer(*node.outputs.first()?)?;
    Some(node_operations(module, id))
}

fn value_report(module: &Module, value: &Value) -> ValueReport {
    ValueReport {
        name: module.name(value.name).to_owned(),
        elem: value.ty.elem.name().to_owned(),
        shape: fixed_dims(&value.ty.shape).unwrap_or_default().to_vec(),
        grid: value.quant.as_deref().map(|quant| Grid {
            scale: quant.scale.values().to_vec(),
            zero_point: quant.zero_point.values().to_vec(),
        }),
    }
}

/// Counts the nodes of each kind. A node that dequantizes the weights of a product is counted as part of the product. A
/// node that only rounds real numbers to the grid of the model is not counted as a conversion.
pub(super) fn summary(graph: &Graph, nodes: &[&Node], exact: usize, bounded: usize, unfused: usize) -> Summary {
    let converts = |node: &Node| matches!(node.op, Op::Quantize(_) | Op::Dequantize(_));
    let of_weights = |node: &Node| {
        let operand = node.inputs.first().copied().flatten();
        matches!(node.op, Op::Dequantize(_)) && operand.is_some_and(|codes| graph.data_of(codes).is_some())
    };
    let count = |is: &dyn Fn(&Node) -> bool| nodes.iter().filter(|node| is(node)).count();
    let conversions = count(&|node| converts(node) && !of_weights(node) && !rounds(graph, node));
    let host = count(&|node| !converts(node) && node.place != Placement::Accelerator);
    let requantize = nodes.iter().filter(|node| matches!(node.op, Op::Requantize(_)));
    let written = requantize
        .flat_map(|node| &node.outputs)
        .filter_map(|&id| graph.value(id));
    Summary {
        accelerator: count(&|node| !converts(node)) - host,
        host,
        conversions,
        exact,
        bounded,
        unfused,
        requantized: written.filter_map(|value| element_count(&value.ty.shape)).sum(),
    }
}

/// True if a node only takes part in rounding real numbers. Such a node either dequantizes codes that another node has
/// just quantized, or quantizes numbers to codes that all readers dequantize.
fn rounds(graph: &Graph, node: &Node) -> bool {
    match (&node.op, node.inputs.first(), node.outputs.first()) {
        (Op::Quantize(_), _, Some(&codes)) => {
            let read = || graph.uses(codes).filter_map(|at| graph.node(at.node));
            !graph.is_output(codes) && read().all(|node| matches!(node.op, Op::Dequantize(_)))
        }
        (Op::Dequantize(_), Some(&Some(codes)), _) => {
            let made = graph.producer(codes);
            made.is_some_and(|(_, node)| matches!(node.op, Op::Quantize(_)))
        }
        _ => false,
    }
}

/// Returns the number of bytes of the constants that the main graph uses. Equal tensors are counted once, because an
/// artifact stores them once, even if the compiler made several tensors from a shared one.
pub(super) fn parameter_bytes(module: &Module) -> u64 {
    let graph: &Graph = module.main();
    let used = graph.values().filter(|&(id, _)| graph.uses(id).next().is_some());
    let constants: BTreeSet<DataId> = used.filter_map(|(id, _)| graph.data_of(id)).collect();
    // The lengths come first: comparing the bytes of two tensors ends at the first difference.
    let mut seen = BTreeSet::new();
    let tensors = constants.iter().filter_map(|&id| module.data(id));
    tensors
        .filter(|tensor| seen.insert((tensor.elem(), tensor.bytes().len(), tensor.bytes())))
        .map(|tensor| tensor.bytes().len() as u64)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_that_layers_share_is_counted_once() {
        let text = "strait 1 float
            graph @main(%x: f32[1,2]) {
              %a: f32[1,2] = gemm(%x, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
              %b: f32[1,2] = gemm(%a, @v) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
              %c: f32[1,2] = gemm(%b, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
              return %c
            }
            data @w: f32[2,2] = inline [1.0, 2.0, 3.0, 4.0]
            data @v: f32[2,2] = inline [1.0, 2.0, 3.0, 4.0]";
        let module = strait_core::text::parse(text).unwrap();
        assert_eq!(parameter_bytes(&module), 16);
    }
}
