//! Remarks on the scales and zero points that a quantized model comes with.

use std::collections::{BTreeMap, BTreeSet};

use strait_compile::OwnGrids;
use strait_core::{Module, Node, NodeId, Origin, Placement, Reason, ReasonCode, ValueId};

use crate::{
    config::{KeyPath, Loaded},
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
    table,
};

/// A sentence lists at most this many names.
const MOST: usize = 3;

/// True if the model has a scale for any value.
pub(super) fn has_some(module: &Module) -> bool {
    let mut grids = module.main().values().filter_map(|(_, value)| value.quant.as_ref());
    grids.any(|grid| grid.codes.is_some())
}

/// Checks that a compilation without samples is possible: the model must contain the scales of every layer that is to
/// be quantized.
///
/// # Errors
/// If there are layers for which samples are needed.
pub(super) fn without_samples(loaded: &Loaded, module: &Module) -> Result<(), Diagnostics> {
    let nodes = module.main().nodes().map(|(_, node)| node);
    let lacks = |node: &&Node| matches!(&node.place, Placement::Host(why) if why.code == ReasonCode::NotObserved);
    let layers: Vec<String> = nodes
        .filter(lacks)
        .map(|node| format!("`{}`", module.name(node.name)))
        .collect();
    if layers.is_empty() {
        return Ok(());
    }
    let text = format!(
        "the model has no grid for {}, and there are no samples: {}",
        table::count(layers.len(), "layer"),
        listed(layers)
    );
    let finding = loaded.error(codes::RULE, &KeyPath::of(&["calibration"]), text, "");
    let help = "give samples to `calibration.data`, or leave the layers in float by a rule with `run = \"float\"`";
    Err(finding.help(help).into())
}

/// The remark on an artifact that was made without samples, so that nothing was measured.
pub(super) fn nothing_measured(model: &Module) -> Diagnostic {
    let text = match has_some(model) {
        true => "there are no samples: all grids are the model's own, and nothing was run",
        false => "there are no samples: only weights have grids, and nothing was run",
    };
    Diagnostic::remark(codes::MODEL, text)
}

/// Remarks on a quantized model: on tensors without a scale, which are calibrated, and on layers that run on the host
/// because the target cannot use their scale.
pub(super) fn remarks(module: &Module, own: &OwnGrids) -> Vec<Diagnostic> {
    let OwnGrids {
        grids,
        unfitting,
        freed,
    } = own;
    if grids.is_empty() {
        return Vec::new();
    }
    let graph = module.main();
    let name = |value: ValueId| graph.value(value).map_or("", |value| module.name(value.name));
    let observed = graph.quant.iter().filter_map(|(id, config)| {
        let value = graph.value_at(config.node, config.port)?;
        let origin = graph.quant.grid(id)?.origin;
        let own = !config.port.is_border() && !grids.has(value) && !freed.contains_key(&value);
        (own && matches!(origin, Origin::Observed | Origin::Coarsened)).then_some(value)
    });
    let observed: BTreeSet<ValueId> = observed.collect();
    let mut remarks = Vec::new();
    if !observed.is_empty() {
        let text = format!(
            "the model has no grid for {}, which {} calibrated: {}",
            table::count(observed.len(), "tensor"),
            if observed.len() == 1 { "is" } else { "are" },
            listed(observed.iter().map(|&value| format!("`{}`", name(value))).collect()),
        );
        remarks.push(Diagnostic::remark(codes::MODEL, text));
    }
    let mut layers: BTreeMap<NodeId, &Reason> = BTreeMap::new();
    for (node, reason) in unfitting.values() {
        layers.entry(*node).or_insert(reason);
    }
    if !layers.is_empty() {
        let layer = |(&id, reason): (&NodeId, &&Reason)| {
            let name = graph.node(id).map_or("", |node| module.name(node.name));
            format!("`{name}`: {}", reason.text)
        };
        let text = format!(
            "{} on the host, as the target cannot have the grids that the model has: {}",
            match layers.len() {
                1 => "1 layer runs".to_owned(),
                count => format!("{count} layers run"),
            },
            listed(layers.iter().map(layer).collect()),
        );
        let finding = Diagnostic::warning(codes::MODEL, text);
        remarks.push(finding.help("`quantize.given = \"requantize\"` brings them to grids that the target has"));
    }
    remarks
}

/// Lists the first few names and says how many more there are.
fn listed(all: Vec<String>) -> String {
    let more = all.len().saturating_sub(MOST);
    let mut shown: Vec<String> = all.into_iter().take(MOST).collect();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    shown.join(", ")
}
