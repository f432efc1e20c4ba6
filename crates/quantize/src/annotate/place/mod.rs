//! Place: accelerator or host for each node, from the target's table. Later steps only move nodes to the host.

mod code;
mod extents;
mod requirements;
mod settle;
mod statistics;

use super::progress::Progress;
use super::{Annotation, Run, Settings};
pub use code::refused_by_code;
pub(super) use settle::Settled;
use strait_core::{Def, Graph, GraphId, Module, Node, NodeId, Placement, Reason, ReasonCode};
use strait_target::TargetSpec;
use strait_target::spec::{Activation, Integer, OpSite, Operand};

/// Places every node of a float graph, as settings and the target's table say. Answers with the beginning of its annotation,
/// which knows what was found.
pub fn place(module: &mut Module, graph: GraphId, how: &Annotation<'_>) -> Progress {
    let mut progress = Progress::default();
    let (Some(g), spec) = (module.graph(graph), how.spec) else {
        return progress;
    };
    let moved: Vec<(NodeId, Reason)> = g
        .nodes()
        .filter_map(|(id, node)| {
            if let Some(Run::Float(why)) = how.settings.run(id) {
                return Some((id, Reason::new(ReasonCode::Configuration, why.clone())));
            }
            let (types, term) = (how.types(id), node.op.term());
            let float = || types.stays_float(spec, term);
            // An op without a pair has no row, whatever it would read.
            let reason = match types.pair(spec, term) {
                Some(pair) => refusal(module, g, spec, node, (pair.activation, Some(pair.weight))).or_else(float)?,
                None => float().or_else(|| refusal(module, g, spec, node, (Activation::Float32, None)))?,
            };
            Some((id, reason))
        })
        .collect();
    let depends = |(_, reason): &(NodeId, Reason)| reason.code == ReasonCode::ExtentDependsOnData;
    let cuts = moved.iter().any(depends).then(|| extents::cuts(module, g));
    let g = &mut module.graphs[graph.index()];
    for (id, mut reason) in moved {
        if reason.code == ReasonCode::ExtentDependsOnData {
            reason.text.push_str(cuts.as_deref().unwrap_or_default());
        }
        g.place_on_host(id, reason);
    }
    progress.settle(g, how, &[]);
    progress
}

/// The nodes that settings want in integers and that are on the host, with the reasons.
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

/// The operands of a node as limits see them.
fn operands<'a>(graph: &'a Graph, node: &Node) -> Vec<Option<Operand<'a>>> {
    let operand = |value| {
        let value = graph.value(value)?;
        Some(Operand {
            ty: &value.ty,
            constant: matches!(value.def, Def::Data(_)),
        })
    };
    node.inputs.iter().map(|input| input.and_then(operand)).collect()
}

/// Reason why a node cannot run on the accelerator, on activations and with weights of these types: the table's word, then what
/// the recipe needs.
pub(super) fn refusal(
    module: &Module,
    graph: &Graph,
    spec: &TargetSpec,
    node: &Node,
    (activation, weight): (Activation, Option<Integer>),
) -> Option<Reason> {
    if let Some(reason) = extents::depends_on_data(module, graph, node) {
        return Some(reason);
    }
    let operands = operands(graph, node);
    let result = node.outputs.first().and_then(|&y| graph.value(y))?;
    let site = OpSite {
        op: &node.op,
        operands: &operands,
        result: &result.ty,
    };
    let row = match spec.place(&site, activation, weight) {
        Ok((_, row)) => row,
        Err(reason) => return Some(reason),
    };
    requirements::check(module, graph, node, row.recipe()?).err()
}
