//! The errors of layers for programs that show models: as node data of Model Explorer, and as notes for the nodes of a file.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use strait_report::{Analysis, LayerAnalysis, Report};

use crate::{
    PageError,
    view::{Names, related},
    words,
};

/// The upper ends of the ranges of an SNR, in dB, each with a colour, from bad to good. The page has the same ranges.
const RANGES: [(f64, &str); 4] = [
    (10.0, "#f29c96"),
    (20.0, "#f9bf8f"),
    (30.0, "#fbe3a6"),
    (40.0, "#e9efc3"),
];

/// The errors of the layers of one graph, in the form that Model Explorer reads: for each graph, by its id, the figures of its
/// nodes. A node is named by its name in the model, and by the names of the tensors that it computes, because both can be
/// what Model Explorer knows a node by. The figure is the SNR of the layer's result in the integer model, in dB; or, for a
/// layer whose result the integer model does not have, that of the outputs if only this layer is quantized.
///
/// # Errors
/// If the analysis does not belong to the report.
pub fn node_data(report: &Report, analysis: &Analysis, graph: &str) -> Result<Value, PageError> {
    related(report, analysis)?;
    let names = Names::new(report);
    let mut results = Map::new();
    for layer in &analysis.layers {
        let Some(snr) = layer.entire.or(layer.single).filter(|snr| snr.is_finite()) else {
            continue;
        };
        let value = json!({ "value": (snr * 100.0).round() / 100.0 });
        let of_report = names.layer(&layer.layer).and_then(|index| report.layers.get(index));
        let tensors = of_report.into_iter().flat_map(|layer| &layer.results);
        let tensors = tensors.map(|result| &result.name);
        for name in std::iter::once(&layer.layer).chain(&layer.clamps).chain(tensors) {
            results.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    let thresholds = RANGES.map(|(value, color)| json!({ "value": value, "bgColor": color }));
    let name = format!("SNR in dB on {}", report.target.id);
    Ok(json!({ graph: { "name": name, "results": results, "thresholds": thresholds } }))
}

/// The notes for each layer of a model, by its name: `strait.snr`, `strait.single` and others.
///
/// # Errors
/// If the analysis does not belong to the report.
pub fn layer_notes(report: &Report, analysis: &Analysis) -> Result<BTreeMap<String, Vec<(String, String)>>, PageError> {
    related(report, analysis)?;
    let of = |layer: &LayerAnalysis| (layer.layer.clone(), notes(layer));
    Ok(analysis
        .layers
        .iter()
        .map(of)
        .filter(|(_, notes)| !notes.is_empty())
        .collect())
}

fn notes(layer: &LayerAnalysis) -> Vec<(String, String)> {
    let decibel = |snr: Option<f64>| snr.filter(|snr| *snr < words::EXACT).map(words::decibel);
    let figures = [
        ("strait.snr", decibel(layer.entire)),
        ("strait.single", decibel(layer.single)),
        ("strait.single_weights", decibel(layer.single_weights)),
        ("strait.single_activations", decibel(layer.single_activations)),
        ("strait.jumps", layer.jumps.then(|| "true".to_owned())),
        (
            "strait.reasons",
            (!layer.reasons.is_empty()).then(|| {
                let texts: Vec<&str> = layer.reasons.iter().map(|reason| reason.text.as_str()).collect();
                texts.join("; ")
            }),
        ),
    ];
    figures
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{analysis, report};

    #[test]
    fn a_layer_is_named_by_its_node_and_by_its_tensor() {
        let data = node_data(&report("name"), &analysis("name"), "net").unwrap();
        let results = &data["net"]["results"];
        assert_eq!(
            (&results["bname"]["value"], &results["yname"]["value"]),
            (&json!(9.0), &json!(9.0))
        );
        assert_eq!(
            data["net"]["thresholds"][0],
            json!({"value": 10.0, "bgColor": "#f29c96"})
        );
    }

    #[test]
    fn a_node_has_a_note_for_each_figure() {
        let notes = layer_notes(&report("name"), &analysis("name")).unwrap();
        let keys: Vec<&str> = notes["bname"].iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["strait.snr", "strait.single", "strait.jumps", "strait.reasons"]);
        assert!(notes["bname"][0].1.starts_with("9.0"), "{:?}", notes["bname"]);
    }

    #[test]
    fn an_analysis_of_another_model_is_refused() {
        assert!(node_data(&report("name"), &analysis("another"), "net").is_err());
        assert!(layer_notes(&report("name"), &analysis("another")).is_err());
    }
}
