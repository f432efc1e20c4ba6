//! Builds the report of a compilation from the compilation's results.

use std::{collections::BTreeMap, num::NonZeroUsize};

use strait_compile::Built;
use strait_core::{Counts, Module, Node};
use strait_execute::each;
use strait_lower::{Fused, Fusion};
use strait_quantize::annotate::Findings;
use strait_target::{TargetSpec, spec::Nearness};

use super::{
    Layer, Report, Rewrite, SCHEMA, Sanity, Size, TargetReport, derived, evidence,
    fusions::{fired, fusions},
    grounds::{Basis, Grounds},
    lints::lints,
    nearness::reported,
    optimized::optimized,
};

/// Everything from which the report is made.
#[derive(Clone, Copy, Debug)]
pub struct Material<'a> {
    /// The table of the target.
    pub spec: &'a TargetSpec,
    /// The float module after canonicalization.
    pub canonical: &'a Module,
    /// The integer module, whose main graph is the fused one.
    pub integer: &'a Module,
    /// Which requantizations were fused and which were not.
    pub fusion: &'a Fusion,
    /// For each integer node, by its name: the row of the target's table for the op from which the node was lowered.
    pub origins: &'a BTreeMap<String, String>,
    /// For each requantization, by its name: how near its results are to the ideal function.
    pub nearness: &'a BTreeMap<String, Nearness>,
    /// What annotation found that lowers the accuracy.
    pub findings: &'a Findings,
    /// For each rule over the float graph: how often its pattern was found, and how often the rule was applied.
    pub rewrites: &'a BTreeMap<&'static str, Counts>,
    /// The number of threads that make the report. They do not change it.
    pub threads: NonZeroUsize,
}

/// The report of a compiled model. `rewrites` has the counts of the rules that were applied to the float graph before.
pub fn of_built(
    spec: &TargetSpec,
    canonical: &Module,
    built: &Built,
    rewrites: &BTreeMap<&'static str, Counts>,
) -> Report {
    let report = build(Material {
        spec,
        canonical: built.float(canonical),
        integer: built.open(),
        fusion: &built.fusion,
        origins: &built.origins,
        nearness: &built.nearness,
        findings: &built.findings,
        rewrites,
        threads: built.threads(),
    });
    Report {
        size: Size {
            // The copy in which scale was moved can have further constants.
            float_bytes: match built.migrated() {
                Some(_) => derived::parameter_bytes(canonical),
                None => report.size.float_bytes,
            },
            ..report.size
        },
        own_model: built.own_model,
        optimized: built
            .optimised
            .as_ref()
            .map(|optimised| optimized(canonical, optimised)),
        ..report
    }
}

/// Makes the report. The caller adds remarks, accuracy, gates and rules.
pub fn build(material: Material<'_>) -> Report {
    let (spec, integer, fusion) = (material.spec, material.integer, material.fusion);
    let fused: BTreeMap<&str, &Fused> = fusion.fired.iter().map(|fired| (fired.value.as_str(), fired)).collect();
    let graph = integer.main();
    // The verifier has already checked that the nodes can be ordered.
    let order = graph.topological_order().unwrap_or_default();
    let nodes: Vec<&Node> = order.into_iter().filter_map(|id| graph.node(id)).collect();
    let rows = fused
        .iter()
        .map(|(&value, fired)| (value, fired.row.as_str()))
        .collect();
    let grounds = Grounds::new(spec, material.origins, integer, &rows);
    let bases: Vec<(&Node, Basis<'_>)> = nodes.iter().map(|&node| (node, grounds.of(node))).collect();
    let layers = each(material.threads, &bases, &|(node, basis)| {
        layer(integer, node, basis, &fused, material.nearness)
    });
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
        not_for_deployment: None,
        data: BTreeMap::new(),
        sources: BTreeMap::new(),
        settings: None,
        set: Vec::new(),
        remarks: Vec::new(),
        summary: derived::summary(graph, &nodes, exact, fusion.fired.len() - exact, fusion.refused.len()),
        evidence: evidence::count(&spec.reference.oracle, bases.iter().map(|(_, basis)| basis)),
        own_model: None,
        file_operators: None,
        tail: None,
        costly: Vec::new(),
        size: Size {
            float_bytes: derived::parameter_bytes(material.canonical),
            integer_bytes: derived::parameter_bytes(integer),
        },
        sanity: Sanity::default(),
        accuracy: None,
        gates: Vec::new(),
        layers,
        fusions: fusions(spec, fusion),
        optimized: None,
        mixed_precision: Vec::new(),
        lints: lints(material.canonical, material.findings),
        rewrites: (material.rewrites.iter())
            .map(|(&rule, counts)| Rewrite {
                rule: rule.to_owned(),
                matched: counts.matched,
                applied: counts.applied,
            })
            .collect(),
        rules: Vec::new(),
        quantize: Vec::new(),
        distributions: Vec::new(),
        weights: Vec::new(),
        seen: Vec::new(),
        changed: Vec::new(),
    }
}

fn layer(
    module: &Module,
    node: &Node,
    basis: &Basis<'_>,
    fused: &BTreeMap<&str, &Fused>,
    nearness: &BTreeMap<String, Nearness>,
) -> Layer {
    // If two requantizations became one, the second of them computes the codes of the result. So the last source is
    // tried first.
    let nearness = (node.sources.iter().rev()).find_map(|&source| nearness.get(module.name(source)));
    let (free_integers, from_scales) = nearness.map(reported).unwrap_or_default();
    Layer {
        free_integers: free_integers.map(Box::new),
        from_scales: from_scales.map(Box::new),
        evidence: basis.supports.last().map(|weakest| weakest.evidence.to_string()),
        rests_on: basis.supports.iter().map(|support| support.row.to_string()).collect(),
        outside: basis.outside.clone(),
        ..derived::layer(module, node, |value| fused.get(value).map(|made_by| fired(made_by)))
    }
}
