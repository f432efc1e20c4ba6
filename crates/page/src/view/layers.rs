//! A part of the page for each layer.

use std::collections::BTreeMap;

use serde::Serialize;
use strait_report::{Layer, LayerAnalysis, Report, ValueReport};

use crate::{plot, words};

use super::{
    forms::form,
    graph::shown_name,
    names::{Errors, Names, badness, converts, sources},
};

#[derive(Debug, Serialize)]
pub(crate) struct LayerView {
    number: usize,
    name: String,
    op: String,
    /// What a search looks at.
    words: String,
    /// `accelerator`, `host` or `conversion`.
    place: &'static str,
    elem: String,
    snr: Option<String>,
    /// How bad the error is, from 0 to 4.
    bad: Option<usize>,
    jumps: bool,
    facts: Vec<Fact>,
    histogram: Option<Plot>,
    channels: Option<Plot>,
    formula: Option<&'static str>,
    findings: Vec<Finding>,
    misses: Vec<MissView>,
}

#[derive(Debug, Serialize)]
struct Fact {
    what: &'static str,
    is: String,
}

#[derive(Debug, Serialize)]
struct Plot {
    title: String,
    svg: String,
    note: String,
}

/// Something that lowers the accuracy, or a reason.
#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    text: String,
    /// The code of the reason, which `strait explain` explains; empty if there is none, or if the text is the code.
    code: String,
    toml: Option<String>,
}

impl Finding {
    fn new(what: &'static str, text: String) -> Finding {
        Finding {
            what,
            text,
            code: String::new(),
            toml: None,
        }
    }

    fn with_code(mut self, code: &str) -> Finding {
        if self.text != code {
            code.clone_into(&mut self.code);
        }
        self
    }
}

/// A fusion row that nearly applied.
#[derive(Debug, Serialize)]
struct MissView {
    row: String,
    failed: String,
    /// How many checks it passed before.
    passed: Option<usize>,
    text: String,
}

/// The checks of a fusion row, in their order.
const CHECKS: [&str; 5] = ["conditions", "form", "proof", "policy", "length"];

/// At most this many rows that did not apply are named for a layer.
const MOST: usize = 6;

