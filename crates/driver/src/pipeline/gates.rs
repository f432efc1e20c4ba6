//! The demands of `[gate]`.

use strait_core::{Module, Op, Placement};

use crate::{
    config::{
        leaf::Pattern,
        types::{FusionGate, Gate},
    },
    evaluation::Share,
    report::{GateReport, Report},
};

use super::select::matches_layer;

/// Holds a report against the demands.
pub(super) fn gates(gate: &Gate, report: &Report, integer: &Module) -> Vec<GateReport> {
    let mut gates = Vec::new();
    let mut add = |gate: &str, met: bool, text: String| {
        gates.push(GateReport {
            gate: gate.to_owned(),
            met,
            text,
        });
    };
    let accuracy = report.accuracy.as_ref();
    if let Some(drop) = &gate.accuracy_drop {
        let top1 = accuracy
            .and_then(|accuracy| accuracy.top1.as_ref()?.change)
            .map(|change| -change.points());
        let agreement = accuracy.and_then(|accuracy| accuracy.agreement).map(Share::lost);
        for (name, drop, found) in [("top1", &drop.top1, top1), ("agreement", &drop.agreement, agreement)] {
            if let Some(drop) = drop {
                let text = match found {
                    Some(found) => format!("{found:.2} points are lost, {:.2} are allowed", drop.points),
                    None => "it was not measured".to_owned(),
                };
                add(
                    &format!("accuracy_drop.{name}"),
                    found.is_some_and(|found| found <= drop.points),
                    text,
                );
            }
        }
    }
    if let Some(allowed) = &gate.host_layers {
        let patterns: Vec<_> = allowed.iter().map(Pattern::glob).collect();
        let nodes = integer.main().nodes().map(|(_, node)| node);
        let on_host = nodes.filter(|node| matches!(node.place, Placement::Host(_)));
        let others: Vec<&str> = on_host
            .filter(|node| !matches!(node.op, Op::Quantize(_) | Op::Dequantize(_)))
            .filter(|node| !matches_layer(integer, node, &patterns))
            .map(|node| integer.name(node.name))
            .collect();
        let text = match others.as_slice() {
            [] => "no other layer runs on the host".to_owned(),
            others => format!("{} run on the host as well", others.join(", ")),
        };
        add("host_layers", others.is_empty(), text);
    }
    if let Some(FusionGate::Exact) = gate.fusions {
        let bounded = report.summary.bounded;
        let text = match bounded {
            0 => "all fusions are exact".to_owned(),
            1 => "1 fusion is not exact".to_owned(),
            more => format!("{more} fusions are not exact"),
        };
        add("fusions", bounded == 0, text);
    }
    gates
}
