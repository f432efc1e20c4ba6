//! The verdict in a sentence, and the figures behind it.

use serde::Serialize;
use strait_evaluate::{Better, Figure, Measured};
use strait_report::{Fault, Report};

use crate::words;

/// A metric that loses fewer points than this is called close to the float model.
const MUCH: f64 = 1.0;

#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    /// `good`, `fair` or `bad`.
    tone: &'static str,
    /// One word for the tone, so that nobody has to tell colours apart.
    word: &'static str,
    sentence: String,
    /// What else is to be known before the figures are used.
    remarks: Vec<RemarkView>,
    tiles: Vec<Tile>,
    metrics: Vec<MetricView>,
    samples: String,
    gates: Vec<GateView>,
    outputs: Vec<OutputView>,
    sanity_samples: String,
}

#[derive(Debug, Serialize)]
struct RemarkView {
    severity: String,
    code: String,
    text: String,
}

#[derive(Debug, Serialize)]
struct Tile {
    label: &'static str,
    value: String,
    note: String,
}

#[derive(Debug, Serialize)]
struct MetricView {
    name: String,
    output: Option<String>,
    float: String,
    integer: String,
    change: String,
    /// `fall` if the metric is worse for sure, `rise` if it is better.
    class: &'static str,
    note: Option<String>,
}

#[derive(Debug, Serialize)]
struct GateView {
    gate: String,
    met: bool,
    text: String,
}

#[derive(Debug, Serialize)]
struct OutputView {
    name: String,
    snr: String,
    faults: Vec<&'static str>,
}

impl Summary {
    pub(crate) fn new(report: &Report) -> Summary {
        let (tone, word, sentence) = verdict(report);
        let remark = |remark: &strait_report::Remark| RemarkView {
            severity: remark.severity.clone(),
            code: remark.code.clone(),
            text: remark.text.clone(),
        };
        let accuracy = report.accuracy.as_ref();
        let outputs = report.sanity.outputs.iter().map(|output| OutputView {
            name: output.part.as_ref().unwrap_or(&output.output).clone(),
            snr: output.snr.map_or_else(|| "not compared".to_owned(), words::decibel),
            faults: output.faults.iter().map(|fault| fault_words(*fault)).collect(),
        });
        Summary {
            tone,
            word,
            sentence,
            remarks: report.remarks.iter().map(remark).collect(),
            tiles: tiles(report),
            metrics: accuracy.into_iter().flat_map(|all| &all.metrics).map(metric).collect(),
            samples: accuracy.map_or_else(String::new, |all| words::counted(all.samples as usize, "sample")),
            gates: (report.gates.iter())
                .map(|gate| GateView {
                    gate: gate.gate.clone(),
                    met: gate.met,
                    text: gate.text.clone(),
                })
                .collect(),
            outputs: outputs.collect(),
            sanity_samples: words::counted(report.sanity.samples as usize, "sample"),
        }
    }
}

/// The metric that the verdict speaks of: the first one that has a figure of the float model.
fn leading(report: &Report) -> Option<&Measured> {
    let metrics = report.accuracy.iter().flat_map(|accuracy| &accuracy.metrics);
    metrics
        .clone()
        .find(|metric| metric.float.is_some() && metric.change.is_some())
}

/// The change of a metric in points, negative if it gets worse.
pub(crate) fn gain(metric: &Measured) -> Option<f64> {
    let points = metric.unit.points(metric.change.as_ref()?.value);
    Some(if metric.better == Better::Higher {
        points
    } else {
        -points
    })
}

fn verdict(report: &Report) -> (&'static str, &'static str, String) {
    if let Some(why) = &report.not_for_deployment {
        return (
            "bad",
            "Not for deployment",
            format!("This artifact must not be deployed: {why}."),
        );
    }
    let figures = leading(report).and_then(|metric| {
        let (float, integer) = (metric.float?, metric.integer?);
        let gain = gain(metric)?;
        let shown = |figure: Figure| words::figure(metric.unit, figure.value);
        let than = if metric.better == Better::Higher {
            ["below", "above"]
        } else {
            ["worse than", "better than"]
        };
        let against = match gain {
            _ if gain.abs() < 0.005 => "as the float model".to_owned(),
            _ => format!(
                "{:.2} points {} the float model ({})",
                gain.abs(),
                than[usize::from(gain > 0.0)],
                shown(float)
            ),
        };
        Some((gain, format!("{} is {}, {against}", metric.name, shown(integer))))
    });
    let said = figures
        .as_ref()
        .map(|(_, said)| format!("{said}. "))
        .unwrap_or_default();
    let failed = report.failed_gates().count();
    if failed > 0 {
        let gates = match report.gates.len() {
            1 => "the gate is not met".to_owned(),
            all => format!("{failed} of {all} gates are not met"),
        };
        return ("bad", "Gate failed", sentence(&format!("{said}{}", capital(&gates))));
    }
    let faulty = report.sanity.outputs.iter().find(|output| !output.faults.is_empty());
    if let Some(output) = faulty {
        let faults: Vec<&str> = output.faults.iter().map(|fault| fault_words(*fault)).collect();
        let jump = report
            .sanity
            .layers
            .first()
            .map(|jump| format!("; the error jumps at `{}`", jump.layer));
        let jump = jump.unwrap_or_default();
        let text = format!(
            "{said}Output `{}` is damaged: {}{jump}",
            output.output,
            faults.join(", ")
        );
        return ("bad", "Damaged", sentence(&text));
    }
    let placed = placed(report);
    match figures {
        Some((gain, said)) if gain < -MUCH => {
            let costly = report.costly.first();
            let most = costly.map(|costly| format!("; the layer that costs most is `{}`", costly.layer));
            let text = format!("{said}{}; {placed}", most.unwrap_or_default());
            ("fair", "Loses accuracy", sentence(&text))
        }
        Some((_, said)) => ("good", "Close to float", sentence(&format!("{said}; {placed}"))),
        None => {
            let snr = report
                .sanity
                .outputs
                .iter()
                .filter_map(|output| output.snr)
                .min_by(f64::total_cmp);
            let heard = snr.map(|snr| {
                format!(
                    ", and the outputs keep {} on {}",
                    words::decibel(snr),
                    words::counted(report.sanity.samples as usize, "sample")
                )
            });
            let text = format!("Accuracy was not measured{}; {placed}", heard.unwrap_or_default());
            ("fair", "Not measured", sentence(&text))
        }
    }
}

