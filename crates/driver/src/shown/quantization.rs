//! Shows how operands and results are quantized, as a table.

use std::{
    collections::BTreeMap,
    fmt::{self, Display},
};

use strait_container::{ConfigReport, Quantization};

use crate::table;

use super::Shown;

impl Display for Shown<'_, Quantization> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["layer", "", "tensor", "type", "state", "origin", "scale", "zero"].map(str::to_owned);
        let Shown(found) = self;
        let of_layers = found.layers.iter().flat_map(|layer| &layer.configs);
        let configs = of_layers.chain(&found.inputs).chain(&found.outputs);
        let tensors = configs.flat_map(|config| config.of.iter().chain([&config.tensor]));
        let layers = found.layers.iter().map(|layer| &layer.name);
        let names = table::all_shortened(layers.chain(tensors).map(String::as_str));
        let lines = found.layers.iter().flat_map(|layer| {
            let configs = layer.configs.iter().enumerate();
            let names = &names;
            configs
                .map(move |(position, config)| line(found, if position == 0 { &layer.name } else { "" }, config, names))
        });
        let border = |configs: &'_ [ConfigReport]| -> Vec<[String; 8]> {
            configs.iter().map(|config| line(found, "", config, &names)).collect()
        };
        let (inputs, outputs) = (border(&found.inputs), border(&found.outputs));
        let lines = inputs.into_iter().chain(lines).chain(outputs);
        table::write(f, std::iter::once(head).chain(lines))
    }
}

/// The row of a config. `layer` is the layer's name for its first config, and empty for the others.
fn line(found: &Quantization, layer: &str, config: &ConfigReport, names: &BTreeMap<&str, String>) -> [String; 8] {
    let shown = |name: &str| names.get(name).cloned().unwrap_or_default();
    let codes = found.schemes.get(config.scheme).map(|scheme| scheme.codes.clone());
    let of: Vec<String> = config.of.iter().map(|place| shown(place)).collect();
    let state = match &of[..] {
        [] => config.state.clone(),
        of => format!("{}: {}", config.state, of.join(" × ")),
    };
    [
        shown(layer),
        config.port.clone(),
        shown(&config.tensor),
        codes.unwrap_or_default(),
        state,
        config.origin.clone().unwrap_or_default(),
        extent(&config.scale),
        extent(&config.zero_point),
    ]
}

/// The text for one number, or for the smallest and the largest of several numbers.
fn extent<T: Copy + PartialOrd + Display>(numbers: &[T]) -> String {
    let least = |a: T, b: T| if b < a { b } else { a };
    let most = |a: T, b: T| if b > a { b } else { a };
    let (low, high) = (
        numbers.iter().copied().reduce(least),
        numbers.iter().copied().reduce(most),
    );
    match (low, high) {
        (Some(low), Some(high)) if low < high => format!("{low} .. {high}"),
        (Some(low), _) => low.to_string(),
        _ => String::new(),
    }
}