pub(crate) fn layers(report: &Report, names: &Names<'_>, errors: &Errors<'_>) -> Vec<LayerView> {
    let total = report
        .layers
        .iter()
        .filter_map(|layer| layer.operations)
        .fold(0u64, u64::saturating_add);
    let mut misses: BTreeMap<&str, Vec<MissView>> = BTreeMap::new();
    for row in &report.fusions.rows {
        for miss in row.missed.iter().filter(|miss| miss.instead.is_none()) {
            misses.entry(miss.layer.as_str()).or_default().push(MissView {
                row: row.row.clone(),
                failed: failed(&miss.failed_at).to_owned(),
                passed: CHECKS.iter().position(|check| *check == miss.failed_at),
                text: miss.reason.text.clone(),
            });
        }
    }
    for of in misses.values_mut() {
        // Rows that passed as many checks keep the order of the table.
        of.sort_by_key(|miss| std::cmp::Reverse(miss.passed));
        of.truncate(MOST);
    }
    let mut lints: BTreeMap<usize, Vec<Finding>> = BTreeMap::new();
    for lint in &report.lints {
        if let Some(index) = names.layer(&lint.layer) {
            let finding = Finding::new("Lint", lint.text.clone()).with_code(&lint.code);
            lints.entry(index).or_default().push(finding);
        }
    }
    (report.layers.iter().enumerate())
        .map(|(index, layer)| {
            let error = errors.get(index);
            let mut findings: Vec<Finding> = Vec::new();
            if let Some(host) = &layer.host {
                findings.push(Finding::new("On the host", host.text.clone()).with_code(&host.code));
            }
            findings.extend(
                error
                    .into_iter()
                    .flat_map(|error| &error.reasons)
                    .map(|reason| Finding {
                        toml: reason.toml.clone(),
                        ..Finding::new("Loses accuracy", reason.text.clone())
                    }),
            );
            findings.extend(lints.remove(&index).unwrap_or_default());
            let refused = report
                .fusions
                .refused
                .iter()
                .filter(|refused| refused.layer == layer.name);
            findings.extend(refused.map(|refused| {
                let text = match &refused.row {
                    Some(row) => format!("{}, nearest to {row}: {}", refused.value, refused.reason.text),
                    None => format!("{}: {}", refused.value, refused.reason.text),
                };
                Finding::new("Not fused", text).with_code(&refused.reason.code)
            }));
            let outside = layer.outside.iter();
            findings.extend(outside.map(|outside| Finding::new("Outside of the evidence", outside.to_string())));
            let snr = error.and_then(|error| error.entire.or(error.single));
            LayerView {
                number: index + 1,
                name: shown_name(layer),
                op: layer.op.clone(),
                words: format!("{} {} {}", layer.name, layer.op, layer.sources.join(" ")).to_lowercase(),
                place: match &layer.host {
                    _ if converts(layer) => "conversion",
                    Some(_) => "host",
                    None => "accelerator",
                },
                elem: layer
                    .results
                    .first()
                    .map_or_else(String::new, |result| result.elem.clone()),
                snr: snr.map(words::decibel),
                bad: snr.map(badness),
                jumps: error.is_some_and(|error| error.jumps),
                facts: facts(layer, error, total),
                histogram: histogram(layer, names),
                channels: channels(index, layer, names),
                formula: layer.form.as_deref().and_then(form).map(|(_, formula)| formula),
                findings,
                misses: misses.remove(layer.name.as_str()).unwrap_or_default(),
            }
        })
        .collect()
}

/// What a fusion row did not pass, in words.
fn failed(check: &str) -> &str {
    match check {
        "conditions" => "a condition of the row",
        "form" => "the form of the requantization",
        "proof" => "the proof that both compute the same",
        "policy" => "what `[fusion] accept` allows",
        "length" => "another row fuses more steps",
        other => other,
    }
}

fn histogram(layer: &Layer, names: &Names<'_>) -> Option<Plot> {
    let of = layer
        .results
        .iter()
        .find_map(|result| names.distribution(&result.name))?;
    let mut note = format!("seen {} to {}", words::real(of.seen[0]), words::real(of.seen[1]));
    if let (Some(step), Some(clipped)) = (of.step, of.clipped) {
        note += &format!(
            "; a step is {}; {} saturate",
            words::real(step),
            words::percent(clipped)
        );
    }
    Some(Plot {
        title: format!("Values of {} in float", of.tensor),
        svg: plot::histogram(of),
        note,
    })
}

fn channels(index: usize, layer: &Layer, names: &Names<'_>) -> Option<Plot> {
    let of = names.weights(index, layer)?;
    let worst = of.snr.iter().flatten().copied().min_by(f32::total_cmp);
    let mut note = match of.per_tensor {
        true => "one scale for the whole tensor".to_owned(),
        false => "a scale for each channel".to_owned(),
    };
    if let Some(worst) = worst {
        note += &format!("; the worst channel has {}", words::decibel(f64::from(worst)));
    }
    Some(Plot {
        title: format!(
            "Weights “{}”: largest magnitude (bars), SNR of the codes (dots)",
            of.tensor
        ),
        svg: plot::channels(of),
        note,
    })
}

fn ty(elem: &str, shape: &[u64]) -> String {
    let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("{elem} [{}]", shape.join(" × "))
}

