//! Shows how operands and results are quantized, as a table.

use std::{
    collections::BTreeMap,
    fmt::{self, Display},
};

use strait_container::{ConfigReport, Quantization};

use crate::table;

use super::Shown;

/// The width of the lines.
const WIDTH: usize = 100;

/// Longer names of tensors are shortened in the middle.
const NAME: usize = 30;

type Row = ([String; 6], String);

impl Display for Shown<'_, Quantization> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(found) = self;
        let of_layers = found.layers.iter().flat_map(|layer| &layer.configs);
        let configs = of_layers.chain(&found.inputs).chain(&found.outputs);
        let tensors = configs.flat_map(|config| config.of.iter().chain([&config.tensor]));
        let names = table::all_shortened_to(tensors.map(String::as_str), NAME);
        let rows = |configs: &[ConfigReport]| -> Vec<Row> {
            configs.iter().map(|config| row(found, config, &names)).collect()
        };
        let head = ["", "tensor", "type", "scale", "zero", "from"].map(str::to_owned);
        let mut all: Vec<Row> = vec![(head, String::new())];
        all.extend(rows(&found.inputs));
        // The lines of a layer stand below its name, so that they begin alike whatever its length.
        let mut headings: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for layer in &found.layers {
            headings.entry(all.len()).or_default().push(&layer.name);
            all.extend(rows(&layer.configs));
        }
        all.extend(rows(&found.outputs));
        for (at, lines) in table::lines_within(WIDTH - 2, all.into_iter()).iter().enumerate() {
            for layer in headings.get(&at).into_iter().flatten() {
                writeln!(f, "{layer}")?;
            }
            for line in lines {
                writeln!(f, "  {line}")?;
            }
        }
        Ok(())
    }
}

/// The row of a config, without a remark.
fn row(found: &Quantization, config: &ConfigReport, names: &BTreeMap<&str, String>) -> Row {
    let shown = |name: &str| names.get(name).cloned().unwrap_or_default();
    let codes = found.schemes.get(config.scheme).map(|scheme| scheme.codes.clone());
    let of: Vec<String> = config.of.iter().map(|place| shown(place)).collect();
    let state = match &of[..] {
        [] => config.state.clone(),
        of => format!("{}: {}", config.state, of.join(" × ")),
    };
    let from = config
        .origin
        .as_ref()
        .map_or_else(|| state.clone(), |origin| format!("{origin}, {state}"));
    let cells = [
        config.port.clone(),
        shown(&config.tensor),
        codes.unwrap_or_default(),
        extent(&config.scale, |scale| table::short(f64::from(*scale))),
        extent(&config.zero_point, ToString::to_string),
        from,
    ];
    (cells, String::new())
}

/// The text for one number, or for the smallest and the largest of several numbers.
fn extent<T: Copy + PartialOrd>(numbers: &[T], text: impl Fn(&T) -> String) -> String {
    let least = |a: T, b: T| if b < a { b } else { a };
    let most = |a: T, b: T| if b > a { b } else { a };
    let (low, high) = (
        numbers.iter().copied().reduce(least),
        numbers.iter().copied().reduce(most),
    );
    match (low, high) {
        (Some(low), Some(high)) if low < high => format!("{} .. {}", text(&low), text(&high)),
        (Some(low), _) => text(&low),
        _ => String::new(),
    }
}
