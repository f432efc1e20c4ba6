//! Shows the report to people. The text fits on one screen and can be understood without a manual.

use std::fmt::{self, Display, Write};

use strait_report::{Layer, Report, Sanity, Summary};

use crate::table;

use super::{
    Shown,
    grouped::{NAMED, grouped},
};

/// The width of a line.
const WIDTH: usize = 100;

impl Display for Shown<'_, Report> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        whole(&mut text, self.0)?;
        f.write_str(&table::folded(&text, WIDTH))
    }
}

/// Writes the report. Its lines may be of any length.
fn whole(f: &mut String, report: &Report) -> fmt::Result {
    let target = &report.target;
    writeln!(f, "{} {}: {}", target.id, target.version, verdict(&report.summary))?;
    for remark in &report.remarks {
        writeln!(f, "{}: {} [{}]", remark.severity, remark.text, remark.code)?;
    }
    for gate in &report.gates {
        let met = if gate.met { "met" } else { "FAILED" };
        writeln!(f, "gate {}: {met}: {}", gate.gate, gate.text)?;
    }
    writeln!(f)?;
    if let Some(accuracy) = &report.accuracy {
        write!(f, "{}", Shown(accuracy))?;
    }
    if report.accuracy.is_none() || !is_sound(&report.sanity) {
        write!(f, "{}", Shown(&report.sanity))?;
    }
    if let Some(tail) = &report.tail {
        let operations = table::count(tail.operations, "operation");
        let outputs = table::count(tail.inputs.len(), "output");
        writeln!(
            f,
            "behind the cut: {operations} in float in {}, which reads {outputs}",
            tail.file
        )?;
    }
    size(f, report)?;
    does_not_fit(f, report)?;
    if let Some(optimized) = &report.optimized {
        write!(f, "{}", Shown(optimized))?;
    }
    for mixed in &report.mixed_precision {
        write!(f, "{}", Shown(mixed))?;
    }
    for lint in report.lints.iter().take(NAMED) {
        writeln!(f, "lint: {} [{}]", lint.text, lint.code)?;
    }
    if let Some(more @ 1..) = report.lints.len().checked_sub(NAMED) {
        writeln!(f, "and {}", table::count(more, "more lint"))?;
    }
    outside(f, &report.layers)?;
    if let Some(held) = &report.own_model {
        writeln!(f, "held against the target's own model of its arithmetic: {held}")?;
    }
    writeln!(
        f,
        "arithmetic: {}; layers by evidence: {}",
        report.evidence.claim, report.evidence.layers
    )?;
    let costly = report.costly.iter();
    let costly: Vec<String> = costly
        .map(|one| format!("{} ({:.1} dB alone)", one.layer, one.snr))
        .collect();
    match costly.is_empty() {
        true => Ok(()),
        false => writeln!(
            f,
            "the layers that cost most: {}; `strait analyze` finds out why",
            costly.join(", ")
        ),
    }
}

/// The result of the compilation in one sentence: where layers run, and how many fusions were made.
pub(super) fn verdict(summary: &Summary) -> String {
    let all = summary.accelerator + summary.host;
    let layers = table::count(all, "layer");
    let run = match (summary.accelerator, summary.host) {
        (_, 0) if all == 1 => "its one layer runs on the accelerator in integers".to_owned(),
        (_, 0) => format!("all {layers} run on the accelerator in integers"),
        (0, _) => format!("nothing runs on the accelerator; the host computes {layers} in float"),
        (inside, host) => {
            let between = table::count(summary.conversions, "conversion");
            format!(
                "{inside} of {layers} run on the accelerator in integers, {host} on the host in float, with {between} between them"
            )
        }
    };
    let fusions = match (summary.exact, summary.bounded) {
        (0, 0) => "nothing was fused".to_owned(),
        (exact, 0) => format!("{}, proven exact", table::count(exact, "fusion")),
        (exact, bounded) => {
            let all = table::count(exact + bounded, "fusion");
            format!("{all}, {exact} proven exact and {bounded} within a proven bound")
        }
    };
    format!("{run}; {fusions}")
}

/// True if running the first samples showed nothing that the user should look at.
fn is_sound(sanity: &Sanity) -> bool {
    let faulty = sanity.outputs.iter().any(|output| !output.faults.is_empty());
    !faulty && sanity.layers.is_empty() && sanity.rule.is_none()
}

fn size(f: &mut String, report: &Report) -> fmt::Result {
    let (before, after) = (report.size.float_bytes, report.size.integer_bytes);
    let ratio = before as f64 / after.max(1) as f64;
    let (before, after) = (table::bytes(before), table::bytes(after));
    writeln!(f, "parameters: {after}; {before} in the float model ({ratio:.2} to 1)")
}

/// Lists the layers that run on the host and the requantizations that were not fused, with the reasons.
fn does_not_fit(f: &mut String, report: &Report) -> fmt::Result {
    let host = report.layers.iter();
    let host = host.filter_map(|layer| Some((format!("{} ({})", layer.name, layer.op), layer.host.as_ref()?)));
    if report.summary.host > 0 {
        writeln!(f, "on the host: {}", table::count(report.summary.host, "layer"))?;
    }
    grouped(f, "", host)?;
    let summary = &report.summary;
    if summary.unfused > 0 {
        let writes = match (summary.requantized, summary.unfused) {
            (0, _) => String::new(),
            (elements, 1) => format!(", which writes {elements} elements"),
            (elements, _) => format!(", which write {elements} elements"),
        };
        writeln!(
            f,
            "not fused: {}{writes}",
            table::count(summary.unfused, "requantization")
        )?;
    }
    let refused = report.fusions.refused.iter();
    grouped(
        f,
        "",
        refused.map(|refused| (format!("{} into {}", refused.value, refused.layer), &refused.reason)),
    )
}

/// Lists the layers whose accumulators can lie outside the range for which the evidence shows that the form is right.
fn outside(f: &mut String, layers: &[Layer]) -> fmt::Result {
    let mut all = layers
        .iter()
        .flat_map(|layer| layer.outside.iter().map(|outside| (&layer.name, outside)));
    for (name, outside) in all.by_ref().take(NAMED) {
        writeln!(f, "outside: {name}: {outside}")?;
    }
    match all.count() {
        0 => Ok(()),
        more => writeln!(f, "outside besides: {}", table::count(more, "layer")),
    }
}
