//! Shows what a model or an artifact consists of, with a line for each layer.

use std::fmt::{self, Display};

use strait_artifact::inspect::{LayerLine, OpCount, Port, Summary};
use strait_report::FromScales;

use crate::table;

use super::Shown;

/// The report's remarks on the requantization of a layer.
fn remarks(layer: &LayerLine) -> impl Iterator<Item = String> {
    let free = layer.free_integers.as_ref().map(ToString::to_string);
    let from_scales = layer.from_scales.as_ref().and_then(FromScales::remark);
    let dropped = layer
        .dropped_clamp
        .as_ref()
        .map(|reason| format!("clamp left out: {}", reason.text));
    let outside = layer.outside.iter().map(ToString::to_string);
    free.into_iter().chain(from_scales).chain(dropped).chain(outside)
}

fn ty(port: &Port) -> String {
    format!("{}[{}]", port.elem, port.shape.join("x"))
}

impl Display for Shown<'_, Summary> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(summary) = self;
        if summary.chosen {
            let heading = ["layer", "op", "reads", "makes"].map(str::to_owned);
            let types = |ports: &[Port]| ports.iter().map(ty).collect::<Vec<_>>().join(", ");
            let names = table::all_shortened(summary.layers.iter().map(|layer| layer.name.as_str()));
            let shown = |layer: &LayerLine| names.get(layer.name.as_str()).cloned().unwrap_or_default();
            let line = |layer: &LayerLine| {
                [
                    shown(layer),
                    layer.op.clone(),
                    types(&layer.operands),
                    types(&layer.results),
                ]
            };
            table::write(f, std::iter::once(heading).chain(summary.layers.iter().map(line)))?;
            for layer in &summary.layers {
                for remark in remarks(layer) {
                    writeln!(f, "{}: {remark}", shown(layer))?;
                }
            }
            return Ok(());
        }
        if let Some(digest) = summary.digest {
            writeln!(f, "digest  {digest}")?;
        }
        for (what, ports) in [("input", &summary.inputs), ("output", &summary.outputs)] {
            for port in ports {
                writeln!(f, "{what:<7} {}  {}", port.name, ty(port))?;
            }
        }
        writeln!(
            f,
            "\n{}, {} ({})\n",
            table::count(summary.layers.len(), "layer"),
            table::count(summary.parameters as usize, "parameter"),
            table::bytes(summary.parameter_bytes)
        )?;
        let heading = ["op", "layers", "of them on the host"].map(str::to_owned);
        let host = |count: usize| {
            if summary.stage == "float" {
                String::new()
            } else {
                count.to_string()
            }
        };
        let line = |op: &OpCount| [op.op.clone(), op.count.to_string(), host(op.host)];
        table::write(f, std::iter::once(heading).chain(summary.ops.iter().map(line)))
    }
}
