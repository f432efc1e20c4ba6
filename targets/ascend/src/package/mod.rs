//! Writes the package. It consists of the files that AMCT writes, for ATC and for people. docs/ascend-package.md
//! describes it.

mod added;
mod deploy;
mod documents;
mod fake_quant;
mod products;
mod reals;
mod record;
#[cfg(test)]
mod tests;
mod walk;

use serde_json::Value;

use strait_plugin_sdk::graph::{Reason, ReasonCode};
use strait_plugin_sdk::{Emission, Sink, TargetError};

use walk::Walk;

/// The format of the deploy model and of the fake-quantized model.
const ONNX: &str = "onnx";

/// Writes all files. If a file cannot be made, nothing is written.
pub(crate) fn write(emission: &Emission<'_>, sink: &mut dyn Sink) -> Result<(), TargetError> {
    let module = emission.module;
    // The first graph is the lowered one, in which every step is a node of its own.
    let graph = module.graphs.first().unwrap_or(module.main());
    let (deploy, layers, floats) = Walk::new(module, graph, deploy::Deploy).run()?;
    let layers = record::of_model(record::balanced(layers, emission), emission);
    let (fake, ..) = Walk::new(module, graph, fake_quant::FakeQuant).run()?;
    let prefix = prefix(emission.model);
    sink.graph(&format!("{prefix}_deploy_model.onnx"), ONNX, &deploy)?;
    sink.graph(&format!("{prefix}_fake_quant_model.onnx"), ONNX, &fake)?;
    sink.bytes("record.txt", record::text(&layers).as_bytes())?;
    let documents = [
        (
            format!("{prefix}_quant.json"),
            documents::names(&deploy, emission.model),
        ),
        ("config.json".into(), documents::settings(emission, &layers, &floats)),
        ("fusion_result.json".into(), documents::fusions(emission.rules)),
    ];
    for (path, document) in documents {
        sink.bytes(&path, json(&document).as_bytes())?;
    }
    Ok(())
}

fn json(document: &Value) -> String {
    format!("{document:#}\n")
}

/// Name of the model, with only those characters that may be in a file name.
fn prefix(model: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = model.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() {
        "model".to_owned()
    } else {
        name.to_owned()
    }
}

fn unsupported(text: impl ToString) -> TargetError {
    Reason::new(ReasonCode::TargetCode, text.to_string()).into()
}
