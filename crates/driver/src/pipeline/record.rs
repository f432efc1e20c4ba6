//! Uses the scales in a record of a vendor's own tool instead of calibrating.
//!
//! The code of the target parses the text of the record. This module finds the layer for each recorded scale. Errors
//! name the line in the record.

mod joined;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use strait_compile::{GivenGrid, rules::weighs};
use strait_core::{Module, Node, NodeId, Op, Port, Term};
use strait_quantize::{Settings, annotate::Run};
use strait_target::{Recorded, TargetError, spec::WeightPer};

use crate::{
    config::KeyPath,
    diagnostic::{Diagnostic, Diagnostics, Excerpt, SourceText},
    failure::codes,
    stop::Stop,
};

use super::given;
use crate::pipeline::job::Job;

/// Only this many findings suggest similar names, to keep the output short.
const MOST_NEAR: usize = 20;

/// Reads a record and returns the quantization that it contains, for layers of the canonical graph. Layers that the
/// record does not name stay in float.
///
/// # Errors
/// If the text is not a record, the target does not read records, or the record names layers that the model does not
/// have or numbers of channels that do not fit.
pub(super) fn grids(job: &Job<'_>, record: &Arc<SourceText>, settings: &mut Settings) -> Result<Vec<GivenGrid>, Stop> {
    let (module, spec) = (job.canonical, job.target.spec());
    let recorded = job.target.recorded(&record.text).map_err(|error| match error {
        TargetError::Text { at, message } => placed(record, at, Diagnostic::error(codes::RULE, message)),
        error => job.loaded.error(codes::UNSUPPORTED, &key(), error.to_string(), ""),
    })?;
    let (mut grids, mut findings, mut named) = (Vec::new(), Vec::new(), BTreeSet::new());
    let mut granularities: BTreeMap<NodeId, WeightPer> = BTreeMap::new();
    let (recorded, told) = joined::whole(job, recorded);
    findings.extend(told.into_iter().map(|(at, finding)| placed(record, at, finding)));
    for grid in recorded {
        if findings.len() >= MOST_NEAR && given::find(module, &grid.layer).is_none() {
            findings.push(placed(record, grid.at, given::no_layer(&grid.layer)));
            continue;
        }
        match taken(module, &grid) {
            Err(found) => {
                let found = found.0.into_iter();
                findings.extend(found.map(|finding| placed(record, grid.at.clone(), finding)));
            }
            Ok(taken) => {
                named.insert(taken.node);
                if grid.operand == 1 && module.main().node(taken.node).is_some_and(weighs) {
                    let channels = grid.params.scale.channels();
                    granularities.insert(taken.node, channels.map_or(WeightPer::Tensor, |_| WeightPer::Channel));
                }
                grids.push(taken);
            }
        }
    }
    // If a layer is missing, it is reported both for its input and for its weights. So duplicates are removed.
    findings.dedup();
    Diagnostics(findings).or(())?;
    for (id, per) in granularities {
        settings.layers.entry(id).or_default().weights.per = Some(per);
    }
    let others = module
        .main()
        .nodes()
        .filter(|(id, node)| !named.contains(id) && (weighs(node) || computes_means(node)));
    for (id, _) in others {
        let why = format!("the record of `{}` does not name it", spec.id);
        settings
            .layers
            .entry(id)
            .or_default()
            .run
            .get_or_insert(Run::Float(why));
    }
    Ok(grids)
}

/// True if a node computes averages, over windows or over axes.
fn computes_means(node: &Node) -> bool {
    matches!(node.op, Op::AveragePool(_)) || node.op.term() == Term::ReduceMean
}

/// Finds the node for a recorded scale.
fn taken(module: &Module, grid: &Recorded) -> Result<GivenGrid, Diagnostics> {
    let port = Port::Operand(grid.operand);
    let (node, graph) = (given::node(module, &grid.layer, port)?, module.main());
    let value = graph.value_at(node, port).and_then(|value| graph.value(value));
    let extent = grid
        .params
        .axis
        .and_then(|axis| value?.ty.shape.get(usize::from(axis))?.fixed());
    match (grid.params.scale.channels(), extent) {
        (Some(channels), Some(extent)) if channels as u64 != extent => {
            let message = format!(
                "`{}` has {extent} outputs, and the record has {channels} scales for them",
                grid.layer
            );
            Err(Diagnostic::error(codes::RULE, message).into())
        }
        _ => Ok(GivenGrid {
            node,
            port,
            elem: grid.elem,
            params: grid.params.clone(),
            codes: None,
        }),
    }
}

/// Adds to a finding the place in the record that it is about.
fn placed(record: &Arc<SourceText>, at: Range<usize>, finding: Diagnostic) -> Diagnostic {
    finding.at(Excerpt {
        source: Arc::clone(record),
        span: Some(at),
        label: String::new(),
    })
}

fn key() -> KeyPath {
    KeyPath::of(&["calibration", "record"])
}
