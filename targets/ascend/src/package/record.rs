//! `record.txt`: the scales and offsets of each layer, with the fields of AMCT's record for ONNX.

use std::fmt::Write;

use strait_plugin_sdk::Emission;
use strait_plugin_sdk::form::Per;

use super::walk::Layer;

/// The record of these layers. Floats are written with as few digits as are needed to read back the same bits.
pub(super) fn text(layers: &[Layer]) -> String {
    let mut text = String::new();
    for layer in layers {
        let mut line = |line: std::fmt::Arguments<'_>| {
            // Writing into a `String` never fails.
            let _ = writeln!(text, "{line}");
        };
        line(format_args!("record {{"));
        let key = match layer.operand {
            0 => layer.name.clone(),
            operand => format!("{}:{operand}", layer.name),
        };
        line(format_args!("  key: {}", quoted(&key)));
        line(format_args!("  value {{"));
        line(format_args!("    scale_d: {}", layer.grid.scale));
        line(format_args!("    offset_d: {}", layer.grid.zero));
        let scales = layer.weights.as_ref().map(Per::values).unwrap_or_default();
        for scale in scales {
            line(format_args!("    scale_w: {scale}"));
        }
        for _ in scales {
            line(format_args!("    offset_w: 0"));
        }
        for factor in &layer.balance {
            line(format_args!("    tensor_balance_factor: {factor}"));
        }
        // The scales of weights are for the layer's weights after other layers were folded into them.
        line(format_args!("    skip_fusion: {}", !layer.folded));
        line(format_args!("    is_tensor_quantize: {}", layer.operand > 0));
        line(format_args!("    op_data_type: \"float32\""));
        line(format_args!("    act_type: \"INT8\""));
        if !scales.is_empty() {
            line(format_args!("    wts_type: \"INT8\""));
        }
        line(format_args!("  }}"));
        line(format_args!("}}"));
    }
    text
}

/// Describes the layers of the source model, whose channels are not divided by factors. As in AMCT, a tool that reads the
/// record divides what a layer reads by its balance factors, and multiplies the weights by them. A record has no factors for
/// outputs, but the scales of weights can be different for each output: the weights of the compiled layer are W/t with the
/// scale s, so those of the layer in the source model, W, have the scale s·t.
pub(super) fn balanced(layers: Vec<Layer>, emission: &Emission<'_>) -> Vec<Layer> {
    let of = |mut layer: Layer| {
        let Some(balance) = emission.balance(&layer.name).filter(|_| layer.operand == 0) else {
            return layer;
        };
        layer.balance.clone_from(&balance.input);
        if let Some(scales) = layer
            .weights
            .as_ref()
            .map(Per::values)
            .filter(|_| !balance.output.is_empty())
        {
            let outputs = balance.output.iter().enumerate();
            let scale = |(output, factor): (usize, &f32)| {
                let own = scales.get(output).or(scales.first());
                own.map_or(*factor, |scale| scale * factor)
            };
            layer.weights = Some(Per::Channel(outputs.map(scale).collect()));
        }
        layer
    };
    layers.into_iter().map(of).collect()
}

/// Splits each convolution that was joined from several layers into the layers of the source model again. Each of these
/// layers has one weight scale for each of its outputs.
pub(super) fn of_model(layers: Vec<Layer>, emission: &Emission<'_>) -> Vec<Layer> {
    let apart = |layer: Layer| match emission.joined(&layer.name) {
        None => vec![layer],
        Some(joined) => {
            let each = joined.each.get() as usize;
            let parts = layer.balance.len() / joined.layers.len().max(1);
            let mut inputs = layer.balance.chunks(parts.max(1));
            let mut outputs = layer.weights.as_ref().map(Per::values).unwrap_or_default().chunks(each);
            let mut part = |(name, count): &(String, u64)| {
                let weights = match &layer.weights {
                    Some(Per::Channel(_)) => {
                        let scales = outputs.by_ref().take(*count as usize);
                        Some(scales.filter_map(|output| output.first().copied()).collect())
                    }
                    other => other.clone(),
                };
                Layer {
                    name: name.clone(),
                    weights,
                    balance: inputs.next().unwrap_or_default().to_vec(),
                    ..layer.clone()
                }
            };
            joined.layers.iter().map(&mut part).collect()
        }
    };
    layers.into_iter().flat_map(apart).collect()
}

/// A string in the text format of Protocol Buffers.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(quoted, "\\{byte:03o}");
                }
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
