//! Writes the JSON files with names, settings and fusions.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use strait_plugin_sdk::graph::{Attribute, Module, NodeId};
use strait_plugin_sdk::{Counts, Emission};

use super::walk::Layer;

/// `*_quant.json`: for each node of the deploy model, lists the layers of the source model that the node replaces.
/// Tools that compare dumped tensors use this file. The node that dequantizes a layer's result gets the outputs of the
/// layer.
pub(super) fn names(deploy: &Module, model: &str) -> Value {
    let graph = deploy.main();
    let named: BTreeMap<&str, NodeId> = graph.nodes().map(|(id, node)| (deploy.name(node.name), id)).collect();
    let ops = graph.nodes().map(|(id, node)| {
        let name = deploy.name(node.name);
        let sources: Vec<&str> = node.sources.iter().map(|&source| deploy.name(source)).collect();
        let inputs = node.inputs.iter().flatten().map(|&value| match graph.producer(value) {
            Some((_, producer)) => {
                let position = producer.outputs.iter().position(|&result| result == value);
                format!("{}:{}", deploy.name(producer.name), position.unwrap_or(0))
            }
            None => graph
                .value(value)
                .map(|value| format!("{}:0", deploy.name(value.name)))
                .unwrap_or_default(),
        });
        let kind = match node.op.attribute("name") {
            Some(Attribute::Text(kind)) => kind,
            _ => node.op.name().to_owned(),
        };
        let origin = |name: &str, position: usize| {
            json!({ "attr": [
                { "key": "_datadump_origin_name", "value": { "s": name } },
                { "key": "_datadump_origin_output_index", "value": { "i": position } },
            ] })
        };
        // If a node computes codes, the layer's outputs are not listed here, but at the node that dequantizes the
        // codes.
        let dequantized = name.strip_suffix(".dequant").filter(|_| kind == "AscendDequant");
        let computes_codes = !kind.starts_with("Ascend")
            && node
                .outputs
                .first()
                .and_then(|&result| graph.value(result))
                .is_some_and(|value| !value.ty.elem.is_float());
        // A node that prepares an operand runs before the layer's own node and has none of the layer's outputs.
        let is_in_front = |last: &&&str| named.get(**last).is_some_and(|layer| id < *layer);
        let last = sources.last().filter(|last| !is_in_front(last));
        let outputs: Vec<Value> = match (dequantized, computes_codes, last) {
            (Some(layer), ..) => vec![origin(layer, 0)],
            (None, false, Some(last)) => (0..node.outputs.len()).map(|position| origin(last, position)).collect(),
            _ => Vec::new(),
        };
        json!({
            "name": name,
            "type": kind,
            "attr": [{
                "key": "_datadump_original_op_names",
                "value": { "list": { "val_type": 1, "s": sources } },
            }],
            "input": inputs.collect::<Vec<String>>(),
            "output_desc": outputs,
        })
    });
    json!({ "name": model, "graph": [{ "name": model, "op": ops.collect::<Vec<Value>>() }] })
}

/// `config.json`: the configuration with the settings of each layer. The file names the algorithm of AMCT that found
/// the range of a layer's input. If no algorithm of AMCT found it, the file states an IFMR search that leaves no
/// choice: its percentiles cut off nothing, and 1 is the only factor that it tries.
pub(super) fn settings(emission: &Emission<'_>, layers: &[Layer], floats: &[String]) -> Value {
    let mut document = Map::new();
    document.insert("version".into(), json!(1));
    document.insert("batch_num".into(), json!(1));
    let asymmetric = layers.iter().any(|layer| layer.grid.zero != 0);
    document.insert("activation_offset".into(), json!(asymmetric));
    document.insert("do_fusion".into(), json!(emission.fuses));
    document.insert("skip_fusion_layers".into(), json!(emission.unfused));
    for layer in layers.iter().filter(|layer| layer.operand == 0) {
        let mut settings = json!({
            "quant_enable": true,
            "activation_quant_params": activations(emission, layer),
        });
        if let (Some(scales), Some(settings)) = (&layer.weights, settings.as_object_mut()) {
            let channel_wise = scales.channels().is_some();
            let weights = json!({ "num_bits": 8, "wts_algo": "arq_quantize", "channel_wise": channel_wise });
            settings.insert("weight_quant_params".into(), weights);
        }
        document.insert(layer.name.clone(), settings);
    }
    for layer in floats {
        document.insert(layer.clone(), json!({ "quant_enable": false }));
    }
    document.into()
}

/// Describes how the range of a layer's input was found.
fn activations(emission: &Emission<'_>, layer: &Layer) -> Value {
    let (observer, options) = emission.observing(&layer.name);
    let asymmetric = layer.grid.zero != 0;
    let part = |percentile: Option<f64>| percentile.map_or(0.999_999, |percentile| percentile / 100.0);
    match observer {
        "hfmg" => json!({
            "num_bits": 8, "act_algo": "hfmg", "num_of_bins": options.bins.unwrap_or(4096), "asymmetric": asymmetric,
        }),
        "ifmr" => json!({
            "num_bits": 8, "act_algo": "ifmr",
            "max_percentile": part(options.percentile),
            "min_percentile": part(options.lower_percentile.or(options.percentile)),
            "search_range": options.search_range.unwrap_or([0.7, 1.3]),
            "search_step": options.search_step.unwrap_or(0.01),
            "asymmetric": asymmetric,
        }),
        _ => json!({
            "num_bits": 8, "act_algo": "ifmr", "max_percentile": 1.0, "min_percentile": 1.0,
            "search_range": [1.0, 1.0], "search_step": 0.01, "asymmetric": asymmetric,
        }),
    }
}

/// `fusion_result.json`: which rules were applied to the float graph, in the form in which ATC reports its own fusions.
/// The list of buffer fusions is empty.
pub(super) fn fusions(rules: &[(&str, Counts)]) -> Value {
    let counts = |counts: &Counts| {
        let [matched, effect] = [counts.matched, counts.applied].map(|count| count.to_string());
        json!({ "match_times": matched, "effect_times": effect })
    };
    let rules: Map<String, Value> = rules
        .iter()
        .map(|(rule, found)| ((*rule).to_owned(), counts(found)))
        .collect();
    json!({ "session_and_graph_id_0_0": { "graph_fusion": rules, "ub_fusion": {} } })
}
