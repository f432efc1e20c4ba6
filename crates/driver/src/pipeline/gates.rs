//! Checks whether a compilation meets the limits that a configuration sets in `[gate]`.

use strait_compile::rules::matches_layer;
use strait_core::{Module, Op, Placement};
use strait_evaluate::{Measured, Unit};

use crate::{
    config::{
        leaf::Pattern,
        types::{Drop, FusionGate, Gate, SanityGate},
    },
    report::{GateReport, Report},
    table::{beside, count},
};

/// Checks a report against the limits in `gate`.
pub(super) fn gates(gate: &Gate, report: &Report, integer: &Module) -> Vec<GateReport> {
    let mut gates = Vec::new();
    let mut add = |gate: &str, met: bool, text: String| {
        gates.push(GateReport {
            gate: gate.to_owned(),
            met,
            text,
        });
    };
    let metrics = report.accuracy.as_ref().map_or(&[][..], |accuracy| &accuracy.metrics);
    for (name, drop) in &gate.accuracy_drop {
        let (met, text) = of_each(metrics, name, |metric| dropped(metric, drop));
        let text = match searched(report, name) {
            Some(search) if !met => format!("{text}; {search}"),
            _ => text,
        };
        add(&format!("accuracy_drop.{name}"), met, text);
    }
    for (name, &least) in &gate.least {
        let (met, text) = of_each(metrics, name, |metric| {
            let found = metric.integer.map(|figure| figure.value);
            let text = found.map_or_else(
                || "it was not measured".to_owned(),
                |found| {
                    format!(
                        "{}, {} are demanded",
                        metric.unit.shown(found),
                        metric.unit.shown(least)
                    )
                },
            );
            (found.is_some_and(|found| found >= least), text)
        });
        add(&format!("least.{name}"), met, text);
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
    if let Some(SanityGate::Error) = gate.sanity {
        let faulty: Vec<String> = report.sanity.faulty().map(ToString::to_string).collect();
        let text = match (report.sanity.samples, faulty.as_slice()) {
            (0, _) => "it was not checked, since there are no samples".to_owned(),
            (_, []) => "nothing is to be warned of".to_owned(),
            (_, faulty) => faulty.join("; "),
        };
        add("sanity", report.sanity.samples > 0 && faulty.is_empty(), text);
    }
    gates
}

/// Checks each output of a metric. The text lists the outputs that fail, or all outputs if none fails.
fn of_each(metrics: &[Measured], name: &str, holds: impl Fn(&Measured) -> (bool, String)) -> (bool, String) {
    let of_name: Vec<&Measured> = metrics.iter().filter(|metric| metric.name == name).collect();
    let found: Vec<(bool, String)> = (of_name.iter())
        .map(|metric| {
            let (met, text) = holds(metric);
            let output = metric.output.as_deref().filter(|_| of_name.len() > 1);
            (met, output.map_or(text.clone(), |output| format!("{output}: {text}")))
        })
        .collect();
    let met = !found.is_empty() && found.iter().all(|(met, _)| *met);
    let told = found
        .iter()
        .filter(|(one, _)| met || !one)
        .map(|(_, text)| text.as_str());
    let text = told.collect::<Vec<_>>().join("; ");
    (
        met,
        if found.is_empty() {
            "it was not measured".to_owned()
        } else {
            text
        },
    )
}

/// What a search for this metric came to. It measures on samples of its own, so its loss is another than that of the gate.
fn searched(report: &Report, metric: &str) -> Option<String> {
    let mut searches = report.mixed_precision.iter();
    let (search, limit) = searches.find_map(|search| {
        let limit = search.limit.as_ref().filter(|limit| limit.metric == metric)?;
        Some((search, limit))
    })?;
    let metrics = &report.accuracy.as_ref()?.metrics;
    let is_same = |one: &Measured| one.name == metric && one.loss(None) == Some(search.loss[1]);
    if metrics.iter().any(is_same) {
        return None;
    }
    Some(format!(
        "on the {} of `optimize.accuracy_drop`, which are others, {} are lost: allow less there, or give it more samples",
        count(limit.samples as usize, "sample"),
        beside(search.loss[1], limit.points)
    ))
}

/// Compares the loss of one metric with the largest loss that is allowed.
fn dropped(metric: &Measured, drop: &Drop) -> (bool, String) {
    let Some(loss) = metric.loss(None) else {
        return (false, "it was not measured".to_owned());
    };
    let unit = match metric.unit {
        Unit::Decibel => "dB",
        _ => "points",
    };
    let Some(confidence) = drop.confidence else {
        let text = format!(
            "{} {unit} are lost, {:.2} are allowed",
            beside(loss, drop.points),
            drop.points
        );
        return (loss <= drop.points, text);
    };
    let sure = format!("with a confidence of {} %", 100.0 * confidence);
    match metric.loss(Some(confidence)) {
        Some(most) => {
            let text = format!(
                "{loss:.2} {unit} are lost, at most {} {sure}; {:.2} are allowed",
                beside(most, drop.points),
                drop.points
            );
            (most <= drop.points, text)
        }
        None => (
            false,
            format!("{loss:.2} {unit} are lost, and {sure} nothing is known: there is no interval"),
        ),
    }
}
