//! Converts recorded scales for layers that were joined into one convolution, or whose outputs became several channels
//! each.

use std::{collections::BTreeMap, ops::Range};

use strait_core::{NodeId, QuantParams};
use strait_requantize::Per;
use strait_target::{Joined, Recorded};

use super::super::given;
use crate::pipeline::job::Job;
use crate::{diagnostic::Diagnostic, failure::codes};

/// A finding, and the range of bytes of the record that the finding is about.
type Told = (Range<usize>, Diagnostic);

/// The advice to switch off the rule that joins convolutions.
const JOINS: &str = "`rewrite.off = [\"branches-to-grouped-conv\"]` leaves them apart";

/// Converts the recorded scales of joined layers to scales of the convolution that they were joined into. The scales of
/// other layers stay as they are.
pub(super) fn whole(job: &Job<'_>, recorded: Vec<Recorded>) -> (Vec<Recorded>, Vec<Told>) {
    let (module, graph) = (job.canonical, job.canonical.main());
    let (mut kept, mut told) = (Vec::new(), Vec::new());
    let mut parts: BTreeMap<NodeId, (Joined, Vec<Recorded>)> = BTreeMap::new();
    for grid in recorded {
        let id = given::find(module, &grid.layer);
        let node = id.and_then(|id| Some((id, graph.node(id)?)));
        let joined = node.and_then(|(id, node)| Some((id, job.ready.outputs.parts(module, node)?)));
        let joined = joined.filter(|(_, joined)| joined.layers.iter().any(|(layer, _)| *layer == grid.layer));
        match joined.filter(|(_, joined)| joined.layers.len() > 1 || joined.each.get() > 1) {
            Some((id, joined)) => parts.entry(id).or_insert((joined, Vec::new())).1.push(grid),
            None => kept.push(grid),
        }
    }
    for (joined, grids) in parts.into_values() {
        for operand in [0, 1] {
            let own: Vec<&Recorded> = grids.iter().filter(|grid| grid.operand == operand).collect();
            match one(operand, &joined, &own) {
                Ok(whole) => kept.extend(whole),
                Err(finding) => told.push(*finding),
            }
        }
        kept.extend(grids.into_iter().filter(|grid| grid.operand > 1));
    }
    (kept, told)
}

/// The scales of one operand of a joined convolution, made from the recorded scales of the layers.
fn one(operand: usize, joined: &Joined, own: &[&Recorded]) -> Result<Option<Recorded>, Box<Told>> {
    let Some(&first) = own.first() else { return Ok(None) };
    let names = || {
        joined
            .layers
            .iter()
            .map(|(layer, _)| format!("`{layer}`"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let wrong = |grid: &Recorded, message: String| (grid.at.clone(), Diagnostic::error(codes::RULE, message));
    let is_like = |grid: &&&Recorded| grid.elem == first.elem && (operand > 0 || grid.params == first.params);
    if let Some(other) = own.iter().find(|grid| !is_like(grid)) {
        let message = format!(
            "{} are one convolution here, and the record has grids for them that differ",
            names()
        );
        let (at, finding) = wrong(other, message);
        return Err(Box::new((at, finding.help(JOINS))));
    }
    if operand == 0 {
        return Ok(Some(first.clone()));
    }
    let mut scales = Vec::new();
    for (layer, outputs) in &joined.layers {
        let Some(grid) = own.iter().find(|grid| grid.layer == *layer) else {
            let message = format!(
                "{} are one convolution here, and the record has no weights for `{layer}`",
                names()
            );
            let (at, finding) = wrong(first, message);
            return Err(Box::new((at, finding.help(JOINS))));
        };
        let outputs = usize::try_from(*outputs).unwrap_or(usize::MAX);
        match &grid.params.scale {
            Per::Channel(own) if own.len() != outputs => {
                let count = own.len();
                let message = format!("`{layer}` has {outputs} outputs, and the record has {count} scales for them");
                return Err(Box::new(wrong(grid, message)));
            }
            Per::Channel(own) => scales.extend(own.iter().copied()),
            Per::Tensor(scale) => scales.extend(std::iter::repeat_n(*scale, outputs)),
        }
    }
    let is_tensor = own.iter().all(|grid| grid.params.scale.channels().is_none());
    let params = match scales.first() {
        Some(&scale) if is_tensor && scales.iter().all(|other| *other == scale) => QuantParams::tensor(scale, 0),
        _ => {
            let each = joined.each.get() as usize;
            let scales = scales.iter().flat_map(|&scale| std::iter::repeat_n(scale, each));
            QuantParams {
                axis: Some(0),
                scale: scales.collect(),
                ..first.params.clone()
            }
        }
    };
    Ok(Some(Recorded {
        params,
        ..first.clone()
    }))
}