fn grid(result: &ValueReport) -> Option<String> {
    let grid = result.grid.as_ref()?;
    Some(match (grid.scale.as_slice(), grid.zero_point.as_slice()) {
        ([scale], [zero]) => format!(
            "scale {}, zero point {}",
            words::real(f64::from(*scale)),
            words::integer(i64::from(*zero))
        ),
        (scales, _) => {
            let low = scales.iter().copied().fold(f32::INFINITY, f32::min);
            let high = scales.iter().copied().fold(0.0, f32::max);
            format!(
                "{} scales from {} to {}",
                scales.len(),
                words::real(f64::from(low)),
                words::real(f64::from(high))
            )
        }
    })
}

fn facts(layer: &Layer, error: Option<&LayerAnalysis>, total: u64) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut tell = |what: &'static str, is: String| {
        if !is.is_empty() {
            facts.push(Fact { what, is });
        }
    };
    tell("Source nodes", sources(layer).join(", "));
    for operand in &layer.operands {
        let kind = if operand.constant { "Constant" } else { "Reads" };
        tell(kind, format!("{}: {}", operand.name, ty(&operand.elem, &operand.shape)));
    }
    for result in &layer.results {
        let grid = grid(result).map(|grid| format!(", {grid}")).unwrap_or_default();
        tell(
            "Makes",
            format!("{}: {}{grid}", result.name, ty(&result.elem, &result.shape)),
        );
    }
    if let Some(operations) = layer.operations {
        let share = operations as f64 / total.max(1) as f64;
        tell(
            "Operations",
            format!(
                "{}, {} of the model",
                words::operations(operations),
                words::percent(share)
            ),
        );
    }
    if let Some(error) = error {
        let told = |what: &str, snr: Option<f64>| snr.map(|snr| format!("{what} {}", words::error(snr)));
        let all = [
            told("accumulated", error.entire),
            told("what it reads", error.before),
            told("outputs with only this layer quantized", error.single),
            told("only its weights", error.single_weights),
            told("only its activations", error.single_activations),
        ];
        tell("Error", all.into_iter().flatten().collect::<Vec<_>>().join("; "));
    }
    if let Some(name) = &layer.form {
        let words = form(name).map(|(words, _)| format!(": {words}")).unwrap_or_default();
        tell("Requantization", format!("{name}{words}"));
    }
    if let Some([low, high]) = layer.clamp {
        tell(
            "Clamp",
            format!(
                "codes from {} to {}",
                words::integer(low.into()),
                words::integer(high.into())
            ),
        );
    }
    if let Some(fusion) = &layer.fusion {
        tell("Certificate", format!("{}: {}", fusion.row, fusion.claim));
        if let Some([low, high]) = fusion.accumulators {
            tell("Accumulator", accumulator([low, high]));
        }
    }
    tell(
        "Integers",
        layer
            .free_integers
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
    );
    tell(
        "Integers",
        layer
            .from_scales
            .as_deref()
            .and_then(strait_report::FromScales::remark)
            .unwrap_or_default(),
    );
    if let Some(evidence) = &layer.evidence {
        tell("Evidence", format!("{evidence}: {}", layer.rests_on.join(", ")));
    }
    facts
}

/// The interval of an accumulator, and how many bits it needs.
fn accumulator([low, high]: [i64; 2]) -> String {
    let magnitude = |end: i64| 64 - if end < 0 { !end } else { end }.leading_zeros();
    let bits = magnitude(low).max(magnitude(high)) + 1;
    let spare = match 32u32.checked_sub(bits) {
        Some(spare) => format!("; 32 bits would leave {spare} to spare"),
        None => String::new(),
    };
    format!(
        "from {} to {}, which needs {bits} bits{spare}",
        words::integer(low),
        words::integer(high)
    )
}

#[cfg(test)]
mod tests {
    use super::accumulator;

    #[test]
    fn an_accumulator_needs_as_many_bits_as_its_larger_end() {
        assert!(accumulator([-128, 127]).contains("needs 8 bits"));
        assert!(accumulator([-129, 127]).contains("needs 9 bits"));
        assert!(accumulator([0, i64::from(i32::MAX)]).contains("leave 0 to spare"));
    }
}
