//! Analysis of an artifact without running it.

use crate::LOWERED;
use crate::claims::{self, Allowed, Fusion};
use crate::error::VerifyError;
use crate::finding::{Fault, Finding};
use crate::intervals::{Intervals, intervals};
use crate::{grounds, structure};
use std::collections::{BTreeMap, BTreeSet};
use strait_container::CertificateRecord;
use strait_core::{Graph, GraphId, Module, Op, ValueId};
use strait_requantize::certificate::Digest;

/// Both graphs of a module, how they correspond, and whether the certificates hold.
#[derive(Debug)]
pub struct Analysis<'a> {
    pub(crate) module: &'a Module,
    pub(crate) lowered: GraphId,
    pub(crate) lowered_graph: &'a Graph,
    pub(crate) fused_graph: &'a Graph,
    pub(crate) lowered_bounds: Intervals,
    pub(crate) fused_bounds: Intervals,
    /// Values of the fused graph with those of the lowered one that they stand for.
    pub(crate) pairs: Vec<(ValueId, ValueId)>,
    pub(crate) allowed: BTreeMap<(ValueId, ValueId), Allowed>,
    fusions: Vec<Fusion>,
    findings: Vec<Finding>,
}

/// Holds the main graph, the fused one, against the graph `lowered`, and the certificates against both.
///
/// # Errors
/// A module without a graph `lowered`, or with a cycle.
pub fn analyse<'a>(module: &'a Module, certificates: &[CertificateRecord]) -> Result<Analysis<'a>, VerifyError> {
    let (lowered, lowered_graph, fused_graph) = both(module)?;
    let lowered_bounds = intervals(module, lowered)?;
    let fused_bounds = intervals(module, module.main)?;
    let correspondence = structure::correspond(module, fused_graph, lowered_graph);
    let claims = claims::check(
        (module, [lowered_graph, fused_graph]),
        &correspondence.sites,
        certificates,
        claims::Bounds {
            fused: &fused_bounds,
            lowered: &lowered_bounds,
        },
    );
    let mut findings = correspondence.findings;
    findings.extend(claims.findings);
    findings.extend(fused_elsewhere(module, lowered));
    for finding in lowered_bounds.findings().iter().chain(fused_bounds.findings()) {
        if !findings.contains(finding) {
            findings.push(finding.clone());
        }
    }
    Ok(Analysis {
        module,
        lowered,
        lowered_graph,
        fused_graph,
        lowered_bounds,
        fused_bounds,
        pairs: correspondence.pairs,
        allowed: claims.allowed,
        fusions: claims.fusions,
        findings,
    })
}

/// The digest that a certificate has to name for its derivation, by the graphs and its own claim; `None`
/// where nothing was fused at its value.
///
/// # Errors
/// A module without a graph `lowered`.
pub fn derived_from(module: &Module, record: &CertificateRecord) -> Result<Option<Digest>, VerifyError> {
    let (_, lowered, fused) = both(module)?;
    let correspondence = structure::correspond(module, fused, lowered);
    let site = correspondence.sites.iter().find(|site| site.value == record.node);
    Ok(site.and_then(|site| grounds::derived_from(module, [lowered, fused], site, &record.certificate)))
}

/// The lowered graph, with its id, and the fused one.
fn both(module: &Module) -> Result<(GraphId, &Graph, &Graph), VerifyError> {
    let lowered = module
        .graphs
        .iter()
        .position(|graph| module.name(graph.name) == LOWERED);
    let lowered = GraphId::new(lowered.ok_or(VerifyError::NoLowered(LOWERED))?);
    let graph = |id| module.graph(id).ok_or(VerifyError::NoGraph(id));
    Ok((lowered, graph(lowered)?, graph(module.main)?))
}

/// Fused nodes that are compared with nothing: in the lowered graph, where every requantization is a node of its own,
/// and in graphs that are called, of which there is no lowered one.
fn fused_elsewhere(module: &Module, lowered: GraphId) -> Vec<Finding> {
    let calls = |graph: &Graph| -> Vec<GraphId> {
        let called = graph.nodes().filter_map(|(_, node)| match &node.op {
            Op::Call(call) => Some(GraphId::new(call.graph as usize)),
            _ => None,
        });
        called.collect()
    };
    let mut open = module.graph(module.main).map(calls).unwrap_or_default();
    open.push(lowered);
    let (mut seen, mut found) = (BTreeSet::from([module.main]), Vec::new());
    while let Some(id) = open.pop() {
        let Some(graph) = module.graph(id).filter(|_| seen.insert(id)) else {
            continue;
        };
        open.extend(calls(graph));
        let fused = graph.nodes().filter(|(_, node)| node.fused.is_some());
        found.extend(fused.map(|(_, node)| {
            let value = node.outputs.first().and_then(|&result| graph.value(result));
            let (value, of) = (value.map_or(node.name, |value| value.name), module.name(graph.name));
            let text = format!("it is fused in the graph `{of}`, and there is nothing to hold that against");
            Finding {
                value: module.name(value).into(),
                fault: Fault::Structure(text),
            }
        }));
    }
    found
}

impl Analysis<'_> {
    /// Every fusion that was found in the graphs, and what is true of it.
    pub fn fusions(&self) -> &[Fusion] {
        &self.fusions
    }

    /// Findings.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// True if both graphs have to give the same outputs, bit for bit.
    pub fn is_exact(&self) -> bool {
        self.fusions.iter().all(|fusion| fusion.max_lsb == 0)
    }

    /// The name of a value of the fused graph.
    pub(crate) fn name(&self, id: ValueId) -> String {
        let value = self.fused_graph.value(id);
        value.map_or_else(String::new, |v| self.module.name(v.name).into())
    }
}
