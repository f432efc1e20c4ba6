//! Place: decides for each node whether it runs on the accelerator or on the host, by the target's table. Later steps
//! only move nodes to the host.

use super::turns::Fixpoint;
use crate::annotate::placing::{cuts, refusal};
use crate::annotate::settings::{Annotation, Run, Settings};
use std::collections::BTreeSet;
use std::sync::Arc;
use strait_core::{Graph, GraphId, Module, NodeId, Placement, Reason, ReasonCode};
use strait_target::spec::Activation;

/// Places every node of a float graph, as the settings and the target's table say. Returns the initial state of the
/// graph's annotation, which contains the analyses that placing needed.
pub fn place(module: &mut Module, graph: GraphId, how: &Annotation<'_>) -> Fixpoint {
    let mut fixpoint = Fixpoint::default();
    let (Some(g), spec) = (module.graph(graph), how.spec) else {
        return fixpoint;
    };
    let moved: Vec<(NodeId, Reason)> = g
        .nodes()
        .filter_map(|(id, node)| {
            if let Some(Run::Float(why)) = how.settings.run(id) {
                return Some((id, Reason::new(ReasonCode::Configuration, why.clone())));
            }
            let (types, term) = (how.types(id), node.op.term());
            let float = || types.stays_float(spec, term);
            // If no pair of types supports an op, the table has no row for the op either, whatever types its operands
            // have.
            let reason = match types.pair(spec, term) {
                Some(pair) => refusal(module, g, spec, node, (pair.activation, Some(pair.weight))).or_else(float)?,
                None => float().or_else(|| refusal(module, g, spec, node, (Activation::Float32, None)))?,
            };
            Some((id, reason))
        })
        .collect();
    let depends = |(_, reason): &(NodeId, Reason)| reason.code == ReasonCode::ExtentDependsOnData;
    let cuts = moved.iter().any(depends).then(|| cuts(module, g));
    let g = &mut module.graphs[graph.index()];
    // Many nodes have the same reason, and share it.
    let mut reasons: BTreeSet<Arc<Reason>> = BTreeSet::new();
    for (id, mut reason) in moved {
        if reason.code == ReasonCode::ExtentDependsOnData {
            reason.text.push_str(cuts.as_deref().unwrap_or_default());
        }
        let reason = Arc::new(reason);
        g.place_on_host(id, reasons.get(&reason).unwrap_or(&reason).clone());
        reasons.insert(reason);
    }
    fixpoint.settle(g, how, &[]);
    fixpoint
}

/// The nodes that are on the host although settings require them in integers, with the reasons.
pub fn denied(graph: &Graph, settings: &Settings) -> Vec<(NodeId, Reason)> {
    let integers = settings
        .layers
        .keys()
        .filter(|&&id| settings.run(id) == Some(&Run::Integer));
    let denied = integers.filter_map(|&id| match &graph.node(id)?.place {
        Placement::Host(reason) => Some((id, (**reason).clone())),
        Placement::Accelerator => None,
    });
    denied.collect()
}