fn placed(report: &Report) -> String {
    let summary = &report.summary;
    match (summary.accelerator, summary.host) {
        (0, host) => format!("all {} run on the host", words::counted(host, "layer")),
        (inside, 0) => format!("all {} run on the accelerator", words::counted(inside, "layer")),
        (inside, host) => format!(
            "{inside} of {} run on the accelerator",
            words::counted(inside + host, "layer")
        ),
    }
}

fn sentence(text: &str) -> String {
    format!("{}.", text.trim_end_matches(['.', ' ']))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn fault_words(fault: Fault) -> &'static str {
    match fault {
        Fault::Noise => "its SNR is below 10 dB",
        Fault::Constant => "it is constant",
        Fault::Answers => "its answers differ from the float model's",
        Fault::Empty => "it is empty",
        Fault::NotANumber => "it is not a number",
    }
}

fn tiles(report: &Report) -> Vec<Tile> {
    let mut tiles = Vec::new();
    if let Some(metric) = leading(report) {
        let change = metric.change.as_ref().map(|change| change_words(metric, change));
        tiles.push(Tile {
            label: "Accuracy",
            value: metric
                .integer
                .map_or_else(String::new, |figure| words::figure(metric.unit, figure.value)),
            note: format!(
                "{}, {} in float",
                change.unwrap_or_default(),
                metric
                    .float
                    .map_or_else(String::new, |figure| words::figure(metric.unit, figure.value))
            ),
        });
    }
    let (float, integer) = (report.size.float_bytes, report.size.integer_bytes);
    tiles.push(Tile {
        label: "Parameters",
        value: words::bytes(integer),
        note: format!(
            "{} in float, {:.2} to 1",
            words::bytes(float),
            float as f64 / integer.max(1) as f64
        ),
    });
    let summary = &report.summary;
    tiles.push(Tile {
        label: "Accelerator",
        value: format!("{} of {}", summary.accelerator, summary.accelerator + summary.host),
        note: format!(
            "layers, {} between integers and float",
            words::counted(summary.conversions, "conversion")
        ),
    });
    let counts: Option<Vec<u64>> = report.layers.iter().map(|layer| layer.operations).collect();
    if let Some(counts) = counts {
        let all = counts.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
        let host = report.layers.iter().filter(|layer| layer.host.is_some());
        let host = host
            .filter_map(|layer| layer.operations)
            .fold(0u64, u64::saturating_add);
        tiles.push(Tile {
            label: "Operations",
            value: words::operations(all),
            note: format!(
                "multiply-adds and visited elements, {} on the host",
                words::percent(host as f64 / all.max(1) as f64)
            ),
        });
    }
    let fused = summary.exact + summary.bounded;
    tiles.push(Tile {
        label: "Fusions",
        value: format!("{fused} of {}", fused + summary.unfused),
        note: match summary.bounded {
            0 => "all proven exact".to_owned(),
            bounded => format!("{} proven exact, {bounded} within a bound", summary.exact),
        },
    });
    tiles
}

fn metric(metric: &Measured) -> MetricView {
    let figure = |figure: Option<Figure>| {
        figure.map_or_else(String::new, |figure| {
            let interval = figure.interval.map(|ends| {
                format!(
                    " [{}]",
                    ends.map(|end| format!("{end:.2}").replace('-', "−")).join(", ")
                )
            });
            format!(
                "{}{}",
                words::figure(metric.unit, figure.value),
                interval.unwrap_or_default()
            )
        })
    };
    let change = metric.change.as_ref();
    let sure = change
        .and_then(|change| change.interval)
        .filter(|[low, high]| low * high > 0.0);
    MetricView {
        name: metric.name.clone(),
        output: metric.output.clone(),
        float: figure(metric.float),
        integer: figure(metric.integer),
        change: change.map_or_else(String::new, |change| change_words(metric, change)),
        class: match (sure, gain(metric)) {
            (Some(_), Some(gain)) if gain < 0.0 => "fall",
            (Some(_), Some(gain)) if gain > 0.0 => "rise",
            _ => "",
        },
        note: metric.note.clone(),
    }
}

fn change_words(metric: &Measured, change: &strait_evaluate::Change) -> String {
    points(metric.unit, change)
}

/// A change in points, with its interval.
pub(crate) fn points(unit: strait_evaluate::Unit, change: &strait_evaluate::Change) -> String {
    let shown = |value: f64| words::signed(unit.points(value));
    let interval = change.interval.map(|ends| format!(" [{}]", ends.map(shown).join(", ")));
    format!("{} points{}", shown(change.value), interval.unwrap_or_default())
}
