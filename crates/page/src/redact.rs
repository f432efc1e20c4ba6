//! Takes out of a report and an analysis what a page must not show if it leaves the house.

use std::collections::BTreeMap;

use strait_report::{Analysis, Report, Sanity};

/// Replaces the names of layers and tensors by numbers, removes the statistics of weights, and removes every text that may
/// quote a name.
pub(crate) fn redact(report: &mut Report, analysis: Option<&mut Analysis>) {
    let mut names = Names::default();
    for (index, layer) in report.layers.iter_mut().enumerate() {
        names.tell(&layer.name, &format!("layer {}", index + 1));
        // Several nodes can be made from the same layer. The first one gives it its number.
        for source in layer.sources.drain(..) {
            names.tell(&source, &format!("layer {}", index + 1));
        }
        for result in &layer.results {
            names.tell(&result.name, "");
        }
        layer.name = format!("layer {}", index + 1);
        layer.fusion = None;
        layer.outside.clear();
        if let Some(host) = &mut layer.host {
            host.text.clone_from(&host.code);
        }
    }
    for layer in &mut report.layers {
        for operand in &mut layer.operands {
            operand.name = names.tensor(&operand.name);
        }
        for result in &mut layer.results {
            result.name = names.tensor(&result.name);
        }
    }
    for distribution in &mut report.distributions {
        distribution.tensor = names.tensor(&distribution.tensor);
    }
    for costly in &mut report.costly {
        costly.layer = names.layer(&costly.layer);
    }
    for lint in &mut report.lints {
        lint.layer = names.layer(&lint.layer);
        lint.tensor = names.tensor(&lint.tensor);
        lint.text.clone_from(&lint.code);
        lint.readers.clear();
    }
    report.weights.clear();
    report.seen.clear();
    report.changed.clear();
    report.set.clear();
    report.remarks.clear();
    report.rules.clear();
    report.quantize.clear();
    report.mixed_precision.clear();
    report.optimized = None;
    report.file_operators = None;
    report.tail = None;
    report.settings = None;
    report.sanity = sanity(&report.sanity);
    report.not_for_deployment = report.not_for_deployment.take().map(|_| "see `report.json`".to_owned());
    for set in report.data.values_mut() {
        set.left_out.clear();
    }
    for fired in &mut report.fusions.fired {
        fired.layer = names.layer(&fired.layer);
    }
    for refused in &mut report.fusions.refused {
        refused.layer = names.layer(&refused.layer);
        refused.value = names.tensor(&refused.value);
        refused.reason.text.clone_from(&refused.reason.code);
    }
    report.fusions.rows.clear();
    report.fusions.merged.clear();
    for gate in &mut report.gates {
        gate.text.clear();
    }
    let metrics = report.accuracy.iter_mut().flat_map(|accuracy| &mut accuracy.metrics);
    for metric in metrics {
        (metric.output, metric.note) = (None, None);
        metric.parts.clear();
    }
    for row in &mut report.evidence.rows {
        row.note = None;
    }
    if let Some(analysis) = analysis {
        of_analysis(analysis, &mut names);
    }
}

fn sanity(from: &Sanity) -> Sanity {
    let mut sanity = Sanity {
        samples: from.samples,
        outputs: from.outputs.clone(),
        ..Sanity::default()
    };
    for (index, output) in sanity.outputs.iter_mut().enumerate() {
        output.output = format!("output {}", index + 1);
        output.part = None;
    }
    sanity
}

fn of_analysis(analysis: &mut Analysis, names: &mut Names) {
    for metric in &mut analysis.metrics {
        metric.output = None;
        for share in &mut metric.shares {
            share.note = None;
        }
    }
    for layer in &mut analysis.layers {
        layer.layer = names.layer(&layer.layer);
        layer.clamps.clear();
        layer.weights = None;
        if let Some(result) = &mut layer.result {
            result.tensor = names.tensor(&result.tensor);
        }
        for reason in &mut layer.reasons {
            reason.text.clone_from(&reason.code);
            reason.toml = None;
        }
    }
    analysis.tried.clear();
}

/// The numbers that stand for names.
#[derive(Default)]
struct Names {
    layers: BTreeMap<String, String>,
    tensors: BTreeMap<String, String>,
}

impl Names {
    /// Records that a layer has this number. An empty number stands for a tensor.
    fn tell(&mut self, name: &str, number: &str) {
        if number.is_empty() {
            self.tensor(name);
        } else {
            self.layers.entry(name.to_owned()).or_insert_with(|| number.to_owned());
        }
    }

    fn layer(&self, name: &str) -> String {
        self.layers.get(name).cloned().unwrap_or_else(|| "a layer".to_owned())
    }

    fn tensor(&mut self, name: &str) -> String {
        let next = format!("tensor {}", self.tensors.len() + 1);
        self.tensors.entry(name.to_owned()).or_insert(next).clone()
    }
}
