//! Shows an analysis: where the points go, the worst layers with the reasons, and the rules that were tried.

use std::fmt::{self, Display};

use strait_report::{Analysis, LayerAnalysis, MetricPoints, TriedRule};

use crate::table;

use super::accuracy::changed;

/// Lines are at most this wide, except where a single word is longer.
const WIDTH: usize = 100;

/// What the columns of the table of layers are.
const COLUMNS: &str = "alone: SNR of the outputs if only this layer is quantized; entire, cosine: the layer's result in the \
                       integer model; before: the worst tensor that it reads";

/// A rule is said to move operations if it moves at least this fraction of them.
const LEAST: f64 = 5e-4;

/// An analysis, shown with its worst layers.
pub struct WorstLayers<'a> {
    /// The analysis.
    pub analysis: &'a Analysis,
    /// How many layers are shown.
    pub layers: usize,
}

impl Display for WorstLayers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let analysis = self.analysis;
        if analysis.metrics.is_empty() {
            writeln!(
                f,
                "where the points go is not measured: the configuration has no [evaluation]"
            )?;
        } else {
            let samples = table::count(analysis.evaluated as usize, "sample");
            writeln!(f, "where the points go on {samples}, with paired 95 % intervals:")?;
            analysis.metrics.iter().try_for_each(|metric| points(f, metric))?;
        }
        let shown = analysis.layers.get(..self.layers).unwrap_or(&analysis.layers);
        writeln!(
            f,
            "\nthe {} of {} that cost most, on {}:",
            table::count(shown.len(), "layer"),
            analysis.layers.len(),
            table::count(analysis.samples as usize, "calibration sample"),
        )?;
        layers(f, shown)?;
        for line in table::wrapped(COLUMNS, WIDTH) {
            writeln!(f, "{line}")?;
        }
        if !analysis.tried.is_empty() {
            writeln!(f, "\nrules that were tried:")?;
        }
        analysis
            .tried
            .iter()
            .try_for_each(|tried| rule(f, tried, &analysis.metrics))
    }
}

/// The shares of one metric.
fn points(f: &mut fmt::Formatter<'_>, metric: &MetricPoints) -> fmt::Result {
    let figure = |figure: Option<strait_evaluate::Figure>| figure.map(|figure| metric.unit.shown(figure.value));
    let figures = match (figure(metric.float), figure(metric.integer)) {
        (Some(float), Some(integer)) => format!("{float} in float, {integer} in integers"),
        (None, Some(integer)) => integer,
        _ => "not measured".to_owned(),
    };
    let output = metric.output.as_ref().map(|output| format!(" of {output}"));
    writeln!(f, "  {}{}: {figures}", metric.name, output.unwrap_or_default())?;
    let whole = metric
        .change
        .as_ref()
        .map(|change| ["all".to_owned(), changed(metric.unit, change)]);
    let shares = metric.shares.iter().map(|share| {
        let change = share.change.as_ref().map(|change| changed(metric.unit, change));
        // A metric that compares with the float model may have no change, but a figure.
        let alone = || share.figure.map(|figure| metric.unit.shown(figure.value));
        let words = change.or(share.note.clone()).or_else(alone);
        let words = words.unwrap_or_else(|| "not known".to_owned());
        [share.cause.words().to_owned(), words]
    });
    let mut text = String::new();
    table::write(&mut text, shares.chain(whole))?;
    text.lines().try_for_each(|line| writeln!(f, "    {line}"))
}

/// The table of layers. The reasons stand below each layer.
fn layers(f: &mut fmt::Formatter<'_>, layers: &[LayerAnalysis]) -> fmt::Result {
    let names = table::all_shortened(layers.iter().map(|layer| layer.layer.as_str()));
    let heading = ["layer", "op", "share", "alone", "entire", "before", "cosine", ""].map(str::to_owned);
    let decibel = |snr: Option<f64>| snr.map_or_else(String::new, |snr| format!("{snr:.1} dB"));
    let row = |layer: &LayerAnalysis| {
        let cells = [
            names.get(layer.layer.as_str()).cloned().unwrap_or_default(),
            layer.op.clone(),
            format!("{:.1} %", 100.0 * layer.share),
            decibel(layer.single),
            decibel(layer.entire),
            decibel(layer.before),
            layer.cosine.map_or_else(String::new, |cosine| format!("{cosine:.4}")),
            if layer.jumps { "jumps" } else { "" }.to_owned(),
        ];
        let reasons: Vec<String> = layer
            .reasons
            .iter()
            .map(|reason| format!("{} [{}]", reason.text, reason.code))
            .collect();
        (cells, reasons.join("; "))
    };
    table::write_within(
        f,
        WIDTH,
        std::iter::once((heading, String::new())).chain(layers.iter().map(row)),
    )
}

/// What a rule brings, and the rule.
fn rule(f: &mut fmt::Formatter<'_>, tried: &TriedRule, metrics: &[MetricPoints]) -> fmt::Result {
    let changes =
        tried.changes.iter().zip(metrics).filter_map(|(change, metric)| {
            Some(format!("{} of {}", changed(metric.unit, change.as_ref()?), metric.name))
        });
    let snr = match tried.snr {
        [Some(before), Some(after)] => Some(format!("outputs at {after:.1} dB instead of {before:.1} dB")),
        _ => None,
    };
    let moved = [(tried.wide, "on 16 bits"), (tried.host, "on the host")].into_iter();
    let moved = moved.filter(|(share, _)| *share >= LEAST);
    let moved = moved.map(|(share, to)| format!("{:.1} % of the operations {to}", 100.0 * share));
    let all: Vec<String> = changes.chain(moved).chain(snr).collect();
    for line in table::wrapped(&format!("this rule: {}", all.join(", ")), WIDTH - 2) {
        writeln!(f, "  {line}")?;
    }
    tried.toml.lines().try_for_each(|line| writeln!(f, "    {line}"))
}
