//! From what a compilation made to its report.

use std::collections::{BTreeMap, BTreeSet};

use strait_core::{DataId, Graph, Module, Node, Op, Placement, Value, ValueId, shape::fixed_dims};
use strait_lower::{Fused, Fusion};
use strait_requantize::Per;
use strait_target::{
    TargetSpec,
    spec::{Nearness, Support},
};

use super::{
    FreeIntegers, Grid, Layer, Report, Rewrite, RuleReport, SCHEMA, Size, Summary, TargetReport, ValueReport,
    evidence::{self, Grounds},
    fusions::{fired, fusions, reason},
};

/// What the report is made from.
#[derive(Clone, Copy, Debug)]
pub struct Material<'a> {
    /// The target's table.
    pub spec: &'a TargetSpec,
    /// The canonical float module.
    pub canonical: &'a Module,
    /// The annotated module that the integer one was made from.
    pub annotated: &'a Module,
    /// The integer module; its main graph is the fused one.
    pub integer: &'a Module,
    /// What became of the requantizations.
    pub fusion: &'a Fusion,
    /// How near free integers are to the ideal, by the name of the requantization.
    pub nearness: &'a BTreeMap<String, Nearness>,
    /// The rewrites that made the canonical module, in their order.
    pub rewrites: &'a [(&'static str, String)],
}

/// The report, without accuracy, gates and rules.
pub fn build(material: Material<'_>) -> Report {
    let Material {
        spec,
        canonical,
        annotated,
        integer,
        fusion,
        nearness,
        rewrites,
    } = material;
    let fused: BTreeMap<&str, &Fused> = fusion.fired.iter().map(|fired| (fired.value.as_str(), fired)).collect();
    let graph = integer.main();
    // The verifier has seen to it that there is an order.
    let order = graph.topological_order().unwrap_or_default();
    let nodes = order.into_iter().filter_map(|id| graph.node(id));
    let rows = fused
        .iter()
        .map(|(&value, fired)| (value, fired.row.as_str()))
        .collect();
    let grounds = Grounds::new(spec, annotated, integer, &rows);
    let supports: Vec<Vec<Support<'_>>> = nodes.clone().map(|node| grounds.of(node)).collect();
    let layers = nodes.clone().zip(&supports);
    let layers = layers
        .map(|(node, supports)| layer(integer, node, supports, &fused, nearness))
        .collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (rule, _) in rewrites {
        *counts.entry(rule).or_default() += 1;
    }
    let is_conversion = |node: &&Node| matches!(node.op, Op::Quantize(_) | Op::Dequantize(_));
    let (conversions, operations): (Vec<&Node>, Vec<&Node>) = nodes.partition(is_conversion);
    let host = operations
        .iter()
        .filter(|node| node.place != Placement::Accelerator)
        .count();
    let exact = fusion
        .fired
        .iter()
        .filter(|fired| fired.certificate.worst().max_lsb() == 0)
        .count();
    Report {
        schema: SCHEMA,
        strait: env!("CARGO_PKG_VERSION").to_owned(),
        target: TargetReport {
            id: spec.id.to_string(),
            version: spec.version.to_string(),
            reference: spec.reference.oracle.clone(),
            evidence: spec.reference.evidence.name().to_owned(),
        },
        summary: Summary {
            accelerator: operations.len() - host,
            host,
            conversions: conversions.len(),
            exact,
            bounded: fusion.fired.len() - exact,
            unfused: fusion.refused.len(),
        },
        evidence: evidence::count(&spec.reference.oracle, &supports),
        size: Size {
            float_bytes: parameter_bytes(canonical),
            integer_bytes: parameter_bytes(integer),
        },
        accuracy: None,
        gates: Vec::new(),
        layers,
        fusions: fusions(spec, fusion),
        rewrites: counts
            .into_iter()
            .map(|(rule, applied)| Rewrite {
                rule: rule.to_owned(),
                applied,
            })
            .collect(),
        rules: Vec::<RuleReport>::new(),
    }
}

fn layer(
    module: &Module,
    node: &Node,
    supports: &[Support<'_>],
    fused: &BTreeMap<&str, &Fused>,
    nearness: &BTreeMap<String, Nearness>,
) -> Layer {
    let graph = module.main();
    let value = |&id: &ValueId| graph.value(id).map(|value| value_report(module, value));
    let results: Vec<ValueReport> = node.outputs.iter().filter_map(value).collect();
    let made_by = node
        .fused
        .as_ref()
        .and_then(|_| fused.get(results.first()?.name.as_str()).copied());
    Layer {
        name: module.name(node.name).to_owned(),
        sources: node
            .sources
            .iter()
            .map(|&source| module.name(source).to_owned())
            .collect(),
        op: node.op.term().to_owned(),
        host: match &node.place {
            Placement::Accelerator => None,
            Placement::Host(why) => Some(reason(why)),
        },
        form: evidence::form(node).map(|form| form.kind().name().to_owned()),
        // Of two that became one, the second makes the codes of the result.
        free_integers: (node.sources.iter().rev())
            .find_map(|&source| nearness.get(module.name(source)))
            .map(FreeIntegers::from),
        clamp: node.fused.as_ref().and_then(|fused| fused.clamp),
        fusion: made_by.map(fired),
        evidence: supports.last().map(|weakest| weakest.evidence.to_string()),
        rests_on: supports.iter().map(|support| support.row.to_string()).collect(),
        results,
    }
}

fn value_report(module: &Module, value: &Value) -> ValueReport {
    ValueReport {
        name: module.name(value.name).to_owned(),
        elem: value.ty.elem.name().to_owned(),
        shape: fixed_dims(&value.ty.shape).unwrap_or_default().to_vec(),
        grid: value.quant.as_deref().map(|quant| Grid {
            scale: all(&quant.scale),
            zero_point: all(&quant.zero_point),
        }),
    }
}

fn all<T: Clone>(per: &Per<T>) -> Vec<T> {
    match per {
        Per::Tensor(one) => vec![one.clone()],
        Per::Channel(all) => all.to_vec(),
    }
}

/// The bytes of the constants that the main graph uses, each once.
fn parameter_bytes(module: &Module) -> u64 {
    let graph: &Graph = module.main();
    let used = graph.values().filter(|&(id, _)| graph.uses(id).next().is_some());
    let constants: BTreeSet<DataId> = used.filter_map(|(id, _)| graph.data_of(id)).collect();
    constants
        .iter()
        .filter_map(|&id| module.data(id))
        .map(|tensor| tensor.bytes().len() as u64)
        .sum()
}
