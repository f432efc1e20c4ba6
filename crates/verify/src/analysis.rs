//! Analyses an artifact without running its graphs.

use crate::claims::{self, Allowed, Pair, VerifiedFusion};
use crate::error::VerifyError;
use crate::finding::{Fault, Finding};
use crate::intervals::{Budget, Intervals, intervals_within};
use crate::{LOWERED, grounds, lowered_graph, structure};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::CertificateRecord;
use strait_core::{Graph, GraphId, Module, ValueId};
use strait_requantize::certificate::Digest;

/// The lowered and the fused graph of a module, which of their values correspond, and whether the certificates hold.
#[derive(Debug)]
pub struct Analysis<'a> {
    pub(crate) module: &'a Module,
    pub(crate) lowered: GraphId,
    pub(crate) lowered_graph: &'a Graph,
    pub(crate) fused_graph: &'a Graph,
    pub(crate) lowered_bounds: Intervals,
    pub(crate) fused_bounds: Intervals,
    /// Values of the fused graph, each with the value of the lowered graph that it stands for.
    pub(crate) pairs: Vec<(ValueId, ValueId)>,
    pub(crate) allowed: BTreeMap<(ValueId, ValueId), Allowed>,
    fusions: Vec<VerifiedFusion>,
    findings: Vec<Finding>,
}

/// Returns the id of the graph [`LOWERED`], and the pairs of graphs that have to correspond: the main graph with the
/// graph [`LOWERED`], and each graph that the main graph calls, directly or indirectly, with the graph that the lowered
/// graph calls in the same place.
fn pairs(module: &Module) -> Result<(GraphId, Vec<Pair<'_>>), VerifyError> {
    let lowered = lowered_graph(module).ok_or(VerifyError::NoLowered(LOWERED))?;
    let graph = |id| module.graph(id).ok_or(VerifyError::NoGraph(id));
    let mut ids = vec![(module.main, lowered)];
    let mut seen = BTreeSet::from([(module.main, lowered)]);
    let mut found: Vec<Pair<'_>> = Vec::new();
    let mut budget = Budget::default();
    while let Some(&(fused, other)) = ids.get(found.len()) {
        let (fused_graph, lowered_graph) = (graph(fused)?, graph(other)?);
        let correspondence = structure::correspond(module, fused_graph, lowered_graph);
        ids.extend(correspondence.calls.iter().filter(|&&calls| seen.insert(calls)));
        found.push(Pair {
            fused_graph,
            lowered_graph,
            fused_bounds: intervals_within(&mut budget, module, fused)?,
            lowered_bounds: intervals_within(&mut budget, module, other)?,
            correspondence,
        });
    }
    Ok((lowered, found))
}

/// Compares the main graph, which is fused, with the graph `lowered`, and checks the certificates against both. Does
/// the same for each graph that the main graph calls.
///
/// # Errors
/// The module has no graph `lowered`, or a graph has a cycle.
pub fn analyse<'a>(module: &'a Module, certificates: &[CertificateRecord]) -> Result<Analysis<'a>, VerifyError> {
    let (lowered, pairs) = pairs(module)?;
    let claims = claims::check(module, &pairs, certificates);
    let of_structure = pairs.iter().flat_map(|pair| &pair.correspondence.findings);
    let mut findings: Vec<Finding> = of_structure.cloned().collect();
    findings.extend(claims.findings);
    let mut told: BTreeSet<String> = findings.iter().map(ToString::to_string).collect();
    for pair in &pairs {
        let fused = fused_before(module, pair.lowered_graph);
        let bounds = [&pair.lowered_bounds, &pair.fused_bounds];
        let of_bounds = bounds.into_iter().flat_map(|bounds| bounds.findings().iter().cloned());
        for finding in fused.chain(of_bounds) {
            if told.insert(finding.to_string()) {
                findings.push(finding);
            }
        }
    }
    let main = pairs.into_iter().next().ok_or(VerifyError::NoGraph(module.main))?;
    Ok(Analysis {
        module,
        lowered,
        lowered_graph: main.lowered_graph,
        fused_graph: main.fused_graph,
        lowered_bounds: main.lowered_bounds,
        fused_bounds: main.fused_bounds,
        pairs: main.correspondence.pairs,
        allowed: claims.allowed,
        fusions: claims.fusions,
        findings,
    })
}

/// Computes the digest that the field `derived_from` of a certificate should have, from the graphs and from what the
/// certificate claims. Returns `None` if nothing was fused at the certificate's value.
///
/// # Errors
/// The module has no graph `lowered`.
pub fn derived_from(module: &Module, record: &CertificateRecord) -> Result<Option<Digest>, VerifyError> {
    let (_, pairs) = pairs(module)?;
    Ok(pairs.iter().find_map(|pair| {
        let graphs = [pair.lowered_graph, pair.fused_graph];
        let mut sites = pair.correspondence.sites.iter();
        let site = sites.find(|site| site.value == record.node)?;
        grounds::derived_from(module, graphs, site, &record.certificate)
    }))
}

/// Findings for nodes of a lowered graph that have something fused into them. In a lowered graph, every requantization
/// must be a node of its own, because a fused node could not be compared with anything.
fn fused_before<'a>(module: &'a Module, graph: &'a Graph) -> impl Iterator<Item = Finding> {
    let fused = graph.nodes().filter(|(_, node)| node.fused.is_some());
    fused.map(move |(_, node)| {
        let value = node.outputs.first().and_then(|&result| graph.value(result));
        let (value, of) = (value.map_or(node.name, |value| value.name), module.name(graph.name));
        let text = format!("it is fused in the graph `{of}`, and there is nothing to hold that against");
        Finding {
            value: module.name(value).into(),
            fault: Fault::Structure(text),
        }
    })
}

impl Analysis<'_> {
    /// Every fusion in the graphs, with what was verified about the fusion.
    pub fn fusions(&self) -> &[VerifiedFusion] {
        &self.fusions
    }

    /// What is wrong with the artifact.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// True if every fusion is exact, so that both graphs give the same outputs, bit for bit.
    pub fn is_exact(&self) -> bool {
        self.fusions.iter().all(|fusion| fusion.max_lsb == 0)
    }

    /// The name of a value of the fused graph.
    pub(crate) fn name(&self, id: ValueId) -> String {
        let value = self.fused_graph.value(id);
        value.map_or_else(String::new, |v| self.module.name(v.name).into())
    }
}
